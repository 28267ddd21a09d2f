"""Definitions of custom resources that collide with each other, or with what is built in: nobody loses anything."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import orjson
import pytest

from jobferry.clock import SystemClock, sleep
from tests.api import fuzz_server
from tests.api.fuzz_patches import MERGE
from tests.api.fuzz_requests import JSON
from tests.api.fuzz_server import Ask, FuzzServer, Reply

CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
RBAC = "rbac.authorization.k8s.io"
BINDINGS = f"/apis/{RBAC}/v1/clusterrolebindings"
UNAPPROVED = {"api-approved.kubernetes.io": "unapproved, for a test"}


@pytest.fixture
async def server(tmp_path: Path) -> AsyncIterator[FuzzServer]:
    async with fuzz_server.running(tmp_path) as found:
        yield found
    assert not found.complaints.found, found.complaints.found[:3]


async def ask(
    server: FuzzServer, method: str, path: str, body: Any = None, kind: str = JSON
) -> Reply:
    sent = b"" if body is None else orjson.dumps(body)
    return await server.ask(Ask(method, path, sent, (("Content-Type", kind),) if sent else ()))


async def until(server: FuzzServer, path: str, code: int) -> None:
    async with asyncio.timeout(10):
        while (await ask(server, "GET", path)).code != code:
            await sleep(SystemClock(), 0.01)


async def until_established(server: FuzzServer, name: str) -> None:
    async with asyncio.timeout(10):
        while b"InitialNamesAccepted" not in (await ask(server, "GET", f"{CRDS}/{name}")).body:
            await sleep(SystemClock(), 0.01)


def definition(plural: str, group: str, **annotations: str) -> dict[str, Any]:
    version = {
        "name": "v1",
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": {"type": "object"}},
    }
    return {
        "metadata": {"name": f"{plural}.{group}", "annotations": annotations},
        "spec": {
            "group": group,
            "scope": "Cluster",
            "names": {"plural": plural, "kind": plural.capitalize()},
            "versions": [version],
        },
    }


async def thing(server: FuzzServer, plural: str, group: str) -> str:
    """Define a resource and create an object of it; returns its path."""
    assert (await ask(server, "POST", CRDS, definition(plural, group))).code == 201
    path = f"/apis/{group}/v1/{plural}"
    await until(server, path, 200)
    body = {"apiVersion": f"{group}/v1", "kind": plural.capitalize(), "metadata": {"name": "a"}}
    assert (await ask(server, "POST", path, body)).code == 201
    return f"{path}/a"


async def test_a_definition_named_like_a_built_in_erases_nothing(server: FuzzServer) -> None:
    before = (await ask(server, "GET", BINDINGS)).object()["items"]
    name = f"clusterrolebindings.{RBAC}"
    made = await ask(
        server, "POST", CRDS, definition("clusterrolebindings", RBAC, **UNAPPROVED)
    )
    await until_established(server, name)
    with_definition = (await ask(server, "GET", BINDINGS)).object()
    await ask(server, "DELETE", f"{CRDS}/{name}")
    ref = {"apiGroup": RBAC, "kind": "ClusterRole", "name": "view"}
    body = {"metadata": {"name": "new"}, "roleRef": ref}
    during = await ask(server, "POST", BINDINGS, body)
    await until(server, f"{CRDS}/{name}", 404)
    after = (await ask(server, "GET", BINDINGS)).object()["items"]

    assert made.code == 201
    assert with_definition["kind"] == "ClusterRoleBindingList"
    assert with_definition["items"] == before
    assert during.code == 201
    assert [each["metadata"]["name"] for each in after if each not in before] == ["new"]
    assert [each for each in before if each not in after] == []


async def test_definitions_whose_names_begin_alike_keep_to_themselves(
    server: FuzzServer,
) -> None:
    pairs = [
        *(("things", "example.com"), ("things", "b.example.com")),
        *(("thing", "example.com"), ("thingsa", "example.com")),
        *(("pods", "core.io"), ("jobs", "batch.io"), ("custom", "registry.io")),
    ]
    paths = [await thing(server, *pair) for pair in pairs]
    name = ".".join(pairs[0])
    await ask(server, "DELETE", f"{CRDS}/{name}")
    await until(server, f"{CRDS}/{name}", 404)

    codes = [(await ask(server, "GET", path)).code for path in paths]

    assert codes == [404] + [200] * (len(paths) - 1)


async def test_names_written_to_a_status_reach_no_objects_of_others(
    server: FuzzServer,
) -> None:
    victim = await thing(server, "victims", "example.com")
    await thing(server, "robbers", "example.com")
    robber = f"{CRDS}/robbers.example.com"
    stolen = {"status": {"acceptedNames": {"plural": "victims"}}}
    await asyncio.gather(
        ask(server, "PATCH", f"{robber}/status", stolen, MERGE), ask(server, "DELETE", robber)
    )
    await until(server, robber, 404)

    assert (await ask(server, "GET", victim)).code == 200


async def test_keys_of_custom_objects_are_no_keys_of_built_in_ones(server: FuzzServer) -> None:
    await thing(server, "things", "example.com")
    registry = server.server.backend.registry
    prefixes = [
        (resource.prefix, resource.built_in)
        for group_version in registry.group_versions()
        for resource in registry.in_version(*group_version).values()
    ]

    assert {prefix.split("/")[1] for prefix, built_in in prefixes if built_in} == {"registry"}
    assert [prefix for prefix, built_in in prefixes if not built_in] == [
        "/custom/example.com/things/"
    ]
