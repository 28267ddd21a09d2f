"""Containers as local processes: started, found again, ended, each run in a folder of its own.

pods/UID/CONTAINER.NUMBER/log, log.times      its output, and when it came
                          record              its processes, its exit code: written by the wrapper
                          end                 how it ended, where there is more to say
                          termination         its termination message
pods/UID/volume.NAME, pods/UID/work           what it is given to see
common                                        files that many pods have in their volumes
starts                                        what was ever started
"""

import asyncio
import shutil
import signal
from collections.abc import AsyncIterator, Callable
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import ExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any

from jobferry import log
from jobferry.clock import Clock, Seconds, Timer, sleep
from jobferry.localkube.runner import (
    containers,
    ends,
    folders,
    inotify,
    journal,
    machines,
    marks,
    mounts,
    namespaces,
    wrapper,
)
from jobferry.localkube.runner.cgroups import NO_GROUP, Group
from jobferry.localkube.runner.containers import Attempt, End
from jobferry.localkube.runner.ends import Ends, Process
from jobferry.localkube.runner.inotify import Growth
from jobferry.localkube.runner.journal import Journal, Start
from jobferry.localkube.runner.logs import Log
from jobferry.localkube.runner.machines import Machine
from jobferry.localkube.runner.orders import Order
from jobferry.localkube.runner.settings import Settings

LONGEST_MESSAGE = 4096
LOG_AS_MESSAGE = 2048, 80
"""How much of a log may be a termination message: bytes and lines."""

PATIENCE: Seconds = 0.02
TRIES = 50
"""How often, and how long apart, to look whether what was killed is gone."""

GONE = "ContainerStatusUnknown"
LOST = "The container could not be located when its pod was looked after again"

_log = log.get(__name__)


@dataclass(slots=True)
class Run:
    """A run of a container that was started."""

    name: str
    folder: Path
    attempt: Attempt
    group: Group
    log: Log
    wrapper: Process | None = None
    main: Process | None = None
    order: Order | None = None


class Processes:
    """The containers of one node; made by `running`."""

    def __init__(
        self,
        folder: Path,
        clock: Clock,
        machine: Machine,
        parts: tuple[Journal, Ends, Growth, Executor],
    ) -> None:
        self.machine = machine
        self._folder = folder
        self._clock = clock
        self._journal, self._ends, self._growth, self._starter = parts
        self._runs: dict[str, dict[str, list[Run]]] = {}
        self._ending: dict[int, tuple[Group, Timer]] = {}
        self._listeners: list[Callable[[str], None]] = []

    # -- asking ---------------------------------------------------------------------------------

    def listen(self, listener: Callable[[str], None]) -> None:
        """Call `listener` with the UID of a pod whenever one of its containers has ended."""
        self._listeners.append(listener)

    def uids(self) -> set[str]:
        """Return the pods of which there is anything."""
        found = {path.name for path in (self._folder / "pods").iterdir()}
        return found | self._runs.keys()

    def attempts(self, uid: str) -> dict[str, list[Attempt]]:
        """Return the last two runs of each container of a pod, the older first."""
        return {
            name: [run.attempt for run in runs]
            for name, runs in self._runs.get(uid, {}).items()
        }

    def run(self, uid: str, name: str, *, previous: bool = False) -> Run | None:
        """Return a run of a container: the last, or the one before."""
        runs = self._runs.get(uid, {}).get(name, [])
        place = 2 if previous else 1
        return runs[-place] if len(runs) >= place else None

    def watch(self, pid: int, ended: ends.Ended) -> None:
        """Tell when another process ends."""
        self._ends.watch(pid, ended)

    def folder(self, uid: str) -> Path:
        """Return the folder of a pod."""
        return self._folder / "pods" / uid

    # -- starting -------------------------------------------------------------------------------

    async def start(self, uid: str, name: str, number: int, order: Order) -> list[str]:
        """Start a container for the first or another time; returns the limits that are not enforced."""
        began = self._clock.now()
        boot = self.machine.boot
        loop = asyncio.get_running_loop()
        folder = folders.of_run(self.folder(uid), name, number)
        # Whatever fails before the record is tried again; from there on, nothing is.
        await loop.run_in_executor(self._starter, _prepare_start, folder, order)
        await self._journal.record(Start(uid, name, number, began, boot))
        run, unenforced, done = await loop.run_in_executor(
            self._starter, self._begin, uid, name, number, began, order
        )
        runs = self._runs.setdefault(uid, {}).setdefault(name, [])
        runs.append(run)
        self._drop_old(runs)
        if isinstance(done, str):
            code = 127 if order.problem else 128
            end = End(exit_code=code, at=began, reason="StartError", message=done)
            self._conclude(uid, run, end)
        else:
            self._follow(uid, run, done)
        return unenforced

    def _begin(
        self, uid: str, name: str, number: int, began: datetime, order: Order
    ) -> tuple[Run, list[str], int | str]:
        """Start a container, in the thread for that; returns the wrapper's number, or why there is none."""
        attempt = Attempt(
            number=number,
            began=began,
            is_started=not order.has_startup_probe,
            is_ready=not order.has_startup_probe and not order.has_readiness_probe,
        )
        folder = folders.of_run(self.folder(uid), name, number)
        run = Run(name, folder, attempt, NO_GROUP, Log(folder / "log"), order=order)
        unenforced: list[str] = []
        try:
            if order.problem:
                return run, unenforced, order.problem
            run.group, unenforced = self.machine.groups.make(
                _group_name(uid, name, number), order.limits
            )
            return run, unenforced, self._spawn(run, name, order)
        except (OSError, ValueError) as error:  # ValueError: of a zero byte in a word
            why = error.strerror if isinstance(error, OSError) else None
            return run, unenforced, f"cannot start {order.command[0]}: {why or error}"

    def _spawn(self, run: Run, name: str, order: Order) -> int:
        with folders.opened(run.folder, wants_input=order.wants_input) as files:
            text = wrapper.script(order.directory, run.group.entrances, order.after)
            begin = partial(wrapper.spawn, text, name, order.command, order.env, files)
            if not self.machine.mounts or (not order.binds and order.root == "/"):
                return begin()
            plan = mounts.plan(order.binds, order.root)
            stage = str(self._folder / "root")
            return namespaces.apart(begin, lambda: namespaces.build(plan, stage))

    def _follow(self, uid: str, run: Run, pid: int) -> None:
        """Watch a wrapper until it ends, and its log."""
        self._growth.watch(run.log.path, lambda: run.log.note(self._clock.now()))
        self._ends.watch(pid, lambda _: self._ended(uid, run))

    def _drop_old(self, runs: list[Run]) -> None:
        for old in runs[:-2]:
            shutil.rmtree(old.folder, ignore_errors=True)
        del runs[:-2]

    def note(self, uid: str, run: Run, **said: Any) -> None:
        """Take note of what a probe says of a run: is_started, is_ready, unwell."""
        changed = replace(run.attempt, **said)
        if changed != run.attempt and run.attempt.end is None:
            run.attempt = changed
            self._tell(uid)

    def _tell(self, uid: str) -> None:
        for listener in self._listeners:
            listener(uid)

    # -- ending ---------------------------------------------------------------------------------

    def stop(self, uid: str, name: str) -> None:
        """Ask the main process of a container to end."""
        if (run := self.run(uid, name)) is not None:
            self._stop(uid, run, TRIES)

    def _stop(self, uid: str, run: Run, tries: int) -> None:
        if run.attempt.end is not None:
            return
        main = self.main(run)
        if main is not None:
            marks.send(main, signal.SIGTERM)
        elif tries:  # its wrapper has only just begun
            self._clock.call_later(PATIENCE, lambda: self._stop(uid, run, tries - 1))
        else:
            self.kill(uid, run.name)

    def kill(self, uid: str, name: str) -> None:
        """End a container now, with all that it has started."""
        run = self.run(uid, name)
        if run is None or run.attempt.end is not None:
            return
        main = self.main(run)
        if main is not None:
            marks.send(main, signal.SIGKILL)  # the wrapper writes down that it was killed
        elif run.wrapper is not None:
            marks.send(run.wrapper, signal.SIGKILL)
        else:
            run.group.kill()
            marks.kill(marks.mark(uid, name, run.attempt.number), run.log.path)

    async def remove(self, uid: str) -> None:
        """End what runs of a pod, and drop all that is kept of it."""
        for runs in self._runs.pop(uid, {}).values():
            for run in runs:
                self._sweep(uid, run)
                self._growth.forget(run.log.path)
        self._journal.forget(uid)
        await asyncio.to_thread(shutil.rmtree, self.folder(uid), ignore_errors=True)

    def _sweep(self, uid: str, run: Run) -> None:
        """End all that a run has left behind."""
        if not run.group.remove():
            run.group.kill()
        if self.machine.groups.unified is None:
            marks.kill(marks.mark(uid, run.name, run.attempt.number), run.log.path)
        self._remove_group(run.group, TRIES)

    def _remove_group(self, group: Group, tries: int) -> None:
        """Take away a group once what was killed in it is gone, which takes a moment."""
        self._ending.pop(id(group), None)
        if not group.remove() and tries:
            timer = self._clock.call_later(
                PATIENCE, lambda: self._remove_group(group, tries - 1)
            )
            self._ending[id(group)] = group, timer

    async def settle(self) -> None:
        """Wait until what was killed is gone; give up on what does not go."""
        for _ in range(TRIES):
            if not self._ending:
                return
            await sleep(self._clock, PATIENCE)
        for _, timer in self._ending.values():
            timer.cancel()

    def _ended(self, uid: str, run: Run) -> None:
        if self.run(uid, run.name) is not run:
            run.group.remove()  # the pod was removed meanwhile
            return
        self._conclude(uid, run, self._read_end(run))

    def _conclude(self, uid: str, run: Run, end: End) -> None:
        if end.reason == "" and end.exit_code and run.group.ran_out_of_memory():
            end = replace(end, reason="OOMKilled")
        if not end.message:
            end = replace(end, message=self._message(run, end))
        if end.reason or end.message:
            with suppress(OSError):  # a full disk: it is told all the same
                folders.write_end(run.folder, end)
        run.attempt = replace(run.attempt, end=end, is_ready=False)
        self._growth.forget(run.log.path)
        run.log.end(self._clock.now())
        self._sweep(uid, run)
        self._tell(uid)

    def _read_end(self, run: Run) -> End:
        end = folders.end(run.folder)
        if end is None:
            return End(
                exit_code=containers.LOST, at=self._clock.now(), reason=GONE, message=LOST
            )
        return replace(end, at=max(end.at, run.attempt.began))

    def _message(self, run: Run, end: End) -> str:
        """Return what a container left as its last words."""
        with suppress(OSError), (run.folder / "termination").open("rb") as file:
            if said := file.read(LONGEST_MESSAGE).decode(errors="replace"):
                return said
        with suppress(OSError):
            if end.exit_code and (run.folder / "talkative").exists():
                return run.log.tail(*LOG_AS_MESSAGE)
        return ""

    def main(self, run: Run) -> Process | None:
        """Return the main process of a run, once its wrapper has named it."""
        if run.main is None:
            run.wrapper, run.main = folders.places(run.folder)
        return run.main

    async def until_named(self, run: Run) -> Process | None:
        """Wait until the wrapper of a run has named its main process, which takes a moment; None: it does not."""
        for _ in range(TRIES):
            if self.main(run) is not None or run.attempt.end is not None:
                break
            await sleep(self._clock, PATIENCE)
        return self.main(run)

    # -- finding again --------------------------------------------------------------------------

    def recover(self) -> None:
        """Find all runs of earlier runners: those that go on, and those that ended."""
        for start in sorted(self._journal.starts, key=lambda each: each.number):
            folder = folders.of_run(self.folder(start.uid), start.container, start.number)
            if start.boot == self.machine.boot and not folders.may_have_begun(folder):
                self._journal.withdraw(start)  # the runner was killed before it began
                continue
            folders.prepare(folder)
            group = self.machine.groups.group(_group_name(*start.name))
            attempt = Attempt(number=start.number, began=start.began)
            run = Run(start.container, folder, attempt, group, Log(folder / "log"))
            runs = self._runs.setdefault(start.uid, {}).setdefault(start.container, [])
            runs.append(run)
            del runs[:-2]
            self._find(start, run)

    def _find(self, start: Start, run: Run) -> None:
        run.wrapper, run.main = folders.places(run.folder)
        if start.boot == self.machine.boot:
            if run.wrapper is None:
                run.wrapper = marks.first(marks.mark(*start.name))
            if run.wrapper is not None and ends.is_alive(run.wrapper):
                run.log.note(self._clock.now())
                self._follow(start.uid, run, run.wrapper.pid)
                return
        end = self._read_end(run)
        run.attempt = replace(run.attempt, end=end, is_ready=False)
        run.log.end(self._clock.now())
        self._sweep(start.uid, run)


@asynccontextmanager
async def running(settings: Settings, clock: Clock) -> AsyncIterator[Processes]:
    """Look after the processes in a runner's folder during the block; they outlive it."""
    folder = _prepared(settings.folder)
    machine = machines.look(folder, private_mounts=settings.private_mounts)
    with ExitStack() as stack:
        stack.enter_context(folders.locked(folder))
        is_wanted = lambda start: (folder / "pods" / start.uid).exists()  # noqa: E731
        starts = stack.enter_context(journal.opened(folder / "starts", is_wanted))
        watched = stack.enter_context(ends.watching())
        growth = stack.enter_context(inotify.watching(clock))
        stack.callback(machine.groups.remove)
        # One thread for all starts, since none may see what another mounts; so the loop need not wait for them.
        starter = stack.enter_context(ThreadPoolExecutor(1, "starter"))
        made = Processes(folder, clock, machine, (starts, watched, growth, starter))
        made.recover()
        try:
            yield made
        finally:
            await starts.flushed()
            await made.settle()


def _prepared(folder: Path) -> Path:
    folder = folder.resolve()
    (folder / "pods").mkdir(parents=True, exist_ok=True)
    (folder / "root").mkdir(exist_ok=True)
    return folder


def _prepare_start(folder: Path, order: Order) -> None:
    folders.prepare(folder)
    folders.touch(folder / "termination", 0o666)
    if order.last_words_from_log:
        folders.touch(folder / "talkative")


def _group_name(uid: str, name: str, number: int) -> str:
    return f"{uid}-{name}-{number}"
