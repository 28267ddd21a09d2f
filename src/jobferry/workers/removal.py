"""When a Worker that somebody deleted may go: once nothing of ours is left on its cluster."""

from collections.abc import Collection

from jobferry.clock import Seconds
from jobferry.core import going, marks
from jobferry.core.marks import Standing
from jobferry.kinds import registry
from jobferry.kinds.adapter import Context
from jobferry.kube import errors
from jobferry.kube.client import Client
from jobferry.kube.resources import JOBS
from jobferry.objects import Obj
from jobferry.objects.resource import Resource
from jobferry.workers import cluster, copies
from jobferry.workers.cluster import Cluster
from jobferry.workers.link import Link, State

EVERY = (JOBS, *(each.resource for each in registry.make(Context(frozenset())).values()))
"""All kinds that come with Jobferry."""


def hold(
    state: State,
    *,
    load: int,
    hidden: int,
    unseen: Collection[str],
    has_mirrors: bool,
    lost_for: Seconds,
    patience: Seconds,
    stuck: str = "",
) -> str | None:
    """Say what a Worker waits for before it can go; None: for nothing. `stuck` says which mirrors cannot.

    A cluster out of reach is waited for as long as there is work to be moved away from it; and if it may
    hold only what is finished, as long as lost workers are waited for in general. In namespaces that are
    `unseen` there may be anything; what is `hidden`, in one that is not watched any more, may run there.
    """
    if state.is_up and unseen:
        return f"waits until namespaces can be looked into: {', '.join(unseen)}"
    if state.is_up and hidden:
        return f"waits for {hidden} workloads in namespaces that are not watched there"
    if state.is_up:
        waits = f"waits until its mirrors are gone{stuck and f': {stuck}'}"
        return waits if has_mirrors else None
    if state.lost_since is None:
        return "waits until it is connected"
    if load:
        return f"out of reach ({state.reason}), and its work waits to be moved elsewhere"
    if has_mirrors and lost_for < patience:
        return f"out of reach ({state.reason}), and may hold finished mirrors"
    return None


def has_mirrors(link: Link) -> bool:
    """Tell whether what we saw last on a worker holds a mirror; if we never saw it, it may."""
    if link.connection is None:
        return True
    return any(is_mirror(item.object()) for _, item in link.connection.mirrors)


def unseen(link: Link) -> list[str]:
    """Name the namespaces to be watched on a worker that are out of sight."""
    seen = (link.state.watched or {}).values()
    only = {*link.spec.namespaces.only}
    return sorted(set().union(*(only - each for each in seen if each is not None)))


def stuck(link: Link) -> str:
    """Say of one of the mirrors that were deleted what keeps it; empty if there is none."""
    kept = [
        item
        for _, item in (link.connection.mirrors if link.connection else ())
        if item.head.metadata.deletion_timestamp
    ]
    if not kept:
        return ""
    first = min(kept, key=lambda item: item.key)
    return f"{first.key} {going.why(first.object())}"


async def left(link: Link, selector: str) -> str | None:
    """Ask the cluster itself what is left there of ours, or just being made; None: nothing.

    Of any kind that we know: one may have been switched off since its mirrors were made.
    """
    if link.connection is None or link.inflight.stats().in_flight:
        return "waits until what is under way has come to its end"
    client, followed = link.connection.client, link.connection.mirrors.resources
    others = [each for each in EVERY if each not in followed]
    for resource in (*followed, *await cluster.served(client, others)):
        is_followed = resource in followed
        try:
            count = await _count(client, link, resource, selector)
        except errors.Forbidden:
            if is_followed:
                raise
            continue  # nor could we have made any
        if count:
            why = "" if is_followed else ", of a kind that is not followed: switch it on"
            return f"waits until its mirrors are gone: {count} {resource}{why}"
    return None


async def _count(client: Client, link: Link, resource: Resource, selector: str) -> int:
    count = 0
    for scope in copies.scopes(resource, selector, link.spec.namespaces.only):
        count += sum(map(is_mirror, (await client.list(scope)).items))
    return count


def is_mirror(obj: Obj) -> bool:
    """Tell a mirror from a copy that somebody made of one."""
    found = marks.read(obj)
    return found is not None and found.judge(obj).standing is Standing.CURRENT


def farewell(found: Cluster, mirrors: int, selector: str) -> str:
    """Say what may be left on a cluster that was out of reach when its Worker went."""
    others = [str(each) for each in EVERY[1:] if cluster.name(each) in found.kinds]
    return (
        f"Cluster {found.uid} was out of reach when its Worker was removed, and may still hold {mirrors} mirrors;"
        f" to be rid of them: kubectl delete {','.join(['jobs', *others])} -A -l {selector}"
    )
