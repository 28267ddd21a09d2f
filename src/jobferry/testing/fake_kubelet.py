"""A node on which pods end as told, so that Jobs finish under the real Job controller.

    async with fake_kubelet(client, bind=True):
        ...    # every pod of the cluster runs and ends, as its annotations or `play` say

It is a client like any other: it follows the pods by watch and writes what a kubelet would write, once
when a pod starts and once when it ends (only once if it runs for no time). restartPolicy does not
matter: a container that fails has failed.
"""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from datetime import datetime
from types import MappingProxyType

from jobferry.clock import Seconds, sleep
from jobferry.kube import errors, resources
from jobferry.kube.cache import Change
from jobferry.kube.calls import PatchKind, Scope
from jobferry.kube.client import Client
from jobferry.kube.informer import Informer
from jobferry.kube.items import Item, Key
from jobferry.objects import Obj
from jobferry.objects.times import micro_timestamp
from jobferry.runtime import supervise
from jobferry.runtime.backoff import Backoff, Failures
from jobferry.runtime.reconcile import DONE, Again, Loop, Outcome
from jobferry.runtime.workqueue import WorkQueue
from jobferry.testing import pods
from jobferry.testing.pods import Play, Pod, Run

WORKERS = 16
"""Requests at a time: enough to keep an API server busy."""

BACKOFF = Backoff(first=0.05, cap=5.0)

LEASE_NAMESPACE = "kube-node-lease"

CAPACITY: Mapping[str, str] = MappingProxyType(
    {"cpu": "1000", "memory": "4000Gi", "ephemeral-storage": "4000Gi", "pods": "10000"}
)


class FakeKubelet:
    """Runs the pods of one node; made by `fake_kubelet`."""

    def __init__(
        self, client: Client, *, node: str, bind: bool, scope: Scope, play: Play
    ) -> None:
        self._client = client
        self._node = node
        self._mine = {node, ""} if bind else {node}
        self._play = play
        self._runs: dict[str, tuple[Run, datetime]] = {}
        self._queue: WorkQueue[Key] = WorkQueue(client.clock)
        self.informer = Informer(client, scope, Pod, keep=self._concerns_us)
        self.informer.listen(self._note)
        self.loop = Loop(
            "kubelet",
            self._reconcile,
            queue=self._queue,
            failures=Failures(BACKOFF, client.random),
            workers=WORKERS,
        )

    def _concerns_us(self, pod: Pod) -> bool:
        return pod.spec.node_name in self._mine and pod.needs_a_kubelet

    def _note(self, change: Change[Pod]) -> None:
        if change.after is None:
            self._runs.pop(change.item.uid, None)
        else:
            self._queue.add(change.item.key)

    async def _reconcile(self, key: Key) -> Outcome:
        item = self.informer.get(key)
        if item is None:
            return DONE
        now = self._client.clock.now()
        run, began = self._run_of(item, now)
        step = pods.next_step(item.head, run, began, now)
        if isinstance(step, pods.Wait):
            return Again(step.seconds) if step.seconds != float("inf") else DONE
        # The pod changed or is gone: what is due then, the watch will tell.
        with suppress(errors.Conflict, errors.NotFound):
            await self._carry_out(step, item)
        return DONE

    def _run_of(self, item: Item[Pod], now: datetime) -> tuple[Run, datetime]:
        """Return what a pod does, and since when; that is settled once it has a node."""
        known = self._runs.get(item.uid)
        if known is None:
            known = self._play(item.object()), pods.began_at(item.head, now)
            if item.head.spec.node_name:
                self._runs[item.uid] = known
        return known

    async def _carry_out(self, step: pods.Step | None, item: Item[Pod]) -> None:
        match step:
            case pods.Bind():
                await self._bind(item)
            case pods.Report(status):
                body = {"metadata": {"uid": item.uid}, "status": status}
                self.informer.absorb(await self._patch_status(item.key, body))
            case pods.Remove():
                answer = await self._client.delete(
                    resources.PODS, item.key.name, item.key.namespace, uid=item.uid, grace=0
                )
                self.informer.absorb_deletion(item.key, answer)

    async def _bind(self, item: Item[Pod]) -> None:
        binding = {
            "apiVersion": "v1",
            "kind": "Binding",
            "metadata": {"name": item.key.name, "uid": item.uid},
            "target": {"kind": "Node", "name": self._node},
        }
        await self._client.create(
            resources.PODS,
            binding,
            name=item.key.name,
            namespace=item.key.namespace,
            subresource="binding",
        )

    async def _patch_status(self, key: Key, body: Obj) -> Obj:
        # Strategic, as kubelets do: others own conditions, too.
        return await self._client.patch(
            resources.PODS,
            key.name,
            body,
            namespace=key.namespace,
            kind=PatchKind.STRATEGIC,
            subresource="status",
        )


@asynccontextmanager
async def fake_kubelet(
    client: Client,
    *,
    node: str = "fake",
    bind: bool = False,
    namespace: str | None = None,
    play: Play = pods.by_annotations,
    capacity: Mapping[str, str] = CAPACITY,
    heartbeat: Seconds | None = None,
) -> AsyncIterator[FakeKubelet]:
    """Register a node and run its pods during the block.

    With `bind` it takes the unassigned pods itself, where no scheduler runs; `namespace` limits it to
    the pods of one. With `heartbeat` it renews its Lease that often, for a cluster in which the
    node-lifecycle controller runs.
    """
    await register(client, node, capacity)
    fields = "" if bind else f"spec.nodeName={node}"
    scope = Scope(resource=resources.PODS, namespace=namespace, fields=fields)
    kubelet = FakeKubelet(client, node=node, bind=bind, scope=scope, play=play)
    async with supervise.tasks(f"kubelet {node}", clock=client.clock) as tasks:
        if heartbeat is not None:
            tasks.start("heartbeat", lambda: keep_lease(client, node, heartbeat))
        tasks.start("informer", kubelet.informer.run)
        await kubelet.informer.synced.wait()
        tasks.start("loop", kubelet.loop.run)
        yield kubelet


async def register(client: Client, name: str, capacity: Mapping[str, str]) -> None:
    """Create a node, unless it is there, and let pods on it."""
    node = pods.node(name, dict(capacity), client.clock.now())
    with suppress(errors.AlreadyExists):
        await client.create(resources.NODES, node)
    # A new node bears a taint that the node-lifecycle controller takes off, where it runs.
    await client.patch(resources.NODES, name, {"spec": {"taints": None}})


async def keep_lease(client: Client, node: str, every: Seconds) -> None:
    """Renew the Lease by which a cluster knows that a node is alive."""
    meta = {"name": node, "namespace": LEASE_NAMESPACE}
    with suppress(errors.AlreadyExists):
        await client.create(resources.LEASES, {"metadata": meta})
    while True:
        renewed = micro_timestamp(client.clock.now())
        spec = {
            "holderIdentity": node,
            "leaseDurationSeconds": max(1, round(4 * every)),
            "renewTime": renewed,
        }
        with suppress(errors.Unreachable, errors.ServerFailure):
            await client.patch(
                resources.LEASES, node, {"spec": spec}, namespace=LEASE_NAMESPACE
            )
        await sleep(client.clock, every)
