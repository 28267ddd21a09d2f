"""Three real clusters: a hub and two workers, prepared as an administrator would."""

import asyncio
import tempfile
from base64 import b64encode
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from secrets import token_hex

from bench import audit
from bench.command import say
from bench.processes import Child, child
from jobferry.clock import SystemClock
from jobferry.dispatch import hub_checks, manifests
from jobferry.kube.client import Client, connect
from jobferry.kube.resources import SECRETS
from jobferry.objects import Obj
from jobferry.objects.resource import Resource
from jobferry.testing.control_plane import JOB_CONTROLLERS, ControlPlane, all_running
from jobferry.testing.guard import Guard
from jobferry.workers.resource import WORKERS

HUB = "hub"
WORKER_NAMES = ("east", "west")
NAMES = (HUB, *WORKER_NAMES)

SYSTEM = "jobferry-system"
USERS = {
    HUB: f"system:serviceaccount:{SYSTEM}:jobferry-dispatcher",
    **dict.fromkeys(WORKER_NAMES, f"system:serviceaccount:{SYSTEM}:jobferry-worker"),
}
"""Whom the manifests give just the rights they need: the dispatcher, on each cluster."""


@dataclass(frozen=True, slots=True)
class Fleet:
    """The clusters while they run, reached as somebody who may do everything."""

    planes: Mapping[str, ControlPlane]
    clients: Mapping[str, Client]
    guard: Guard
    folder: Path
    """For files that go with the fleet."""

    @property
    def hub(self) -> Client:
        """The client of the hub."""
        return self.clients[HUB]

    @property
    def workers(self) -> list[Client]:
        """The clients of the workers."""
        return [self.clients[name] for name in WORKER_NAMES]

    def kubeconfig(self, name: str) -> Path:
        """Return the kubeconfig by which a dispatcher reaches a cluster."""
        return self.folder / f"{name}.kubeconfig"

    def write_kubeconfigs(self) -> None:
        """Write the kubeconfigs by which a dispatcher reaches the clusters."""
        for name, user in USERS.items():
            self.kubeconfig(name).write_text(self.planes[name].kubeconfig(user))

    def audit(self) -> audit.Tail:
        """Follow what dispatchers ask of the clusters from now on."""
        return audit.Tail({name: self.planes[name].audit_log for name in NAMES}, USERS)

    def log(self, name: str) -> Path:
        """Return a new file for what a process prints."""
        return self.folder / f"{name}-{token_hex(4)}.log"


@asynccontextmanager
async def fleet(*, controllers: Iterable[str] = JOB_CONTROLLERS) -> AsyncIterator[Fleet]:
    """Start the clusters; all of them are gone after the block."""
    say("Starting a hub and two workers.")
    flags = ("--audit-log-maxsize=10000",)  # in MB: nobody looks for what was rotated away
    planes = {
        name: ControlPlane(controllers=controllers, audit=True, api_server_flags=flags)
        for name in NAMES
    }
    async with AsyncExitStack() as stack:
        await stack.enter_async_context(all_running(planes.values()))
        clients = {
            name: await stack.enter_async_context(
                connect(plane.access(), name=name, clock=SystemClock())
            )
            for name, plane in planes.items()
        }
        folder = Path(tempfile.mkdtemp(prefix="jobferry-bench-"))
        guard = Guard(folder)
        stack.push_async_callback(asyncio.to_thread, guard.wait)
        stack.callback(guard.close)
        made = Fleet(planes, clients, guard, folder)
        made.write_kubeconfigs()
        await _prepare(made)
        yield made


@asynccontextmanager
async def kubelets(fleet: Fleet) -> AsyncIterator[Child]:
    """Run the pods of the workers, in another process, during the block."""
    files = [str(fleet.planes[name].kubeconfig_file) for name in WORKER_NAMES]
    with child(fleet.guard, fleet.log("kubelets"), "bench.kubelets", *files) as process:
        await process.ready()
        yield process


async def _prepare(fleet: Fleet) -> None:
    """Give the dispatcher its rights, tell the hub of its workers, and write kubeconfigs."""
    await _apply(fleet.hub, "crds")
    await hub_checks.served(fleet.hub)
    await _apply(fleet.hub, "hub")
    for name in WORKER_NAMES:
        await _apply(fleet.clients[name], "worker")
        await add_worker(fleet, name, name)


async def add_worker(fleet: Fleet, name: str, cluster: str, **spec: object) -> None:
    """Create a Worker, and the Secret that says how it is reached."""
    where = {"namespace": SYSTEM, "name": name}
    content = b64encode(fleet.planes[cluster].kubeconfig(USERS[cluster]).encode()).decode()
    await fleet.hub.create(SECRETS, {"metadata": where, "data": {"kubeconfig": content}})
    worker = {
        "metadata": {"name": name},
        "spec": {"kubeconfig": {"secret": where}, **spec},
    }
    await fleet.hub.create(WORKERS, worker)


async def _apply(client: Client, manifest: str) -> None:
    for obj in manifests.objects(manifest):
        await client.create(_resource(obj), obj)


def _resource(obj: Obj) -> Resource:
    """Return the resource of an object of a manifest; the plurals of all of these are regular."""
    group, _, version = obj["apiVersion"].rpartition("/")
    kind = obj["kind"]
    is_namespaced = "namespace" in obj["metadata"]
    return Resource(group, version, f"{kind.lower()}s", kind, namespaced=is_namespaced)
