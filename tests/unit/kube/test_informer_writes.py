"""The informer and our own writes: it never shows less than what we wrote, nor what is gone."""

import asyncio

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jobferry.kube import calls, errors
from jobferry.kube.informer import Informer
from jobferry.kube.items import Head, Key
from jobferry.kube.resources import CONFIG_MAPS
from jobferry.testing.clock import ManualClock, settle
from tests.unit.kube.collection import Collection
from tests.unit.kube.copies import SCOPE, client_of, data, following, key, state


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


async def test_an_answer_is_seen_at_once_and_told_once(clock: ManualClock) -> None:
    server = Collection()
    informer = Informer(client_of(server, clock), SCOPE, Head)

    async with following(informer, clock) as changes:
        informer.absorb(server.put("a", "1"))
        assert state(informer) == {"a": "1"}
        await settle()

    assert len(changes) == 1
    assert b"managedFields" not in next(iter(informer)).body


async def test_an_older_event_does_not_undo_an_answer(clock: ManualClock) -> None:
    server = Collection()
    informer = Informer(client_of(server, clock), SCOPE, Head)

    async with following(informer, clock) as changes:
        server.put("a", "1")
        informer.absorb(server.put("a", "2"))
        await settle()

    assert [data(change.item) for change in changes] == ["2"]


async def test_an_answer_that_comes_after_its_delete_does_not_raise_the_dead(
    clock: ManualClock,
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
    clock: ManualClock,
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
    clock: ManualClock,
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


async def test_an_object_that_our_write_let_go_is_gone(clock: ManualClock) -> None:
    server = Collection()
    on_its_way = {"deletionTimestamp": "2026-01-01T00:00:00Z", "deletionGracePeriodSeconds": 0}
    kept = server.put("a", "1", **on_its_way, finalizers=["ours"])
    informer = Informer(client_of(server, clock), SCOPE, Head)

    async with following(informer, clock) as changes:
        # Nothing is written in this case, so the answer has no version of its own.
        meta = {name: value for name, value in kept["metadata"].items() if name != "finalizers"}
        informer.absorb({**kept, "metadata": meta})
        assert state(informer) == {}
        server.remove("a")
        await settle()

    assert [change.after for change in changes] == [None]


async def test_what_a_delete_answers_about_an_object_that_just_vanished_is_no_news(
    clock: ManualClock,
) -> None:
    server = Collection()
    server.put("a", "1")
    informer = Informer(client_of(server, clock), SCOPE, Head)

    async with following(informer, clock):
        informer.absorb_deletion(key("a"), {"kind": "ConfigMap", "metadata": {}})

        assert state(informer) == {"a": "1"}


async def test_an_answer_outside_the_selector_is_not_kept(clock: ManualClock) -> None:
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
                was_there = _knows(informer, server, name)
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


def _knows(informer: Informer[Head], server: Collection, name: str) -> bool:
    """Tell whether we know the very object that has the name now: we delete by UID."""
    known, there = informer.get(key(name)), server.objects.get(name)
    return known is not None and there is not None and known.uid == there["metadata"]["uid"]


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
        case "absorbed remove" if _knows(informer, server, name):
            informer.absorb_deletion(key(name), server.remove(name))
        case "cut":
            server.cut()
        case "forget":
            server.forget()
        case "tick":
            server.tick()
        case "wait":
            await clock.pass_time(1)


async def test_an_answer_is_taken_in_as_it_came(clock: ManualClock) -> None:
    server = Collection()
    informer = Informer(client_of(server, clock), SCOPE, Head)

    async with following(informer, clock) as changes:
        informer.absorb(orjson.dumps(server.put("a", "1")))
        assert state(informer) == {"a": "1"}
        await settle()

    assert len(changes) == 1
    assert b"managedFields" not in next(iter(informer)).body


async def test_an_answer_that_is_no_object_is_a_failure_of_the_server(
    clock: ManualClock,
) -> None:
    informer = Informer(client_of(Collection(), clock), SCOPE, Head)

    with pytest.raises(errors.ServerFailure, match="is no object"):
        informer.absorb(b"<html>please log in</html>")
