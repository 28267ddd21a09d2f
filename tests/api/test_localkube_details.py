"""Small things that localkube once did otherwise than a real server; the twins compare more of each."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import orjson
import pytest

from tests.api import fuzz_server
from tests.api.fuzz_patches import MERGE
from tests.api.fuzz_requests import JSON
from tests.api.fuzz_server import Ask, FuzzServer, Reply

CORE = "/api/v1/namespaces/default"
JOBS = "/apis/batch/v1/namespaces/default/jobs"
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


@pytest.fixture
async def server(tmp_path: Path) -> AsyncIterator[FuzzServer]:
    async with fuzz_server.running(tmp_path) as found:
        yield found
    assert not found.wrong, found.wrong[:3]


async def ask(
    server: FuzzServer, method: str, path: str, body: Any = None, kind: str = JSON
) -> Reply:
    sent = b"" if body is None else orjson.dumps(body)
    return await server.ask(Ask(method, path, sent, (("Content-Type", kind),) if sent else ()))


def job(amount: str = "1") -> Any:
    container = {"name": "c", "image": "i", "resources": {"limits": {"memory": amount}}}
    spec = {"containers": [container], "restartPolicy": "Never"}
    return {"metadata": {"name": "a"}, "spec": {"template": {"spec": spec}}}


async def test_the_priority_classes_of_the_system_stay(server: FuzzServer) -> None:
    path = "/apis/scheduling.k8s.io/v1/priorityclasses/system-node-critical"

    assert (await ask(server, "DELETE", path)).code == 403
    assert (await ask(server, "GET", path)).code == 200


@pytest.mark.parametrize(
    ("kind", "member"), [("secrets", "data"), ("configmaps", "binaryData")]
)
async def test_bytes_that_are_null_are_empty(
    server: FuzzServer, kind: str, member: str
) -> None:
    body = {"metadata": {"name": "a"}, member: {"a": None, "b": "eA=="}}

    made = await ask(server, "POST", f"{CORE}/{kind}", body)

    assert made.object()[member] == {"a": "", "b": "eA=="}


async def test_a_huge_amount_is_stored_as_it_is(server: FuzzServer) -> None:
    made = (await ask(server, "POST", JOBS, job("1e1000"))).object()

    container = made["spec"]["template"]["spec"]["containers"][0]
    assert container["resources"]["limits"] == {"memory": "10e999"}


async def test_an_amount_that_nobody_can_reckon_with_is_the_clients_mistake(
    server: FuzzServer,
) -> None:
    body = job()
    limits = {"hugepages-2Mi": "1e2000", "cpu": "1"}
    body["spec"]["template"]["spec"]["containers"][0]["resources"] = {"limits": limits}

    refused = await ask(server, "POST", JOBS, body)

    assert refused.code == 400
    assert "cannot compute with 100e1998" in refused.object()["message"]


async def test_times_of_a_job_are_compared_before_they_are_cut(server: FuzzServer) -> None:
    await ask(server, "POST", JOBS, job())
    start = "2024-01-01T00:00:00"

    async def said(time: str) -> tuple[int, str]:
        body = {"status": {"startTime": time}}
        reply = await ask(server, "PATCH", f"{JOBS}/a/status", body, MERGE)
        return reply.code, reply.object()["status"]["startTime"] if reply.code == 200 else ""

    assert await said(f"{start}.5Z") == (200, f"{start}Z")
    assert await said(f"{start}.0Z") == (200, f"{start}Z")
    assert await said(f"{start}.000000001Z") == (422, "")
