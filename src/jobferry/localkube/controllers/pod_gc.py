"""Removes pods that nobody else removes: of nodes that are gone, or finished ones beyond all measure."""

from collections.abc import Iterable

from jobferry.clock import Seconds
from jobferry.kube import errors
from jobferry.kube.cache import Change
from jobferry.kube.client import Client
from jobferry.kube.items import Item, Key
from jobferry.kube.resources import NODES, PODS
from jobferry.localkube.controllers import disruption
from jobferry.localkube.controllers.controller import Controller
from jobferry.localkube.controllers.disruption import Target
from jobferry.localkube.controllers.heads import Object, Pod
from jobferry.localkube.controllers.informers import NODE, Informers
from jobferry.runtime.reconcile import DONE, Outcome

MOST_FINISHED = 12_500
"""Finished pods that may be kept."""

PERIOD: Seconds = 20.0
"""How often finished pods are counted while there are too many."""

QUARANTINE: Seconds = 40.0
"""How long a node has to be missing: one that is made again keeps its pods."""

ORPHANED = Target("DeletionByPodGC", "PodGC: node no longer exists")
ALL = Key("", "")


class PodCollector:
    """Looks at a pod when its node is gone, and at all of them when there are very many."""

    def __init__(
        self, client: Client, informers: Informers, *, most_finished: int = MOST_FINISHED
    ) -> None:
        self._client = client
        self._most_finished = most_finished
        self._pods = informers.pods
        self._nodes = informers.of(NODES)
        self._controller: Controller[Key] = Controller("pod-gc", client, self._pass)
        self._nodes.listen(self._note_node)
        self._pods.listen(self._note_pod)
        self.run = self._controller.run

    def _note_node(self, change: Change[Object]) -> None:
        if change.after is None:
            for pod in self._pods.by(NODE, change.item.key.name):
                self._controller.queue.add_after(pod.key, QUARANTINE)

    def _note_pod(self, change: Change[Pod]) -> None:
        pod = change.after
        if pod is None:
            return
        if pod.head.metadata.is_deleted and not pod.head.spec.node_name:
            self._controller.add(pod.key)
        elif self._has_lost_its_node(pod) and (
            change.before is None or not change.before.head.spec.node_name
        ):
            self._controller.queue.add_after(pod.key, QUARANTINE)
        if len(self._pods) > self._most_finished and pod.head.is_finished:
            self._controller.queue.add_after(ALL, PERIOD)

    async def _pass(self, key: Key) -> Outcome:
        if key == ALL:
            await self._thin_out()
            return DONE
        pod = self._pods.get(key)
        if pod is None:
            return DONE
        if not pod.head.spec.node_name:
            if pod.head.metadata.is_deleted:
                await self._remove(pod, None)
        elif self._has_lost_its_node(pod) and await self._is_gone(pod.head.spec.node_name):
            await self._remove(pod, ORPHANED)
        return DONE

    def _has_lost_its_node(self, pod: Item[Pod]) -> bool:
        node = pod.head.spec.node_name
        return bool(node) and self._nodes.get(Key("", node)) is None

    async def _is_gone(self, node: str) -> bool:
        """Ask the server itself: nothing is removed on the word of a cache."""
        try:
            await self._client.get(NODES, node)
        except errors.NotFound:
            return True
        return False

    async def _thin_out(self) -> None:
        for pod in surplus(self._pods, self._most_finished):
            await self._remove(pod, None)

    async def _remove(self, pod: Item[Pod], target: Target | None) -> None:
        try:
            await disruption.mark(self._client, self._pods, pod, target, fails=True)
            answer = await self._client.delete(
                PODS, pod.key.name, pod.key.namespace, uid=pod.uid, grace=0
            )
        except errors.NotFound:
            return
        self._pods.absorb_deletion(pod.key, answer)


def surplus(pods: Iterable[Item[Pod]], most: int) -> list[Item[Pod]]:
    """Return the oldest finished pods, as many as there are too many."""
    finished = [pod for pod in pods if pod.head.is_finished]
    finished.sort(key=lambda pod: (pod.head.metadata.creation_timestamp, pod.key))
    return finished[: max(0, len(finished) - most)]
