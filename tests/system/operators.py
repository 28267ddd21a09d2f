"""The real operators of workload kinds, as plain processes beside the control planes of the fleet, with their webhooks."""

import asyncio
import sys
from collections.abc import AsyncIterator, Callable, Collection, Coroutine, Iterator, Mapping
from contextlib import ExitStack, asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from jobferry.clock import SystemClock
from jobferry.kube import errors
from jobferry.kube.calls import Scope
from jobferry.kube.client import Client, connect
from jobferry.kube.resources import CRDS, JOBS, PODS
from jobferry.objects import Obj
from jobferry.objects.resource import Resource
from jobferry.testing import assets
from jobferry.testing.component import free_port, is_free
from jobferry.testing.control_plane import ControlPlane
from jobferry.testing.programs import ADDRESS
from tests.conftest import new_event_loop
from tests.system import webhooks
from tests.system.jobs import NORTH_FIRST, holds
from tests.system.kinds import Trial, rights, trial
from tests.system.lab import Lab
from tests.system.webhooks import Webhooks
from tests.system.world import named, until_none, until_one
from tests.workloads.examples import ADAPTERS

SERVICES = Resource("", "v1", "services", "Service")
LOG_TAIL = 20_000
CLEAR_WITHIN = 60.0


class Call(NamedTuple):
    """How a program is called."""

    flags: tuple[str, ...]
    variables: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True)
class Operator:
    """How an operator is started on a cluster that has its CRDs."""

    project: str
    call: Callable[[ControlPlane, int], Call]
    """Says how, given the port for its webhooks."""

    program: str = ""
    """Its name, if it is not that of the project."""

    needs: tuple[tuple[Resource, Obj], ...] = ()
    """What must be on the cluster before it starts."""

    webhooks: Webhooks | None = None

    fixed_port: int | None = None
    """Where it listens, whatever it is told, on all addresses: there can be one on a machine."""

    is_beside: bool = False
    """Whether it is but another program of a project whose CRDs are there already."""

    @property
    def name(self) -> str:
        """The name of its program."""
        return self.program or self.project

    @property
    def crds(self) -> list[Obj]:
        """What it needs to have defined."""
        return [] if self.is_beside else assets.crds(self.project)

    def port(self) -> int:
        """Return where its webhooks are to be."""
        port = self.fixed_port
        if port is None:
            return free_port(ADDRESS)
        assert is_free("", port), f"port {port}, which {self.name} cannot do without, is taken"
        return port

    def command(self, plane: ControlPlane, port: int) -> list[str]:
        """Return the command that starts it beside a control plane."""
        path = assets.operator(self.project, self.name)
        assert path is not None, f"there is no {self.name}"
        flags, variables = self.call(plane, port)
        said = {**variables, "KUBECONFIG": str(plane.kubeconfig_file)}
        return ["env", *(f"{key}={value}" for key, value in said.items()), str(path), *flags]


@contextmanager
def running(
    planes: Mapping[str, ControlPlane], *operators: Operator, on: Collection[str] = ()
) -> Iterator[None]:
    """Have the CRDs of operators on clusters during the block, and run the operators on some of these, or on all."""
    operated = [plane for name, plane in planes.items() if name in (on or planes)]
    started = [(plane, each, each.port()) for plane in operated for each in operators]
    # However it ends: webhooks that nobody serves would have all other tests refused.
    with ExitStack() as stack:
        for plane in planes.values():
            stack.callback(_run, plane, partial(_tidy, operators=operators))
            _run(plane, partial(_prepare, operators=operators))
        for plane, operator, port in started:
            plane.run(operator.name, operator.command(plane, port))
            stack.callback(plane.kill, operator.name)
        for plane, operator, port in started:
            if operator.webhooks:
                project, hooks = operator.project, operator.webhooks
                stack.callback(_run, plane, partial(webhooks.remove, project=project))
                tell = partial(webhooks.install, project=project, hooks=hooks, port=port)
                _run(plane, partial(tell, plane=plane))
        yield
        for plane, operator, _ in started:
            assert plane.is_running(operator.name), f"{operator.name} has ended"


def _run(plane: ControlPlane, work: Callable[[Client], Coroutine[Any, Any, None]]) -> None:
    """Do something with a client of a cluster, on an event loop of its own."""

    async def connected() -> None:
        async with connect(plane.access(), name="operated", clock=SystemClock()) as client:
            await work(client)

    with asyncio.Runner(loop_factory=new_event_loop) as runner:
        runner.run(connected())


async def _prepare(client: Client, operators: tuple[Operator, ...]) -> None:
    for operator in operators:
        for crd in operator.crds:
            await client.create(CRDS, crd)
            await until_one(client, named(CRDS, crd["metadata"]["name"]), holds("Established"))
        for resource, obj in operator.needs:
            await client.create(resource, obj)


async def _tidy(client: Client, operators: tuple[Operator, ...]) -> None:
    for operator in operators:
        async with asyncio.timeout(CLEAR_WITHIN):
            for crd in operator.crds:
                with suppress(errors.NotFound):
                    await client.delete(CRDS, crd["metadata"]["name"])
                await until_none(client, named(CRDS, crd["metadata"]["name"]))
        for resource, obj in reversed(operator.needs):
            meta = obj["metadata"]
            with suppress(errors.NotFound):
                await client.delete(resource, meta["name"], meta.get("namespace"))


@asynccontextmanager
async def delegating(
    lab: Lab, kind: str, *operators: Operator, **settings: Any
) -> AsyncIterator[Callable[[Obj], Trial]]:
    """Run a dispatcher for a kind during the block; gives what makes workloads of a spec, for north first.

    What the operators say meanwhile is shown with a test that fails.
    """
    before = [(file, file.stat().st_size) for file in _logs(lab, operators)]
    async with rights(lab, kind):
        await lab.add_workers()
        queue = await lab.world.queue("north-first", **NORTH_FIRST)
        async with lab.dispatcher(kinds=(kind,), **settings):
            try:
                yield lambda spec: _of(trial(lab, kind, queue=queue), spec)
            finally:
                for file, size in before:
                    said = file.read_bytes()[size:].decode(errors="replace")
                    sys.stderr.write(f"--- {file}\n{said[-LOG_TAIL:]}\n")
            await _clear(lab, ADAPTERS[kind].resource)


async def _clear(lab: Lab, resource: Resource) -> None:
    """Delete all workloads on the hub, and wait until operators have let go of what was made of them."""
    scope = Scope(resource=resource, namespace=lab.world.namespace)
    async with asyncio.timeout(CLEAR_WITHIN):
        await lab.world.hub.delete_collection(scope, propagation="Background")
        for client in (lab.world.hub, *lab.world.workers.values()):
            await until_none(client, scope)


def _of(example: Trial, spec: Obj) -> Trial:
    return Trial(example.lab, example.kind, {**example.obj, "spec": spec})


def _logs(lab: Lab, operators: tuple[Operator, ...]) -> Iterator[Path]:
    for plane in lab.fleet.planes.values():
        assert isinstance(plane, ControlPlane)
        files = (plane.folder / f"{each.name}.log" for each in operators)
        yield from (file for file in files if file.exists())


async def made(client: Client, lab: Lab, resource: Resource = JOBS) -> list[Obj]:
    """Return the Jobs, or something else, that operators made on a cluster."""
    return (await client.list(Scope(resource=resource, namespace=lab.world.namespace))).items


async def own_pods(found: Trial, worker: str) -> set[str]:
    """Name the pods on a worker that belong to a mirror, as far as its kind knows."""
    client, namespace = found.lab.world.workers[worker], found.lab.world.namespace
    names = set()
    for each in found.adapter.own_pods(await found.on(worker)):
        scope = Scope(
            resource=PODS, namespace=namespace, labels=each.labels, fields=each.fields
        )
        names |= {pod["metadata"]["name"] for pod in (await client.list(scope)).items}
    return names


async def emptied(lab: Lab, worker: str, *resources: Resource) -> None:
    """Wait until nothing is left of what operators made on a worker."""
    for resource in resources or (JOBS, PODS, SERVICES):
        scope = Scope(resource=resource, namespace=lab.world.namespace)
        await until_none(lab.world.workers[worker], scope)
