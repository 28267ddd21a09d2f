"""What the server does by itself: old events go, aggregated roles are filled, CRDs are served."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from jobferry.kube import errors
from jobferry.kube.client import Client
from jobferry.kube.in_process import InProcessTransport
from jobferry.kube.resources import NAMESPACES, Resource
from jobferry.localkube.apiserver.identity.user import MASTERS, User
from jobferry.localkube.apiserver.server import Settings, serve
from jobferry.objects import Obj
from jobferry.testing.clock import ManualClock

EVENTS = Resource("", "v1", "events", "Event")
ROLES = Resource(
    "rbac.authorization.k8s.io", "v1", "clusterroles", "ClusterRole", namespaced=False
)
CRDS = Resource(
    "apiextensions.k8s.io",
    "v1",
    "customresourcedefinitions",
    "CustomResourceDefinition",
    namespaced=False,
)
BOATS = Resource("example.com", "v1", "boats", "Boat")
ADMIN = User("admin", groups=(MASTERS,))


@asynccontextmanager
async def server(folder: Path, clock: ManualClock) -> AsyncIterator[Client]:
    settings = Settings(folder=folder)
    async with serve(settings, clock) as running:
        transport = InProcessTransport(running.app, clock, extensions={"jobferry.user": ADMIN})
        async with Client(transport, name="local", clock=clock) as client:
            yield client


def event(name: str) -> Obj:
    return {
        "metadata": {"name": name, "namespace": "default"},
        "involvedObject": {"kind": "Pod", "name": "p", "namespace": "default"},
        "reason": "Started",
        "type": "Normal",
    }


async def settle() -> None:
    """Let everything happen that has nothing to wait for but the disk."""
    for _ in range(50):
        await asyncio.sleep(0.002)


async def test_an_event_goes_an_hour_after_it_was_last_written(tmp_path: Path) -> None:
    clock = ManualClock()
    async with server(tmp_path, clock) as client:
        await client.create(EVENTS, event("old"))
        await client.create(EVENTS, event("again"))
        clock.advance(3000)
        await client.patch(EVENTS, "again", {"message": "more"}, namespace="default")
        clock.advance(700)
        await settle()

        with pytest.raises(errors.NotFound):
            await client.get(EVENTS, "old", "default")
        assert await client.get(EVENTS, "again", "default")


async def test_the_time_of_events_goes_on_across_a_restart(tmp_path: Path) -> None:
    clock = ManualClock()
    async with server(tmp_path, clock) as client:
        await client.create(EVENTS, event("old"))
    clock.advance(3000)

    async with server(tmp_path, clock) as client:
        assert await client.get(EVENTS, "old", "default")
        clock.advance(700)
        await settle()
        with pytest.raises(errors.NotFound):
            await client.get(EVENTS, "old", "default")


async def test_an_aggregated_role_has_the_rules_of_those_it_selects(tmp_path: Path) -> None:
    rule = {"apiGroups": ["example.com"], "resources": ["boats"], "verbs": ["get"]}
    label = {"rbac.authorization.k8s.io/aggregate-to-view": "true"}
    async with server(tmp_path, ManualClock()) as client:
        before = await client.get(ROLES, "view")

        await client.create(
            ROLES, {"metadata": {"name": "boats", "labels": label}, "rules": [rule]}
        )
        await settle()

        after = await client.get(ROLES, "view")
        assert rule not in before["rules"]
        assert rule in after["rules"]


def boats() -> Obj:
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {"name": "v1", "served": True, "storage": True}
    return {
        "metadata": {"name": "boats.example.com"},
        "spec": {
            "group": "example.com",
            "scope": "Namespaced",
            "names": {"plural": "boats", "kind": "Boat"},
            "versions": [{**version, "schema": {"openAPIV3Schema": schema}}],
        },
    }


async def test_what_a_crd_defines_is_served_also_after_a_restart(tmp_path: Path) -> None:
    boat = {"metadata": {"name": "b", "namespace": "default"}, "spec": {"sails": 2}}
    async with server(tmp_path, ManualClock()) as client:
        await client.create(CRDS, boats())
        await settle()
        await client.create(BOATS, boat)

    async with server(tmp_path, ManualClock()) as client:
        assert (await client.get(BOATS, "b", "default"))["spec"] == {"sails": 2}

        await client.delete(CRDS, "boats.example.com")
        await settle()

        with pytest.raises(errors.NotFound):
            await client.get(CRDS, "boats.example.com")
        with pytest.raises(errors.NotFound):
            await client.get(BOATS, "b", "default")


async def test_namespaces_keep_their_identity_across_a_restart(tmp_path: Path) -> None:
    async with server(tmp_path, ManualClock()) as client:
        before = await client.get(NAMESPACES, "kube-system")

    async with server(tmp_path, ManualClock()) as client:
        after = await client.get(NAMESPACES, "kube-system")

    assert after == before
