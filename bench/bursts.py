"""Bursts: many Jobs at once, and what it takes until all are Complete."""

import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import count

from bench import dispatchers, jobs
from bench.audit import Requests
from bench.command import until
from bench.dispatchers import DIRECT
from bench.fleet import HUB, NAMES, WORKER_NAMES, Fleet
from bench.observer import Observer
from bench.processes import Child, Usage
from jobferry.clock import Seconds
from jobferry.kube.calls import Scope
from jobferry.kube.items import Key
from jobferry.kube.resources import JOBS, NAMESPACES, PODS

WRITERS = 16
"""Creates in flight: more than one client sends them, as when a pipeline starts."""

_numbers = count(1)


@dataclass(frozen=True, slots=True)
class Shape:
    """What a burst is made of."""

    jobs: int
    seconds: Seconds
    """How long each pod runs."""

    def __str__(self) -> str:
        return f"{self.jobs} Jobs at once, pods of {self.seconds:g} s"


@dataclass(frozen=True, slots=True, kw_only=True)
class Burst:
    """What one burst took."""

    per_second: float
    """Jobs until all were Complete where their user looks."""

    echoes: list[Seconds]
    """From Complete on the worker until Complete on the hub, of each Job."""

    mirrored: list[Seconds]
    """From the sight of a Job on the hub until that of its mirror, of each Job."""

    requests: Requests
    """What the dispatcher asked for until all was cleaned up."""

    cpu: Seconds
    """What the dispatcher's process took of the CPU until all was cleaned up."""

    usage: Usage | None
    """What its process had cost by then, if there was one."""


async def burst(contender: str, shape: Shape, fleet: Fleet, observer: Observer) -> Burst:
    """Let a contender, fresh, do one burst, and clean up after it."""
    namespace = await new_namespace(fleet)
    names = jobs.names(shape.jobs)
    async with dispatchers.running(contender, fleet) as process:
        tail, before = fleet.audit(), _usage(process)
        began = time.monotonic()
        await create(names, contender, shape.seconds, namespace, fleet)
        at = WORKER_NAMES if contender == DIRECT else (HUB,)
        await observer.ended(at, namespace, shape.jobs)
        took = time.monotonic() - began
        await clear(namespace, contender, fleet, observer)
        after = _usage(process)
    keys = [Key(namespace, name) for name in names]
    return Burst(
        per_second=shape.jobs / took,
        echoes=[] if contender == DIRECT else echoes(keys, observer),
        mirrored=[] if contender == DIRECT else mirrored(keys, observer),
        requests=tail.requests(),
        cpu=after.cpu - before.cpu if before and after else 0.0,
        usage=after,
    )


async def create(
    names: Iterable[str], contender: str, seconds: Seconds, namespace: str, fleet: Fleet
) -> None:
    """Create Jobs whose pods run for so long, where the contender wants them."""
    targets = dispatchers.targets(contender, fleet)

    async def make(name: str) -> None:
        body = dispatchers.job(name, contender, seconds)
        await next(targets).create(JOBS, body, namespace=namespace)

    await jobs.each(names, make, at_once=WRITERS)


async def new_namespace(fleet: Fleet) -> str:
    """Make a namespace on every cluster, and return its name."""
    name = f"bench-{next(_numbers)}"
    for client in fleet.clients.values():
        await client.create(NAMESPACES, {"metadata": {"name": name}})
    return name


async def clear(namespace: str, contender: str, fleet: Fleet, observer: Observer) -> None:
    """Delete the Jobs where they were created, and wait until nothing is left of them anywhere."""
    everything = Scope(resource=JOBS, namespace=namespace)
    for client in fleet.workers if contender == DIRECT else [fleet.hub]:
        await client.delete_collection(everything, propagation="Background")
    await observer.there(NAMES, namespace, 0)
    # Pods go after their Jobs; those that are left would be load for the next burst.
    pods = Scope(resource=PODS, namespace=namespace)

    async def none_is_left() -> bool:
        return not any([(await client.list(pods)).items for client in fleet.workers])

    await until(none_is_left, "no pod is left")


def echoes(keys: Iterable[Key], observer: Observer) -> list[Seconds]:
    """Return how long it took from the end on a worker until the end on the hub."""
    ended = [observer[name].ended for name in WORKER_NAMES]
    return [observer[HUB].ended[key] - _first(key, ended) for key in keys]


def mirrored(keys: Iterable[Key], observer: Observer) -> list[Seconds]:
    """Return how long it took from the sight of a Job on the hub until that of its mirror."""
    appeared = [observer[name].appeared for name in WORKER_NAMES]
    return [_first(key, appeared) - observer[HUB].appeared[key] for key in keys]


def _first(key: Key, workers: Iterable[Mapping[Key, Seconds]]) -> Seconds:
    return min(seen[key] for seen in workers if key in seen)


def _usage(process: Child | None) -> Usage | None:
    return process.usage() if process else None
