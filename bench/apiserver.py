"""What localkube's API server costs beside etcd and kube-apiserver (`make bench BENCHES=apiserver`).

Both make every write durable before they answer. Each is asked for the same things by the same client, in
turn, for several rounds; what counts is the CPU time of the servers, and how long things take.
"""

import asyncio
import os
import sys
import time
from argparse import Namespace
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import asdict, dataclass, replace

from bench import apiserver_report as report
from bench import command, contest, jobs, processes
from bench.command import Found
from jobferry.clock import SystemClock
from jobferry.kube import calls
from jobferry.kube.calls import Call
from jobferry.kube.client import Client, connect
from jobferry.kube.resources import JOBS
from jobferry.testing import assets
from jobferry.testing.control_plane import ControlPlane

CONTENDERS = (assets.LOCALKUBE, assets.CURRENT)

WRITERS = 32
"""Requests in flight."""

SETTLE = 1.0
"""Seconds after which a server that was just started is idle."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sizes:
    """How much is measured."""

    objects: int = 10_000
    patches: int = 3_000
    gets: int = 5_000
    lists: int = 3
    watchers: int = 100
    changes: int = 300
    """Written while all of them watch."""

    rounds: int = 3


FULL = Sizes()
QUICK = Sizes(objects=100, patches=50, gets=50, lists=1, watchers=5, changes=10, rounds=1)


class Server:
    """One contender, and what it has cost."""

    def __init__(self, version: str) -> None:
        self.plane = ControlPlane(version=version, fsync=True)
        self._programs = ["kube-apiserver"]
        if version != assets.LOCALKUBE:
            self._programs.append("etcd")

    def cpu(self) -> float:
        """Return the CPU seconds of all its processes so far."""
        return sum(processes.usage(self.plane.pid(each)).cpu for each in self._programs)

    def memory(self) -> float:
        """Return the resident memory of all its processes in MB."""
        return sum(processes.usage(self.plane.pid(each)).memory for each in self._programs)

    async def cost(self, do: Callable[[], Awaitable[object]]) -> tuple[float, float]:
        """Return the CPU seconds and the time that something took."""
        cpu, begun = self.cpu(), time.monotonic()
        await do()
        return self.cpu() - cpu, time.monotonic() - begun


async def measure_one(version: str, sizes: Sizes) -> dict[str, float]:
    """Start a contender and ask everything of it."""
    server = Server(version)
    begun = time.monotonic()
    async with server.plane:
        ready = time.monotonic() - begun
        await asyncio.sleep(SETTLE)
        figures = {"ready_s": ready, "idle_mb": server.memory()}
        async with connect(server.plane.access(), name=version, clock=SystemClock()) as client:
            return figures | await _ask(server, client, sizes)


async def _ask(server: Server, client: Client, sizes: Sizes) -> dict[str, float]:
    found: dict[str, float] = {}

    def note(name: str, count: int, cost: tuple[float, float]) -> None:
        found[f"{name}_cpu_us"] = cost[0] / count * 1e6
        found[f"{name}_per_s"] = count / cost[1]

    note("create", sizes.objects, await server.cost(lambda: jobs.create(client, sizes.objects)))
    names = jobs.names(sizes.patches)

    async def patch(name: str) -> None:
        await client.patch(
            JOBS, name, jobs.status(7), namespace=jobs.NAMESPACE, subresource="status"
        )

    cost = await server.cost(lambda: jobs.each(names, patch, at_once=WRITERS))
    note("patch", sizes.patches, cost)
    wanted = [names[number % len(names)] for number in range(sizes.gets)]

    async def get(name: str) -> None:
        await client.send(calls.get(JOBS, name, jobs.NAMESPACE))

    note("get", sizes.gets, await server.cost(lambda: jobs.each(wanted, get, at_once=WRITERS)))

    async def list_all() -> None:
        for _ in range(sizes.lists):
            await client.send(Call("GET", calls.path(JOBS, None, jobs.NAMESPACE)))

    note("list", sizes.lists * sizes.objects, await server.cost(list_all))
    found["full_mb"] = server.memory()
    return found | await _fan_out(server, client, sizes)


async def _fan_out(server: Server, client: Client, sizes: Sizes) -> dict[str, float]:
    """Let many watch while one writes, one change at a time."""
    listing = await client.send(
        Call("GET", calls.path(JOBS, None, jobs.NAMESPACE), {"limit": "1"})
    )
    version = str(_version(listing.body))
    arrivals: list[list[float]] = [[] for _ in range(sizes.watchers)]
    written: list[float] = []
    names = jobs.names(sizes.changes)

    async def watch(seen: list[float]) -> None:
        query = {"watch": "true", "resourceVersion": version}
        call = Call("GET", calls.path(JOBS, None, jobs.NAMESPACE), query)
        async with client.stream(call) as stream:
            while len(seen) < sizes.changes:
                part = await stream.read()
                now = time.monotonic()
                seen.extend([now] * part.count(b"\n"))

    async def write() -> None:
        await asyncio.sleep(SETTLE)
        for name in names:
            await client.patch(
                JOBS, name, jobs.status(9), namespace=jobs.NAMESPACE, subresource="status"
            )
            written.append(time.monotonic())
            await asyncio.sleep(0.01)

    async def both() -> None:
        async with asyncio.TaskGroup() as tasks:
            for seen in arrivals:
                tasks.create_task(watch(seen))
            tasks.create_task(write())

    cpu, _ = await server.cost(both)
    delays = [
        (came - done) * 1e3
        for seen in arrivals
        for came, done in zip(seen, written, strict=False)
    ]
    delays.sort()
    return {
        "fan_out_cpu_us": cpu / (sizes.watchers * sizes.changes) * 1e6,
        "fan_out_p50_ms": delays[len(delays) // 2],
        "fan_out_p95_ms": delays[int(len(delays) * 0.95)],
    }


def _version(body: bytes) -> str:
    rest = body.partition(b'"resourceVersion":"')[2]
    return rest.partition(b'"')[0].decode()


async def measure(sizes: Sizes) -> Found:
    """Measure both in every round; each round begins with the other."""
    # As where it was installed: what Python compiles of it is there from an earlier start.
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    async with ControlPlane(version=assets.LOCALKUBE):
        pass
    found = await contest.hold(CONTENDERS, sizes.rounds, lambda name: measure_one(name, sizes))
    return {**found, "sizes": asdict(sizes)}


def _shown(found: Found) -> str:
    sizes = found["sizes"]
    what = (
        f"{sizes['objects']} Jobs of 4.5 KB; {sizes['watchers']} watchers; fsync on for both; "
        f"{WRITERS} requests in flight (creates: {jobs.WRITERS})."
    )
    rounds = found["rounds"]
    return contest.shown(found, what, report.table(rounds), report.verdicts(rounds))


def _arguments(argv: Sequence[str] | None) -> Namespace:
    parser = contest.parser("apiserver")
    add = parser.add_argument
    add("--objects", type=int, metavar="N", help="Jobs to create and to list")
    return parser.parse_args(argv)


def _sizes(arguments: Namespace) -> Sizes:
    sizes = QUICK if arguments.quick else FULL
    objects = arguments.objects or sizes.objects
    return replace(
        sizes,
        objects=objects,
        patches=min(sizes.patches, objects),
        changes=min(sizes.changes, objects),
        rounds=arguments.rounds or sizes.rounds,
    )


def main(argv: Sequence[str] | None = None) -> int:
    """Measure and print; fails only if something did not work, whatever the figures are."""
    arguments = _arguments(argv)
    return command.run(lambda: measure(_sizes(arguments)), _shown, arguments.json)


if __name__ == "__main__":
    sys.exit(main())
