"""Looks at one workload: puts together what is known, asks the core for the next step, and takes it."""

from collections.abc import Callable
from functools import partial
from typing import TypeVar

from jobferry import log
from jobferry.core import placement
from jobferry.core.decide import decide
from jobferry.core.steps import (
    CreateMirror,
    DeleteMirror,
    EditMirror,
    Look,
    Notice,
    Record,
    Rest,
    Step,
    WriteStatus,
)
from jobferry.core.view import View
from jobferry.dispatch.act import Actor, NotForwarded, Refused
from jobferry.dispatch.memory import REFUSAL_LASTS
from jobferry.dispatch.meters import Meters
from jobferry.dispatch.views import Known, Views
from jobferry.kinds import job
from jobferry.kube import errors
from jobferry.kube.events import Tell
from jobferry.kube.items import Key
from jobferry.objects import Obj
from jobferry.runtime.reconcile import DONE, Again, Outcome
from jobferry.runtime.workqueue import WorkQueue

MOST_STEPS = 20
"""More in one pass means that two rules contradict each other; the next pass begins afresh."""

_log = log.get(__name__)

T = TypeVar("T")


class Reconciler:
    """Takes the steps that the core decides on."""

    def __init__(
        self,
        views: Views,
        actor: Actor,
        queue: WorkQueue[Key],
        meters: Meters,
        *,
        record: Tell,
        may_act: Callable[[], bool],
    ) -> None:
        self._views = views
        self._actor = actor
        self._queue = queue
        self._meters = meters
        self._record = record
        self._may_act = may_act

    async def look(self, key: Key) -> Outcome:
        """Take steps until there is none to take."""
        known = Known(key)
        for _ in range(MOST_STEPS):
            view = self._views.of(known)
            if isinstance(view, str):
                self._tell(key, (Notice("NoQueue", view),))
                return DONE
            step = decide(view, job)
            if isinstance(step, Rest):
                # All that has changed so far was in this view, our own writes too.
                self._queue.withdraw(key)
                self._meters.reporting.drop(key)
                return await self._rest(key, view, step)
            if not self._may_act():
                # We slept, and somebody else may lead by now. Once we lead again, all are looked at.
                return DONE
            try:
                await self._take(known, view, step)
            except errors.Conflict:
                await self._look(known)  # the hub object changed meanwhile: decide anew
            except NotForwarded as refusal:
                self._tell(key, (Notice("NotForwarded", str(refusal)),))
                return Again(REFUSAL_LASTS)
        raise errors.ServerFailure(f"{key}: no end after {MOST_STEPS} steps")

    async def _take(self, known: Known, view: View, step: Step) -> None:
        match step:
            case Look():
                await self._look(known)
            case Record():
                await self._place(known.key, _there(view.hub), step)
                known.is_live = True
            case WriteStatus():
                with self._meters.reporting.stopping(known.key):
                    await self._actor.write_status(_there(view.hub), step)
                known.is_live = True
            case CreateMirror():
                await self._create(known.key, view, step)
            case EditMirror():
                await self._actor.edit(step)
            case DeleteMirror():
                await self._actor.delete(step)

    async def _place(self, key: Key, hub: Obj, step: Record) -> None:
        chosen = [shard.worker for shard in step.placement.shards]
        need = job.demand(hub)
        with self._views.loads.expecting(chosen), self._views.used.expecting(chosen, need):
            await self._actor.record(hub, step)
        if step.placement.attempt > placement.last_attempt(hub):
            self._views.memory.note_placed(key, step.placement)
        self._meters.place(chosen)

    async def _look(self, known: Known) -> None:
        if await self._actor.look(known.key) is None:
            cached = self._views.jobs.get(known.key)
            known.gone = cached.uid if cached else ""
        known.is_live = True

    async def _create(self, key: Key, view: View, step: CreateMirror) -> None:
        try:
            with self._meters.mirroring.stopping(key):
                await self._actor.create(step, partial(self._views.memory.note_told, key))
        except Refused as refusal:
            self._views.memory.refuse(key, step.worker, str(refusal))
            message = f"Worker {step.worker} refused it: {refusal}"
            self._record(_there(view.hub), "Warning", "Refused", message)

    async def _rest(self, key: Key, view: View, step: Rest) -> Outcome:
        _log.debug("Rests", why=step.why)
        notices = step.notices
        if view.hub is None and (stranger := self._views.stranger(key)):
            notice = await self._views.claims.notice(self._actor.hub, stranger)
            notices = (notice,) if notice else ()
        self._tell(key, notices)
        if view.hub is None and not view.mirrors:
            self._views.memory.forget(key)
        if view.refusals and view.hub is not None:
            return Again(min(step.after or REFUSAL_LASTS, REFUSAL_LASTS))
        return DONE if step.after is None else Again(step.after)

    def _tell(self, key: Key, notices: tuple[Notice, ...]) -> None:
        """Tell people what they were not told yet."""
        item = self._views.jobs.get(key)
        if item is not None:
            for notice in self._views.memory.news(key, notices):
                self._record(item.object(), "Warning", notice.reason, notice.message)


def _there(found: T | None) -> T:
    assert found is not None  # noqa: S101 (the core takes such a step only for a workload that is there)
    return found
