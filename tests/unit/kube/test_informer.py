import pytest

from jobferry.clock import SystemClock
from jobferry.kube import errors
from jobferry.kube.cache import Change
from jobferry.kube.informer import Informer
from jobferry.kube.items import Head
from jobferry.kube.watch import Watching
from jobferry.runtime import supervise
from jobferry.testing.clock import ManualClock, settle
from tests.unit.kube.collection import Collection
from tests.unit.kube.copies import SCOPE, client_of, data, following, key, state


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


async def test_a_list_in_pages_is_whole_and_all_that_is_asked_for_if_so_wished(
    clock: ManualClock,
) -> None:
    server = Collection()
    for number in range(1203):
        server.put(f"o{number}")
    watching = Watching(initial_events=False)
    informer = Informer(client_of(server, clock), SCOPE, Head, watching=watching)

    async with following(informer, clock):
        pass

    assert len(informer) == 1203
    assert not any("sendInitialEvents" in request for request in server.requests)
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


async def test_a_listener_that_fails_keeps_nobody_from_the_rest(clock: ManualClock) -> None:
    server = Collection()
    server.put("bad")
    informer = Informer(client_of(server, clock), SCOPE, Head)
    heard = []

    def fail(change: Change[Head]) -> None:
        if change.item.key.name == "bad":
            raise ValueError("no such quantity")

    informer.listen(fail)
    informer.listen(lambda change: heard.append(change.item.key.name))
    async with following(informer, clock):
        server.put("good")
        await settle()
        informer.listen(fail)

    assert informer.synced.is_set()
    assert heard == ["bad", "good"]


async def test_what_was_forgotten_is_listed_at_once_whatever_failed_before(
    clock: ManualClock,
) -> None:
    server = Collection()
    informer = Informer(client_of(server, clock), SCOPE, Head)

    async with following(informer, clock):
        server.failures = [(500, "InternalError")] * 4
        server.cut()
        await settle()
        while server.failures:
            await clock.pass_time(0.1)
        server.put("a")
        server.forget()
        server.failures = []
        requests = len(server.requests)
        while len(server.requests) == requests:  # the 410
            await clock.pass_time(0.1)
        await settle()

        assert state(informer) == {"a": ""}


async def test_a_server_that_is_heard_again_after_silence_is_followed_at_once(
    clock: ManualClock,
) -> None:
    server = Collection()
    client = client_of(server, clock)
    informer = Informer(client, SCOPE, Head)

    async with following(informer, clock):
        server.failures = [(500, "InternalError")] * 9
        server.cut()
        await clock.pass_time(10)
        assert not informer.freshness().is_following
        server.failures = []
        client.hearing.miss()

        client.hearing.hear(200)
        await settle()

        assert informer.freshness().is_following
