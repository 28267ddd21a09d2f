"""`jobferry kinds`: which kinds of workloads there are, whether they are followed, and where they can run."""

import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from types import MappingProxyType

from jobferry import settings
from jobferry.cli import documents, options, render, tables
from jobferry.cli.arguments import Parser
from jobferry.cli.hub import Hub, run
from jobferry.cli.tables import Column
from jobferry.dispatch import switches
from jobferry.dispatch.rivals import CLUSTERS, RUNS
from jobferry.kinds import registry
from jobferry.kinds.adapter import Adapter
from jobferry.kube import errors
from jobferry.kube.calls import Scope
from jobferry.kube.client import Client
from jobferry.kube.resources import CRDS
from jobferry.objects import Obj
from jobferry.workers import cluster, sight
from jobferry.workers.resource import WORKERS

_ABOUT = """Lists the kinds of workloads that Jobferry knows: whether the dispatcher follows them, by its settings
(JOBFERRY_KINDS and so on, as for the dispatcher) or by what Workers say, whether their CRD is on the hub, and which Workers serve them.

NEEDS says what is missing until workloads of a kind can run; docs/kinds.md tells what each kind can do."""

COLUMNS = (
    Column("KIND"),
    Column("ON"),
    Column("HUB"),
    Column("WORKERS"),
    Column("NEEDS"),
    Column("MANAGEDBY", wide=True),
    Column("NOTE", wide=True),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """How it stands with a kind."""

    kind: str
    is_on: bool
    is_on_hub: bool
    workers: tuple[str, ...]
    needs: str
    """What is missing until its workloads can run; empty: nothing."""

    managed_by: tuple[str, ...]
    """The names by which its workloads are delegated."""

    note: str


def main(arguments: Sequence[str]) -> None:
    """List kinds."""
    parser = Parser("jobferry kinds", "[option ...]", _ABOUT)
    options.add_output(parser, ("table", "wide", "json", "yaml"))
    options.add_where(parser, namespaced=False)
    given = parser.parse_args(arguments)
    chosen = settings.load(environ=os.environ)

    async def show(hub: Hub) -> None:
        found = await read(hub.client, chosen)
        if given.output in ("table", "wide"):
            rows = [row(each) for each in found]
            render.text(tables.text(COLUMNS, rows, wide=given.output == "wide"))
        else:
            render.text(documents.data(given.output, data(found)))

    run(options.where(given), show)


async def read(hub: Client, chosen: settings.Settings) -> list[Standing]:
    """Find out how it stands with each kind."""
    every = switches.known(chosen)
    on = {each.name for each in switches.switched_on(chosen)}
    there = {
        each.plural + each.group
        for each in await cluster.served(hub, [each.resource for each in every.values()])
    }
    workers = (await hub.list(Scope(resource=WORKERS))).items
    has_rival = await _has_rival(hub)
    return [
        standing(
            each,
            is_on=name in on,
            is_on_hub=each.resource.plural + each.resource.group in there,
            workers=serving(each, workers),
            blind=blind(each, workers),
            has_rival=has_rival,
        )
        for name, each in every.items()
    ]


def serving(kind: Adapter, workers: Sequence[Obj]) -> tuple[str, ...]:
    """Name the Workers that say to serve a kind, and show us its workloads."""
    name, hiding = cluster.name(kind.resource), blind(kind, workers)
    return tuple(
        each["metadata"]["name"]
        for each in workers
        if name in ((each.get("status") or {}).get("kinds") or ())
        and each["metadata"]["name"] not in hiding
    )


def blind(kind: Adapter, workers: Sequence[Obj]) -> dict[str, str]:
    """Name the Workers that serve a kind and do not show us its workloads, and say why."""
    said = {
        each["metadata"]["name"]: sight.recall(each.get("status") or {}) for each in workers
    }
    return {name: hidden[kind.name] for name, hidden in said.items() if kind.name in hidden}


def standing(
    kind: Adapter,
    *,
    is_on: bool,
    is_on_hub: bool,
    workers: tuple[str, ...],
    has_rival: bool,
    blind: Mapping[str, str] = MappingProxyType({}),
) -> Standing:
    """Say how it stands with a kind, and what it needs."""
    # A Worker lists what the dispatcher follows there, and that counts more than the settings here.
    is_on = is_on or bool(workers or blind)
    claimed = kind.claims if kind.accepts is None else kind.claims & kind.accepts
    return Standing(
        kind=kind.name,
        is_on=is_on,
        is_on_hub=is_on_hub,
        workers=workers,
        needs="; ".join(
            [
                *_needs(kind, is_on, is_on_hub, bool(workers or blind), has_rival),
                *(f"to be seen on {name}: {why}" for name, why in blind.items()),
            ]
        ),
        managed_by=tuple(sorted(claimed)),
        note=kind.caution,
    )


def _needs(
    kind: Adapter, is_on: bool, is_on_hub: bool, is_served: bool, has_rival: bool
) -> list[str]:
    needs = []
    is_borrowed = kind.accepts is not None and bool(kind.accepts & kind.claims)
    if not is_on and kind.accepts is not None and not is_borrowed:
        needs.append("claimMultikueue: true")
    elif not is_on:
        needs.append(f"kinds: [Job, ..., {kind.resource.kind}] in the settings")
    elif is_borrowed and has_rival:
        needs.append(RUNS)
    if not is_on_hub:
        needs.append("its CRD on the hub")
    is_custom = "." in kind.resource.group
    if not is_served and (is_on or is_custom):
        needs.append("a Worker that serves it")
    return needs


def row(found: Standing) -> tables.Row:
    """Return the row that shows a kind."""
    return [
        found.kind,
        "yes" if found.is_on else "no",
        "yes" if found.is_on_hub else "no",
        ",".join(found.workers),
        found.needs,
        ",".join(found.managed_by),
        found.note,
    ]


def data(found: Sequence[Standing]) -> Obj:
    """Return all of it for programs, with the kinds that are never dispatched."""
    refused: Mapping[str, str] = registry.REFUSED
    return {
        "kinds": [
            {
                "kind": each.kind,
                "on": each.is_on,
                "hub": each.is_on_hub,
                "workers": list(each.workers),
                "needs": each.needs,
                "managedBy": list(each.managed_by),
                "note": each.note,
            }
            for each in found
        ],
        "refused": dict(refused),
    }


async def _has_rival(hub: Client) -> bool:
    """Tell whether Kueue's MultiKueue runs there, as far as we may see."""
    with suppress(errors.NotFound, errors.Forbidden):
        await hub.get(CRDS, str(CLUSTERS))
        group = await hub.raw(f"/apis/{CLUSTERS.group}")
        version = group["preferredVersion"]["version"]
        found = await hub.raw(f"/apis/{CLUSTERS.group}/{version}/{CLUSTERS.plural}?limit=1")
        return bool(found["items"])
    return False
