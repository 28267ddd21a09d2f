"""Workloads of other kinds than Jobs: what commands do with --kind."""

import argparse
import os
from collections.abc import Collection, Sequence
from dataclasses import replace
from datetime import datetime

from jobferry import settings
from jobferry.cli import (
    absences,
    describe,
    documents,
    explanation,
    job_events,
    jobs,
    render,
    silence,
    tables,
    undelegated,
    waiting,
    why,
    workload_timeline,
)
from jobferry.cli.hub import Hub
from jobferry.cli.job_facts import QUEUE_LABEL, Around
from jobferry.cli.picture import Picture, lookup, read
from jobferry.cli.tables import Column
from jobferry.cli.waiting import Goal, Sort
from jobferry.cli.workload_facts import Workload
from jobferry.clock import Seconds
from jobferry.core.placement_object import RESOURCE as PLACEMENTS
from jobferry.dispatch import switches
from jobferry.errors import BadInput
from jobferry.kinds.adapter import Adapter, Lookup, nothing
from jobferry.kube import errors
from jobferry.kube.informer import Informer
from jobferry.kube.items import Head, Key
from jobferry.localkube.apiserver.printing import durations
from jobferry.objects import Obj
from jobferry.objects.resource import Resource
from jobferry.settings import Settings

COLUMNS = (
    Column("NAME"),
    Column("STATUS"),
    Column("WORKER"),
    Column("ATTEMPT"),
    Column("AGE", ticking=True),
    Column("QUEUE", wide=True),
)


def kind(name: str, chosen: Settings, lookup: Lookup = nothing) -> Adapter:
    """Return the kind that is meant; raises `BadInput`."""
    (found,) = switches.find([name], switches.known(chosen, lookup))
    return found


async def show_list(hub: Hub, given: argparse.Namespace, labels: str) -> None:
    """List workloads of a kind, once or until it is stopped."""
    its = kind(given.kind, settings.load(environ=os.environ))
    is_table = given.output in ("table", "wide")
    if given.watch:
        if is_table:
            await silence.warn(hub)
        await _watch(hub, its, given, labels)
        return
    found = await hub.chosen(its.resource, given.names, labels)
    if not found and is_table:
        render.note(jobs.none_there(hub, labels, its.resource.kind))
        return
    # Names alone are told to those, too, who use a cluster that is no hub.
    seen = await with_records(hub, its, found) if given.output != "name" else []
    absent = await absences.read(hub) or {} if is_table else {}
    now, everywhere = hub.client.clock.now(), hub.where.everywhere

    def shown(wide: bool) -> str:
        return tables.text(*table(seen, now, everywhere, absent), wide=wide)

    is_one = len(given.names) == 1
    told = [each.document for each in seen] or found
    render.text(documents.text(given.output, its.resource, told, shown, is_one=is_one))
    if is_table:
        await silence.warn(hub)


async def _watch(hub: Hub, its: Adapter, given: argparse.Namespace, labels: str) -> None:
    from jobferry.cli import jobs_live  # noqa: PLC0415 (a list alone is there sooner)

    records = None
    if not its.carries_record and await _may_list(hub, PLACEMENTS):
        records = Informer(hub.client, hub.scope(PLACEMENTS), Head)

    def seen(obj: Obj) -> Workload:
        meta = obj["metadata"]
        key = Key(meta.get("namespace") or "", meta["uid"])
        item = records.get(key) if records is not None else None
        return Workload(its, obj, item.object() if item is not None else None)

    def shown(found: Sequence[Obj], around: Around) -> tuple[list[Column], list[tables.Row]]:
        now, everywhere = hub.client.clock.now(), hub.where.everywhere
        return table([seen(each) for each in found], now, everywhere, around.absent)

    subject = jobs_live.Subject(
        resource=its.resource,
        table=shown,
        document=lambda obj: seen(obj).document,
        places=lambda obj: seen(obj).places,
        none=jobs.none_there(hub, labels, its.resource.kind),
        records=records,
    )
    await jobs_live.watch(hub, subject, given.names, labels, given.output)


async def _may_list(hub: Hub, resource: Resource) -> bool:
    try:
        await hub.client.list(hub.scope(resource))
    except errors.Forbidden:
        return False
    return True


async def show_life(hub: Hub, name: str, given: argparse.Namespace) -> None:
    """Tell the life of a workload of a kind."""
    its = kind(given.kind, settings.load(environ=os.environ))
    seen = await one(hub, its, name)
    events = await job_events.read(hub.client, seen.obj)
    life = workload_timeline.life(seen, events)
    describe.tell(summary(seen, hub.client.clock.now()), life, given.output)


async def show_why(hub: Hub, name: str, given: argparse.Namespace, chosen: Settings) -> None:
    """Explain where a workload of a kind is."""
    its = kind(given.kind, chosen)
    seen = await one(hub, its, name)
    undelegated.refuse(seen)
    now = hub.client.clock.now()
    is_on = its.name in {each.name for each in switches.switched_on(chosen)}
    # A dispatcher may follow its kind even if the settings of this command do not say so.
    chosen = switches.including(chosen, its)
    objects = await read(hub.client, chosen)
    seen = replace(seen, kind=kind(given.kind, chosen, lookup(objects)))
    uid = seen.obj["metadata"]["uid"]
    found = explanation.explain_any(
        seen,
        Picture(hub.client, chosen, objects, now, but=uid),
        await job_events.read(hub.client, seen.obj),
        await silence.read(hub, chosen),
        now,
        is_on=is_on,
    )
    is_table = given.output == "table"
    shown = why.text(found) if is_table else documents.data(given.output, why.data(found))
    render.text(shown)


async def wait(hub: Hub, given: argparse.Namespace, within: Seconds | None) -> None:
    """Wait until workloads of a kind have got as far as somebody wants."""
    its = kind(given.kind, settings.load(environ=os.environ))
    goals = _goals(its)
    if given.goal not in goals:
        raise BadInput(
            f"--for {given.goal} does not go with --kind",
            hint=f"Wait for {' or '.join(goals)}; `kubectl get placements` tells what is placed.",
        )
    found = await hub.chosen(its.resource, list(dict.fromkeys(given.jobs)), "")
    goal = goals[given.goal]
    if any(not goal.holds(each) for each in found):
        await silence.warn(hub)
    sort = Sort(its.resource, its.finish, lambda obj: _sentence(its, obj))
    await waiting.wait(hub, found, goal, within, render.line, sort)


def table(
    workloads: Sequence[Workload],
    now: datetime,
    has_namespace: bool,
    absent: Collection[str] = (),
) -> tuple[list[Column], list[tables.Row]]:
    """Return the columns and the rows that show some workloads."""
    columns = ([Column("NAMESPACE")] if has_namespace else []) + [*COLUMNS]
    rows: list[tables.Row] = []
    for each in workloads:
        meta = each.obj["metadata"]
        age = durations.since(meta.get("creationTimestamp"), now)
        queue = (meta.get("labels") or {}).get(QUEUE_LABEL, "")
        cells = [
            each.name,
            each.state_but_for(absent),
            each.worker,
            each.attempt or "",
            age,
            queue,
        ]
        rows.append([*([meta.get("namespace", "")] if has_namespace else []), *cells])
    return columns, rows


def summary(seen: Workload, now: datetime) -> dict[str, str]:
    """Return what is to be said of a workload before its life."""
    meta, placed = seen.obj["metadata"], seen.placed
    attempt = f" (attempt {seen.attempt})" if seen.attempt else ""
    lines = {
        "Kind": seen.kind.name,
        "Name": seen.name,
        "Namespace": meta.get("namespace", ""),
        "Queue": (meta.get("labels") or {}).get(QUEUE_LABEL, ""),
        "Status": seen.state,
        "Worker": f"{seen.worker or 'none yet'}{attempt}",
        "Cluster": ", ".join(shard.cluster for shard in placed.shards) if placed else "",
        "Age": durations.since(meta.get("creationTimestamp"), now),
    }
    return {name: value for name, value in lines.items() if value}


def _goals(its: Adapter) -> dict[str, Goal]:
    def has_ended(obj: Obj) -> bool:
        return its.finish(obj) is not None

    goals = (
        Goal("ended", has_ended),
        Goal("running", lambda obj: its.has_run(obj) or has_ended(obj)),
    )
    return {goal.name: goal for goal in goals}


def _sentence(its: Adapter, obj: Obj) -> str:
    """Say how a workload has got where somebody wanted it."""
    name, how = obj["metadata"]["name"], its.finish(obj)
    return f"{name} has ended: {how}" if how else f"{name} runs"


async def one(hub: Hub, its: Adapter, name: str) -> Workload:
    """Read a workload of a kind, with its Placement."""
    obj = await hub.read(its.resource, name)
    (found,) = await with_records(hub, its, [obj])
    return found


async def with_records(hub: Hub, its: Adapter, found: Sequence[Obj]) -> list[Workload]:
    """Return workloads with their Placements, as far as we may read them."""
    try:
        placements = [] if its.carries_record else await hub.all(PLACEMENTS)
    except errors.Forbidden:
        placements = []
    by_uid = {each["metadata"]["name"]: each for each in placements}
    return [Workload(its, each, by_uid.get(each["metadata"]["uid"])) for each in found]
