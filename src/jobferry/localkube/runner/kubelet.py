"""A kubelet: has the pods of its nodes run, and reports how they are."""

from collections.abc import Collection
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from jobferry import log
from jobferry.clock import Seconds
from jobferry.kube import errors, resources
from jobferry.kube.cache import Change
from jobferry.kube.calls import PatchKind, Scope
from jobferry.kube.client import Client
from jobferry.kube.events import Recorder, Subject, Type
from jobferry.kube.informer import Informer
from jobferry.kube.items import Item, Key
from jobferry.localkube.controllers.heads import Pod
from jobferry.localkube.runner import containers, deciding, statuses
from jobferry.localkube.runner.backend import Backend, CannotStart
from jobferry.localkube.runner.containers import NOTHING, Known, Part, Trouble
from jobferry.localkube.runner.deciding import Step
from jobferry.objects import Obj
from jobferry.runtime.backoff import Backoff, Failures
from jobferry.runtime.reconcile import DONE, Again, Loop, Outcome
from jobferry.runtime.workqueue import WorkQueue

WORKERS = 32
BACKOFF = Backoff(first=0.05, cap=10.0)
TROUBLE = Backoff(first=1.0, cap=60.0, jitter=0.0)
"""How long to wait before a container that cannot be started is tried again."""

SETTLE: Seconds = 0.02
"""How long a start goes unreported: what ends at once is reported once."""

_log = log.get(__name__)


@dataclass(slots=True)
class Care:
    """What a kubelet remembers of a pod, beside what its backend knows."""

    key: Key
    known: dict[str, Known] = field(default_factory=dict)
    troubles: dict[str, int] = field(default_factory=dict)
    reported: Obj | None = None


class Kubelet:
    """Looks after the pods of some nodes."""

    def __init__(
        self,
        client: Client,
        nodes: Collection[str],
        backend: Backend,
        recorder: Recorder,
        *,
        settle: Seconds = SETTLE,
    ) -> None:
        self._client = client
        self._clock = client.clock
        self._nodes = frozenset(nodes)
        self._backend = backend
        self._recorder = recorder
        self._settle = settle
        self._cares: dict[str, Care] = {}
        self._queue: WorkQueue[str] = WorkQueue(client.clock)
        fields = f"spec.nodeName={next(iter(self._nodes))}" if len(self._nodes) == 1 else ""
        scope = Scope(resource=resources.PODS, fields=fields)
        self.informer = Informer(client, scope, Pod, keep=self._is_ours)
        self.loop = Loop(
            "kubelet",
            self._reconcile,
            queue=self._queue,
            failures=Failures(BACKOFF, client.random),
            workers=WORKERS,
        )

    def begin(self) -> None:
        """Take up what is there; the informer is whole by now."""
        self._backend.listen(self._queue.add)
        self.informer.listen(self._note)
        for uid in self._backend.uids() - self._cares.keys():
            self._queue.add(uid)  # its pod was deleted while nobody looked

    def _is_ours(self, pod: Pod) -> bool:
        return pod.spec.node_name in self._nodes

    def _note(self, change: Change[Pod]) -> None:
        item = change.item
        self._cares.setdefault(item.uid, Care(item.key))
        self._queue.add(item.uid)

    # -- one pass -------------------------------------------------------------------------------

    async def _reconcile(self, uid: str) -> Outcome:
        care = self._cares.get(uid)
        item = None if care is None else self.informer.get(care.key)
        if care is None or item is None or item.uid != uid:
            await self._backend.remove(uid)
            self._cares.pop(uid, None)
            return DONE
        if item.head.is_finished and not item.head.metadata.is_deleted:
            care.known.clear()  # there may be many that nobody deletes
            care.reported = None
            return DONE
        return await self._look_after(item, care)

    async def _look_after(self, item: Item[Pod], care: Care) -> Outcome:
        pod, now = item.object(), self._clock.now()
        meta = item.head.metadata
        # The API server removes it, at the latest with the next write to it.
        is_going = meta.deletion_grace_period_seconds == 0 and not meta.finalizers
        if item.head.is_finished:
            step = Step([], [], [], is_over=True)
        else:
            step, did = await self._decide(pod, care, now)
            self._backend.look_after(pod)
            if did and self._settle:
                return Again(self._settle)  # what ends at once is reported once
            if not is_going:
                with suppress(errors.NotFound, errors.Conflict):
                    await self._report(item, pod, care, step, now)
        if step.is_over and meta.is_deleted:
            await self._backend.remove(item.uid)
            await self._let_go(item)
            return DONE
        if step.starts or step.stops:
            return Again(0)  # what was started has ended already, and something else is due
        if step.wake is None:
            return DONE
        return Again(max(0.0, (step.wake - now).total_seconds()))

    async def _decide(self, pod: Obj, care: Care, now: datetime) -> tuple[Step, bool]:
        """Do what is due; returns what is left to do, and whether anything was started."""
        uid = pod["metadata"]["uid"]
        self._see(uid, pod, care)
        step = deciding.decide(pod, care.known, now)
        if not await self._carry_out(pod, care, step, now):
            return step, False
        self._see(uid, pod, care)
        return deciding.decide(pod, care.known, now), True

    def _see(self, uid: str, pod: Obj, care: Care) -> None:
        """Bring what is known up to date with what the backend says."""
        attempts = self._backend.attempts(uid)
        for part in containers.parts(pod):
            runs = attempts.get(part.name, ())
            if not runs:
                continue
            before = care.known.get(part.name, NOTHING)
            current = runs[-1]
            is_new = before.current is None or before.current.number != current.number
            care.known[part.name] = Known(
                current=current,
                previous=runs[-2] if len(runs) > 1 else None,
                streak=before.streak or current.number + 1,
                trouble=before.trouble,
                stopping_since=None if is_new else before.stopping_since,
            )

    async def _carry_out(self, pod: Obj, care: Care, step: Step, now: datetime) -> bool:
        """Do what is due; tell whether anything was."""
        uid = pod["metadata"]["uid"]
        for name in step.stops:
            self._tell_of_end(pod, name, care.known[name])
            care.known[name] = replace(care.known[name], stopping_since=now)
            self._backend.stop(pod, name)
        for name in step.kills:
            self._backend.kill(uid, name)
        for part in containers.parts(pod):
            if part.name in step.starts:
                await self._start(pod, part, care, now)
        return bool(step.starts or step.stops)

    async def _start(self, pod: Obj, part: Part, care: Care, now: datetime) -> None:
        before = care.known.get(part.name, NOTHING)
        number = before.next_number
        try:
            await self._backend.start(pod, part, number)
        except CannotStart as error:
            count = care.troubles[part.name] = care.troubles.get(part.name, 0) + 1
            care.known[part.name] = replace(before, trouble=_trouble(error, count, now))
            self._tell(pod, "Warning", "Failed", f"Error: {error}")
            return
        care.troubles.pop(part.name, None)
        streak = containers.next_streak(before)
        care.known[part.name] = replace(before, streak=streak, trouble=None)

    # -- telling --------------------------------------------------------------------------------

    async def _report(
        self, item: Item[Pod], pod: Obj, care: Care, step: Step, now: datetime
    ) -> None:
        status = statuses.status(pod, care.known, step, now)
        if status == care.reported:
            return
        body = {"metadata": {"uid": item.uid}, "status": status}
        answer = await self._client.patch(
            resources.PODS,
            item.key.name,
            body,
            namespace=item.key.namespace,
            kind=PatchKind.STRATEGIC,
            subresource="status",
        )
        care.reported = status
        self.informer.absorb(answer)
        for each in status["containerStatuses"]:
            if each["state"].get("waiting", {}).get("reason") == "CrashLoopBackOff":
                message = f"Back-off restarting failed container {each['name']}"
                self._tell(pod, "Warning", "BackOff", message)

    async def _let_go(self, item: Item[Pod]) -> None:
        """Say that nothing of a deleted pod runs any more."""
        if item.head.metadata.deletion_grace_period_seconds == 0:
            return  # that was said, by us or by who had no time: the API server sees to the rest
        with suppress(errors.NotFound, errors.Conflict):
            answer = await self._client.delete(
                resources.PODS, item.key.name, item.key.namespace, uid=item.uid, grace=0
            )
            self.informer.absorb_deletion(item.key, answer)

    def _tell_of_end(self, pod: Obj, name: str, one: Known) -> None:
        unwell = one.current.unwell if one.current else ""
        if unwell:
            self._tell(pod, "Warning", "Unhealthy", unwell)
        self._tell(pod, "Normal", "Killing", f"Stopping container {name}")

    def _tell(self, pod: Obj, type_: Type, reason: str, message: str) -> None:
        meta = pod["metadata"]
        subject = Subject(resources.PODS, Key(meta["namespace"], meta["name"]), meta["uid"])
        self._recorder.record(subject, type_, reason, message)


def _trouble(error: CannotStart, count: int, now: datetime) -> Trouble:
    reason, message = error.reason, str(error)
    if reason == "ErrImagePull" and count > 1:
        reason, message = "ImagePullBackOff", f"Back-off pulling image: {message}"
    again = now + timedelta(seconds=TROUBLE.delay(count, 0.0))
    return Trouble(reason=reason, message=message, again_at=again)
