"""The scheduler: binds pods that wait to nodes, those with the highest priority first."""

from jobferry.errors import Transient
from jobferry.kube import errors
from jobferry.kube.cache import Change
from jobferry.kube.calls import PatchKind
from jobferry.kube.client import Client
from jobferry.kube.events import Record, Subject, Type
from jobferry.kube.items import Item, Key
from jobferry.kube.resources import NODES, PODS
from jobferry.localkube.controllers.controller import Controller
from jobferry.localkube.controllers.heads import Object, Pod
from jobferry.localkube.controllers.informers import Informers
from jobferry.localkube.controllers.scheduler import fit
from jobferry.localkube.controllers.scheduler.fit import Placed, Unfit
from jobferry.localkube.controllers.scheduler.ledger import Ledger, offer
from jobferry.localkube.controllers.scheduler.requirements import Reader, Requirements
from jobferry.objects import Obj, conditions
from jobferry.runtime.ranking import Ranking
from jobferry.runtime.reconcile import DONE, Outcome

NAME = "default-scheduler"


class Scheduler:
    """Decides in memory, one pod after the other, and binds several at a time."""

    def __init__(self, client: Client, informers: Informers, record: Record) -> None:
        self._client = client
        self._record = record
        self._pods = informers.pods
        self._ledger = Ledger()
        self._reader = Reader()
        self._parked = Parked()
        self._doubtful: set[str] = set()
        self._turn = 0
        self._controller: Controller[Key] = Controller("scheduler", client, self._pass)
        informers.of(NODES).listen(self._note_node)
        self._pods.listen(self._note_pod)
        self.run = self._controller.run

    # What to look at

    def _note_node(self, change: Change[Object]) -> None:
        name = change.item.key.name
        before = self._ledger.offers.get(name)
        if change.after is None:
            self._ledger.offers.pop(name, None)
        else:
            self._ledger.offers[name] = offer(change.after.body)
        if self._ledger.offers.get(name) != before:
            for key in self._parked.all():
                self._add(key)

    def _note_pod(self, change: Change[Pod]) -> None:
        before, after = change
        if after is None or after.head.spec.node_name:
            self._doubtful.discard(change.item.uid)
        if after is None or after.head.is_finished:
            was_parked = self._parked.discard(change.item.key)
            if self._ledger.release(change.item.uid) or was_parked:
                self._wake_first()
        elif node := after.head.spec.node_name:
            self._parked.discard(after.key)
            if self._ledger.node_of(after.uid) != node:
                self._ledger.charge(after.uid, node, self._reader.of(after.body))
        elif before is None or _differs(before.head, after.head):
            if self._parked.discard(after.key):
                self._wake_first()
            self._add(after.key)

    def _give_back(self, uid: str) -> None:
        """Take note that a pod did not get what we had taken for it."""
        self._ledger.release(uid)
        self._wake_first()

    def _wake_first(self) -> None:
        """Try one pod of each sort that waits: where it does not fit, no other of its sort does.

        So whenever the first one may have been tried in vain, or not at all, its successor has its turn.
        """
        for key in self._parked.firsts():
            self._add(key)

    def _add(self, key: Key) -> None:
        pod = self._pods.get(key)
        if pod is not None:
            self._controller.queue.add(key, priority=pod.head.spec.priority)

    # What to do

    async def _pass(self, key: Key) -> Outcome:
        pod = self._pods.get(key)
        if pod is None or not is_waiting(pod.head) or await self._is_bound(pod):
            return DONE
        requirements = self._reader.of(pod.body)
        self._turn += fit.ENOUGH
        match fit.place(requirements, self._ledger, self._turn):
            case Placed(node):
                self._ledger.charge(pod.uid, node, requirements)
                self._parked.discard(key)
                if (alike := self._parked.first(requirements)) is not None:
                    self._add(alike)
                await self._bind(pod, node)
            case Unfit(message):
                self._parked.put(key, requirements, pod.head.spec.priority)
                await self._explain(pod, message)
        return DONE

    async def _is_bound(self, pod: Item[Pod]) -> bool:
        """Tell whether we have bound a pod, though the watch has not said so yet."""
        if self._ledger.node_of(pod.uid) is None:
            return False
        if pod.uid not in self._doubtful:
            return True
        try:
            found = await self._client.get(PODS, pod.key.name, pod.key.namespace)
        except errors.NotFound:
            return True  # the watch is about to tell that it is gone
        self._doubtful.discard(pod.uid)
        if found["spec"].get("nodeName"):
            self._pods.absorb(found)
            return True
        self._give_back(pod.uid)
        return False

    async def _bind(self, pod: Item[Pod], node: str) -> None:
        key = pod.key
        binding: Obj = {
            "apiVersion": "v1",
            "kind": "Binding",
            "metadata": {"name": key.name, "namespace": key.namespace, "uid": pod.uid},
            "target": {"kind": "Node", "name": node},
        }
        try:
            await self._client.create(
                PODS, binding, namespace=key.namespace, name=key.name, subresource="binding"
            )
        except Transient:
            self._doubtful.add(pod.uid)  # it may have happened: until that is known, it has
            raise
        except (errors.NotFound, errors.Conflict):
            self._give_back(pod.uid)  # the watch is about to tell what became of it
            return
        except errors.ApiError:
            self._give_back(pod.uid)
            raise
        self._tell(pod, "Normal", "Scheduled", f"Successfully assigned {key} to {node}")

    async def _explain(self, pod: Item[Pod], message: str) -> None:
        """Say why a pod waits, once."""
        condition: Obj = {
            "type": "PodScheduled",
            "status": "False",
            "reason": "Unschedulable",
            "message": message,
        }
        if generation := pod.head.metadata.generation:
            condition["observedGeneration"] = generation
        known = conditions.find(_conditions(pod), "PodScheduled") or {}
        if all(known.get(name) == value for name, value in condition.items()):
            return
        self._tell(pod, "Warning", "FailedScheduling", message)
        now = self._client.clock.now()
        changed = conditions.find(
            conditions.set([known] if known else [], condition, now), "PodScheduled"
        )
        body = {"metadata": {"uid": pod.uid}, "status": {"conditions": [changed]}}
        try:
            answer = await self._client.patch(
                PODS,
                pod.key.name,
                body,
                namespace=pod.key.namespace,
                kind=PatchKind.STRATEGIC,
                subresource="status",
            )
        except (errors.NotFound, errors.Conflict):
            return
        self._pods.absorb(answer)

    def _tell(self, pod: Item[Pod], type: Type, reason: str, message: str) -> None:
        self._record(Subject(PODS, pod.key, pod.uid), type, reason, message)


class Parked:
    """Pods for which there is no node, by what they ask for, the highest priority first."""

    def __init__(self) -> None:
        self._sorts: dict[Requirements, Ranking[Key]] = {}
        self._places: dict[Key, Requirements] = {}

    def put(self, key: Key, requirements: Requirements, priority: int) -> None:
        """Let a pod wait; one that waits already keeps its place."""
        if self._places.get(key) is not requirements:
            self.discard(key)
            self._places[key] = requirements
            self._sorts.setdefault(requirements, Ranking()).put(key, -priority)

    def discard(self, key: Key) -> bool:
        """Forget a pod; False if it does not wait."""
        requirements = self._places.pop(key, None)
        if requirements is None:
            return False
        sort = self._sorts[requirements]
        sort.discard(key)
        if not sort:
            del self._sorts[requirements]
        return True

    def first(self, requirements: Requirements) -> Key | None:
        """Return the first of those that ask for the same."""
        sort = self._sorts.get(requirements)
        first = None if sort is None else sort.first()
        return None if first is None else first[1]

    def firsts(self) -> list[Key]:
        """Return the first of each sort."""
        found = map(self.first, self._sorts)
        return [key for key in found if key is not None]

    def all(self) -> list[Key]:
        """Return all that wait."""
        return list(self._places)


def is_waiting(pod: Pod) -> bool:
    """Tell whether it is up to us to find a node for a pod."""
    return (
        not pod.spec.node_name
        and pod.spec.scheduler_name in ("", NAME)
        and not pod.spec.scheduling_gates
        and not pod.metadata.is_deleted
        and not pod.is_finished
    )


def _differs(one: Pod, other: Pod) -> bool:
    """Tell whether a pod that waits may be placed otherwise than before."""
    return (
        one.metadata.generation != other.metadata.generation
        or len(one.spec.scheduling_gates) != len(other.spec.scheduling_gates)
        or one.metadata.is_deleted != other.metadata.is_deleted
    )


def _conditions(pod: Item[Pod]) -> list[Obj]:
    found: list[Obj] = (pod.object().get("status") or {}).get("conditions") or []
    return found
