"""The queues: which workload goes by which policy."""

from dataclasses import replace

import msgspec

from jobferry.clock import Seconds
from jobferry.core.view import Policy
from jobferry.kube.cache import Change
from jobferry.kube.calls import Scope
from jobferry.kube.client import Client
from jobferry.kube.informer import Informer
from jobferry.kube.items import Head, Item, Key, Metadata
from jobferry.objects import Obj, labels
from jobferry.objects.resource import Resource
from jobferry.workers.resource import WorkerHead

QUEUES = Resource("jobferry.io", "v1alpha1", "queues", "Queue", namespaced=False)
LABEL = "jobferry.io/queue"

WORDS = 500
"""How much is repeated of what people wrote where it makes no sense."""


class Selection(msgspec.Struct, frozen=True, gc=False):
    """Which workers a queue uses."""

    selector: Obj | None = None
    order: list[str] = []


class OnNotStarted(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """What becomes of work of which nothing runs where it was placed."""

    action: str = "Report"
    after_seconds: Seconds = 600.0


class OnWorkerLost(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """What becomes of work whose worker is lost."""

    action: str = "Move"
    after_seconds: Seconds | None = None


class FinishedMirrors(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """How long mirrors of finished workloads stay."""

    keep_seconds: Seconds | None = None


class Spec(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """What a Queue asks for."""

    namespaces: list[str] = []
    allow_other_namespaces: bool = False
    workers: Selection = Selection()
    placement: str = "Spread"
    on_worker_lost: OnWorkerLost = OnWorkerLost()
    on_not_started: OnNotStarted = OnNotStarted()
    on_mirror_deleted: str = "Place"
    finished_mirrors: FinishedMirrors = FinishedMirrors()
    give_up_after_seconds: Seconds | None = None
    priority_classes: list[str] | None = None

    def takes(self, namespace: str) -> bool:
        """Tell whether a workload of that namespace may name this Queue."""
        is_listed = not self.namespaces or namespace in self.namespaces
        return is_listed or self.allow_other_namespaces


class QueueHead(Head, frozen=True, gc=False):
    """A Queue."""

    spec: Spec = Spec()


class Queues:
    """Finds the queue of a workload."""

    def __init__(self, hub: Client, workers: Informer[WorkerHead], lost_after: Seconds) -> None:
        self.objects = Informer(
            hub,
            Scope(resource=QUEUES),
            QueueHead,
            indexes={"namespace": lambda item: item.head.spec.namespaces},
        )
        self._workers = workers
        self._lost_after = lost_after
        self._policies: dict[str, Policy | str] = {}
        self._last: dict[tuple[str, str], Policy] = {}
        """By namespace and label: what was last said to the workloads that have them."""

        self.objects.listen(lambda _: self._policies.clear())
        workers.listen(lambda _: self._policies.clear())

    def policy(self, workload: Metadata) -> Policy | str:
        """Return what the workload's queue says, or why it has none."""
        queue = self._queue(workload)
        known = queue if isinstance(queue, str) else self._policy(queue)
        if isinstance(known, Policy):
            self._last[_address(workload)] = known
        return known

    def trouble(self, queue: Item[QueueHead]) -> str | None:
        """Say what is wrong with a queue, if anything is: not all that the schema lets pass makes sense."""
        policy = self._policy(queue)
        return policy if isinstance(policy, str) else None

    def _policy(self, queue: Item[QueueHead] | None) -> Policy | str:
        name = queue.key.name if queue else ""
        known = self._policies.get(name)
        if known is None:
            try:
                known = self._read(name, queue.head.spec if queue else Spec())
            except labels.BadSelector as error:
                known = f"the selector of Queue {name} makes no sense: {str(error)[:WORDS]}"
            self._policies[name] = known
        return known

    def without(self, workload: Metadata, why: str) -> Policy:
        """Return what holds for a workload that has no queue: what was said last, but for where it may go."""
        defaults = Policy(workers=(), lost_after=self._lost_after)
        return replace(self._last.get(_address(workload), defaults), workers=(), missing=why)

    def concerns_finished(self, change: Change[QueueHead]) -> bool:
        """Tell whether a change of a Queue may concern finished workloads: of these it says how long mirrors stay."""
        was, now = change
        if was is not None and now is not None and _keeping(was) == _keeping(now):
            return False
        known = [each.head.spec.finished_mirrors for each in (*self.objects, *change) if each]
        return any(each.keep_seconds is not None for each in known)

    def _queue(self, workload: Metadata) -> Item[QueueHead] | str | None:
        """Find the queue by label, else by namespace; None: the default one, which uses all workers."""
        namespace = workload.namespace
        if name := workload.labels.get(LABEL):
            queue = self.objects.get(Key("", name))
            if queue is None:
                return f"there is no Queue {name}"
            if not queue.head.spec.takes(namespace):
                return f"Queue {name} is not for namespace {namespace}"
            return queue
        found = self.objects.by("namespace", namespace)
        if len(found) > 1:
            names = ", ".join(sorted(queue.key.name for queue in found))
            return (
                f"several Queues claim namespace {namespace}: {names}; choose by label {LABEL}"
            )
        return found[0] if found else None

    def _read(self, name: str, spec: Spec) -> Policy:
        lost, honoured = spec.on_worker_lost, spec.priority_classes
        after = self._lost_after if lost.after_seconds is None else lost.after_seconds
        return Policy(
            workers=tuple(_ordered(spec.workers, self._workers)),
            queue=name,
            honours=None if honoured is None else frozenset(honoured),
            placement=spec.placement,
            lost_after=after if lost.action == "Move" else None,
            keep_finished=spec.finished_mirrors.keep_seconds,
            give_up_after=spec.give_up_after_seconds,
            start_within=spec.on_not_started.after_seconds,
            fails_deleted=spec.on_mirror_deleted == "Fail",
            moves_unstarted=spec.on_not_started.action == "Move",
        )


def _keeping(queue: Item[QueueHead]) -> object:
    """Return how long mirrors of finished workloads stay, of which workloads, and whether that makes sense."""
    spec = queue.head.spec
    who = spec.namespaces, spec.allow_other_namespaces
    return spec.finished_mirrors, who, spec.workers.selector


def _address(workload: Metadata) -> tuple[str, str]:
    """Return all by which the queue of a workload is found."""
    return workload.namespace, workload.labels.get(LABEL, "")


def _ordered(selection: Selection, workers: Informer[WorkerHead]) -> list[str]:
    """List the workers that match, those that the queue names first."""
    selector = labels.from_object(selection.selector) if selection.selector else None
    names = [
        worker.key.name
        for worker in workers
        if selector is None or selector.matches(worker.head.metadata.labels)
    ]
    rank = {name: place for place, name in enumerate(selection.order)}
    return sorted(names, key=lambda name: (rank.get(name, len(rank)), name))
