"""localkube is killed (SIGKILL) all the time while clients write and watch: nothing acknowledged is lost."""

import asyncio
from random import Random

import orjson
import pytest

from jobferry.clock import sleep
from jobferry.testing import assets
from jobferry.testing.control_plane import ControlPlane
from tests.api.crash_writers import CLOCK, NAMESPACE, PATH, Ledger, Watcher, Way, Writer

WRITERS = 4


async def namespace_ids(way: Way) -> dict[str, str]:
    answer = await way.insist("GET", "/api/v1/namespaces")
    items = orjson.loads(answer.body)["items"]
    return {each["metadata"]["name"]: each["metadata"]["uid"] for each in items}


@pytest.mark.parametrize(
    "kills",
    [
        pytest.param(10, marks=pytest.mark.timeout(180)),
        pytest.param(200, marks=[pytest.mark.soak, pytest.mark.timeout(3600)]),
    ],
)
async def test_nothing_acknowledged_is_lost_though_the_server_is_killed_all_the_time(
    kills: int,
) -> None:
    rng = Random(kills)
    async with ControlPlane(version=assets.LOCALKUBE, fsync=True) as plane:
        way = Way(plane)
        assert (await way.insist("POST", "/api/v1/namespaces", _named(NAMESPACE))).code == 201
        ids = await namespace_ids(way)
        assert {"default", "kube-system", "kube-public", "kube-node-lease"} <= ids.keys()
        version = await list_version(way)
        ledger, end = Ledger(), asyncio.Event()
        ways = [Way(plane) for _ in range(WRITERS + 3)]
        writers = [
            Writer(each, ledger, Random(rng.random()), number)
            for number, each in enumerate(ways[:WRITERS])
        ]
        watchers = [
            Watcher(each, version, bookmarks=number > 0)
            for number, each in enumerate(ways[WRITERS:])
        ]
        async with asyncio.TaskGroup() as tasks:
            writing = [tasks.create_task(each.run(end)) for each in writers]
            watching = [tasks.create_task(each.run()) for each in watchers]
            for _ in range(kills):
                await sleep(CLOCK, rng.choice((0.0, 0.02, 0.1, 0.3, 0.6)) * rng.random())
                await asyncio.to_thread(plane.kill)
                await asyncio.to_thread(plane.restart)
                assert await namespace_ids(way) == ids
            end.set()
            await asyncio.wait(writing)
            version = await list_version(way)
            async with asyncio.timeout(30):
                # Not all saw the last change: what comes now, they do.
                await way.insist("POST", PATH, {**_named("last"), "data": {"serial": "last"}})
                for each in watchers:
                    await each.reach(version + 1)
            for task in watching:
                task.cancel()
        for writer in writers:
            await writer.check()
        assert version >= ledger.highest
        await compare(way, ledger, watchers)
        assert len(ledger.written) > kills, "hardly anything was written"
        assert all(watcher.resumed >= kills // 4 for watcher in watchers)
        for used in (way, *ways):
            await used.close()


async def compare(way: Way, ledger: Ledger, watchers: list[Watcher]) -> None:
    """What watchers saw is what writers were told, and what is there."""
    items = orjson.loads((await way.insist("GET", PATH)).body)["items"]
    there = {each["metadata"]["name"]: each for each in items}
    for watcher in watchers:
        assert not watcher.wrong
        assert ledger.written <= watcher.written, "an acknowledged write was not seen"
        assert ledger.deleted <= watcher.deleted, "an acknowledged deletion was not seen"
        seen = {
            name: {key: obj[key] for key in obj if key not in ("kind", "apiVersion")}
            for name, obj in watcher.copy.items()
        }
        assert seen == there


async def list_version(way: Way) -> int:
    answer = await way.insist("GET", PATH)
    return int(orjson.loads(answer.body)["metadata"]["resourceVersion"])


def _named(name: str) -> dict[str, dict[str, str]]:
    return {"metadata": {"name": name}}
