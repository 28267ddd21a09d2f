"""Has the probes of running containers looked after, and notes what they find."""

import asyncio
from collections.abc import AsyncIterator, Callable
from functools import partial
from typing import NamedTuple

from jobferry.clock import Clock
from jobferry.localkube.runner import probes
from jobferry.localkube.runner.connector import Connector
from jobferry.localkube.runner.containers import Part, parts
from jobferry.localkube.runner.probes import Verdict
from jobferry.localkube.runner.processes import Processes, Run
from jobferry.objects import Obj
from jobferry.runtime.supervise import Child, Supervisor

Note = Callable[..., None]

PROBES = ("startupProbe", "livenessProbe", "readinessProbe")


class _Key(NamedTuple):
    uid: str
    name: str
    number: int


class Prober:
    """Runs one task for each running container that has probes, and none for others."""

    def __init__(
        self, processes: Processes, connector: Connector, clock: Clock, tasks: Supervisor
    ) -> None:
        self._processes = processes
        self._connector = connector
        self._clock = clock
        self._tasks = tasks
        self._children: dict[_Key, Child] = {}
        processes.listen(self._forget_ended)

    def look_after(self, pod: Obj) -> None:
        """Begin to probe what runs and is not probed yet."""
        uid = pod["metadata"]["uid"]
        for part in parts(pod):
            if not any(part.container.get(probe) for probe in PROBES):
                continue
            run = self._processes.run(uid, part.name)
            if run is None or run.attempt.end is not None:
                continue
            key = _Key(uid, part.name, run.attempt.number)
            if key not in self._children:
                watch = partial(self._watch, pod, part, run)
                self._children[key] = self._tasks.start(f"probe {part.name}", watch)

    def _forget_ended(self, uid: str) -> None:
        for key in [each for each in self._children if each.uid == uid]:
            run = self._processes.run(uid, key.name)
            if run is None or run.attempt.number != key.number or run.attempt.end is not None:
                self._children.pop(key).ask_to_stop()

    async def _watch(self, pod: Obj, part: Part, run: Run) -> None:
        """Probe one run of a container until told to stop."""
        note = partial(self._processes.note, pod["metadata"]["uid"], run)
        has_readiness = bool(part.container.get("readinessProbe"))
        async for verdict in self._verdicts(pod, part, "startupProbe"):
            if verdict.is_well:
                note(is_started=True, is_ready=not has_readiness)
                break
            note(unwell=f"Startup probe failed: {verdict.problem}")
        async with asyncio.TaskGroup() as group:
            group.create_task(self._watch_life(pod, part, note))
            group.create_task(self._watch_readiness(pod, part, note))

    async def _watch_life(self, pod: Obj, part: Part, note: Note) -> None:
        async for verdict in self._verdicts(pod, part, "livenessProbe"):
            if not verdict.is_well:
                note(unwell=f"Liveness probe failed: {verdict.problem}")

    async def _watch_readiness(self, pod: Obj, part: Part, note: Note) -> None:
        async for verdict in self._verdicts(pod, part, "readinessProbe"):
            note(is_ready=verdict.is_well)

    async def _verdicts(self, pod: Obj, part: Part, kind: str) -> AsyncIterator[Verdict]:
        """Give what a probe of a container says; nothing if it has no such probe."""
        probe = part.container.get(kind)
        if not probe:
            return
        execute = partial(self._connector.execute_silently, pod, part.name)
        check = probes.check_of(probe, part.container, execute)
        async for verdict in probes.verdicts(probe, check, self._clock):
            yield verdict
