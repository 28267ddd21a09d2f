"""`jobferry cancel --kind`: deletes workloads of other kinds than Jobs."""

import argparse
from collections.abc import Sequence
from contextlib import suppress

from jobferry.cli import absences, kinds, other_kinds, render, silence, undelegated
from jobferry.cli.cancel import outcome
from jobferry.cli.hub import Hub
from jobferry.cli.workload_facts import Workload
from jobferry.kube import errors
from jobferry.kube.calls import Scope
from jobferry.objects import Obj
from jobferry.settings import Settings
from jobferry.workers.resource import WORKERS


async def cancel(hub: Hub, given: argparse.Namespace, chosen: Settings) -> None:
    """Delete workloads of a kind; all are looked at before the first goes."""
    its = other_kinds.kind(given.kind, chosen)
    found = await hub.chosen(its.resource, list(dict.fromkeys(given.jobs)), "")
    seen = await other_kinds.with_records(hub, its, found)
    for each in seen:
        undelegated.refuse_to_cancel(each)
    is_silent = await silence.warn(hub)
    workers = await _workers(hub)
    for each in seen:
        uid = each.obj["metadata"]["uid"]
        await hub.client.delete(
            its.resource, each.name, hub.namespace, propagation="Background", uid=uid
        )
        render.line(sentence(each, workers, is_silent))


def sentence(seen: Workload, workers: Sequence[Obj], is_silent: bool = False) -> str:
    """Say what becomes of a workload that was cancelled: where its kind is not followed, nobody deletes its mirror."""
    placed, its = seen.placed, seen.kind.resource
    where = [each.worker for each in placed.shards] if placed else []
    absent = absences.absent(workers)
    stays = [each for each in unfollowed(seen, workers) if each in where and each not in absent]
    if not stays:
        return outcome(seen.name, where, absent, is_silent)
    namespace = seen.obj["metadata"]["namespace"]
    return (
        f"{seen.name} is cancelled: it was deleted, but its mirror and pods on {', '.join(stays)} stay: the dispatcher"
        f" does not follow {its.kind}s there. They go once it does (`jobferry kinds` tells what that needs), or if"
        f" you delete them there: kubectl -n {namespace} delete {its} {seen.name}"
    )


def unfollowed(seen: Workload, workers: Sequence[Obj]) -> list[str]:
    """Name the Workers of which the dispatcher says what it follows there, and does not name the kind."""
    followed = kinds.serving(seen.kind, workers)
    said = [each for each in workers if "kinds" in (each.get("status") or {})]
    names = [str(each["metadata"]["name"]) for each in said]
    return [each for each in names if each not in followed]


async def _workers(hub: Hub) -> list[Obj]:
    """Read all Workers; none if we may not."""
    with suppress(errors.Forbidden, errors.NotFound):
        return list((await hub.client.list(Scope(resource=WORKERS))).items)
    return []
