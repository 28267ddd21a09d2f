"""Workloads of other kinds than Jobs in a lab: their CRDs, the rights on them, and somebody who plays their operators."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass

from jobferry.clock import sleep
from jobferry.core import placement_object
from jobferry.core.placement_object import RESOURCE as PLACEMENTS
from jobferry.dispatch import manifests
from jobferry.dispatch.rivals import CLUSTERS as RIVALS
from jobferry.kinds import referred
from jobferry.kinds.adapter import Adapter
from jobferry.kube import errors
from jobferry.kube.calls import Scope
from jobferry.kube.client import Client
from jobferry.kube.resources import CRDS
from jobferry.objects import Obj, merge_patch
from jobferry.objects.resource import Resource
from jobferry.objects.times import timestamp
from jobferry.workers import cluster
from tests.system.fleet import IS_REAL, RESOURCES
from tests.system.jobs import Holds, condition, holds, is_there
from tests.system.lab import Lab
from tests.system.world import named, until_none, until_one
from tests.workloads import crds
from tests.workloads.examples import ADAPTERS, DECLARED, EXAMPLES
from tests.workloads.lives import LIVES

ALL_CRDS = Scope(resource=CRDS, is_metadata=True)

JOB_SET = "JobSet.jobset.x-k8s.io"
SIMULATION = "Simulation.example.com"
"""One that comes with Jobferry, and one that is declared in the settings: docs/kinds.md has both."""

STOPPED: dict[str, Obj] = {
    JOB_SET: {
        "conditions": [
            {
                "type": "Suspended",
                "status": "True",
                "reason": "SuspendedJobs",
                "message": "jobset is suspended",
                "lastTransitionTime": "2026-11-17T11:33:00Z",
            }
        ]
    },
    SIMULATION: {"phase": "Paused", "conditions": []},
}
"""What the status of a mirror says that was told to stop, and has."""


def definition(kind: str) -> Obj:
    """Return the CRD of a kind: the real one, where there are real clusters."""
    return _crd(ADAPTERS[kind].resource)


def _crd(resource: Resource) -> Obj:
    every = crds.real(referred=True) if IS_REAL else crds.smallest(referred=True)
    return next(each for each in every if each["metadata"]["name"] == str(resource))


async def define(client: Client, kind: str) -> None:
    """Install the CRD of a kind, and wait until the cluster can be asked for it: else a dispatcher may go elsewhere."""
    await _install(client, definition(kind))
    resource = ADAPTERS[kind].resource
    await until_served(client, resource)
    while True:
        try:
            await client.list(Scope(resource=resource))
        except errors.TooManyRequests:  # its cache is not there yet
            await sleep(client.clock, 0.1)
        else:
            return


@asynccontextmanager
async def defined(client: Client, *resources: Resource) -> AsyncIterator[None]:
    """Have a cluster know what workloads refer to, during the block."""
    for each in resources:
        await _install(client, _crd(each))
        await until_served(client, each)
    try:
        yield
    finally:
        for each in resources:
            await client.delete(CRDS, str(each))
        for each in resources:
            await until_none(client, named(CRDS, str(each)))


async def _install(client: Client, crd: Obj) -> None:
    with suppress(errors.AlreadyExists):
        await client.create(CRDS, crd)
    await until_one(client, named(CRDS, crd["metadata"]["name"]), holds("Established"))


async def undefine(client: Client, *kinds: str) -> None:
    """Remove the CRDs of kinds, and with them all of their objects."""
    there = {each["metadata"]["name"] for each in (await client.list(ALL_CRDS)).items}
    names = [name for kind in kinds if (name := str(ADAPTERS[kind].resource)) in there]
    for name in names:
        await client.delete(CRDS, name)
    for name in names:
        await until_none(client, named(CRDS, name))


@asynccontextmanager
async def multikueue(hub: Client) -> AsyncIterator[None]:
    """Let Kueue's MultiKueue seem to run on a hub during the block."""
    crd = crds.small(
        RIVALS.group, RIVALS.version, RIVALS.kind, crds.ANYTHING, None, scope="Cluster"
    )
    await hub.create(CRDS, crd)
    name = crd["metadata"]["name"]
    await until_one(hub, named(CRDS, name), holds("Established"))
    await until_served(hub, RIVALS)
    await hub.create(RIVALS, {"metadata": {"name": "theirs"}})
    try:
        yield
    finally:
        await hub.delete(CRDS, name)
        await until_none(hub, named(CRDS, name))


async def until_served(client: Client, resource: Resource) -> None:
    """Wait until a kind is served, which is a moment after its CRD is established."""
    while not await cluster.served(client, [resource]):
        await sleep(client.clock, 0.1)


@asynccontextmanager
async def rights(
    lab: Lab, *kinds: str, looks_up: bool = True, on_workers: bool = True
) -> AsyncIterator[None]:
    """Give the dispatcher what `jobferry manifests --kinds` says, on the hub and on workers, during the block."""
    resources = [ADAPTERS[kind].resource for kind in kinds]
    looked_up = [each for kind in kinds for each in ADAPTERS[kind].looks_up if looks_up]
    given = [(lab.world.hub, each) for each in _added("hub", resources, looked_up)]
    for worker in lab.world.workers.values() if on_workers else ():
        given += [(worker, each) for each in _added("worker", resources)]
    async with _applied(given):
        yield


@asynccontextmanager
async def rights_to_look(lab: Lab, text: str) -> AsyncIterator[None]:
    """Give the dispatcher what `jobferry manifests worker --references` says, on workers, during the block."""
    added = _added("worker", [], referred.find(text))
    async with _applied([(each, obj) for each in lab.world.workers.values() for obj in added]):
        yield


@asynccontextmanager
async def known(lab: Lab, *kinds: str) -> AsyncIterator[None]:
    """Have all clusters of a lab know some kinds, during the block."""
    async with AsyncExitStack() as stack:
        for client in (lab.world.hub, *lab.world.workers.values()):
            stack.push_async_callback(undefine, client, *kinds)
            for kind in kinds:
                await define(client, kind)
        yield


@asynccontextmanager
async def staged(lab: Lab, *kinds: str) -> AsyncIterator[None]:
    """Have all clusters of a lab know some kinds, and a dispatcher that may use them, during the block."""
    async with known(lab, *kinds), rights(lab, *kinds):
        await lab.add_workers()
        async with lab.dispatcher(custom_kinds=tuple(DECLARED)):
            yield


@asynccontextmanager
async def rights_to_delete(lab: Lab, kind: str) -> AsyncIterator[None]:
    """Give the dispatcher the role on the hub by which it may delete what has ended, during the block."""
    resource = ADAPTERS[kind].resource
    every = manifests.objects("hub", (), [resource], [resource])
    name = f"jobferry-dispatcher-ttl-{resource}"
    role = next(each for each in every if each["metadata"]["name"] == name)
    binding = next(each for each in every if each["kind"] == "ClusterRoleBinding")
    bound = {**binding["roleRef"], "name": name}
    given = {**binding, "metadata": {"name": name}, "roleRef": bound}
    hub = lab.world.hub
    async with _applied([(hub, role), (hub, given)]):
        yield


@asynccontextmanager
async def _applied(objects: list[tuple[Client, Obj]]) -> AsyncIterator[None]:
    for client, obj in objects:
        await client.create(RESOURCES[obj["kind"]], obj)
    try:
        yield
    finally:
        for client, obj in reversed(objects):
            await client.delete(RESOURCES[obj["kind"]], obj["metadata"]["name"])


def _added(
    name: str, resources: list[Resource], looked_for: list[Resource] | None = None
) -> list[Obj]:
    """Return what is printed for further kinds, besides what every cluster of the fleet has."""
    known = {(each["kind"], each["metadata"]["name"]) for each in manifests.objects(name)}
    every = manifests.objects(name, (), resources, referred=looked_for or ())
    return [each for each in every if (each["kind"], each["metadata"]["name"]) not in known]


@dataclass(frozen=True)
class Trial:
    """One workload in a lab."""

    lab: Lab
    kind: str
    obj: Obj

    @property
    def adapter(self) -> Adapter:
        """What is known of its kind."""
        return ADAPTERS[self.kind]

    @property
    def name(self) -> str:
        """Its name."""
        return str(self.obj["metadata"]["name"])

    def scope(self) -> Scope:
        """Mean the workload, or its mirror."""
        return named(self.adapter.resource, self.name, self.lab.world.namespace)

    async def submit(self) -> Obj:
        """Create it on the hub."""
        world = self.lab.world
        return await world.hub.create(
            self.adapter.resource, self.obj, namespace=world.namespace
        )

    async def until(self, holds: Holds) -> Obj:
        """Wait until it is as wanted on the hub."""
        return await until_one(self.lab.world.hub, self.scope(), holds)

    async def on(self, worker: str, holds: Holds = is_there) -> Obj:
        """Wait until its mirror on a worker is as wanted."""
        return await until_one(self.lab.world.workers[worker], self.scope(), holds)

    async def gone_from(self, worker: str) -> None:
        """Wait until a worker has no mirror of it."""
        await until_none(self.lab.world.workers[worker], self.scope())

    async def edit(self, patch: Obj) -> Obj:
        """Patch it on the hub."""
        world = self.lab.world
        return await world.hub.patch(
            self.adapter.resource, self.name, patch, namespace=world.namespace
        )

    async def delete(self) -> None:
        """Delete it on the hub."""
        world = self.lab.world
        await world.hub.delete(self.adapter.resource, self.name, world.namespace)

    async def play(self, worker: str, status: Obj) -> None:
        """Say on a worker, as its operator there would, how its mirror fares."""
        client, namespace = self.lab.world.workers[worker], self.lab.world.namespace
        mirror = await self.on(worker)
        whole = {**dict.fromkeys(mirror.get("status") or {}), **status}
        await client.patch(
            self.adapter.resource,
            self.name,
            {"status": whole},
            namespace=namespace,
            subresource="status",
        )

    async def record(self, *, attempt: int = 1) -> Obj:
        """Wait for the Placement of an attempt."""
        hub = await self.until(is_there)
        scope = named(PLACEMENTS, hub["metadata"]["uid"], self.lab.world.namespace)

        def counts(record: Obj) -> bool:
            placed = placement_object.read(hub, record)
            return placed is not None and placed.attempt >= attempt

        return await until_one(self.lab.world.hub, scope, counts)

    async def where(self, *, attempt: int = 1) -> str:
        """Wait for a placement; return the worker."""
        record = await self.record(attempt=attempt)
        return str(record["spec"]["shards"][0]["worker"])

    def shows(self, members: Obj) -> Holds:
        """Hold if a status has these members."""
        return lambda obj: all(
            (obj.get("status") or {}).get(name) == value for name, value in members.items()
        )

    def ended(self, how: str | None = "Complete") -> Holds:
        """Hold if it has ended so."""
        return lambda obj: self.adapter.finish(obj) == how


def trial(
    lab: Lab,
    kind: str,
    *,
    name: str | None = None,
    queue: str | None = None,
    changes: Obj | None = None,
) -> Trial:
    """Return the example of a kind from docs/kinds.md, with changes to its spec."""
    meta: Obj = {"name": name} if name else {}
    if queue:
        meta["labels"] = {"jobferry.io/queue": queue}
    obj: Obj = merge_patch.apply(EXAMPLES[kind], {"metadata": meta, "spec": changes or {}})
    return Trial(lab, kind, obj)


def done_now(lab: Lab) -> Obj:
    """Return the status of a Simulation that has just ended."""
    end = condition({"status": LIVES[SIMULATION][-1]}, "Done")
    now = timestamp(lab.fleet.clock.now())
    return {"phase": "Over", "conditions": [{**end, "lastTransitionTime": now}]}
