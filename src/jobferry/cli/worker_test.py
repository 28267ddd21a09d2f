"""`jobferry workers test`: tries whether a Worker can be reached, with its own kubeconfig."""

import os
from collections.abc import Sequence
from pathlib import Path

from jobferry import settings
from jobferry.cli import known_hub, options, preflight, render
from jobferry.cli.arguments import Parser, completes
from jobferry.cli.hub import Hub, run
from jobferry.cli.preflight import Finding
from jobferry.dispatch import switches
from jobferry.errors import BadInput, Error
from jobferry.kinds.referred import GENERAL
from jobferry.kube import errors
from jobferry.kube.client import Client, Reach, connect
from jobferry.kube.resources import JOBS
from jobferry.kube.retry import Patience
from jobferry.kube.transport import HttpTransport
from jobferry.objects import Obj
from jobferry.objects.resource import Resource
from jobferry.workers import source
from jobferry.workers.resource import WORKERS, Kubeconfig, SecretKey
from jobferry.workers.source import Rules

_ABOUT = """Tries a Worker with its own kubeconfig, as the dispatcher would: whether it answers, its version, that it is
no other Worker, the rights, the namespaces. Exit code 1 if something is wrong.

A kubeconfig in a file is tried only if it is the one that you use yourself."""

HINT = "docs/troubleshooting.md tells what to do about it."

PATIENCE = Patience(answer=8.0, retries=1)
"""Somebody waits for it; a cluster that has not answered by then gets no work from the dispatcher either."""


def main(arguments: Sequence[str]) -> None:
    """Try a Worker."""
    parser = Parser("jobferry workers test", "NAME [option ...]", _ABOUT)
    completes(parser.add_argument("name", metavar="NAME", help="the Worker"), "workers")
    options.add_where(parser, namespaced=False)
    given = parser.parse_args(arguments)

    async def try_it(hub: Hub) -> None:
        worker = await hub.read(WORKERS, given.name)
        findings = await examine(hub.client, worker, hub.found.files)
        render.text(preflight.report(findings))
        if failed := preflight.failures(findings):
            raise Error(f"worker {given.name}: {failed[0].says}", hint=HINT)

    run(options.where(given), try_it)


async def examine(
    hub: Client, worker: Obj, files: Sequence[Path], reach: Reach = HttpTransport
) -> list[Finding]:
    """Try a Worker by the kubeconfig that it names; of files, only our own are read."""
    name, spec = worker["metadata"]["name"], worker["spec"]
    where = _kubeconfig(spec.get("kubeconfig") or {})
    own = frozenset(file.resolve() for file in files)
    if where.file is not None and Path(where.file) not in own:
        raise BadInput(
            f"worker {name}: its kubeconfig is a file of the dispatcher's machine, {where.file}",
            hint="Test it there, with --kubeconfig naming that file.",
        )
    access = await source.access(hub, where, hub.clock, Rules(trusted=own))
    creates = bool((spec.get("namespaces") or {}).get("create"))
    known = await known_hub.read(hub, but=name)
    async with connect(
        access, name=name, clock=hub.clock, reach=reach, patience=PATIENCE
    ) as client:
        try:
            found = await preflight.examine(
                client,
                known,
                creates_namespaces=creates,
                kinds_besides=besides(),
                looks_for=GENERAL,
            )
        except (errors.Unreachable, errors.ApiError) as error:
            return [Finding("reach", preflight.FAILED, str(error))]
    return [Finding("reach", preflight.OK, access.server.url), *found]


def besides() -> list[Resource]:
    """Return the kinds besides Jobs that the dispatcher of our settings brings to workers."""
    chosen = settings.load(environ=os.environ)
    found = (each.resource for each in switches.switched_on(chosen))
    return [each for each in found if each != JOBS]


def _kubeconfig(said: Obj) -> Kubeconfig:
    secret = said.get("secret")
    return Kubeconfig(
        secret=SecretKey(**secret) if secret else None,
        file=said.get("file"),
        context=said.get("context"),
    )
