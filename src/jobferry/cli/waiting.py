"""Waits until workloads are as somebody wants them, by a watch."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from jobferry.cli import refusals
from jobferry.cli.arguments import program
from jobferry.cli.endings import JobFailed, TimeOver
from jobferry.cli.hub import Hub, NotThere
from jobferry.cli.job_facts import is_running, progress, worker
from jobferry.clock import Seconds, timeout
from jobferry.core import placement
from jobferry.errors import BadInput, Error
from jobferry.kinds.job.status import COMPLETE, FAILED, end
from jobferry.kube.cache import Change
from jobferry.kube.informer import Informer
from jobferry.kube.items import Head
from jobferry.kube.resources import JOBS
from jobferry.objects import Obj, godurations
from jobferry.objects.resource import Resource
from jobferry.runtime import supervise


@dataclass(frozen=True, slots=True)
class Goal:
    """What is waited for."""

    name: str
    holds: Callable[[Obj], bool]


ENDED = Goal("ended", lambda job: end(job.get("status") or {}) is not None)
GOALS = {
    goal.name: goal
    for goal in (
        ENDED,
        Goal("placed", lambda job: placement.read(job) is not None or ENDED.holds(job)),
        Goal("running", lambda job: is_running(job) or ENDED.holds(job)),
    )
}
"""Whoever has ended was placed and ran, or never will."""


@dataclass(frozen=True, slots=True)
class Sort:
    """How the workloads that are waited for tell how far they are."""

    resource: Resource
    outcome: Callable[[Obj], str | None]
    """How one ended; None if it did not."""

    sentence: Callable[[Obj], str]
    """How one has got there."""


def limit(text: str | None) -> Seconds | None:
    """Read how long to wait, in seconds or as Go writes it; None: for ever."""
    if text is None:
        return None
    try:
        found = float(text) if text.isdecimal() else godurations.parse(text) / 1e9
    except BadInput as error:
        raise BadInput(f"--timeout: {error}", hint=error.hint) from None
    if found <= 0:
        raise BadInput(f"--timeout: expected more than nothing, found {text}")
    return found


async def wait(
    hub: Hub,
    workloads: Sequence[Obj],
    goal: Goal,
    within: Seconds | None,
    say: Callable[[str], None],
    sort: Sort | None = None,
) -> None:
    """Wait until all have got there, and say of each how; raises `JobFailed` if one has failed.

    They are Jobs, unless `sort` says what they are.
    """
    sort = sort or JOB
    waiting = _Waiting(workloads, goal, say, sort)
    try:
        if within is None:
            await _follow(hub, waiting)
        else:
            async with timeout(hub.client.clock, within):
                await _follow(hub, waiting)
    except TimeoutError:
        raise too_late(waiting.names, goal, within, _option(sort)) from None
    failed = [name for name, each in waiting.reached.items() if sort.outcome(each) == FAILED]
    if failed:
        raise JobFailed(
            f"{', '.join(failed)} failed",
            hint=f"`jobferry describe {failed[0]}{_option(sort)}` tells more.",
        )


def too_late(
    names: Sequence[str], goal: Goal, within: Seconds | None, option: str = ""
) -> TimeOver:
    """Say that workloads have not got there in time; `option` is what commands need to mean such."""
    one = len(names) == 1
    what = (
        f"{names[0]} has not {_done(goal)}"
        if one
        else f"not all of {', '.join(names)} {_got(goal)}"
    )
    return TimeOver(
        f"{what} within {within:g} s",
        hint=f"`{program()} why {names[0] if one else 'JOB'}{option}` tells what it waits for.",
    )


def outcome(job: Obj) -> str | None:
    """Return how a Job ended; None if it did not."""
    found = end(job.get("status") or {})
    return str(found["type"]) if found else None


def sentence(job: Obj) -> str:
    """Say how a Job has got there."""
    name, where = job["metadata"]["name"], worker(job)
    on = f" on {where}" if where else ""
    how = outcome(job)
    if how == COMPLETE:
        return f"{name} is complete{on}: {progress(job)}"
    if how == FAILED:
        why = (end(job["status"]) or {}).get("message") or "no reason given"
        return f"{name} has failed{on}: {why}"
    return f"{name} {'runs' if is_running(job) else 'is placed'}{on}"


JOB = Sort(JOBS, outcome, sentence)


def _option(sort: Sort) -> str:
    """Return what a command needs that is to mean such a workload."""
    return "" if sort is JOB else f" --kind {sort.resource.kind}"


async def _follow(hub: Hub, waiting: "_Waiting") -> None:
    """Follow workloads until all have got there; raises if one is deleted, or we may not follow them."""
    names = sorted(set(waiting.names))
    fields = f"metadata.name={names[0]}" if len(names) == 1 else ""
    scope = hub.scope(waiting.sort.resource, fields=fields)
    informer = Informer(hub.client, scope, Head)
    informer.listen(waiting.hear)
    refusals.heed(informer, waiting.fail)
    async with supervise.tasks("wait", clock=hub.client.clock) as tasks:
        tasks.start("informer", informer.run)
        tasks.start("gone", partial(waiting.look_for_gone, informer))
        await waiting.over


class _Waiting:
    """Keeps count of what is waited for; `over` ends once all have got there, or cannot."""

    def __init__(
        self, workloads: Sequence[Obj], goal: Goal, say: Callable[[str], None], sort: Sort
    ) -> None:
        self.names = [each["metadata"]["name"] for each in workloads]
        self.sort = sort
        self.reached: dict[str, Obj] = {}
        self.over: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._awaited = {
            each["metadata"]["uid"]: each["metadata"]["name"] for each in workloads
        }
        self._goal = goal
        self._say = say

    def hear(self, change: Change[Head]) -> None:
        """Look at one that has come, changed or gone."""
        if change.item.uid not in self._awaited:
            return
        if change.after is None:
            self._miss(change.item.key.name)
        elif self._goal.holds(obj := change.after.object()):
            self._note(obj)

    async def look_for_gone(self, informer: Informer[Head]) -> None:
        """See whether one was deleted between our reading it and our following it."""
        await informer.synced.wait()
        there = {item.uid for item in informer}
        for uid, name in self._awaited.items():
            if uid not in there:
                self._miss(name)

    def fail(self, error: Error) -> None:
        """End the waiting."""
        if not self.over.done():
            self.over.set_exception(error)

    def _note(self, obj: Obj) -> None:
        del self._awaited[obj["metadata"]["uid"]]
        self.reached[obj["metadata"]["name"]] = obj
        self._say(self.sort.sentence(obj))
        if not self._awaited and not self.over.done():
            self.over.set_result(None)

    def _miss(self, name: str) -> None:
        kind = self.sort.resource.kind
        self.fail(NotThere(f"{kind} {name} was deleted before it {_got(self._goal)}"))


def _done(goal: Goal) -> str:
    return {"ended": "ended", "placed": "been placed", "running": "run"}[goal.name]


def _got(goal: Goal) -> str:
    return {"ended": "ended", "placed": "was placed", "running": "ran"}[goal.name]
