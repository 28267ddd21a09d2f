import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from random import Random

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jobferry.clock import Clock, SystemClock
from jobferry.kube import calls, errors
from jobferry.kube.cache import Change
from jobferry.kube.client import Client
from jobferry.kube.in_process import InProcessTransport
from jobferry.kube.informer import Informer
from jobferry.kube.items import Head, Item, Key
from jobferry.kube.resources import CONFIG_MAPS
from jobferry.kube.watch import Watching
from jobferry.runtime import supervise
from jobferry.testing.clock import ManualClock, settle
from tests.unit.kube.collection import Collection

SCOPE = calls.Scope(resource=CONFIG_MAPS, namespace="ns")


def data(item: Item[Head]) -> str:
    found: str = item.object()["data"]["is"]
    return found


def state(informer: Informer[Head]) -> dict[str, str]:
    return {item.head.metadata.name: data(item) for item in informer}


def key(name: str) -> Key:
    return Key("ns", name)


def client_of(server: Collection, clock: Clock) -> Client:
    transport = InProcessTransport(server, clock)
    return Client(transport, name="east", clock=clock, random=Random(0))


@asynccontextmanager
async def following(
    informer: Informer[Head], clock: Clock
) -> AsyncIterator[list[Change[Head]]]:
    """Run an informer during the block, once it is synced; gives the list of changes it tells."""
    changes: list[Change[Head]] = []
    async with supervise.tasks("test", clock=SystemClock()) as tasks:
        tasks.start("informer", informer.run)
        await informer.synced.wait()
        informer.listen(changes.append)
        changes.clear()
        yield changes


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.mark.parametrize("has_watch_list", [True, False])
async def test_it_starts_with_all_there_is_and_follows_each_change(
    clock: ManualClock, has_watch_list: bool
) -> None:
    server = Collection(has_watch_list=has_watch_list)
    server.put("a", "1")
    server.put("b", "1")
    informer = Informer(client_of(server, clock), SCOPE, Head)

    async with following(informer, clock) as changes:
        assert state(informer) == {"a": "1", "b": "1"}
        server.put("a", "2")
        server.put("c", "1")
        server.remove("b")
        await settle()

    assert state(informer) == {"a": "2", "c": "1"}
    assert [(bool(c.before), bool(c.after)) for c in changes] == [
        (True, True),
        (False, True),
        (True, False),
    ]


async def test_a_server_without_watch_list_is_asked_for_it_once(clock: ManualClock) -> None:
    server = Collection(has_watch_list=False)
    informer = Informer(client_of(server, clock), SCOPE, Head)

    async with following(informer, clock):
        server.forget()
        server.tick()
        server.cut()
        await clock.pass_time(1)

    assert sum("sendInitialEvents" in request for request in server.requests) == 1
    assert state(informer) == server.state()


async def test_a_list_in_pages_is_whole(clock: ManualClock) -> None:
    server = Collection(has_watch_list=False)
    for number in range(1203):
        server.put(f"o{number}")
    informer = Informer(client_of(server, clock), SCOPE, Head)

    async with following(informer, clock):
        pass

    assert len(informer) == 1203
    assert [
        request.get("continue", "")[:4] for request in server.requests if "limit" in request
    ] == [
        "",
        "500@",
        "1000",
    ]


async def test_a_watch_that_ends_goes_on_where_it_was(clock: ManualClock) -> None:
    server = Collection()
    informer = Informer(client_of(server, clock), SCOPE, Head)

    async with following(informer, clock):
        server.put("a", "1")
        await settle()
        server.cut()
        server.put("a", "2")
        await settle()

        assert state(informer) == {"a": "2"}
        assert server.requests[-1]["resourceVersion"] == str(server.version - 1)
        assert sum("sendInitialEvents" in request for request in server.requests) == 1


async def test_a_server_that_ends_every_watch_at_once_is_not_asked_without_pause(
    clock: ManualClock,
) -> None:
    class Curt(Collection):
        async def _follow(self, since: int, cut: object, send: object) -> None: ...

    server = Curt()
    informer = Informer(client_of(server, clock), SCOPE, Head)

    async with following(informer, clock):
        await clock.pass_time(60)

    assert 6 < len(server.requests) < 25


async def test_a_bookmark_moves_the_place_to_go_on_from(clock: ManualClock) -> None:
    server = Collection()
    informer = Informer(client_of(server, clock), SCOPE, Head)

    async with following(informer, clock):
        server.tick()
        await settle()
        server.forget()
        server.cut()
        await settle()

        assert server.requests[-1]["resourceVersion"] == str(server.version)
        assert informer.freshness().is_following


async def test_a_delete_missed_in_a_gap_is_told_as_a_delete(clock: ManualClock) -> None:
    server = Collection()
    server.put("a", "1")
    server.put("b", "1")
    informer = Informer(client_of(server, clock), SCOPE, Head)

    async with following(informer, clock) as changes:
        server.failures = [(503, "ServiceUnavailable")]
        server.cut()
        await settle()
        server.remove("a")
        server.put("b", "2")
        server.forget()
        await clock.pass_time(60)

        assert informer.freshness().is_following

    assert state(informer) == {"b": "2"}
    assert {c.item.head.metadata.name: c.after is None for c in changes} == {
        "a": True,
        "b": False,
    }


async def test_it_survives_any_error_and_says_so_meanwhile(clock: ManualClock) -> None:
    server = Collection()
    informer = Informer(client_of(server, clock), SCOPE, Head)

    async with following(informer, clock):
        server.failures = [(403, "Forbidden"), (401, "Unauthorized"), (500, "InternalError")]
        server.cut()
        await settle()
        trouble = informer.freshness()
        await clock.pass_time(60)

        assert not trouble.is_following
        assert isinstance(trouble.trouble, errors.Forbidden)
        assert informer.freshness().is_following
        assert informer.freshness().trouble is None


async def test_whoever_cares_hears_when_the_watch_ends_and_begins(clock: ManualClock) -> None:
    server = Collection()
    informer = Informer(client_of(server, clock), SCOPE, Head)
    heard: list[tuple[bool, bool]] = []

    async with following(informer, clock):
        informer.listen_to_link(
            lambda link: heard.append((link.is_following, bool(link.trouble)))
        )
        server.failures = [(503, "ServiceUnavailable"), (503, "ServiceUnavailable")]
        server.cut()
        await clock.pass_time(10)

        assert heard == [(False, False), (False, True), (False, True), (True, False)]


async def test_an_answer_that_is_no_object_is_trouble_not_the_end(clock: ManualClock) -> None:
    server = Collection(has_watch_list=False)
    server.put("a", "1")
    good, server.objects["a"] = server.objects["a"], {"metadata": {}}
    informer = Informer(client_of(server, clock), SCOPE, Head)

    async with supervise.tasks("test", clock=SystemClock()) as tasks:
        tasks.start("informer", informer.run)
        await settle()
        assert isinstance(informer.freshness().trouble, errors.ServerFailure)

        server.objects["a"] = good
        await clock.pass_time(1)
        assert state(informer) == {"a": "1"}


async def test_silence_is_taken_for_a_dead_connection(clock: ManualClock) -> None:
    server = Collection()
    informer = Informer(client_of(server, clock), SCOPE, Head, watching=Watching(silence=75))

    async with following(informer, clock):
        server.is_silent = True
        server.put("a", "1")
        await clock.pass_time(74)
        assert informer.freshness().age == pytest.approx(74)
        assert state(informer) == {}

        server.is_silent = False
        await clock.pass_time(2)
        assert state(informer) == {"a": "1"}


async def test_a_server_that_never_ends_its_initial_events_is_listed(
    clock: ManualClock,
) -> None:
    class Endless(Collection):
        async def _watch(self, query: dict[str, str], send: object) -> None:
            if query.pop("sendInitialEvents", None):
                query["resourceVersion"] = str(
                    self.version
                )  # as servers do that do not know it
            await super()._watch(query, send)  # type: ignore[arg-type]

    server = Endless()
    server.put("a", "1")
    informer = Informer(client_of(server, clock), SCOPE, Head)

    async with supervise.tasks("test", clock=SystemClock()) as tasks:
        tasks.start("informer", informer.run)
        await settle()
        assert not informer.synced.is_set()
        await clock.pass_time(80)

        assert informer.synced.is_set()
        assert state(informer) == {"a": "1"}


async def test_a_cluster_restored_from_a_backup_is_taken_as_it_is_now(
    clock: ManualClock,
) -> None:
    server = Collection()
    server.put("a", "1")
    server.put("lost", "1")
    informer = Informer(client_of(server, clock), SCOPE, Head)

    async with following(informer, clock):
        server.restore(version=50)
        server.put("a", "old")
        server.cut()
        await settle()
        assert state(informer) == {
            "a": "1",
            "lost": "1",
        }  # a watch from the future tells nothing

        await clock.pass_time(80)
        assert state(informer) == {"a": "old"}


async def test_what_is_not_to_be_kept_is_not_and_vanishes_when_it_changes_so(
    clock: ManualClock,
) -> None:
    server = Collection()
    server.put("mine", labels={"mine": "yes"})
    server.put("other")
    informer = Informer(
        client_of(server, clock), SCOPE, Head, keep=lambda head: "mine" in head.metadata.labels
    )

    async with following(informer, clock) as changes:
        assert set(state(informer)) == {"mine"}
        server.put("other", labels={"mine": "yes"})
        server.put("mine")
        await settle()

    assert set(state(informer)) == {"other"}
    assert [(c.item.head.metadata.name, bool(c.after)) for c in changes] == [
        ("other", True),
        ("mine", False),
    ]


async def test_a_transform_decides_what_is_kept_of_the_json(clock: ManualClock) -> None:
    server = Collection()
    server.put("a", "secret")
    informer = Informer(client_of(server, clock), SCOPE, Head, transform=lambda _: b"{}")

    async with following(informer, clock):
        item = informer.get(key("a"))

    assert item is not None
    assert item.object() == {}


async def test_an_index_is_there_for_readers(clock: ManualClock) -> None:
    server = Collection()
    server.put("a", "1")
    informer = Informer(
        client_of(server, clock), SCOPE, Head, indexes={"data": lambda item: [data(item)]}
    )

    async with following(informer, clock):
        assert [item.head.metadata.name for item in informer.by("data", "1")] == ["a"]


class TestOurOwnWrites:
    async def test_an_answer_is_seen_at_once_and_told_once(self, clock: ManualClock) -> None:
        server = Collection()
        informer = Informer(client_of(server, clock), SCOPE, Head)

        async with following(informer, clock) as changes:
            informer.absorb(server.put("a", "1"))
            assert state(informer) == {"a": "1"}
            await settle()

        assert len(changes) == 1
        assert b"managedFields" not in next(iter(informer)).body

    async def test_an_older_event_does_not_undo_an_answer(self, clock: ManualClock) -> None:
        server = Collection()
        informer = Informer(client_of(server, clock), SCOPE, Head)

        async with following(informer, clock) as changes:
            server.put("a", "1")
            informer.absorb(server.put("a", "2"))
            await settle()

        assert [data(change.item) for change in changes] == ["2"]

    async def test_an_answer_that_comes_after_its_delete_does_not_raise_the_dead(
        self, clock: ManualClock
    ) -> None:
        server = Collection()
        informer = Informer(client_of(server, clock), SCOPE, Head)

        async with following(informer, clock):
            answer = server.put("a", "1")
            server.remove("a")
            await settle()
            informer.absorb(answer)

            assert state(informer) == {}

    async def test_a_deletion_is_seen_at_once_and_late_events_do_not_undo_it(
        self, clock: ManualClock
    ) -> None:
        server = Collection()
        server.put("a", "1")
        informer = Informer(client_of(server, clock), SCOPE, Head)

        async with following(informer, clock) as changes:
            server.put("a", "2")
            informer.absorb_deletion(key("a"), server.remove("a"))
            assert state(informer) == {}
            await settle()

        assert state(informer) == {}
        assert [change.after for change in changes] == [None]

    async def test_an_object_that_is_only_on_its_way_out_stays(
        self, clock: ManualClock
    ) -> None:
        server = Collection()
        server.put("a", "1")
        informer = Informer(client_of(server, clock), SCOPE, Head)

        async with following(informer, clock):
            informer.absorb_deletion(
                key("a"), server.put("a", "1", deletionTimestamp="2026-01-01T00:00:00Z")
            )
            item = informer.get(key("a"))

        assert item is not None
        assert item.head.metadata.deletion_timestamp is not None

    async def test_an_answer_outside_the_selector_is_not_kept(self, clock: ManualClock) -> None:
        server = Collection()
        scope = calls.Scope(resource=CONFIG_MAPS, namespace="ns", labels="mine=yes")
        informer = Informer(client_of(server, clock), scope, Head)

        async with following(informer, clock):
            informer.absorb(server.put("a"))
            assert state(informer) == {}


STEPS = st.lists(
    st.tuples(
        st.sampled_from(
            [
                "put",
                "remove",
                "absorbed put",
                "absorbed remove",
                "cut",
                "forget",
                "tick",
                "wait",
            ]
        ),
        st.sampled_from("abc"),
    ),
    max_size=25,
)


@given(STEPS, st.booleans())
@settings(max_examples=60, deadline=None)
def test_after_any_history_the_copy_equals_a_fresh_list_and_every_change_was_told(
    steps: list[tuple[str, str]], has_watch_list: bool
) -> None:
    async def scenario() -> None:
        clock, server = ManualClock(), Collection(has_watch_list=has_watch_list)
        informer = Informer(client_of(server, clock), SCOPE, Head)
        async with following(informer, clock) as changes:
            told: dict[Key, bytes] = {}
            for number, (what, name) in enumerate(steps):
                was_there = name in server.objects
                await _step(server, informer, clock, what, name, str(number))
                if what == "absorbed put" or (what == "absorbed remove" and was_there):
                    assert state(informer).get(name) == server.state().get(name)
            await clock.pass_time(120)
            for change in changes:
                assert told.get(change.item.key) == (change.before and change.before.body)
                told.pop(change.item.key, None)
                if change.after is not None:
                    told[change.item.key] = change.after.body

            assert state(informer) == server.state()
            assert {
                k.name: orjson.loads(body)["data"]["is"] for k, body in told.items()
            } == server.state()

    asyncio.run(scenario())


async def _step(
    server: Collection,
    informer: Informer[Head],
    clock: ManualClock,
    what: str,
    name: str,
    value: str,
) -> None:
    match what:
        case "put":
            server.put(name, value)
        case "absorbed put":
            informer.absorb(server.put(name, value))
        case "remove" if name in server.objects:
            server.remove(name)
        case "absorbed remove" if name in server.objects:
            informer.absorb_deletion(key(name), server.remove(name))
        case "cut":
            server.cut()
        case "forget":
            server.forget()
        case "tick":
            server.tick()
        case "wait":
            await clock.pass_time(1)
