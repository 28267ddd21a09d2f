"""What the server does by itself: old events go, aggregated roles are filled, CRDs are served."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from jobferry.kube import errors
from jobferry.kube.client import Client
from jobferry.kube.in_process import InProcessTransport
from jobferry.kube.resources import CRDS, NAMESPACES
from jobferry.localkube.apiserver.identity.user import MASTERS, User
from jobferry.localkube.apiserver.server import Settings, serve
from jobferry.localkube.in_process import in_process
from jobferry.objects import Obj
from jobferry.objects.resource import Resource
from jobferry.testing.clock import ManualClock, settle
from tests.unit.localkube.apiserver.held_server import Asker, Reply, asker, hold

EVENTS = Resource("", "v1", "events", "Event")
ROLES = Resource(
    "rbac.authorization.k8s.io", "v1", "clusterroles", "ClusterRole", namespaced=False
)
BOATS = Resource("example.com", "v1", "boats", "Boat")
ADMIN = User("admin", groups=(MASTERS,))


@asynccontextmanager
async def server(folder: Path, clock: ManualClock) -> AsyncIterator[Client]:
    settings = Settings(folder=folder)
    async with serve(settings, clock) as running:
        clock.outside = [running.storage, running.backend.execution]
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


async def test_an_event_goes_an_hour_after_it_was_last_written(tmp_path: Path) -> None:
    clock = ManualClock()
    async with server(tmp_path, clock) as client:
        await client.create(EVENTS, event("old"))
        await client.create(EVENTS, event("again"))
        clock.advance(3000)
        await client.patch(EVENTS, "again", {"message": "more"}, namespace="default")
        await clock.pass_time(700)

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
        await clock.pass_time(700)
        with pytest.raises(errors.NotFound):
            await client.get(EVENTS, "old", "default")


async def test_an_aggregated_role_has_the_rules_of_those_it_selects(tmp_path: Path) -> None:
    rule = {"apiGroups": ["example.com"], "resources": ["boats"], "verbs": ["get"]}
    label = {"rbac.authorization.k8s.io/aggregate-to-view": "true"}
    clock = ManualClock()
    async with server(tmp_path, clock) as client:
        before = await client.get(ROLES, "view")

        await client.create(
            ROLES, {"metadata": {"name": "boats", "labels": label}, "rules": [rule]}
        )
        await settle(*clock.outside)

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
    clock = ManualClock()
    async with server(tmp_path, clock) as client:
        await client.create(CRDS, boats())
        await settle(*clock.outside)
        await client.create(BOATS, boat)

    async with server(tmp_path, clock) as client:
        assert (await client.get(BOATS, "b", "default"))["spec"] == {"sails": 2}

        await client.delete(CRDS, "boats.example.com")
        await settle(*clock.outside)

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


async def test_an_event_goes_also_when_the_disk_was_full_at_its_time() -> None:
    clock = ManualClock()
    async with asker(clock) as local:
        path = "/api/v1/namespaces/default/events"
        await local.ask("POST", path, event("old"))
        journal = hold(local.server)
        await clock.pass_time(3600)
        journal.fail()
        await settle()
        assert (await local.ask("GET", f"{path}/old")).code == 200

        await clock.pass_time(1)
        journal.commit()

        assert (await local.ask("GET", f"{path}/old")).code == 404


async def test_an_aggregated_role_is_filled_also_when_the_disk_was_full_at_first() -> None:
    roles = "/apis/rbac.authorization.k8s.io/v1/clusterroles"
    rule = {"apiGroups": ["example.com"], "resources": ["boats"], "verbs": ["get"]}
    label = {"rbac.authorization.k8s.io/aggregate-to-view": "true"}
    role = {"metadata": {"name": "boats", "labels": label}, "rules": [rule]}
    clock = ManualClock()
    async with asker(clock) as local:
        journal = hold(local.server)
        await local.asked("POST", roles, role)
        journal.commit()
        await settle()
        journal.fail()
        await clock.pass_time(1)

        while journal.batches:
            journal.commit()
            await settle()

        for name in ("view", "edit", "admin"):
            assert rule in (await local.ask("GET", f"{roles}/{name}")).body["rules"]


CRD_KEY = "/registry/apiextensions.k8s.io/customresourcedefinitions/bad"
ROLE_KEY = "/registry/rbac.authorization.k8s.io/clusterroles/bad"
EVENT_KEY = "/registry/core/events/default/bad"
BAD = {
    CRD_KEY: b'{"kind":"CustomResourceDefinition","metadata":{"name":"bad"}}',
    ROLE_KEY: b'{"kind":"ClusterRole","metadata":{"name":"bad"},"rules":[null]}',
    EVENT_KEY: b'{"kind":"Event","metadata":{"name":"bad","managedFields":[{"time":1}]}}',
}


@pytest.mark.parametrize("key", BAD)
async def test_what_the_server_cannot_deal_with_stops_neither_writes_nor_a_start(
    tmp_path: Path, key: str
) -> None:
    clock, settings = ManualClock(), Settings(folder=tmp_path)
    async with serve(settings, clock) as running:
        await running.storage.put(key, lambda _: BAD[key], expected=0)
        await Asker(running).ask("POST", "/api/v1/namespaces", _named("one"))

    async with serve(settings, clock) as running:
        reply = await Asker(running).ask("POST", "/api/v1/namespaces", _named("two"))
        assert reply.code == 201
        reply = await Asker(running).ask("GET", "/api/v1/namespaces/one")
        assert reply.code == 200


def _named(name: str) -> Obj:
    return {"metadata": {"name": name}}


async def test_a_server_in_memory_can_be_forked() -> None:
    clock = ManualClock()
    async with in_process(clock) as running:
        local = Asker(running)
        made = await local.ask("POST", "/api/v1/namespaces", _named("shared"))
        taken = await running.storage.snapshot()
        await local.ask("DELETE", "/api/v1/namespaces/shared")

        async with in_process(clock, contents=taken) as other:
            fork = Asker(other)
            assert await fork.ask("GET", "/api/v1/namespaces/shared") == Reply(200, made.body)
            later = await fork.ask("POST", "/api/v1/namespaces", _named("later"))
            assert int(later.version) == int(made.version) + 1

        assert (await local.ask("GET", "/api/v1/namespaces/later")).code == 404
