"""What Jobferry's Kubernetes client costs beside others, on a real API server (`make bench`).

Every contender lists Jobs into a cache, watches an update of each, and sends status patches. Each does so
in processes of its own, in turn, for several rounds; what counts is their CPU time and memory.
"""

import asyncio
import importlib.util
import sys
from argparse import Namespace
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass, replace
from importlib import metadata
from itertools import count
from pathlib import Path

import msgspec

from bench import command, contenders, contest, jobs, report
from bench.command import Failed, Found, say
from bench.run import FILLED, Figures, Task, Work
from jobferry.clock import SystemClock
from jobferry.errors import BadInput
from jobferry.kube.client import Client, connect
from jobferry.testing.control_plane import ControlPlane

WITHIN = 600.0
"""Seconds after which a process is given up."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sizes:
    """How much is measured."""

    objects: int = 10_000
    patches: int = 2_000
    at_once: int = 8
    """Patches in flight."""

    rounds: int = 3


FULL = Sizes()
QUICK = Sizes(objects=200, patches=50, rounds=1)

ENOUGH = 1_000
"""With fewer Jobs, what is paid once hides what each of them costs."""


class Bench:
    """Runs contenders against one API server; `client` writes what they watch."""

    def __init__(self, client: Client, kubeconfig: Path, sizes: Sizes) -> None:
        self._client = client
        self._kubeconfig = kubeconfig
        self._sizes = sizes
        self._serials = count(1)

    async def run(self, names: Sequence[str]) -> dict[str, list[Figures]]:
        """Measure every contender in every round; each round begins with another."""
        say(f"Creating {self._sizes.objects} Jobs.")
        await jobs.create(self._client, self._sizes.objects)
        rounds: dict[str, list[Figures]] = {name: [] for name in names}
        for number in range(self._sizes.rounds):
            first = number % len(names)
            for name in [*names[first:], *names[:first]]:
                say(f"Round {number + 1} of {self._sizes.rounds}: {name}.")
                figures = await self._cache(name) | await self._replay(name)
                rounds[name].append(figures | await self._patch(name))
        return rounds

    async def _cache(self, contender: str) -> Figures:
        task = self._task("cache", contender, self._sizes.objects)
        async with _process(task) as (_, output):
            if await output.readline() != FILLED:
                raise Failed(f"{contender}: could not list the Jobs")
            await jobs.update(self._client, task.count, task.serial)
            return _figures(contender, await output.readline())

    async def _replay(self, contender: str) -> Figures:
        task = self._task("replay", contender, self._sizes.objects)
        async with _process(task) as (given, output):
            if await output.readline() != FILLED:
                raise Failed(f"{contender}: could not list the Jobs")
            await jobs.update(self._client, task.count, task.serial)
            given.write(b"go\n")
            return _figures(contender, await output.readline())

    async def _patch(self, contender: str) -> Figures:
        task = self._task("patch", contender, self._sizes.patches)
        async with _process(task) as (_, output):
            return _figures(contender, await output.readline())

    def _task(self, work: Work, contender: str, size: int) -> Task:
        return Task(
            work=work,
            contender=contender,
            kubeconfig=str(self._kubeconfig),
            count=size,
            serial=next(self._serials),
            at_once=self._sizes.at_once,
        )


@asynccontextmanager
async def _process(
    task: Task,
) -> AsyncIterator[tuple[asyncio.StreamWriter, asyncio.StreamReader]]:
    """Start a process that does a task, and give what it reads and what it prints."""
    command = [sys.executable, "-m", "bench.run", msgspec.json.encode(task).decode()]
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(*command, stdin=pipe, stdout=pipe)
    assert process.stdin is not None  # noqa: S101 (it is a pipe)
    assert process.stdout is not None  # noqa: S101 (so is this)
    try:
        async with asyncio.timeout(WITHIN):
            yield process.stdin, process.stdout
            await process.wait()
    except TimeoutError:
        raise Failed(f"{task.contender}: not done after {WITHIN:g} s") from None
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


def _figures(contender: str, line: bytes) -> Figures:
    if not line:
        raise Failed(f"{contender}: ended without a result; its own words are above")
    return msgspec.json.decode(line, type=Figures)


async def measure(names: Sequence[str], sizes: Sizes) -> Found:
    """Start a control plane, run the contenders on it, and return everything there is to know."""
    async with (
        ControlPlane() as plane,
        connect(plane.access(), name="bench", clock=SystemClock()) as client,
    ):
        rounds = await Bench(client, plane.kubeconfig_file, sizes).run(names)
        return {
            "kubernetes": plane.version,
            "versions": {name: metadata.version(name) for name in contenders.packages(names)},
            "sizes": asdict(sizes),
            "rounds": rounds,
            "medians": report.medians(rounds),
        }


def _shown(found: Found) -> str:
    sizes, rounds = found["sizes"], found["rounds"]
    versions = ", ".join(f"{name} {version}" for name, version in found["versions"].items())
    what = f"{sizes['objects']} Jobs; {sizes['patches']} patches, {sizes['at_once']} in flight"
    lines = [
        f"{versions}.",
        command.machine(found),
        f"{what}.",
        "",
        report.table(rounds),
        "",
    ]
    if sizes["objects"] < ENOUGH:
        return "\n".join([*lines, "Too few Jobs to judge by."])
    return "\n".join([*lines, *map(str, report.verdicts(rounds))])


def _arguments(argv: Sequence[str] | None) -> Namespace:
    parser = contest.parser("client")
    parser.add_argument("--objects", type=int, metavar="N", help="Jobs to list and to update")
    parser.add_argument("--only", nargs="+", choices=contenders.NAMES, default=contenders.NAMES)
    return parser.parse_args(argv)


def _sizes(arguments: Namespace) -> Sizes:
    sizes = QUICK if arguments.quick else FULL
    objects = arguments.objects or sizes.objects
    return replace(
        sizes,
        objects=objects,
        patches=min(sizes.patches, objects),
        rounds=arguments.rounds or sizes.rounds,
    )


def _need(names: Sequence[str]) -> None:
    needed = contenders.packages(names)
    if absent := [name for name in needed if importlib.util.find_spec(name) is None]:
        raise BadInput(
            f"not installed here: {', '.join(absent)}",
            hint="`make bench` runs this where they are.",
        )


def main(argv: Sequence[str] | None = None) -> int:
    """Measure and print; fails only if something did not work, whatever the figures are."""
    arguments = _arguments(argv)

    async def measured() -> Found:
        _need(arguments.only)
        return await measure(arguments.only, _sizes(arguments))

    return command.run(measured, _shown, arguments.json)


if __name__ == "__main__":
    sys.exit(main())
