import orjson
import pytest

from jobferry.kube.informer import Freshness, Informer
from jobferry.kube.items import Head, Item
from jobferry.testing.clock import ManualClock, settle
from tests.unit.kube.collection import Collection
from tests.unit.kube.copies import SCOPE, client_of, data, following, key, state


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


class Told(Head, frozen=True):
    """What a ConfigMap says, if it says it as it should."""

    data: dict[str, str]


def telling(server: Collection, clock: ManualClock) -> Informer[Head]:
    """Return an informer that wants all objects to say something."""
    head: type[Head] = Told
    return Informer(client_of(server, clock), SCOPE, head)


def spoil(server: Collection, name: str) -> None:
    """Let an object say what nobody expects."""
    obj = server.put(name)
    obj["data"] = {"is": ["several", "things"]}


def bury(server: Collection, name: str) -> None:
    """Let an object say something at a depth that an API server takes, and decoders do not."""
    obj = server.put(name)
    obj["data"] = orjson.Fragment(b'{"in":' * 9000 + b'"[\\"{"' + b"}" * 9000)


@pytest.mark.parametrize("has_watch_list", [True, False])
async def test_an_object_that_makes_no_sense_keeps_us_from_no_other(
    clock: ManualClock, has_watch_list: bool, caplog: pytest.LogCaptureFixture
) -> None:
    server = Collection(has_watch_list=has_watch_list)
    server.put("a")
    spoil(server, "bad")
    server.put("c", "1")
    informer = telling(server, clock)

    async with following(informer, clock):
        assert [record.message for record in caplog.records] == ["Object skipped"]
        server.put("c", "2")
        await settle()
        assert {item.key.name: data(item) for item in informer} == {"a": "", "c": "2"}

        server.put("bad", "good")
        await settle()
        assert informer.get(key("bad")) is not None
    assert informer.skipped == 1


@pytest.mark.parametrize("has_watch_list", [True, False])
async def test_what_was_known_of_an_object_that_makes_no_sense_any_more_stays_until_it_is_gone(
    clock: ManualClock, has_watch_list: bool
) -> None:
    server = Collection(has_watch_list=has_watch_list)
    server.put("a", "1")
    informer = telling(server, clock)

    async with following(informer, clock) as changes:
        spoil(server, "a")
        await settle()
        server.forget()
        server.tick()
        server.cut()
        await clock.pass_time(1)
        assert [data(item) for item in informer] == ["1"]
        assert changes == []

        server.remove("a")
        await settle()
        assert len(informer) == 0


@pytest.mark.parametrize("has_watch_list", [True, False])
async def test_an_object_that_is_nested_deeper_than_anybody_can_read_keeps_us_from_no_other(
    clock: ManualClock, has_watch_list: bool
) -> None:
    server = Collection(has_watch_list=has_watch_list)
    server.put("a", "1")
    bury(server, "deep")
    server.put("c")
    informer: Informer[Head] = Informer(client_of(server, clock), SCOPE, Head)

    async with following(informer, clock) as changes:
        assert {item.key.name for item in informer} == {"a", "c"}
        bury(server, "a")
        bury(server, "later")
        server.put("c", "2")
        await settle()
        assert state(informer) == {"a": "1", "c": "2"}

        server.remove("a")
        server.put("deep", "shallow")
        await settle()
        assert state(informer) == {"c": "2", "deep": "shallow"}
        assert informer.freshness().is_following
    assert len(changes) == 3


async def test_whoever_fails_on_an_object_keeps_us_from_no_other(clock: ManualClock) -> None:
    server = Collection()
    server.put("a")
    server.put("bad")

    def fail(name: str) -> str:
        if name == "bad":
            raise ValueError("never seen such a thing")
        return name

    def keep(head: Head) -> bool:
        return bool(fail(head.metadata.name))

    def transform(body: bytes) -> bytes:
        return fail("bad").encode() if b'"bad"' in body else body

    def index(item: Item[Head]) -> list[str]:
        return [fail(item.key.name)]

    for informer in (
        Informer(client_of(server, clock), SCOPE, Head, keep=keep),
        Informer(client_of(server, clock), SCOPE, Head, transform=transform),
        Informer(client_of(server, clock), SCOPE, Head, indexes={"name": index}),
    ):
        async with following(informer, clock):
            assert informer.get(key("a")) is not None
            server.put("bad")
            await settle()
            assert informer.freshness().is_following


async def test_whoever_fails_on_news_of_the_link_does_not_end_it(clock: ManualClock) -> None:
    server = Collection()
    informer = Informer(client_of(server, clock), SCOPE, Head)

    def fail(_: Freshness) -> None:
        raise ValueError("never seen such a thing")

    informer.listen_to_link(fail)

    async with following(informer, clock):
        assert informer.freshness().is_following
