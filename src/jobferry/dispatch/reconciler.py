"""Reconciles one workload: puts together what is known, asks the core for the next step, and takes it."""

from functools import partial
from typing import TypeVar

from jobferry import log
from jobferry.core import placement
from jobferry.core.decide import decide
from jobferry.core.marks import Marks
from jobferry.core.steps import (
    CreateMirror,
    DeleteMirror,
    EditMirror,
    Notice,
    ReadHub,
    ReadMirror,
    Record,
    Rest,
    Step,
    WriteStatus,
)
from jobferry.core.view import View
from jobferry.dispatch.act import (
    Actor,
    Deposed,
    Estranged,
    NamespaceRefused,
    NotForwarded,
    NotTaken,
    Refused,
)
from jobferry.dispatch.meters import Meters
from jobferry.dispatch.strangers import Strangers
from jobferry.dispatch.views import Known, Views
from jobferry.kinds.job.adapter import JOB
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
    ) -> None:
        self._views = views
        self._actor = actor
        self._strangers = Strangers(actor.hub, views.claims)
        self._queue = queue
        self._meters = meters
        self._record = record

    async def reconcile(self, key: Key) -> Outcome:
        """Take steps until there is none to take."""
        known = Known(key)
        for _ in range(MOST_STEPS):
            view = self._views.of(known)
            step = decide(view, JOB)
            if isinstance(step, Rest):
                # All that has changed so far was in this view, our own writes too.
                self._queue.withdraw(key)
                self._meters.reporting.drop(key)
                return await self._rest(key, view, step)
            try:
                await self._take(known, view, step)
            except Deposed:
                return DONE  # once we lead again, all are reconciled
            except errors.Conflict:
                await self._read_hub(known)  # the hub object changed meanwhile: decide anew
            except NotTaken as refusal:
                # Told once, however often it is tried again.
                self._tell(key, (Notice("StatusRefused", str(refusal)),))
                raise
            except (NotForwarded, Estranged) as trouble:
                # If it was to leave, the room elsewhere is not kept for it until it is tried again.
                self._views.admitting.note_wish(key, view, None)
                is_edit = isinstance(trouble, NotForwarded)
                reason = "NotForwarded" if is_edit else "OtherDispatcher"
                self._tell(key, (Notice(reason, str(trouble)),))
                return Again(self._views.memory.postpone(key))
        raise errors.ServerFailure(f"{key}: no end after {MOST_STEPS} steps")

    async def _take(self, known: Known, view: View, step: Step) -> None:
        match step:
            case ReadHub():
                await self._read_hub(known)
            case ReadMirror():
                await self._read_mirror(step.marks)
                known.seen.add(step.marks.worker)
            case Record():
                if self._may_ask(known.key, view, step):
                    await self._place(known.key, _there(view.hub), step)
                    known.is_live = True
            case WriteStatus():
                with self._meters.reporting.stopping(known.key):
                    await self._actor.write_status(_there(view.hub), step)
                known.is_live = True
            case CreateMirror():
                await self._create(known.key, view, step)
            case EditMirror():
                await self._edit(step)
            case DeleteMirror():
                await self._actor.delete(step)

    async def _place(self, key: Key, hub: Obj, step: Record) -> None:
        await self._actor.record(hub, step)
        if step.placement.attempt > placement.last_attempt(hub):
            self._views.memory.note_placed(key, step.placement)
        self._meters.place([shard.worker for shard in step.placement.shards])

    async def _read_hub(self, known: Known) -> None:
        found = await self._actor.read_hub(known.key)
        known.learn(found, self._views.jobs.get(known.key), self._views.claims)

    async def _read_mirror(self, marks: Marks) -> None:
        key = Key(marks.namespace, marks.name)
        found = await self._actor.read_mirror(marks.worker, key)
        if found is not None and (other := marks.other_dispatcher(found)):
            raise Estranged(marks.worker, other)

    def _may_ask(self, key: Key, view: View, step: Record) -> bool:
        """Tell whether to place it there: not while another asks for all of its namespace.

        What is there, and only recorded again, asks nobody.
        """
        ask = self._views.memory.refused.ask
        new = [each.worker for each in step.placement.shards if each.worker == view.reserved]
        return all(ask(key, worker) for worker in new)

    async def _create(self, key: Key, view: View, step: CreateMirror) -> None:
        memory = self._views.memory
        if not memory.refused.ask(key, step.worker):
            return  # by now another asks for all: the next step says that it waits
        try:
            with self._meters.mirroring.stopping(key):
                await self._actor.create(step, partial(self._views.memory.note_told, key))
        except Refused as refusal:
            reason = getattr(refusal.__cause__, "reason", "")
            is_general = isinstance(refusal, NamespaceRefused)
            why = str(refusal)
            if placed := placement.read(_there(view.hub)):
                memory.note_placed(key, placed)  # as if it had not been told: it has none
            if memory.refuse(key, step.worker, why, reason=reason, is_general=is_general):
                message = f"Worker {step.worker} refused it: {why}"
                self._record(_there(view.hub), "Warning", "Refused", message)
        else:
            if memory.refused.accept(key, step.worker):
                self._wake_others(key.namespace)

    def _wake_others(self, namespace: str) -> None:
        for item in self._views.jobs:
            if item.key.namespace == namespace:
                self._queue.add(item.key)

    async def _edit(self, step: EditMirror) -> None:
        try:
            await self._actor.edit(step)
        except (errors.Conflict, errors.NotFound):
            # It changed meanwhile, or went: the worker knows better than our copy.
            meta = step.obj["metadata"]
            key = Key(meta["namespace"], meta["name"])
            await self._actor.read_mirror(step.worker, key)

    async def _rest(self, key: Key, view: View, step: Rest) -> Outcome:
        _log.debug("Rests", why=step.why)
        self._views.admitting.note_wish(key, view, step.wants)
        notices = step.notices
        if view.hub is None and not notices and (stranger := self._views.stranger(key)):
            notice = await self._strangers.notice(stranger)
            notices = (notice,) if notice else ()
        self._tell(key, notices)
        if view.hub is None and not view.mirrors:
            self._views.memory.forget(key)
        times = [step.after, self._views.memory.refused.next(key) if view.hub else None]
        after = min((each for each in times if each is not None), default=None)
        return DONE if after is None else Again(after)

    def _tell(self, key: Key, notices: tuple[Notice, ...]) -> None:
        """Tell people what they were not told yet: by events, or where we follow no such Job, in the log."""
        item = self._views.jobs.get(key)
        for notice in self._views.memory.news(key, notices):
            if item is not None:
                self._record(item.object(), "Warning", notice.reason, notice.message)
            else:
                _log.warning("Nobody follows this Job", why=notice.message)


def _there(found: T | None) -> T:
    assert found is not None  # noqa: S101 (the core takes such a step only for a workload that is there)
    return found
