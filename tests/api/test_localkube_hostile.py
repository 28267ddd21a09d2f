"""What once broke localkube, or could have; and what time does to it."""

import asyncio
import base64
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import orjson
import pytest

from jobferry.localkube.apiserver.server import Settings, serve
from jobferry.testing.clock import ManualClock
from tests.api import fuzz_server
from tests.api.fuzz_patches import APPLY, JSON_PATCH, STRATEGIC
from tests.api.fuzz_requests import JSON
from tests.api.fuzz_server import Ask, Complaints, FuzzServer
from tests.api.test_localkube_races import CRDS, MAPS, asking, definition, named, until


@pytest.fixture
async def fuzzed(tmp_path: Path) -> AsyncIterator[FuzzServer]:
    async with fuzz_server.running(tmp_path) as found:
        yield found
    assert not found.wrong, found.wrong[:3]
    assert not found.complaints.found, found.complaints.found[:3]


async def test_a_watch_begins_with_what_came_since_its_version(fuzzed: FuzzServer) -> None:
    first = (await fuzzed.ask(asking("POST", MAPS, named("a")))).object()
    await fuzzed.ask(asking("POST", MAPS, named("b")))
    version = first["metadata"]["resourceVersion"]
    reply = await fuzzed.ask(Ask("GET", f"{MAPS}?watch=1&resourceVersion={version}"))
    (event,) = map(orjson.loads, reply.body.splitlines())
    assert (event["type"], event["object"]["metadata"]["name"]) == ("ADDED", "b")


async def test_a_limit_below_zero_is_none(fuzzed: FuzzServer) -> None:
    for name in ("a", "b", "c"):
        await fuzzed.ask(asking("POST", MAPS, named(name)))
    reply = await fuzzed.ask(Ask("GET", f"{MAPS}?limit=-1"))
    assert len(reply.object()["items"]) == 3


async def test_a_definition_takes_strategic_patches(fuzzed: FuzzServer) -> None:
    await fuzzed.ask(asking("POST", CRDS, definition()))
    patch = {"metadata": {"labels": {"a": "b"}}}
    path = f"{CRDS}/things.race.example.com"
    reply = await fuzzed.ask(asking("PATCH", path, patch, STRATEGIC))
    assert reply.code == 200
    assert reply.object()["metadata"]["labels"] == {"a": "b"}


@pytest.mark.parametrize("field", ["apiVersion", "kind"])
async def test_a_configuration_whose_kind_is_no_text_is_refused(
    fuzzed: FuzzServer, field: str
) -> None:
    config: Any = {"apiVersion": "v1", "kind": "ConfigMap", **named("a"), field: [1]}
    reply = await fuzzed.ask(asking("PATCH", f"{MAPS}/a?fieldManager=m", config, APPLY))
    assert reply.code == 400


async def test_copies_of_itself_do_not_make_an_object_too_deep(fuzzed: FuzzServer) -> None:
    crd = definition()
    schema = crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    schema["x-kubernetes-preserve-unknown-fields"] = True
    await fuzzed.ask(asking("POST", CRDS, crd))
    things = "/apis/race.example.com/v1/namespaces/default/things"
    await until(fuzzed, things, 200)
    thing = {"apiVersion": "race.example.com/v1", "kind": "Thing", **named("a"), "x": {}}
    assert (await fuzzed.ask(asking("POST", things, thing))).code == 201
    copies = [
        {"op": "copy", "from": "/x", "path": "/y"},
        {"op": "copy", "from": "/y", "path": "/x/y"},
    ]
    reply = await fuzzed.ask(asking("PATCH", f"{things}/a", copies * 250, JSON_PATCH))
    assert reply.code in (400, 413)
    assert (await fuzzed.ask(Ask("GET", f"{things}/a"))).code == 200


async def test_names_that_nobody_knows_are_not_counted_one_by_one(fuzzed: FuzzServer) -> None:
    for number in range(20):
        await fuzzed.ask(Ask("GET", f"/apis/unheard{number}/v1/of{number}", anonymous=True))
        await fuzzed.ask(Ask("GET", f"/api/v1/namespaces/default/pods/a/unheard{number}"))
    metrics = (await fuzzed.ask(Ask("GET", "/metrics"))).body
    assert b"apiserver_request_total" in metrics
    assert b"unheard" not in metrics


async def test_a_token_for_more_that_is_no_text_is_no_failure(fuzzed: FuzzServer) -> None:
    text = b'{"v":"meta.k8s.io/v1","rv":1,"start":"/a\xd2"}'
    token = base64.urlsafe_b64encode(text).decode().rstrip("=")
    reply = await fuzzed.ask(Ask("GET", f"{MAPS}?limit=1&continue={token}"))
    assert reply.code in (200, 400, 410)


# -- time ---------------------------------------------------------------------------------------------


@pytest.fixture
async def timed(tmp_path: Path) -> AsyncIterator[tuple[FuzzServer, ManualClock]]:
    clock = ManualClock()
    async with serve(Settings(folder=tmp_path, in_memory=True), clock) as server:
        yield FuzzServer(server, Complaints()), clock


async def test_a_token_ends_with_its_time(timed: tuple[FuzzServer, ManualClock]) -> None:
    fuzzed, clock = timed
    accounts = "/api/v1/namespaces/default/serviceaccounts"
    await fuzzed.ask(asking("POST", accounts, named("a")))
    made = await fuzzed.ask(
        asking("POST", f"{accounts}/a/token", {"spec": {"expirationSeconds": 600}})
    )
    token = made.object()["status"]["token"]
    ask = Ask("GET", "/api", b"", (("Authorization", f"Bearer {token}"),), anonymous=True)
    clock.advance(599)
    assert (await fuzzed.ask(ask)).code == 200
    clock.advance(60)  # a minute of leeway, as upstream
    assert (await fuzzed.ask(ask)).code == 200
    clock.advance(2)
    assert (await fuzzed.ask(ask)).code == 401


async def test_a_watch_ends_with_its_time(timed: tuple[FuzzServer, ManualClock]) -> None:
    fuzzed, clock = timed
    before = fuzzed.watches
    ask = Ask(
        "GET", f"{MAPS}?watch=1&timeoutSeconds=50&resourceVersion=0", b"", (("Accept", JSON),)
    )
    never = asyncio.Event()
    heard: list[Any] = []

    async def receive() -> dict[str, Any]:
        await never.wait()
        raise AssertionError

    async def send(message: Any) -> None:
        heard.append(message)

    watching = asyncio.ensure_future(fuzzed.server.app(fuzz_server.scope(ask), receive, send))
    while len(heard) < 2:
        await asyncio.wait((watching,), timeout=0.01)
    clock.advance(49)
    await asyncio.wait((watching,), timeout=0.05)
    assert not watching.done()
    clock.advance(1)
    await watching
    assert heard[-1].get("more_body") is not True
    assert fuzzed.watches == before
