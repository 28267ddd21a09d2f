"""The CRDs of other projects install on localkube unchanged, and soon: webhook conversions among them."""

import json
from collections.abc import AsyncIterator
from typing import Any

import pytest

from jobferry.clock import SystemClock
from jobferry.kube.calls import Scope
from jobferry.kube.client import Client
from jobferry.kube.resources import CRDS
from jobferry.localkube.in_process import in_process
from jobferry.objects import Obj, conditions
from jobferry.objects.resource import Resource
from jobferry.testing import assets
from jobferry.testing.wait import until

pytestmark = [pytest.mark.kube, pytest.mark.timeout(60)]

PROJECTS = (
    "jobset",
    "kuberay",
    "trainer",
    "appwrapper",
    "tekton",
    "mpi-operator",
    "lws",
    "kueue",
)


@pytest.fixture
async def client() -> AsyncIterator[Client]:
    """Somebody who may do everything, in the process of the server."""
    async with in_process(SystemClock()) as cluster, cluster.client() as connected:
        yield connected


def definitions(project: str) -> list[Obj]:
    """Return the CRDs of a project, whole."""
    files = sorted((assets.cache() / "crds" / project).glob("*.json"))
    assert files, f"no CRDs of {project}"
    return [json.loads(file.read_bytes()) for file in files]


@pytest.mark.parametrize("project", PROJECTS)
async def test_the_crds_of_a_project_install_unchanged(client: Client, project: str) -> None:
    for crd in definitions(project):
        await client.create(CRDS, crd)
        made = await until(client, CRDS, crd["metadata"]["name"], None, is_established)
        wanted = crd["spec"].get("conversion", {"strategy": "None"})["strategy"]
        assert made["spec"]["conversion"]["strategy"] == wanted
        stored = next(each for each in crd["spec"]["versions"] if each["storage"])
        assert not (await client.list(Scope(resource=resource(crd, stored)))).items


def is_established(crd: Obj) -> bool:
    return conditions.is_true(crd.get("status", {}).get("conditions"), "Established")


def resource(crd: Obj, version: Any) -> Resource:
    names = crd["spec"]["names"]
    return Resource(
        crd["spec"]["group"],
        version["name"],
        names["plural"],
        names["kind"],
        namespaced=crd["spec"]["scope"] == "Namespaced",
    )
