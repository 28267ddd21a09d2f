"""A workload of any kind on the lab's clusters, and what makes them fit for it."""

from contextlib import suppress
from dataclasses import dataclass

from jobferry.core.marks import ATTEMPT
from jobferry.core.placement_object import RESOURCE as PLACEMENTS
from jobferry.dispatch import manifests
from jobferry.kinds.adapter import Adapter
from jobferry.kube import errors
from jobferry.kube.calls import Scope
from jobferry.kube.client import Client
from jobferry.kube.resources import CRDS
from jobferry.objects import Obj
from tests.system.fleet import IS_REAL, RESOURCES
from tests.system.jobs import Holds, holds, is_there
from tests.system.lab import Lab
from tests.system.world import named, until_none, until_one
from tests.workloads import crds
from tests.workloads.examples import ADAPTERS, EXAMPLES


@dataclass(frozen=True)
class Stage:
    """A workload of one kind, on the hub and on workers."""

    lab: Lab
    kind: Adapter
    name: str = "a"

    async def submit(self, queue: str, spec: Obj | None = None) -> Obj:
        """Create a workload on the hub, by default the example of its kind."""
        labels = {"jobferry.io/queue": queue}
        body = {**EXAMPLES[self.kind.name], "metadata": {"name": self.name, "labels": labels}}
        if spec is not None:
            body["spec"] = spec
        world = self.lab.world
        return await world.hub.create(self.kind.resource, body, namespace=world.namespace)

    async def hub(self, is_as_wanted: Holds = is_there) -> Obj:
        """Wait until the workload is as wanted."""
        return await self._until(self.lab.world.hub, is_as_wanted)

    async def on(self, worker: str, is_as_wanted: Holds = is_there) -> Obj:
        """Wait until the mirror on a worker is as wanted."""
        return await self._until(self.lab.world.workers[worker], is_as_wanted)

    async def gone(self, worker: str) -> None:
        """Wait until a worker has no mirror."""
        await until_none(self.lab.world.workers[worker], self.scope)

    async def play(self, worker: str, status: Obj) -> None:
        """Write a status of the mirror, as an operator would, and wait until the hub shows it."""
        await self._patch(worker, {"status": status}, subresource="status")
        shown = {key: value for key, value in status.items() if key != "conditions"}
        await self.hub(lambda obj: shown.items() <= (obj.get("status") or {}).items())

    async def hold(self, worker: str, *, by: str | None) -> None:
        """Have a finalizer hold the mirror, or none."""
        await self._patch(worker, {"metadata": {"finalizers": [by] if by else None}})

    async def record(self, uid: str, is_as_wanted: Holds = is_there) -> Obj:
        """Wait until the record of the workload is as wanted."""
        world = self.lab.world
        return await until_one(world.hub, named(PLACEMENTS, uid, world.namespace), is_as_wanted)

    async def edit(self, patch: Obj) -> Obj:
        """Patch the workload on the hub."""
        world = self.lab.world
        return await world.hub.patch(
            self.kind.resource, self.name, patch, namespace=world.namespace
        )

    async def delete(self) -> None:
        """Delete the workload on the hub."""
        world = self.lab.world
        await world.hub.delete(
            self.kind.resource, self.name, world.namespace, propagation="Background"
        )

    @property
    def scope(self) -> Scope:
        """The workload, or its mirror, on any cluster."""
        return named(self.kind.resource, self.name, self.lab.world.namespace)

    async def _until(self, client: Client, is_as_wanted: Holds) -> Obj:
        return await until_one(client, self.scope, is_as_wanted)

    async def _patch(self, worker: str, patch: Obj, subresource: str | None = None) -> None:
        world = self.lab.world
        await world.workers[worker].patch(
            self.kind.resource,
            self.name,
            patch,
            namespace=world.namespace,
            subresource=subresource,
        )


async def grant(client: Client) -> None:
    """Give dispatchers the rights that all kinds need, on a hub and on a worker."""
    kinds = [kind.resource for name, kind in ADAPTERS.items() if name != "Job.batch"]
    expiring = [kind.resource for kind in ADAPTERS.values() if kind.owes_ttl]
    for each in ("hub", "worker"):
        for obj in manifests.objects(each, kinds=kinds, expiring=expiring):
            with suppress(errors.AlreadyExists):
                await client.create(RESOURCES[obj["kind"]], obj)


async def define(client: Client, name: str) -> None:
    """Install the CRD of a kind: its real one on real clusters."""
    full = str(ADAPTERS[name].resource)
    every = crds.real() if IS_REAL else crds.smallest()
    [crd] = [each for each in every if each["metadata"]["name"] == full]
    with suppress(errors.AlreadyExists):
        await client.create(CRDS, crd)
    await until_one(client, named(CRDS, full), holds("Established"))


async def clear(lab: Lab, kind: Adapter) -> None:
    """Delete what a test left of a kind."""
    for client in (lab.world.hub, *lab.world.workers.values()):
        with suppress(errors.NotFound):
            found = await client.list(named(kind.resource, "a", lab.world.namespace))
            for obj in found.items:
                free = {"metadata": {"finalizers": None}}
                await client.patch(kind.resource, "a", free, namespace=lab.world.namespace)
                with suppress(errors.NotFound):
                    await client.delete(kind.resource, "a", obj["metadata"]["namespace"])


def is_attempt(number: int) -> Holds:
    """Hold for the mirror, or the record, of an attempt."""

    def of(obj: Obj) -> bool:
        marked = obj["metadata"].get("labels", {}).get(ATTEMPT)
        return number == int(marked or obj.get("spec", {}).get("attempt", 0))

    return of


def is_going(obj: Obj) -> bool:
    """Hold for what was deleted and is held."""
    return "deletionTimestamp" in obj["metadata"]
