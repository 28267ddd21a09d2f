"""The informer on real API servers: what it holds must equal what a fresh list says, whatever happened."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager

import pytest

from jobferry.clock import SystemClock
from jobferry.kube import errors
from jobferry.kube.calls import Scope
from jobferry.kube.client import Client, connect
from jobferry.kube.informer import Informer
from jobferry.kube.items import Head, Key
from jobferry.kube.resources import CONFIG_MAPS, NAMESPACES
from jobferry.kube.watch import Watching
from jobferry.objects import Obj
from jobferry.runtime import supervise
from jobferry.runtime.inflight import Inflight
from jobferry.testing import assets
from jobferry.testing.control_plane import ControlPlane
from tests.conftest import BOTH
from tests.needs import SOAK

pytestmark = pytest.mark.api

CLOCK = SystemClock()


@pytest.fixture(scope="module", params=BOTH)
def fragile(request: pytest.FixtureRequest) -> Iterator[ControlPlane]:
    """An API server for the tests of this module to break."""
    plane = ControlPlane(version=request.param).start()
    yield plane
    plane.stop()


@asynccontextmanager
async def running(informer: Informer[Head]) -> AsyncIterator[None]:
    async with supervise.tasks("test", clock=CLOCK) as tasks:
        tasks.start("informer", informer.run)
        await informer.synced.wait()
        yield


async def until(informer: Informer[Head], holds: Callable[[], bool]) -> None:
    """Wait until something holds, looking again at each change."""
    changed = asyncio.Event()
    informer.listen(lambda _: changed.set())
    while not holds():
        changed.clear()
        await changed.wait()


async def put(client: Client, namespace: str, name: str, value: str, **labels: str) -> Obj:
    body = {"metadata": {"name": name, "labels": labels}, "data": {"is": value}}
    try:
        return await client.create(CONFIG_MAPS, body, namespace=namespace)
    except errors.AlreadyExists:
        return await client.patch(CONFIG_MAPS, name, body, namespace=namespace)


async def fresh(client: Client, scope: Scope) -> dict[Key, str]:
    listing = await client.list(scope)
    return {
        Key(obj["metadata"]["namespace"], obj["metadata"]["name"]): obj["metadata"][
            "resourceVersion"
        ]
        for obj in listing.items
    }


def held(informer: Informer[Head]) -> dict[Key, str]:
    return {item.key: item.head.metadata.resource_version for item in informer}


async def test_it_follows_objects_into_and_out_of_its_selector(
    cluster: Client, namespace: str
) -> None:
    scope = Scope(resource=CONFIG_MAPS, namespace=namespace, labels="color=red")
    await put(cluster, namespace, "a", "1", color="red")
    await put(cluster, namespace, "b", "1", color="blue")
    informer = Informer(cluster, scope, Head)
    seen: list[tuple[str, bool]] = []

    async with running(informer):
        informer.listen(lambda change: seen.append((change.item.key.name, bool(change.after))))
        await put(cluster, namespace, "b", "2", color="red")
        await put(cluster, namespace, "a", "2", color="blue")
        await cluster.delete(CONFIG_MAPS, "b", namespace)
        await until(informer, lambda: len(informer) == 0)

    assert seen == [("a", True), ("b", True), ("a", False), ("b", False)]


async def test_our_own_writes_are_seen_at_once(cluster: Client, namespace: str) -> None:
    informer = Informer(cluster, Scope(resource=CONFIG_MAPS, namespace=namespace), Head)
    key = Key(namespace, "a")

    async with running(informer):
        for round_ in range(30):
            made = await put(cluster, namespace, "a", str(round_))
            informer.absorb(made)
            assert informer.get(key) is not None
            gone = await cluster.delete(
                CONFIG_MAPS, "a", namespace, uid=made["metadata"]["uid"]
            )
            informer.absorb_deletion(key, gone)
            assert informer.get(key) is None


async def test_what_our_own_writes_let_go_is_gone_at_once(
    cluster: Client, namespace: str
) -> None:
    informer = Informer(cluster, Scope(resource=CONFIG_MAPS, namespace=namespace), Head)
    key = Key(namespace, "a")
    held_back = {"metadata": {"name": "a", "finalizers": ["example.com/ours"]}}

    async with running(informer):
        informer.absorb(await cluster.create(CONFIG_MAPS, held_back, namespace=namespace))
        informer.absorb_deletion(key, await cluster.delete(CONFIG_MAPS, "a", namespace))
        assert informer.get(key) is not None
        let_go = {"metadata": {"finalizers": None}}
        informer.absorb(await cluster.patch(CONFIG_MAPS, "a", let_go, namespace=namespace))

        assert informer.get(key) is None


@pytest.mark.timeout(60)
@pytest.mark.kube(assets.OLDEST)
async def test_the_oldest_server_is_listed_and_watched() -> None:
    async with (
        ControlPlane(version=assets.OLDEST) as plane,
        connect(plane.access(), name="old", clock=CLOCK) as client,
    ):
        scope = Scope(resource=CONFIG_MAPS)
        informer = Informer(client, scope, Head)
        async with running(informer):
            await put(client, "default", "a", "1")
            await until(informer, lambda: informer.get(Key("default", "a")) is not None)

            assert held(informer) == await fresh(client, scope)
            assert informer.freshness().trouble is None


async def test_after_a_killed_server_is_back_the_copy_equals_a_fresh_list(
    fragile: ControlPlane,
) -> None:
    scope = Scope(resource=CONFIG_MAPS, namespace="default")
    async with connect(fragile.access(), name="fragile", clock=CLOCK) as client:
        for name in ("kept", "changed", "deleted"):
            await put(client, "default", name, "1")
        informer = Informer(client, scope, Head)
        async with running(informer):
            fragile.kill()
            await asyncio.to_thread(fragile.restart)
            await client.delete(CONFIG_MAPS, "deleted", "default")
            await put(client, "default", "changed", "2")
            last = await put(client, "default", "new", "1")
            await until(informer, lambda: informer.get(Key("default", "new")) is not None)

            assert held(informer) == await fresh(client, scope)
            assert informer.freshness().version >= int(last["metadata"]["resourceVersion"])


async def test_what_happened_before_a_compaction_is_found_by_a_list(
    fragile: ControlPlane,
) -> None:
    scope = Scope(resource=CONFIG_MAPS, namespace="default")
    async with connect(fragile.access(), name="fragile", clock=CLOCK) as client:
        await put(client, "default", "missed-delete", "1")
        informer = Informer(client, scope, Head)
        async with running(informer):
            pass
        await client.delete(CONFIG_MAPS, "missed-delete", "default")
        await put(client, "default", "after", "1")
        fragile.compact()
        await asyncio.to_thread(fragile.restart)
        deleted: list[str] = []
        informer.listen(
            lambda change: deleted.append(change.item.key.name) if not change.after else None
        )

        async with running(informer):
            await until(informer, lambda: informer.get(Key("default", "after")) is not None)

            assert deleted == ["missed-delete"]
            assert held(informer) == await fresh(client, scope)


async def test_a_frozen_server_is_noticed_and_taken_up_again(fragile: ControlPlane) -> None:
    scope = Scope(resource=CONFIG_MAPS, namespace="default")
    async with (
        connect(fragile.access(), name="watcher", clock=CLOCK) as client,
        connect(fragile.access(), name="writer", clock=CLOCK) as writer,
    ):
        informer = Informer(client, scope, Head, watching=Watching(silence=0.5))
        async with running(informer):
            fragile.freeze()
            try:
                while informer.freshness().trouble is None:  # noqa: ASYNC110 (nobody tells of silence)
                    await asyncio.sleep(0.05)
                frozen = informer.freshness()
            finally:
                fragile.thaw()
            await put(writer, "default", "thawed", "1")
            await until(informer, lambda: informer.get(Key("default", "thawed")) is not None)

            assert frozen.age is not None
            assert frozen.age >= 0.5
            assert held(informer) == await fresh(writer, scope)


@pytest.mark.timeout(300)
async def test_thousands_of_objects_are_held_whole(fragile: ControlPlane) -> None:
    many = 20_000 if SOAK else 3000
    scope = Scope(resource=CONFIG_MAPS, namespace="many")
    async with connect(fragile.access(), name="fragile", clock=CLOCK) as client:
        await client.create(NAMESPACES, {"metadata": {"name": "many"}})
        limit = Inflight(32)

        async def create(number: int) -> None:
            body = {"metadata": {"name": f"o-{number}"}}
            async with limit.slot(0):
                await client.create(CONFIG_MAPS, body, namespace="many")

        async with asyncio.TaskGroup() as group:
            for number in range(many):
                group.create_task(create(number))
        informer = Informer(client, scope, Head)
        async with running(informer):
            expected = await fresh(client, scope)

            assert len(expected) >= many
            assert held(informer) == expected
