"""Waits until Jobs are as somebody wants them, by a watch."""

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
    jobs: Sequence[Obj],
    goal: Goal,
    within: Seconds | None,
    say: Callable[[str], None],
) -> None:
    """Wait until all Jobs have got there, and say of each how; raises `JobFailed` if one has failed."""
    try:
        if within is None:
            ended = await _all(hub, jobs, goal, say)
        else:
            async with timeout(hub.client.clock, within):
                ended = await _all(hub, jobs, goal, say)
    except TimeoutError:
        raise too_late([job["metadata"]["name"] for job in jobs], goal, within) from None
    failed = [name for name, job in ended.items() if outcome(job) == FAILED]
    if failed:
        raise JobFailed(
            f"{', '.join(failed)} failed", hint=f"`jobferry describe {failed[0]}` tells more."
        )


def too_late(names: Sequence[str], goal: Goal, within: Seconds | None) -> TimeOver:
    """Say that Jobs have not got there in time."""
    one = len(names) == 1
    what = (
        f"{names[0]} has not {_done(goal)}"
        if one
        else f"not all of {', '.join(names)} {_got(goal)}"
    )
    return TimeOver(
        f"{what} within {within:g} s",
        hint=f"`{program()} why {names[0] if one else 'JOB'}` tells what it waits for.",
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


async def _all(
    hub: Hub, jobs: Sequence[Obj], goal: Goal, say: Callable[[str], None]
) -> dict[str, Obj]:
    """Follow the Jobs until all have got there; raises if one is deleted, or we may not follow them."""
    waiting = _Waiting(jobs, goal, say)
    names = sorted({job["metadata"]["name"] for job in jobs})
    fields = f"metadata.name={names[0]}" if len(names) == 1 else ""
    informer = Informer(hub.client, hub.scope(JOBS, fields=fields), Head)
    informer.listen(waiting.hear)
    refusals.heed(informer, waiting.fail)
    async with supervise.tasks("wait", clock=hub.client.clock) as tasks:
        tasks.start("informer", informer.run)
        tasks.start("gone", partial(waiting.look_for_gone, informer))
        await waiting.over
    return waiting.reached


class _Waiting:
    """Keeps count of the Jobs that are waited for; `over` ends once all have got there, or cannot."""

    def __init__(self, jobs: Sequence[Obj], goal: Goal, say: Callable[[str], None]) -> None:
        self.reached: dict[str, Obj] = {}
        self.over: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._awaited = {job["metadata"]["uid"]: job["metadata"]["name"] for job in jobs}
        self._goal = goal
        self._say = say

    def hear(self, change: Change[Head]) -> None:
        """Look at a Job that has come, changed or gone."""
        if change.item.uid not in self._awaited:
            return
        if change.after is None:
            name = change.item.key.name
            self.fail(NotThere(f"Job {name} was deleted before it {_got(self._goal)}"))
        elif self._goal.holds(job := change.after.object()):
            self._note(job)

    async def look_for_gone(self, informer: Informer[Head]) -> None:
        """See whether a Job was deleted between our reading it and our following it."""
        await informer.synced.wait()
        there = {item.uid for item in informer}
        for uid, name in self._awaited.items():
            if uid not in there:
                self.fail(NotThere(f"Job {name} was deleted before it {_got(self._goal)}"))

    def _note(self, job: Obj) -> None:
        del self._awaited[job["metadata"]["uid"]]
        self.reached[job["metadata"]["name"]] = job
        self._say(sentence(job))
        if not self._awaited and not self.over.done():
            self.over.set_result(None)

    def fail(self, error: Error) -> None:
        """End the waiting."""
        if not self.over.done():
            self.over.set_exception(error)


def _done(goal: Goal) -> str:
    return {"ended": "ended", "placed": "been placed", "running": "run"}[goal.name]


def _got(goal: Goal) -> str:
    return {"ended": "ended", "placed": "was placed", "running": "ran"}[goal.name]
