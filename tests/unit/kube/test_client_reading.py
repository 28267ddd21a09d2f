import asyncio
import gzip
from typing import Any

import orjson
import pytest

from jobferry.kube import calls, errors
from jobferry.kube.calls import Scope
from jobferry.kube.resources import NODES, PODS
from jobferry.kube.wire import LONGEST_LIST, LONGEST_OBJECT, Answer
from jobferry.testing.clock import ManualClock
from tests.unit.kube.wires import LOST, OK, READ, Reading, Wire, client_over, status

# -- streams -----------------------------------------------------------------------------------


async def test_a_stream_is_read_while_it_comes_in() -> None:
    wire = Wire(Reading(200, [b"one", b"two"]))
    call = calls.logs(PODS, "p", "ns")

    async with client_over(wire).stream(call) as stream:
        assert [await stream.read() for _ in range(3)] == [b"one", b"two", b""]

    assert ("Accept", "*/*") in wire.requests[0].headers
    assert wire.log == ["opened", "left"]


async def test_a_stream_that_is_an_error_is_raised_with_what_it_says() -> None:
    said = status(410, "Expired").body
    wire = Wire(Reading(410, [said[:9], said[9:]]))

    with pytest.raises(errors.Expired, match=r"^east: GET /api/v1/nodes/n: no: Expired$"):
        async with client_over(wire).stream(READ):
            raise AssertionError("there is nothing to read")

    assert wire.log == ["opened", "left"]


async def test_an_error_whose_words_are_cut_short_is_told_by_its_code() -> None:
    wire = Wire(Reading(403, [b"not all", LOST]))

    with pytest.raises(errors.Forbidden, match="HTTP 403: not all"):
        async with client_over(wire).stream(READ):
            pass


async def test_an_error_whose_words_never_end_is_told_in_time() -> None:
    clock, wire = ManualClock(), Wire(Reading(403, [b"and so on", None]))

    async def open_stream() -> None:
        async with client_over(wire, clock=clock).stream(READ):
            pass

    opening = asyncio.create_task(open_stream())
    await clock.pass_time(30)

    with pytest.raises(errors.Forbidden, match="and so on"):
        await opening
    assert wire.log == ["opened", "left"]


async def test_a_stream_that_cannot_be_opened_says_where() -> None:
    with pytest.raises(
        errors.Unreachable, match=r"^east: GET /api/v1/nodes/n: the server closed"
    ):
        async with client_over(Wire(LOST)).stream(READ):
            pass


async def test_a_stream_that_is_cut_short_says_where() -> None:
    async with client_over(Wire(Reading(200, [b"one", LOST]))).stream(READ) as stream:
        assert await stream.read() == b"one"
        with pytest.raises(errors.Unreachable, match=f"^east: GET /api/v1/nodes/n: {LOST}$"):
            await stream.read()


async def test_what_is_raised_in_the_block_of_a_stream_is_left_alone() -> None:
    wire = Wire(Reading(200, []))
    mine = errors.Unreachable("another cluster")

    with pytest.raises(errors.Unreachable) as caught:
        async with client_over(wire).stream(READ):
            raise mine

    assert caught.value is mine
    assert len(wire.requests) == 1


# -- lists -------------------------------------------------------------------------------------


def page(*names: str, resume: str | None = None, version: str = "7") -> Answer:
    items = [{"metadata": {"name": name}} for name in names]
    meta = {"resourceVersion": version, "continue": resume}
    return Answer(200, {}, orjson.dumps({"metadata": meta, "items": items}))


def names_in(items: list[dict[str, Any]]) -> list[str]:
    return [item["metadata"]["name"] for item in items]


async def test_a_collection_is_read_page_by_page() -> None:
    wire = Wire(page("a", "b", resume="x"), page("c", "d", resume="y"), page("e"))

    listing = await client_over(wire).list(Scope(resource=NODES), page=2)

    assert names_in(listing.items) == ["a", "b", "c", "d", "e"]
    assert listing.resource_version == "7"
    assert [request.target for request in wire.requests] == [
        "/api/v1/nodes?limit=2",
        "/api/v1/nodes?limit=2&continue=x",
        "/api/v1/nodes?limit=2&continue=y",
    ]


async def test_a_list_that_expires_half_way_is_read_again_in_one_go() -> None:
    wire = Wire(page("a", resume="x"), status(410, "Expired"), page("a", "b", "c", version="9"))

    listing = await client_over(wire).list(Scope(resource=NODES), page=1)

    assert names_in(listing.items) == ["a", "b", "c"]
    assert listing.resource_version == "9"
    assert wire.requests[-1].target == "/api/v1/nodes"


async def test_a_list_that_expires_even_in_one_go_is_told() -> None:
    wire = Wire(status(410, "Expired"), status(410, "Expired"))

    with pytest.raises(errors.Expired):
        await client_over(wire).list(Scope(resource=NODES))

    assert len(wire.requests) == 2


async def test_a_page_is_asked_for_again_where_its_connection_was_lost() -> None:
    clock, wire = ManualClock(), Wire(page("a", resume="x"), LOST, page("b"))

    listing = asyncio.create_task(
        client_over(wire, clock=clock).list(Scope(resource=NODES), page=1)
    )
    await clock.pass_time(1)

    assert names_in((await listing).items) == ["a", "b"]


@pytest.mark.parametrize("items", [None, []])
async def test_a_list_of_nothing_is_empty_however_that_is_written(items: Any) -> None:
    body = orjson.dumps({"metadata": {"resourceVersion": "7"}, "items": items})

    listing = await client_over(Wire(Answer(200, {}, body))).list(Scope(resource=NODES))

    assert listing.items == []


@pytest.mark.parametrize("body", [b"{}", b"[]", b"7", b'{"metadata": {}, "items": []}'])
async def test_an_answer_that_is_no_list_is_told(body: bytes) -> None:
    with pytest.raises(errors.ServerFailure, match=r"^east: GET /api/v1/nodes: not a list$"):
        await client_over(Wire(Answer(200, {}, body))).list(Scope(resource=NODES))


async def test_a_compressed_answer_is_unpacked() -> None:
    plain = page("a", "b")
    wire = Wire(Answer(200, {"content-encoding": "gzip"}, gzip.compress(plain.body)))

    listing = await client_over(wire).list(Scope(resource=NODES))

    assert names_in(listing.items) == ["a", "b"]
    assert ("Accept-Encoding", "gzip") in wire.requests[0].headers


@pytest.mark.parametrize(
    ("body", "said"),
    [(b"{}", "cannot be unpacked"), (gzip.compress(b"{}")[:-4], "cut short")],
)
async def test_an_answer_that_cannot_be_unpacked_is_told(body: bytes, said: str) -> None:
    wire = Wire(Answer(200, {"content-encoding": "gzip"}, body))

    with pytest.raises(errors.ServerFailure, match=f"east: GET .*{said}"):
        await client_over(wire).json(READ)


async def test_a_small_answer_that_unpacks_to_a_huge_one_is_not_unpacked() -> None:
    bomb = gzip.compress(bytes(LONGEST_OBJECT + 1))
    wire = Wire(Answer(200, {"content-encoding": "gzip"}, bomb))

    with pytest.raises(errors.TooLong, match="unpacks to more than 16777216 bytes"):
        await client_over(wire).json(READ)
    assert len(wire.requests) == 1


async def test_a_list_may_be_longer_than_an_object() -> None:
    wire = Wire(page("a"), OK)
    client = client_over(wire)

    await client.list(Scope(resource=NODES))
    await client.json(READ)

    assert [request.longest for request in wire.requests] == [LONGEST_LIST, LONGEST_OBJECT]


async def test_an_error_that_goes_on_and_on_is_told_by_its_beginning() -> None:
    wire = Wire(Reading(403, [b"and so on " * 1000] * 1000))

    with pytest.raises(errors.Forbidden, match="HTTP 403: and so on") as caught:
        async with client_over(wire).stream(READ):
            pass
    assert len(str(caught.value)) < 1000
