"""The real operators of workload kinds, as plain processes beside the control planes of the fleet.

No webhook of theirs is installed: what one would fill in, the workloads of these tests say themselves. The certificates
that some insist on are ours.
"""

import asyncio
import json
from collections.abc import Callable, Coroutine, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from jobferry.clock import SystemClock
from jobferry.kube import errors
from jobferry.kube.client import Client, connect
from jobferry.kube.resources import CRDS
from jobferry.objects import Obj
from jobferry.objects.resource import Resource
from jobferry.testing import assets
from jobferry.testing.component import free_port
from jobferry.testing.control_plane import ControlPlane
from jobferry.testing.programs import ADDRESS
from tests.conftest import new_event_loop
from tests.system.jobs import holds
from tests.system.stage import grant
from tests.system.world import named, until_one

Command = Callable[[ControlPlane], list[str]]


@dataclass(frozen=True)
class Operator:
    """How an operator is started on a cluster that has its CRDs."""

    project: str
    flags: Command
    program: str = ""
    """Its name, if it is not that of the project."""

    variables: Mapping[str, str] = field(default_factory=dict)
    needs: tuple[tuple[Resource, Obj], ...] = ()
    """What must be on the cluster before it starts."""

    @property
    def name(self) -> str:
        """The name of its program."""
        return self.program or self.project

    def command(self, plane: ControlPlane) -> list[str]:
        """Return the command that starts it beside a control plane."""
        variables = {**self.variables, "KUBECONFIG": str(plane.kubeconfig_file)}
        path = assets.operator(self.project, self.name)
        assert path is not None, f"there is no {self.name}"
        said = (f"{name}={value}" for name, value in variables.items())
        return ["env", *said, str(path), *self.flags(plane)]


@contextmanager
def running(
    planes: Mapping[str, ControlPlane], *operators: Operator
) -> Iterator[Callable[[], str]]:
    """Run operators on clusters during the block; gives what tells what they logged.

    The clusters have the CRDs then, and dispatchers have rights for all kinds.
    """
    for plane in planes.values():
        run(_prepare(plane, operators))
        for operator in operators:
            plane.run(operator.name, operator.command(plane))
    try:
        yield lambda: _logged(planes, operators)
        for plane in planes.values():
            for operator in operators:
                assert plane.is_running(operator.name), _logged(planes, operators)
    finally:
        for plane in planes.values():
            for operator in operators:
                plane.kill(operator.name)


def run(work: Coroutine[Any, Any, None]) -> None:
    """Do something on an event loop of its own."""
    with asyncio.Runner(loop_factory=new_event_loop) as runner:
        runner.run(work)


async def _prepare(plane: ControlPlane, operators: tuple[Operator, ...]) -> None:
    async with connect(plane.access(), name="operated", clock=SystemClock()) as client:
        await grant(client)
        for operator in operators:
            await _define(client, operator.project)
            for resource, obj in operator.needs:
                with suppress(errors.AlreadyExists):
                    await client.create(resource, obj)


async def _define(client: Client, project: str) -> None:
    """Install the CRDs of a project."""
    for crd in assets.crds(project):
        with suppress(errors.AlreadyExists):
            await client.create(CRDS, crd)
        await until_one(client, named(CRDS, crd["metadata"]["name"]), holds("Established"))


def _logged(planes: Mapping[str, ControlPlane], operators: tuple[Operator, ...]) -> str:
    parts = []
    for name, plane in planes.items():
        for operator in operators:
            lines = (plane.folder / f"{operator.name}.log").read_text(errors="replace")
            parts.append(f"--- {operator.name} on {name}\n" + lines[-LOG_TAIL:])
    return "\n".join(parts)


LOG_TAIL = 20_000


def _certificates(plane: ControlPlane, operator: str) -> Path:
    """Make certificates for webhooks that nobody calls."""
    folder = plane.folder / f"{operator}-certificates"
    folder.mkdir(exist_ok=True)
    pair = plane.certificate(operator)
    (folder / "tls.crt").write_bytes(pair.certificate)
    (folder / "tls.key").write_bytes(pair.key)
    return folder


def _file(plane: ControlPlane, name: str, content: Obj) -> Path:
    file = plane.folder / name
    file.write_text(json.dumps(content))
    return file


def _address() -> str:
    return f"{ADDRESS}:{free_port(ADDRESS)}"


def _webhook(plane: ControlPlane, operator: str) -> Obj:
    return {
        "host": ADDRESS,
        "port": free_port(ADDRESS),
        "certDir": str(_certificates(plane, operator)),
    }


def _job_set(plane: ControlPlane) -> list[str]:
    config = {
        "apiVersion": "config.jobset.x-k8s.io/v1alpha1",
        "kind": "Configuration",
        "internalCertManagement": {"enable": False},
        "leaderElection": {"leaderElect": False},
        "webhook": _webhook(plane, "jobset"),
    }
    return [
        f"--config={_file(plane, 'jobset.json', config)}",
        "--metrics-bind-address=0",
        f"--health-probe-bind-address={_address()}",
    ]


JOB_SET = Operator("jobset", _job_set)
