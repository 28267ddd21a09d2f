"""Workloads of other kinds than Jobs: what commands do with --kind."""

import argparse
import os
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from jobferry import settings
from jobferry.cli import (
    documents,
    explanation,
    job_events,
    render,
    silence,
    tables,
    undelegated,
    waiting,
    why,
)
from jobferry.cli.hub import Hub
from jobferry.cli.job_facts import QUEUE_LABEL
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
from jobferry.localkube.apiserver.printing import durations
from jobferry.objects import Obj
from jobferry.settings import Settings

COLUMNS = (
    Column("NAME"),
    Column("STATUS"),
    Column("WORKER"),
    Column("ATTEMPT"),
    Column("AGE"),
    Column("QUEUE", wide=True),
)


def kind(name: str, chosen: Settings, lookup: Lookup = nothing) -> Adapter:
    """Return the kind that is meant; raises `BadInput`."""
    (found,) = switches.find([name], switches.known(chosen, lookup))
    return found


async def show_list(hub: Hub, given: argparse.Namespace, labels: str) -> None:
    """List workloads of a kind."""
    if given.watch:
        raise BadInput("--kind does not go with -w", hint="Leave out -w.")
    its = kind(given.kind, settings.load(environ=os.environ))
    found = await hub.chosen(its.resource, given.names, labels)
    is_table = given.output in ("table", "wide")
    if not found and is_table:
        render.note(f"No {its.resource.plural} there.")
        return
    seen = await _with_records(hub, its, found) if is_table else []
    now, everywhere = hub.client.clock.now(), hub.where.everywhere

    def shown(wide: bool) -> str:
        return tables.text(*table(seen, now, everywhere), wide=wide)

    is_one = len(given.names) == 1
    render.text(documents.text(given.output, its.resource, found, shown, is_one=is_one))


async def show_life(hub: Hub, name: str, given: argparse.Namespace) -> None:
    """Tell what is known of a workload of a kind, and what happened to it."""
    its = kind(given.kind, settings.load(environ=os.environ))
    seen = await one(hub, its, name)
    events = await job_events.read(hub.client, seen.obj)
    now = hub.client.clock.now()
    if given.output == "table":
        render.text(text(seen, events, now))
    else:
        told = [{"reason": each["reason"], "message": each["message"]} for each in events]
        render.text(documents.data(given.output, {**summary(seen, now), "events": told}))


async def show_why(hub: Hub, name: str, given: argparse.Namespace, chosen: Settings) -> None:
    """Explain where a workload of a kind is."""
    its = kind(given.kind, chosen)
    seen = await one(hub, its, name)
    undelegated.refuse(seen)
    now = hub.client.clock.now()
    # It is placed by a dispatcher that follows its kind, even if the settings of this command do not say so.
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


async def cancel(hub: Hub, given: argparse.Namespace, chosen: Settings) -> None:
    """Delete workloads of a kind; all are looked at before the first goes."""
    its = kind(given.kind, chosen)
    found = await hub.chosen(its.resource, list(dict.fromkeys(given.jobs)), "")
    seen = await _with_records(hub, its, found)
    for each in seen:
        undelegated.refuse(each)
    await silence.warn(hub)
    for each in seen:
        uid = each.obj["metadata"]["uid"]
        await hub.client.delete(
            its.resource, each.name, hub.namespace, propagation="Background", uid=uid
        )
        where = f", and its mirror on {each.worker} goes, too" if each.worker else ""
        render.line(f"{each.name} is cancelled: it was deleted{where}")


def table(
    workloads: Sequence[Workload], now: datetime, has_namespace: bool
) -> tuple[list[Column], list[tables.Row]]:
    """Return the columns and the rows that show some workloads."""
    columns = ([Column("NAMESPACE")] if has_namespace else []) + [*COLUMNS]
    rows: list[tables.Row] = []
    for each in workloads:
        meta = each.obj["metadata"]
        age = durations.since(meta.get("creationTimestamp"), now)
        queue = (meta.get("labels") or {}).get(QUEUE_LABEL, "")
        cells = [each.name, each.state, each.worker, each.attempt or "", age, queue]
        rows.append([*([meta.get("namespace", "")] if has_namespace else []), *cells])
    return columns, rows


def summary(seen: Workload, now: datetime) -> dict[str, str]:
    """Return what is to be said of a workload before its events."""
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


def text(seen: Workload, events: Sequence[Obj], now: datetime) -> str:
    """Return what is known of a workload, to be read."""
    head = [f"{name + ':':<11} {value}" for name, value in summary(seen, now).items()]
    told = sorted(events, key=lambda each: str(each.get("lastTimestamp") or ""))
    rows = [
        f"  {each.get('lastTimestamp') or ''}  {each['reason']}: {tables.one_line(each['message'])}"
        for each in told
    ]
    return "".join(f"{line}\n" for line in [*head, "Events:", *(rows or ["  none"])])


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
    (found,) = await _with_records(hub, its, [obj])
    return found


async def _with_records(hub: Hub, its: Adapter, found: Sequence[Obj]) -> list[Workload]:
    """Return workloads with their Placements, as far as we may read them."""
    try:
        placements = [] if its.carries_record else await hub.all(PLACEMENTS)
    except errors.Forbidden:
        placements = []
    by_uid = {each["metadata"]["name"]: each for each in placements}
    return [Workload(its, each, by_uid.get(each["metadata"]["uid"])) for each in found]
