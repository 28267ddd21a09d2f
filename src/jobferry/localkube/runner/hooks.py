"""Lifecycle hooks: what a container wants done after its start and before its end."""

from functools import partial

from jobferry.clock import Clock, Seconds, sleep
from jobferry.localkube.runner import deciding, probes
from jobferry.localkube.runner.connector import Connector
from jobferry.localkube.runner.containers import Part, parts
from jobferry.localkube.runner.processes import Processes, Run
from jobferry.objects import Obj
from jobferry.runtime.supervise import Supervisor

LONGEST: Seconds = 3600.0
"""How long a hook after the start may take."""


class Hooks:
    """Runs hooks, each as a task, while the container goes on."""

    def __init__(
        self, processes: Processes, connector: Connector, clock: Clock, tasks: Supervisor
    ) -> None:
        self._processes = processes
        self._connector = connector
        self._clock = clock
        self._tasks = tasks

    def started(self, pod: Obj, part: Part) -> None:
        """Do what a container wants done after its start; if that fails, it must end."""
        hook = (part.container.get("lifecycle") or {}).get("postStart")
        run = self._processes.run(pod["metadata"]["uid"], part.name)
        if hook and run is not None:
            self._tasks.start("postStart", partial(self._after_start, pod, part, hook, run))

    def stop(self, pod: Obj, name: str) -> None:
        """Ask a container to end, after what it wants done before."""
        part = next(part for part in parts(pod) if part.name == name)
        hook = (part.container.get("lifecycle") or {}).get("preStop")
        if hook:
            self._tasks.start("preStop", partial(self._before_end, pod, part, hook))
        else:
            self._processes.stop(pod["metadata"]["uid"], name)

    async def _after_start(self, pod: Obj, part: Part, hook: Obj, run: Run) -> None:
        if problem := await self._run(pod, part, hook, LONGEST):
            what = f"PostStartHook failed: {problem}"
            self._processes.note(pod["metadata"]["uid"], run, unwell=what)

    async def _before_end(self, pod: Obj, part: Part, hook: Obj) -> None:
        # Its failure changes nothing, and the grace period goes on meanwhile.
        await self._run(pod, part, hook, deciding.grace_of(pod))
        self._processes.stop(pod["metadata"]["uid"], part.name)

    async def _run(self, pod: Obj, part: Part, hook: Obj, patience: Seconds) -> str:
        if pause := hook.get("sleep"):
            await sleep(self._clock, min(patience, pause.get("seconds", 0)))
            return ""
        execute = partial(self._connector.execute_silently, pod, part.name)
        check = probes.check_of(hook, part.container, execute)
        return await probes.look(check, self._clock, patience)
