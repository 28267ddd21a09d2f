"""How many Jobs a second localkube runs, and at what cost, beside a real control plane (`make bench BENCHES=cluster`).

Each Job is one pod that ends at once. localkube runs it as a real process (`true`), or simulates it; the pods of
the real control plane are played by a fake kubelet, which costs it nothing here: what counts is the CPU of the
servers. (That of localkube's process is all it takes to run pods, but for the pods' own.)
"""

import asyncio
import sys
import tempfile
import time
from argparse import Namespace
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path

from bench import cluster_report as report
from bench import command, contest, jobs, processes
from bench.command import Found
from jobferry.clock import SystemClock
from jobferry.kube import kubeconfig
from jobferry.kube.cache import Change
from jobferry.kube.calls import Scope
from jobferry.kube.client import Client, connect
from jobferry.kube.informer import Informer
from jobferry.kube.items import Head
from jobferry.kube.resources import JOBS
from jobferry.local.processes import Cluster
from jobferry.objects import Obj, conditions
from jobferry.runtime import supervise
from jobferry.testing.control_plane import JOB_CONTROLLERS, ControlPlane
from jobferry.testing.fake_kubelet import fake_kubelet

NAMESPACE = "default"
WRITERS = 32

CLOCK = SystemClock()


@dataclass(frozen=True, slots=True, kw_only=True)
class Sizes:
    """How much is measured."""

    jobs: int = 1_000
    simulated: int = 10_000
    """So many of those that are only simulated."""
    rounds: int = 3

    def of(self, contender: str) -> int:
        """Return how many Jobs a contender runs."""
        return self.simulated if contender == report.SIMULATED else self.jobs


FULL = Sizes()
QUICK = Sizes(jobs=20, simulated=20, rounds=1)
SIMULATED_NODES = 20


@dataclass(frozen=True, slots=True)
class Contender:
    """A cluster that runs Jobs, and what it has cost so far."""

    client: Client
    cpu: Callable[[], float]
    memory: Callable[[], float]


@asynccontextmanager
async def localkube(*options: str) -> AsyncIterator[Contender]:
    """Run a cluster of ours."""
    with tempfile.TemporaryDirectory(prefix="jobferry-bench-") as folder:
        cluster = Cluster("bench", Path(folder), clock=CLOCK, options=options)
        await cluster.start()
        try:
            access = kubeconfig.from_file(cluster.folder / "kubeconfig").access(clock=CLOCK)
            async with connect(access, name="localkube", clock=CLOCK) as client:
                yield Contender(
                    client,
                    lambda: processes.usage(cluster.pid).cpu,
                    lambda: processes.usage(cluster.pid).memory,
                )
        finally:
            await cluster.stop()


@asynccontextmanager
async def kubernetes() -> AsyncIterator[Contender]:
    """Run a real control plane, with limits on its clients so high that they do not matter."""
    programs = ("etcd", "kube-apiserver", "kube-controller-manager")
    async with ControlPlane(controllers=JOB_CONTROLLERS, fsync=True) as plane:

        def usages() -> list[processes.Usage]:
            return [processes.usage(plane.pid(each)) for each in programs]

        async with (
            connect(plane.access(), name="kubernetes", clock=CLOCK) as client,
            fake_kubelet(client, bind=True),
        ):
            yield Contender(
                client,
                lambda: sum(each.cpu for each in usages()),
                lambda: sum(each.memory for each in usages()),
            )


CONTENDERS: dict[str, Callable[[], AbstractAsyncContextManager[Contender]]] = {
    report.OURS: localkube,
    report.SIMULATED: partial(localkube, f"--simulate={SIMULATED_NODES}"),
    report.THEIRS: kubernetes,
}


def job(name: str) -> Obj:
    """Return a Job that ends at once."""
    container = {"name": "main", "image": "none", "command": ["true"]}
    pod = {"restartPolicy": "Never", "containers": [container]}
    return {"metadata": {"name": name}, "spec": {"template": {"spec": pod}}}


async def measure_one(name: str, sizes: Sizes) -> dict[str, float]:
    """Let a contender run all Jobs."""
    count = sizes.of(name)
    async with CONTENDERS[name]() as contender:
        idle = contender.memory()
        cpu, begun = contender.cpu(), time.monotonic()
        await _run_all(contender.client, count)
        took = time.monotonic() - begun
        return {
            "jobs_per_s": count / took,
            "cpu_ms": (contender.cpu() - cpu) / count * 1e3,
            "idle_mb": idle,
            "full_mb": contender.memory(),
        }


async def _run_all(client: Client, count: int) -> None:
    left = set(jobs.names(count))
    all_done = asyncio.Event()

    def note(change: Change[Head]) -> None:
        status = change.item.object().get("status") or {}
        if conditions.is_true(status.get("conditions"), "Complete"):
            left.discard(change.item.key.name)
            if not left:
                all_done.set()

    informer = Informer(client, Scope(resource=JOBS, namespace=NAMESPACE), Head)
    informer.listen(note)
    async with supervise.tasks("bench", clock=CLOCK) as tasks:
        tasks.start("informer", informer.run)
        await informer.synced.wait()

        async def create(name: str) -> None:
            await client.create(JOBS, job(name), namespace=NAMESPACE)

        await jobs.each(jobs.names(count), create, at_once=WRITERS)
        async with asyncio.timeout(command.WITHIN):
            await all_done.wait()


async def measure(sizes: Sizes) -> Found:
    """Measure all in every round, in turn forwards and backwards."""
    found = await contest.hold(CONTENDERS, sizes.rounds, lambda name: measure_one(name, sizes))
    return {**found, "sizes": asdict(sizes)}


def _shown(found: Found) -> str:
    sizes = found["sizes"]
    what = (
        f"{sizes['jobs']} Jobs ({sizes['simulated']} simulated) of one pod that ends at once, "
        f"created {WRITERS} at a time."
    )
    rounds = found["rounds"]
    return contest.shown(found, what, report.table(rounds), report.verdicts(rounds))


def _arguments(argv: Sequence[str] | None) -> Namespace:
    parser = contest.parser("cluster")
    add = parser.add_argument
    add("--jobs", type=int, metavar="N", help="Jobs to run")
    add("--simulated", type=int, metavar="N", help="simulated Jobs to run")
    return parser.parse_args(argv)


def _sizes(arguments: Namespace) -> Sizes:
    sizes = QUICK if arguments.quick else FULL
    return replace(
        sizes,
        jobs=arguments.jobs or sizes.jobs,
        simulated=arguments.simulated or sizes.simulated,
        rounds=arguments.rounds or sizes.rounds,
    )


def main(argv: Sequence[str] | None = None) -> int:
    """Measure and print; fails only if something did not work, whatever the figures are."""
    arguments = _arguments(argv)
    return command.run(lambda: measure(_sizes(arguments)), _shown, arguments.json)


if __name__ == "__main__":
    sys.exit(main())
