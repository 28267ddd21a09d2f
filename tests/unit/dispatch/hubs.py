"""A hub in this process for the parts of a dispatcher: localkube, with CRDs that come and go."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass

from jobferry.clock import sleep
from jobferry.kinds import registry
from jobferry.kinds.adapter import MULTIKUEUE, Adapter, Context
from jobferry.kinds.job.delegated import DelegatedJob
from jobferry.kube.client import Client
from jobferry.kube.resources import CRDS, NAMESPACES
from jobferry.localkube import in_process
from jobferry.localkube.apiserver.identity.user import User
from jobferry.objects import Obj
from jobferry.objects.resource import Resource
from jobferry.runtime import supervise
from jobferry.testing.clock import ManualClock
from jobferry.workers import cluster
from tests.workloads import crds

OURS = "jobferry.io/dispatcher"
JOB = "Job.batch"
JOB_SET = "JobSet.jobset.x-k8s.io"
RAY_JOB = "RayJob.ray.io"

PATIENCE = 1000
"""How often is looked, with all there is to do in between."""

_RBAC = "rbac.authorization.k8s.io"
ROLES = Resource(_RBAC, "v1", "clusterroles", "ClusterRole", namespaced=False)
BINDINGS = Resource(_RBAC, "v1", "clusterrolebindings", "ClusterRoleBinding", namespaced=False)


def adapters(*names: str, borrows: bool = False) -> list[Adapter]:
    """Return the adapters of kinds, as a dispatcher makes them."""
    context = Context(frozenset({OURS}), frozenset({MULTIKUEUE} if borrows else ()))
    every = {JOB: DelegatedJob(context), **registry.make(context)}
    return [every[name] for name in names]


def definition(name: str) -> Obj:
    """Return a small CRD."""
    return next(each for each in crds.smallest() if each["metadata"]["name"] == name)


@dataclass
class Hub:
    """A hub, and somebody who may do everything there."""

    clock: ManualClock
    server: in_process.Cluster
    admin: Client

    def client(self, user: str) -> Client:
        """Return a client of somebody."""
        return self.server.client(User(user))

    async def define(self, *names: str) -> None:
        """Install CRDs."""
        await self.install(*map(definition, names))

    async def install(self, *found: Obj) -> None:
        """Install CRDs, and wait until they are served."""
        for crd in found:
            await self.admin.create(CRDS, crd)
        for crd in found:
            await self._until_served(crd["spec"])

    async def undefine(self, name: str) -> None:
        """Remove a CRD, and with it all of its objects."""
        await self.admin.delete(CRDS, name)

    async def until(self, holds: Callable[[], bool]) -> None:
        """Wait until something is so, at most for a long time."""
        for _ in range(PATIENCE):
            if holds():
                return
            await sleep(self.clock, 1.0)
            await self.admin.get(NAMESPACES, "default")  # others have their turns meanwhile
        raise AssertionError("it never was so")

    async def _until_served(self, spec: Obj) -> None:
        names, version = spec["names"], spec["versions"][0]["name"]
        is_namespaced = spec["scope"] == "Namespaced"
        resource = Resource(
            spec["group"], version, names["plural"], names["kind"], is_namespaced
        )
        for _ in range(PATIENCE):
            if await cluster.served(self.admin, [resource]):
                return
            await sleep(self.clock, 0.1)
        raise AssertionError(f"{resource} was never served")

    async def allow(self, user: str, group: str, resource: str, *verbs: str) -> None:
        """Give somebody rights."""
        name = f"{user}-{resource}"
        rule = {"apiGroups": [group], "resources": [resource], "verbs": list(verbs)}
        await self.admin.create(ROLES, {"metadata": {"name": name}, "rules": [rule]})
        await self.admin.create(
            BINDINGS,
            {
                "metadata": {"name": name},
                "roleRef": {"apiGroup": _RBAC, "kind": "ClusterRole", "name": name},
                "subjects": [{"apiGroup": _RBAC, "kind": "User", "name": user}],
            },
        )


@asynccontextmanager
async def hub() -> AsyncIterator[Hub]:
    """Run a hub during the block, whose time passes as soon as nothing else is to be done."""
    clock = ManualClock()
    async with (
        in_process.in_process(clock) as server,
        server.client() as admin,
        supervise.tasks("hub", clock=clock) as tasks,
    ):
        tasks.start("time", clock.flow)
        yield Hub(clock, server, admin)
