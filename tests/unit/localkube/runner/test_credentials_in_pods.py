"""A pod talks to its own cluster, as itself."""

import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from jobferry.clock import SystemClock
from jobferry.kube.client import Client
from jobferry.kube.in_process import InProcessTransport
from jobferry.kube.resources import SERVICE_ACCOUNTS
from jobferry.localkube.apiserver import server
from jobferry.localkube.apiserver.nodes import Nodes
from jobferry.localkube.apiserver.serving.app import IN_PROCESS
from jobferry.localkube.in_process import ADMIN
from jobferry.localkube.runner.running import running
from jobferry.localkube.runner.settings import Settings
from tests.unit.localkube.runner.world import NODE, World, end_all, pod

ASK = """
import os, ssl, urllib.error, urllib.request
folder = "/var/run/secrets/kubernetes.io/serviceaccount"
host, port = os.environ["KUBERNETES_SERVICE_HOST"], os.environ["KUBERNETES_SERVICE_PORT"]
token, namespace = (open(f"{folder}/{name}").read() for name in ("token", "namespace"))
url = f"https://{host}:{port}/api/v1/namespaces/{namespace}/secrets"
request = urllib.request.Request(url, headers={"Authorization": f"Bearer {token}"})
try:
    urllib.request.urlopen(request, context=ssl.create_default_context(cafile=f"{folder}/ca.crt"))
except urllib.error.HTTPError as error:
    print(error.code, error.read().decode())
"""


@pytest.fixture(params=[True, False], ids=["mounted", "rewritten"])
async def served(tmp_path: Path, request: pytest.FixtureRequest) -> AsyncIterator[World]:
    """A cluster with a socket, whose pods have accounts."""
    clock, nodes = SystemClock(), Nodes()
    async with server.serve(
        server.Settings(folder=tmp_path / "api", in_memory=True), clock, nodes
    ) as made:
        transport = InProcessTransport(made.app, clock, {IN_PROCESS: ADMIN})
        settings = Settings(
            node=NODE,
            folder=tmp_path / "node",
            port=made.port,
            authority=made.keys.authority.read_text(),
            private_mounts=request.param,
        )
        async with (
            Client(transport, name="served", clock=clock) as client,
            running(client, settings, nodes),
        ):
            account = {"metadata": {"name": "default", "namespace": "default"}}
            await client.create(SERVICE_ACCOUNTS, account)
            yield World(client, nodes, tmp_path)
    await end_all(settings)


@pytest.mark.timeout(60)
async def test_a_pod_is_known_by_its_service_account(served: World) -> None:
    await served.run(pod("pod", sys.executable, "-c", ASK))

    answer = await served.log("pod")

    assert answer.startswith("403 ")
    assert 'User \\"system:serviceaccount:default:default\\" cannot list' in answer
