"""Watches over nodes: one whose lease is not renewed is not ready, and taints keep pods away from it."""

from jobferry.clock import Seconds
from jobferry.kube import errors
from jobferry.kube.cache import Change
from jobferry.kube.client import Client
from jobferry.kube.events import Record, Subject
from jobferry.kube.items import Item, Key
from jobferry.kube.resources import LEASES, NODES
from jobferry.localkube.controllers import node_health
from jobferry.localkube.controllers.controller import Controller
from jobferry.localkube.controllers.heads import Object
from jobferry.localkube.controllers.informers import Informers
from jobferry.objects import Obj
from jobferry.runtime.reconcile import DONE, Again, Outcome

LEASE_NAMESPACE = "kube-node-lease"
GRACE: Seconds = 50.0
"""How long a lease may stay as it is; nodes renew theirs every ten seconds."""

SECOND_LOOK: Seconds = 2.0
"""When to look again at a node that seems dead: after a sleep of the whole machine all of them do, for a moment."""


class NodeController:
    """Judges nodes by their leases; one that has none is believed what it says of itself."""

    def __init__(self, client: Client, informers: Informers, record: Record) -> None:
        self._client = client
        self._record = record
        self._nodes = informers.of(NODES)
        self._leases = informers.of(LEASES)
        self._heard: dict[str, Seconds] = {}
        self._ready: set[str] = set()
        self._suspects: set[str] = set()
        self._controller: Controller[str] = Controller("nodes", client, self._pass)
        self._leases.listen(self._note_lease)
        self._nodes.listen(self._note_node)
        self.run = self._controller.run

    def _note_lease(self, change: Change[Object]) -> None:
        namespace, name = change.item.key
        if namespace != LEASE_NAMESPACE:
            return
        if change.after is None:
            self._heard.pop(name, None)
            self._suspects.discard(name)
            return
        is_new = name not in self._heard
        self._heard[name] = self._client.clock.monotonic()
        if is_new:
            self._controller.add(name)  # from now on there is a time to look again

    def _note_node(self, change: Change[Object]) -> None:
        name = change.item.key.name
        ready = (
            change.after is not None and node_health.readiness(change.after.object()) == "True"
        )
        had_ready = bool(self._ready)
        (self._ready.add if ready else self._ready.discard)(name)
        if bool(self._ready) != had_ready:
            for node in self._nodes:
                self._controller.add(node.key.name)
        if change.after is not None:
            self._controller.add(name)

    async def _pass(self, name: str) -> Outcome:
        item = self._nodes.get(Key("", name))
        if item is None:
            return DONE
        node = item.object()
        left = self._left(name)
        if left is not None and left <= 0:
            node = await self._silence(item, node) or node
        await self._taint(node)
        return Again(left) if left is not None and left > 0 else DONE

    def _left(self, name: str) -> Seconds | None:
        """Return how long a node may still be silent; None if nobody is waited for."""
        heard = self._heard.get(name)
        if heard is None:
            return None
        left = heard + GRACE - self._client.clock.monotonic()
        if left > 0:
            self._suspects.discard(name)
        elif name not in self._suspects:
            self._suspects.add(name)
            return SECOND_LOOK
        return left

    async def _silence(self, item: Item[Object], node: Obj) -> Obj | None:
        """Write that nothing is known of a node any more."""
        conditions = node_health.silenced(node, self._client.clock.now())
        if conditions is None:
            return None
        name = item.key.name
        body = {
            "metadata": {"resourceVersion": item.head.metadata.resource_version},
            "status": {"conditions": conditions},
        }
        try:
            answer = await self._client.patch(NODES, name, body, subresource="status")
        except errors.NotFound:
            return None
        self._nodes.absorb(answer)
        subject = Subject(NODES, item.key, item.uid)
        said = f"Node {name} status is now: NodeNotReady"
        self._record(subject, "Normal", "NodeNotReady", said)
        return answer

    async def _taint(self, node: Obj) -> None:
        meta = node["metadata"]
        others = len(self._ready) > (meta["name"] in self._ready)
        taints = node_health.taints(node, self._client.clock.now(), others_are_ready=others)
        if taints is None:
            return
        body = {
            "metadata": {"resourceVersion": meta["resourceVersion"]},
            "spec": {"taints": taints},
        }
        try:
            self._nodes.absorb(await self._client.patch(NODES, meta["name"], body))
        except errors.NotFound:
            return
