"""Many clients of localkube at once, who want the same things; the disk is real, so writes overlap."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import orjson
import pytest

from jobferry.clock import SystemClock, sleep
from tests.api import fuzz_server
from tests.api.fuzz_patches import APPLY, MERGE
from tests.api.fuzz_requests import JSON
from tests.api.fuzz_server import Ask, FuzzServer, Reply

CORE = "/api/v1/namespaces/default"
MAPS = f"{CORE}/configmaps"
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


@pytest.fixture
async def fuzzed(tmp_path: Path) -> AsyncIterator[FuzzServer]:
    async with fuzz_server.running(tmp_path, in_memory=False) as found:
        yield found
    assert not found.wrong, found.wrong[:3]
    assert not found.complaints.found, found.complaints.found[:3]


def asking(method: str, path: str, body: Any = None, kind: str = JSON) -> Ask:
    sent = b"" if body is None else orjson.dumps(body)
    return Ask(method, path, sent, (("Content-Type", kind),) if sent else ())


async def at_once(fuzzed: FuzzServer, *asks: Ask) -> list[Reply]:
    return await asyncio.gather(*map(fuzzed.ask, asks))


def named(name: str, **more: Any) -> dict[str, Any]:
    return {"metadata": {"name": name}, **more}


async def test_patches_without_a_version_all_count(fuzzed: FuzzServer) -> None:
    await fuzzed.ask(asking("POST", MAPS, named("a")))
    asks = [asking("PATCH", f"{MAPS}/a", {"data": {f"k{n}": "x"}}, MERGE) for n in range(60)]
    codes = Counter(reply.code for reply in await at_once(fuzzed, *asks))
    found = (await fuzzed.ask(Ask("GET", f"{MAPS}/a"))).object()
    # As upstream, a patch that met too many others gives up with 409.
    assert set(codes) <= {200, 409}
    assert len(found["data"]) == codes[200] > 0


async def test_of_updates_from_the_same_version_one_counts(fuzzed: FuzzServer) -> None:
    made = (await fuzzed.ask(asking("POST", MAPS, named("a")))).object()
    asks = [asking("PUT", f"{MAPS}/a", {**made, "data": {"n": str(n)}}) for n in range(40)]
    replies = await at_once(fuzzed, *asks)
    assert Counter(reply.code for reply in replies) == {200: 1, 409: 39}
    winner = next(reply.object() for reply in replies if reply.code == 200)
    assert (await fuzzed.ask(Ask("GET", f"{MAPS}/a"))).object() == winner


async def test_generated_names_are_all_different(fuzzed: FuzzServer) -> None:
    asks = [asking("POST", MAPS, {"metadata": {"generateName": "a-"}})] * 190
    replies = await at_once(fuzzed, *asks)
    assert Counter(reply.code for reply in replies) == {201: 190}
    assert len({reply.object()["metadata"]["name"] for reply in replies}) == 190


async def test_what_is_created_and_deleted_at_once_is_there_or_not(fuzzed: FuzzServer) -> None:
    for _ in range(5):
        asks = [asking("POST", MAPS, named("a")), Ask("DELETE", f"{MAPS}/a")] * 40
        codes = Counter(reply.code for reply in await at_once(fuzzed, *asks))
        assert set(codes) <= {200, 201, 404, 409}
        there = (await fuzzed.ask(Ask("GET", f"{MAPS}/a"))).code == 200
        assert codes[201] - codes[200] == there
        await fuzzed.ask(Ask("DELETE", f"{MAPS}/a"))


async def test_nothing_is_created_in_a_namespace_after_it_was_deleted(
    fuzzed: FuzzServer,
) -> None:
    await fuzzed.ask(asking("POST", "/api/v1/namespaces", named("going")))
    maps = "/api/v1/namespaces/going/configmaps"
    creating = [asking("POST", maps, named(f"m{n}")) for n in range(60)]
    before, after = creating[:30], creating[30:]
    replies = await at_once(fuzzed, *before, Ask("DELETE", "/api/v1/namespaces/going"), *after)
    assert {reply.code for reply in replies} <= {200, 201, 403}
    late = await at_once(fuzzed, *(asking("POST", maps, named(f"n{n}")) for n in range(10)))
    assert {reply.code for reply in late} == {403}
    listed = (await fuzzed.ask(Ask("GET", maps))).object()["items"]
    assert len(listed) == sum(reply.code == 201 for reply in replies)


def definition() -> dict[str, Any]:
    version = {
        "name": "v1",
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": {"type": "object"}},
    }
    return named(
        "things.race.example.com",
        spec={
            "group": "race.example.com",
            "scope": "Namespaced",
            "names": {"plural": "things", "kind": "Thing"},
            "versions": [version],
        },
    )


async def test_a_definition_that_goes_takes_all_its_objects_with_it(fuzzed: FuzzServer) -> None:
    path, own = (
        f"{CRDS}/things.race.example.com",
        "/apis/race.example.com/v1/namespaces/default/things",
    )
    storage = fuzzed.server.backend.storage
    made = 0
    for _ in range(15):
        assert (await fuzzed.ask(asking("POST", CRDS, definition()))).code == 201
        await until(fuzzed, own, 200)
        things = [
            asking(
                "POST",
                own,
                {**named(f"t{n}"), "apiVersion": "race.example.com/v1", "kind": "Thing"},
            )
            for n in range(21)
        ]
        # The first of its kind takes longer: all others would come too late.
        assert (await fuzzed.ask(things.pop())).code == 201
        replies = await at_once(fuzzed, *things[:10], Ask("DELETE", path), *things[10:])
        made += sum(reply.code == 201 for reply in replies)
        assert {reply.code for reply in replies} <= {200, 201, 404, 405, 403}
        await until(fuzzed, path, 404)
        assert not storage.range("/custom/race.example.com/things/").entries
    assert made > 15


async def until(fuzzed: FuzzServer, path: str, code: int) -> None:
    async with asyncio.timeout(10):
        while (await fuzzed.ask(Ask("GET", path))).code != code:
            await sleep(SystemClock(), 0.01)


async def test_no_more_is_created_than_a_quota_allows(fuzzed: FuzzServer) -> None:
    hard = {"count/configmaps": "5"}
    quotas = f"{CORE}/resourcequotas"
    await fuzzed.ask(asking("POST", quotas, named("q", spec={"hard": hard})))
    status = {"status": {"hard": hard, "used": {"count/configmaps": "0"}}}
    reply = await fuzzed.ask(asking("PATCH", f"{quotas}/q/status", status, MERGE))
    assert reply.code == 200
    replies = await at_once(fuzzed, *(asking("POST", MAPS, named(f"m{n}")) for n in range(40)))
    assert {reply.code for reply in replies} <= {201, 403, 409}
    assert sum(reply.code == 201 for reply in replies) == 5
    used = (await fuzzed.ask(Ask("GET", f"{quotas}/q"))).object()["status"]["used"]
    assert used == {"count/configmaps": "5"}


async def test_two_who_apply_at_once_both_get_their_fields(fuzzed: FuzzServer) -> None:
    for round_ in range(10):
        path = f"{MAPS}/a{round_}"
        asks = [
            asking(
                "PATCH",
                f"{path}?fieldManager={who}",
                {
                    "apiVersion": "v1",
                    "kind": "ConfigMap",
                    **named(f"a{round_}"),
                    "data": {who: "x"},
                },
                APPLY,
            )
            for who in ("b", "c", "d")
        ]
        replies = await at_once(fuzzed, *asks)
        assert {reply.code for reply in replies} <= {200, 201}
        found = (await fuzzed.ask(Ask("GET", path))).object()
        assert found["data"] == {"b": "x", "c": "x", "d": "x"}
        assert sorted(each["manager"] for each in found["metadata"]["managedFields"]) == [
            "b",
            "c",
            "d",
        ]
