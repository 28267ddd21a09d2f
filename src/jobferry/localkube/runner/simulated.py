"""Nodes on which nothing runs: pods begin and end as they or a distribution say, by the clock that is given.

    async with simulating(client, [f"node-{number}" for number in range(1000)]):
        ...

All nodes share one kubelet and one informer, so thousands of them cost little. With a clock that is moved by hand,
hours pass in moments.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Collection, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from math import inf
from random import Random

from jobferry.clock import Clock, Seconds, Timer
from jobferry.kube.client import Client
from jobferry.kube.events import Recorder
from jobferry.localkube.runner import node
from jobferry.localkube.runner.backend import CannotStart
from jobferry.localkube.runner.containers import Attempt, End, Part
from jobferry.localkube.runner.kubelet import Kubelet
from jobferry.objects import Obj
from jobferry.runtime import supervise

RUN_SECONDS = "jobferry.io/run-seconds"
"""The annotation that says how long a pod runs; "inf" for as long as it is let."""

EXIT_CODE = "jobferry.io/exit-code"
"""The annotation that says what its containers end with."""

STOP_SECONDS = "jobferry.io/stop-seconds"
"""The annotation that says how long its containers take to end when they are asked to; longer than their grace: they are killed."""

STOPPED, KILLED = 143, 137

CAPACITY: Mapping[str, str] = {"cpu": "64", "memory": "256Gi", "pods": "1000"}
AT_ONCE = 50
"""Nodes that are registered at a time."""


@dataclass(frozen=True, slots=True)
class Play:
    """What a container does: for how long, and with what it ends."""

    seconds: Seconds = 0.0
    exit_code: int = 0


Director = Callable[[Obj], Play]
"""Says what the containers of a pod do; asked at each start."""


def by_annotations(pod: Obj) -> Play:
    """Let a pod say itself what it does; one that does not say ends well at once."""
    said = pod["metadata"].get("annotations") or {}
    try:
        return Play(float(said.get(RUN_SECONDS, 0)), int(said.get(EXIT_CODE, 0)))
    except ValueError as error:
        raise CannotStart("CreateContainerConfigError", f"cannot be run: {error}") from error


def drawn(random: Random, *, mean: Seconds, failures: float = 0.0, code: int = 1) -> Director:
    """Let pods run for an exponentially distributed time, and a share of them fail.

    What a pod's annotations say counts more.
    """

    def draw(pod: Obj) -> Play:
        said = pod["metadata"].get("annotations") or {}
        fails = random.random() < failures
        drawn = Play(random.expovariate(1 / mean), code if fails else 0)
        asked = by_annotations(pod)
        return Play(
            asked.seconds if RUN_SECONDS in said else drawn.seconds,
            asked.exit_code if EXIT_CODE in said else drawn.exit_code,
        )

    return draw


@dataclass(slots=True)
class _Run:
    attempts: list[Attempt]
    timer: Timer | None = None
    stopping: Timer | None = None

    def cancel(self) -> None:
        """Let it not end by itself any more."""
        for timer in (self.timer, self.stopping):
            if timer is not None:
                timer.cancel()


class Simulation:
    """A backend that runs nothing."""

    def __init__(self, clock: Clock, director: Director) -> None:
        self._clock = clock
        self._director = director
        self._runs: dict[str, dict[str, _Run]] = {}
        self._listeners: list[Callable[[str], None]] = []

    def listen(self, listener: Callable[[str], None]) -> None:
        """Call `listener` with the UID of a pod whenever one of its containers has ended."""
        self._listeners.append(listener)

    def uids(self) -> set[str]:
        """Return the pods of which there is anything."""
        return set(self._runs)

    def attempts(self, uid: str) -> Mapping[str, Sequence[Attempt]]:
        """Return the last two runs of each container of a pod, the older first."""
        return {name: run.attempts for name, run in self._runs.get(uid, {}).items()}

    async def start(self, pod: Obj, part: Part, number: int) -> None:
        """Let a container begin; one that ran already when we came goes on."""
        play = self._director(pod)
        now = self._clock.now()
        began = _began(pod, part.name) or now
        uid = pod["metadata"]["uid"]
        run = self._runs.setdefault(uid, {}).setdefault(part.name, _Run([]))
        run.attempts = [*run.attempts[-1:], Attempt(number=number, began=began)]
        # If the clock was put back since it began, it does not take longer for that.
        left = play.seconds - max((now - began).total_seconds(), 0.0)
        if left <= 0:
            self._end(uid, part.name, play.exit_code)
        elif left != inf:
            run.timer = self._clock.call_later(
                left, lambda: self._end(uid, part.name, play.exit_code)
            )

    def look_after(self, pod: Obj) -> None:
        """Do nothing: what is simulated is always well."""

    def stop(self, pod: Obj, name: str) -> None:
        """End a container as one that heeds SIGTERM, sooner or later."""
        uid, late = pod["metadata"]["uid"], _stop_seconds(pod)
        if late <= 0:
            self._end(uid, name, STOPPED)
            return
        run = self._runs[uid][name]
        if run.stopping is None:
            run.stopping = self._clock.call_later(late, lambda: self._end(uid, name, STOPPED))

    def kill(self, uid: str, name: str) -> None:
        """End a container now."""
        self._end(uid, name, KILLED)

    async def remove(self, uid: str) -> None:
        """Forget a pod."""
        for run in self._runs.pop(uid, {}).values():
            run.cancel()

    def _end(self, uid: str, name: str, code: int) -> None:
        run = self._runs[uid][name]
        run.cancel()
        last = run.attempts[-1]
        if last.end is None:
            end = End(exit_code=code, at=self._clock.now())
            run.attempts[-1] = replace(last, end=end, is_ready=False)
            for listener in self._listeners:
                listener(uid)


@asynccontextmanager
async def simulating(
    client: Client,
    names: Collection[str],
    *,
    director: Director = by_annotations,
    capacity: Mapping[str, str] = CAPACITY,
    heartbeat: Seconds | None = None,
) -> AsyncIterator[Kubelet]:
    """Register nodes and simulate their pods during the block.

    With `heartbeat` their Leases are renewed that often, for a cluster in which somebody looks at them.
    """
    clock = client.clock
    recorder = Recorder(client, component="kubelet", instance="simulation")
    simulation = Simulation(clock, director)
    kubelet = Kubelet(client, names, simulation, recorder, settle=0.0)
    async with supervise.tasks("simulation", clock=clock) as tasks:
        await _register(client, names, capacity)
        if heartbeat is not None:
            for name in names:
                tasks.start(f"lease {name}", _alive(client, name, capacity, heartbeat))
        tasks.start("events", recorder.run)
        tasks.start("informer", kubelet.informer.run)
        await kubelet.informer.synced.wait()
        kubelet.begin()
        tasks.start("loop", kubelet.loop.run)
        yield kubelet


def _alive(
    client: Client, name: str, capacity: Mapping[str, str], every: Seconds
) -> supervise.Run:
    return lambda: node.keep_alive(client, name, capacity, every)


async def _register(
    client: Client, names: Collection[str], capacity: Mapping[str, str]
) -> None:
    turns = asyncio.Semaphore(AT_ONCE)

    async def one(name: str) -> None:
        async with turns:
            await node.register(client, name, capacity)

    async with asyncio.TaskGroup() as group:
        for name in names:
            group.create_task(one(name))


def _stop_seconds(pod: Obj) -> Seconds:
    """Return how long the containers of a pod take to end; what makes no sense is no time."""
    said = (pod["metadata"].get("annotations") or {}).get(STOP_SECONDS, 0)
    try:
        return float(said)
    except ValueError:
        return 0.0


def _began(pod: Obj, name: str) -> datetime | None:
    """Return since when a container runs, as its status says."""
    for status in (pod.get("status") or {}).get("containerStatuses") or ():
        running = (status.get("state") or {}).get("running")
        if status["name"] == name and running is not None:
            return datetime.fromisoformat(running["startedAt"])
    return None
