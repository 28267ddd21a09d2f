"""Reconciles one workload: puts together what is known, asks the core for the next step, and takes it."""

from functools import partial
from typing import TypeVar

from jobferry import log
from jobferry.clock import Seconds
from jobferry.core import records
from jobferry.core.decide import decide
from jobferry.core.key import WorkloadKey
from jobferry.core.marks import ATTEMPT, Marks
from jobferry.core.steps import (
    CreateMirror,
    DeleteMirror,
    DeleteRecord,
    EditMirror,
    Into,
    Notice,
    ReadHub,
    ReadKind,
    ReadMirror,
    Record,
    Rest,
    Step,
    Store,
    WriteStatus,
)
from jobferry.core.view import View
from jobferry.dispatch import expiry, lacks
from jobferry.dispatch.act import Actor
from jobferry.dispatch.meters import Meters
from jobferry.dispatch.setbacks import (
    Deposed,
    Estranged,
    KindGone,
    NamespaceRefused,
    NotForwarded,
    NotTaken,
    Refused,
    is_refusal,
)
from jobferry.dispatch.strangers import Strangers
from jobferry.dispatch.views import Known, Views
from jobferry.kinds.adapter import Adapter
from jobferry.kube import errors
from jobferry.kube.events import Tell
from jobferry.kube.items import Key
from jobferry.objects import Obj
from jobferry.runtime.reconcile import DONE, Again, Outcome
from jobferry.runtime.workqueue import WorkQueue

MOST_STEPS = 20
"""More in one pass means that two rules contradict each other; the next pass begins afresh."""

MOST_CONFLICTS = 2
"""More in one pass mean that what we are told is older than what we know: that takes a while to be set right."""

MOST_CREATES = 2
"""More on one worker in one pass mean that our copy of it does not show what it has: the worker was put back, and no watch tells."""

KEPT_FOR: Seconds = 60.0
"""How long a worker is not asked again that did not let us delete something, unless there is news."""

_log = log.get(__name__)

T = TypeVar("T")


class Reconciler:
    """Takes the steps that the core decides on."""

    def __init__(
        self,
        views: Views,
        actor: Actor,
        queue: WorkQueue[WorkloadKey],
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

    async def reconcile(self, key: WorkloadKey) -> Outcome:
        """Take steps until there is none to take."""
        known, kind = Known(key), self._views.workloads.adapters[key.kind]
        conflicts = 0
        if self._is_unknown(key):
            self._views.admitting.withdraw(key)
            return DONE  # once its kind is followed, its mirrors are reconciled
        for _ in range(MOST_STEPS):
            view = self._views.of(known)
            step = decide(view, kind)
            if isinstance(step, Rest):
                # All that has changed so far was in this view, our own writes too.
                self._queue.withdraw(key)
                self._meters.reporting.drop(key)
                return await self._rest(kind, key, view, step)
            try:
                await self._take(kind, known, view, step)
            except Deposed:
                return DONE  # once we lead again, all are reconciled
            except KindGone as gone:
                _log.info("Left alone", why=gone)
                self._views.admitting.withdraw(key)
                return DONE  # once the kind is back, its mirrors are reconciled
            except (errors.Conflict, errors.AlreadyExists):
                conflicts += 1
                if conflicts > MOST_CONFLICTS:
                    raise
                await self._read_hub(
                    kind, known
                )  # the hub object changed meanwhile: decide anew
            except NotTaken as refusal:
                return self._set_back(key, step, refusal)
            except (NotForwarded, Estranged) as trouble:
                # If it was to leave, the room elsewhere is not kept for it until it is tried again.
                self._views.admitting.withdraw(key)
                is_edit = isinstance(trouble, NotForwarded)
                reason = "NotForwarded" if is_edit else "OtherDispatcher"
                self._tell(key, (Notice(reason, str(trouble)),))
                return Again(self._views.memory.postpone(key))
        raise errors.ServerFailure(f"{key}: no end after {MOST_STEPS} steps")

    def _set_back(self, key: WorkloadKey, step: Step, refusal: NotTaken) -> Outcome:
        """Tell what the hub refused, once, however often it is tried again."""
        notice = Notice("StatusRefused", str(refusal))
        self._tell(key, (notice,))
        if not isinstance(step, Record | Store):
            raise refusal
        # The room that it was to have is not kept for it until then.
        self._views.admitting.withdraw(key)
        return Again(self._views.memory.set_back(key, notice))

    def _is_unknown(self, key: WorkloadKey) -> bool:
        """Tell whether nothing can be said of a workload: its kind is not followed, nor was it seen to be deleted."""
        is_followed = key.kind in self._views.workloads.followed
        return not is_followed and not self._views.memory.buried(key)

    async def _take(self, kind: Adapter, known: Known, view: View, step: Step) -> None:
        match step:
            case ReadHub() | ReadMirror() | ReadKind():
                await self._read(kind, known, step)
            case Record():
                await self._place(kind, known, view, step)
            case Store():
                await self._actor.store(kind, _there(view.hub), step)
                known.is_live |= step.into is Into.STATUS
            case WriteStatus():
                await self._write_status(kind, known, _there(view.hub), step)
            case CreateMirror():
                if not await self._look_first(kind, known, view, step):
                    _count(known, step.worker)
                    await self._create(kind, known.key, view, step)
            case EditMirror():
                await self._edit(kind, step)
            case DeleteMirror():
                await self._delete(kind, known, step)
            case DeleteRecord():
                known.keeps_records = not await self._actor.delete_record(step)

    async def _read(
        self, kind: Adapter, known: Known, step: ReadHub | ReadMirror | ReadKind
    ) -> None:
        match step:
            case ReadHub():
                await self._read_hub(kind, known)
            case ReadMirror(marks):
                await self._read_mirror(kind, marks)
                known.seen.add(marks.worker)
            case ReadKind(marks):
                known.lost_kinds[marks.worker] = await self._actor.has_lost(kind, marks)

    async def _write_status(
        self, kind: Adapter, known: Known, hub: Obj, step: WriteStatus
    ) -> None:
        with self._meters.reporting.stopping(known.key):
            try:
                await self._actor.write_status(kind, hub, step)
            except errors.NotFound as error:
                # What is said not to be there may be the workload, or only the subresource of its kind.
                found = await self._actor.read_hub(kind, known.key)
                if found is None or found["metadata"]["uid"] != hub["metadata"]["uid"]:
                    raise
                why = f"The hub has no {kind.resource}/status to write to"
                raise NotTaken(f"{why}: {error.words}") from error
        known.is_live = True
        item = self._views.workloads.get(known.key)
        if item and item.head.metadata.resource_version == hub["metadata"]["resourceVersion"]:
            self._views.memory.note_vain(known.key, step.patch)

    async def _place(self, kind: Adapter, known: Known, view: View, step: Record) -> None:
        key, hub = known.key, _there(view.hub)
        if await self._is_part(key) or not self._may_ask(key, view, step):
            return  # the next step says what follows from that
        await self._actor.record(kind, hub, step)
        self._views.memory.note_taken(key)
        is_new = step.placement.attempt > records.last_attempt(kind, hub, view.record)
        if is_new and not step.is_found:
            self._views.memory.note_placed(key, step.placement)
        self._meters.place([shard.worker for shard in step.placement.shards])
        # What is in an object of ours tells nothing about the workload itself: that may be gone by now.
        known.is_live |= step.into is Into.STATUS

    async def _is_part(self, key: WorkloadKey) -> bool:
        """Tell whether what made a workload is ours after all: the news of it may come later than that of its part."""
        workloads = self._views.workloads
        item = workloads.get(key)
        parent = workloads.parent(item.head) if item is not None else None
        if item is None or parent is None or workloads.get(parent) is not None:
            return False
        try:
            await self._actor.read_hub(workloads.adapters[parent.kind], parent)
        except errors.Forbidden:
            return False  # what we may not see is nothing that we bring anywhere
        return not workloads.has(key.kind, item.head)

    async def _read_hub(self, kind: Adapter, known: Known) -> None:
        found = await self._actor.read_hub(kind, known.key)
        known.learn(found, self._views.workloads.get(known.key), kind)

    async def _read_mirror(self, kind: Adapter, marks: Marks) -> None:
        key = Key(marks.namespace, marks.name)
        found = await self._actor.read_mirror(kind, marks.worker, key)
        if found is not None and (other := marks.other_dispatcher(found)):
            raise Estranged(marks.worker, other)

    def _may_ask(self, key: WorkloadKey, view: View, step: Record) -> bool:
        """Tell whether to place it there: not while another asks for all of its namespace.

        What is there, and only recorded again, asks nobody.
        """
        ask = self._views.memory.refused.ask
        new = [each.worker for each in step.placement.shards if each.worker == view.reserved]
        return all(ask(key, worker) for worker in new)

    async def _look_first(
        self, kind: Adapter, known: Known, view: View, step: CreateMirror
    ) -> bool:
        """Look on its worker for what a workload refers to, and tell what is missing there.

        That may take time: if so, the next step says what is to be done now. It is sent there, whatever is missing.
        """
        hub, meta = _there(view.hub), step.obj["metadata"]
        if step.worker in known.looked or not (named := kind.references(hub)):
            return False
        known.looked.add(step.worker)
        missing = await self._actor.look(step.worker, meta["namespace"], named)
        if missing:
            why = lacks.text(step.worker, meta["namespace"], missing)
            if self._views.memory.note_lack(known.key, meta["labels"][ATTEMPT], why):
                self._record(hub, "Warning", lacks.REASON, why)
        return True

    async def _create(
        self, kind: Adapter, key: WorkloadKey, view: View, step: CreateMirror
    ) -> None:
        memory = self._views.memory
        if not memory.refused.ask(key, step.worker):
            return  # by now another asks for all: the next step says that it waits
        try:
            with self._meters.mirroring.stopping(key):
                told = partial(self._views.memory.note_told, key)
                await self._actor.create(kind, step, told)
        except Refused as refusal:
            reason = getattr(refusal.__cause__, "reason", "")
            is_general = isinstance(refusal, NamespaceRefused)
            why = str(refusal)
            if placed := records.read(kind, _there(view.hub), view.record):
                memory.note_placed(key, placed)  # as if it had not been told: it has none
            if memory.refuse(key, step.worker, why, reason=reason, is_general=is_general):
                message = f"Worker {step.worker} refused it: {why}"
                self._record(_there(view.hub), "Warning", "Refused", message)
        else:
            if memory.refused.accept(key, step.worker):
                self._wake_others(key.namespace)

    def _wake_others(self, namespace: str) -> None:
        for key, _ in self._views.workloads:
            if key.namespace == namespace:
                self._queue.add(key)

    async def _edit(self, kind: Adapter, step: EditMirror) -> None:
        try:
            await self._actor.edit(kind, step)
        except (errors.Conflict, errors.NotFound):
            # It changed meanwhile, or went: the worker knows better than our copy.
            meta = step.obj["metadata"]
            key = Key(meta["namespace"], meta["name"])
            await self._actor.read_mirror(kind, step.worker, key)

    async def _delete(self, kind: Adapter, known: Known, step: DeleteMirror) -> None:
        """Delete a mirror; where a worker does not let us, that is no reason to leave all else undone."""
        try:
            await self._actor.delete(kind, step)
        except errors.ApiError as error:
            if not is_refusal(error):
                raise
            known.kept[step.worker] = error.words

    async def _rest(self, kind: Adapter, key: WorkloadKey, view: View, step: Rest) -> Outcome:
        _log.debug("Rests", why=step.why)
        self._views.admitting.note_wish(key, view, step.wants, kind)
        notices = step.notices
        if view.hub is None and not notices and (stranger := self._views.stranger(key)):
            notice = await self._strangers.notice(kind.resource.kind, stranger)
            notices = (notice,) if notice else ()
        stays, told = await self._expire(kind, view)
        objection = self._views.memory.objection(key)
        self._tell(key, (*notices, *told, *objection, *_of_demand(kind, view)))
        if view.hub is None and not view.mirrors:
            self._views.memory.forget(key)
        refused = self._views.memory.refused.next(key) if view.hub else None
        kept = KEPT_FOR if view.kept else None
        times = [step.after, stays, refused, kept]
        after = min((each for each in times if each is not None), default=None)
        return DONE if after is None else Again(after)

    async def _expire(
        self, kind: Adapter, view: View
    ) -> tuple[Seconds | None, tuple[Notice, ...]]:
        """Delete a workload whose time on the hub is over; return when to look again, and what to tell."""
        left = expiry.left(kind, view)
        if left is None or left > 0:
            return left, ()
        try:
            await self._actor.expire(kind, _there(view.hub))
        except errors.Forbidden as error:
            return expiry.ASK_EVERY, (expiry.refusal(kind, error),)
        except errors.Conflict:
            # It has changed meanwhile, and the news of that may take a while.
            return expiry.AGAIN_AFTER, ()
        return None, ()

    def _tell(self, key: WorkloadKey, notices: tuple[Notice, ...]) -> None:
        """Tell people what they were not told yet: by events, or where we follow no such workload, in the log."""
        item = self._views.workloads.get(key)
        for notice in self._views.memory.news(key, notices):
            if item is not None:
                self._record(item.object(), "Warning", notice.reason, notice.message)
            else:
                _log.warning("Nobody follows this workload", why=notice.message)


def _count(known: Known, worker: str) -> None:
    """Take note that a worker is sent a mirror; raises `ServerFailure` if that was in vain before."""
    if known.created.count(worker) == MOST_CREATES:
        raise errors.ServerFailure(f"{known.key}: worker {worker} does not show its mirror")
    known.created.append(worker)


def _of_demand(kind: Adapter, view: View) -> tuple[Notice, ...]:
    """Tell if room is counted, and it is not known how much of it a workload takes."""
    hub, counts = view.hub, any(each.capacity for each in view.workers.values())
    if hub is None or not counts or kind.finish(hub):
        return ()
    why = kind.unknown_demand(hub)
    message = f"Not all that it needs is counted: {why}"
    return (Notice("DemandUnknown", message),) if why else ()


def _there(found: T | None) -> T:
    assert found is not None  # noqa: S101 (the core takes such a step only for a workload that is there)
    return found
