"""Evicts pods from nodes whose taints they do not tolerate, or not for that long."""

import contextlib
from datetime import datetime

import msgspec

from jobferry.kube import errors
from jobferry.kube.cache import Change
from jobferry.kube.client import Client
from jobferry.kube.events import Record, Subject
from jobferry.kube.items import Item, Key
from jobferry.kube.resources import NODES, PODS
from jobferry.localkube.controllers import disruption
from jobferry.localkube.controllers.controller import Controller
from jobferry.localkube.controllers.heads import Object, Pod
from jobferry.localkube.controllers.informers import NODE, Informers
from jobferry.localkube.controllers.taints import NO_EXECUTE, Taint, Toleration, eviction_time
from jobferry.runtime.reconcile import DONE, Again, Outcome


class _NodeSpec(msgspec.Struct, frozen=True):
    taints: list[Taint] = []


class _Node(msgspec.Struct, frozen=True):
    spec: _NodeSpec = _NodeSpec()


class _PodSpec(msgspec.Struct, frozen=True):
    tolerations: list[Toleration] = []


class _Pod(msgspec.Struct, frozen=True):
    spec: _PodSpec = _PodSpec()


_NODE = msgspec.json.Decoder(_Node)
_POD = msgspec.json.Decoder(_Pod)


class EvictionController:
    """Looks at the pods of each node that has taints of that effect."""

    def __init__(self, client: Client, informers: Informers, record: Record) -> None:
        self._client = client
        self._record = record
        self._pods = informers.pods
        self._taints: dict[str, list[Taint]] = {}
        self._controller: Controller[Key] = Controller("evictions", client, self._pass)
        informers.of(NODES).listen(self._note_node)
        self._pods.listen(self._note_pod)
        self.run = self._controller.run

    def _note_node(self, change: Change[Object]) -> None:
        name = change.item.key.name
        before = self._taints.pop(name, [])
        if change.after is None:
            return
        taints = [
            taint
            for taint in _NODE.decode(change.after.body).spec.taints
            if taint.effect == NO_EXECUTE
        ]
        if taints:
            self._taints[name] = taints
        if taints != before:
            for pod in self._pods.by(NODE, name):
                self._controller.add(pod.key)

    def _note_pod(self, change: Change[Pod]) -> None:
        if change.after is not None and change.after.head.spec.node_name in self._taints:
            self._controller.add(change.after.key)

    async def _pass(self, key: Key) -> Outcome:
        pod = self._pods.get(key)
        now = self._client.clock.now()
        due = None if pod is None else self._due(pod, now)
        if pod is None or due is None:
            return DONE
        left = (due - now).total_seconds()
        if left > 0:
            return Again(left)
        subject = Subject(PODS, key, pod.uid)
        self._record(
            subject, "Normal", "TaintManagerEviction", f"Marking for deletion Pod {key}"
        )
        with contextlib.suppress(errors.NotFound):
            await self._evict(pod)
        return DONE

    def _due(self, pod: Item[Pod], now: datetime) -> datetime | None:
        taints = self._taints.get(pod.head.spec.node_name)
        if not taints or pod.head.metadata.is_deleted:
            return None
        return eviction_time(taints, _POD.decode(pod.body).spec.tolerations, now)

    async def _evict(self, pod: Item[Pod]) -> None:
        target = disruption.Target(
            "DeletionByTaintManager", "Taint manager: deleting due to NoExecute taint"
        )
        await disruption.mark(self._client, self._pods, pod, target)
        answer = await self._client.delete(PODS, pod.key.name, pod.key.namespace, uid=pod.uid)
        self._pods.absorb_deletion(pod.key, answer)
