"""The hub that a command line means, and what is asked of it."""

import asyncio
import os
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import TypeVar

from jobferry import log
from jobferry.cli import render
from jobferry.cli.arguments import program
from jobferry.cli.options import Where
from jobferry.clock import Clock, SystemClock
from jobferry.errors import BadInput, Error
from jobferry.kube import errors, kubeconfig
from jobferry.kube.access import Access
from jobferry.kube.calls import Scope
from jobferry.kube.client import Client, connect
from jobferry.kube.kubeconfig import Kubeconfig
from jobferry.kube.resources import JOBS
from jobferry.objects import Obj
from jobferry.objects.resource import Resource
from jobferry.workers.resource import WORKERS

T = TypeVar("T")


class NotThere(Error):
    """There is no object of the name that was given."""


_EVERYWHERE = frozenset({JOBS.group, WORKERS.group})
"""The groups of what every hub has."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """How the hub is reached."""

    access: Access
    config: Kubeconfig | None
    """What says so; None in a pod, whose own cluster it is then."""

    files: tuple[Path, ...] = ()
    """Where that stands."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Hub:
    """A hub that can be asked."""

    client: Client
    found: Found
    where: Where

    @property
    def namespace(self) -> str:
        """The namespace that is meant, if it is one."""
        return self.where.namespace or self.found.access.namespace

    def scope(self, resource: Resource, *, labels: str = "", fields: str = "") -> Scope:
        """Mean the objects of the namespace that was chosen, or of all."""
        within = None if self.where.everywhere or not resource.namespaced else self.namespace
        return Scope(resource=resource, namespace=within, labels=labels, fields=fields)

    async def read(self, resource: Resource, name: str) -> Obj:
        """Read an object; raises `NotThere` with a hint which are there."""
        within = self.namespace if resource.namespaced else None
        try:
            return await self.client.get(resource, name, within)
        except errors.NotFound as error:
            if not error.details.get("name"):
                raise kind_missing(resource) from None
            raise await self._not_there(resource, name) from None

    async def all(self, resource: Resource, *, labels: str = "") -> list[Obj]:
        """Read all objects that are meant, in the order of their names."""
        try:
            listing = await self.client.list(self.scope(resource, labels=labels))
        except errors.NotFound:
            raise kind_missing(resource) from None
        return sorted(listing.items, key=_key)

    async def chosen(self, resource: Resource, names: Sequence[str], labels: str) -> list[Obj]:
        """Read the objects of these names, or all that are meant where there is none."""
        if names:
            return [await self.read(resource, name) for name in names]
        return await self.all(resource, labels=labels)

    async def job(self, name: str) -> Obj:
        """Read a Job."""
        return await self.read(JOBS, name)

    async def _not_there(self, resource: Resource, name: str) -> NotThere:
        within = f" in namespace {self.namespace}" if resource.namespaced else ""
        hint = f"`{program()} {_listing(resource)}` lists those that are there."
        try:
            there = [each["metadata"]["name"] for each in await self.all(resource)]
        except Error:
            there = []  # who may read one object need not be allowed to list them
        if near := get_close_matches(name, there, n=1):
            hint = f"Is {near[0]} meant? {hint}"
        return NotThere(f"there is no {resource.kind} {name}{within}", hint=hint)


def _listing(resource: Resource) -> str:
    """Return the command that lists objects of a kind: those of workloads that are no Jobs have none of their own."""
    is_ours = resource.group in _EVERYWHERE
    return resource.plural if is_ours else f"jobs -k {resource.kind}"


def kind_missing(resource: Resource) -> BadInput:
    """Make the error that says that a cluster is no hub, or has no such kind."""
    if resource.group not in _EVERYWHERE:
        return BadInput(
            f"the hub does not know the kind {resource.kind}",
            hint=f"Install its CRD there, {resource}; `jobferry kinds` tells which are known.",
        )
    return BadInput(
        f"this cluster is no hub: it does not know the kind {resource.kind}",
        hint="Choose the hub with --context or --kubeconfig, or make it one: `jobferry run --install-crds`.",
    )


def run(where: Where, work: Callable[[Hub], Awaitable[T]], *, known: Found | None = None) -> T:
    """Do something with the hub that is meant; `known` is how it was found before."""
    log.configure(level=os.environ.get("JOBFERRY_LOG_LEVEL", "critical").upper())
    clock = SystemClock()
    found = known or find(where, os.environ, clock)

    async def with_hub() -> T:
        async with connect(found.access, name="hub", clock=clock) as client:
            return await work(Hub(client=client, found=found, where=where))

    return asyncio.run(with_hub())


def find(
    where: Where, environ: Mapping[str, str], clock: Clock, *, is_quiet: bool = False
) -> Found:
    """Find the hub: by the file that is named, as kubectl would, by `jobferry up`, or as a pod does."""
    if where.kubeconfig is not None:
        config = kubeconfig.from_file(where.kubeconfig)
        return _found(config, where, (where.kubeconfig,), clock)
    usual = _usual(environ)
    if environ.get("KUBECONFIG") or any(file.exists() for file in usual):
        return _found(kubeconfig.from_environment(environ), where, usual, clock)
    if own := _of_fleet(environ):
        if not is_quiet:
            render.note(f"Using the fleet of `jobferry up`: {own}")
        return _found(kubeconfig.from_file(own), where, (own,), clock)
    if where.context is None and "KUBERNETES_SERVICE_HOST" in environ:
        from jobferry.kube import in_cluster  # noqa: PLC0415 (this is seldom so)

        return Found(access=in_cluster.access(clock=clock, environ=environ), config=None)
    raise BadInput(
        "there is no kubeconfig, and no fleet of `jobferry up` runs",
        hint="Name one with --kubeconfig or KUBECONFIG, or start a fleet: `jobferry up`.",
    )


def _found(config: Kubeconfig, where: Where, files: tuple[Path, ...], clock: Clock) -> Found:
    access = config.access(where.context, clock=clock)
    return Found(access=access, config=config, files=files)


def _usual(environ: Mapping[str, str]) -> tuple[Path, ...]:
    default = Path(environ.get("HOME", "")) / ".kube" / "config"
    listed = (environ.get("KUBECONFIG") or str(default)).split(os.pathsep)
    return tuple(Path(name) for name in listed if name)


def _of_fleet(environ: Mapping[str, str]) -> Path | None:
    """Return the kubeconfig of the fleet that runs on this machine, if one does."""
    from jobferry.local.layout import Layout, default_folder  # noqa: PLC0415 (this is seldom so)

    layout = Layout(default_folder(environ))
    is_running = layout.owner() is not None
    return layout.kubeconfig if is_running and layout.kubeconfig.exists() else None


def _key(obj: Obj) -> tuple[str, str]:
    return obj["metadata"].get("namespace") or "", obj["metadata"]["name"]
