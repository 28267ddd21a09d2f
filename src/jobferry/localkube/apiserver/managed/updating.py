"""Ownership after an ordinary write: who changes a field owns it."""

from datetime import datetime

from jobferry.localkube.apiserver.managed import entries, sets
from jobferry.localkube.apiserver.managed.comparing import compare
from jobferry.localkube.apiserver.managed.endpoint import Endpoint, aligned
from jobferry.localkube.apiserver.managed.entries import Entry, Managed, Manager
from jobferry.localkube.apiserver.managed.path_steps import Misfit
from jobferry.localkube.apiserver.managed.sets import FieldSet
from jobferry.objects import Obj
from jobferry.objects.times import timestamp

UNOWNED = sets.of(
    (
        "apiVersion",
        "kind",
        "metadata",
        "metadata.name",
        "metadata.namespace",
        "metadata.creationTimestamp",
        "metadata.selfLink",
        "metadata.uid",
        "metadata.clusterName",
        "metadata.generation",
        "metadata.managedFields",
        "metadata.resourceVersion",
    )
)
"""What nobody ever owns."""


def updated(
    live: Obj | None,
    new: Obj,
    endpoint: Endpoint,
    *,
    manager: str,
    now: datetime,
    forget: bool = False,
) -> list[Obj] | None:
    """Return the managedFields that `new` must have when it is stored; None: it must have none.

    `live` is what is stored now, or None on create. Both are as the codec gives them, with defaults, but
    before admission and before the strategy prepares the object: what these set is nobody's. `forget` is
    what `forgets` says of the JSON that the codec read.
    """
    stored: Obj = endpoint.zero if live is None else live  # type: ignore[assignment]
    managed = _managed(stored, new, sub=bool(endpoint.subresource), forget=forget)
    if not managed and stored.get("metadata", {}).get("uid"):
        return None  # nobody began to keep track, or somebody wanted that to stop
    try:
        managed = tracked(managed, stored, new, endpoint, manager=manager, now=now)
    except Misfit:
        return None
    return entries.written(managed)


def tracked(
    managed: Managed, live: Obj, new: Obj, endpoint: Endpoint, *, manager: str, now: datetime
) -> Managed:
    """Return the entries after an update of `live` to `new`."""
    gone, come = compare(endpoint.shape, live, new)
    gone, come = sets.without(gone, endpoint.ignored), sets.without(come, endpoint.ignored)
    managed = yielded(aligned(endpoint, managed), gone, come)
    if taken := sets.difference(come, UNOWNED):
        version = endpoint.api_version
        known = entries.manager(manager, entries.UPDATE, version, endpoint.subresource)
        before = managed[known].fields if known in managed else {}
        managed[known] = Entry(sets.union(taken, before), version, timestamp(now))
    return entries.capped(managed)


def yielded(
    managed: Managed, gone: FieldSet, come: FieldSet, but: Manager | None = None
) -> Managed:
    """Return the entries without what somebody else (`but`) changed; who is left with nothing goes."""
    result = {}
    for known, entry in managed.items():
        if known != but:
            entry = entry.owning(  # noqa: PLW2901
                sets.difference(sets.difference(entry.fields, come), gone)
            )
        if entry.fields:
            result[known] = entry
    return result


def forgets(parsed: Obj) -> bool:
    """Tell whether a client asks to forget all managers: by an empty list, or one empty entry in it."""
    metadata = parsed.get("metadata")
    return isinstance(metadata, dict) and metadata.get("managedFields") in ([], [{}])


def _managed(live: Obj, new: Obj, *, sub: bool, forget: bool) -> Managed:
    """Return the entries to start from: those sent, if they make sense, else those stored."""
    stored = live.get("metadata", {}).get("managedFields") or []
    if sub:
        return entries.trusted(stored)
    if forget or forgets(new):
        return {}
    sent = (new.get("metadata") or {}).get("managedFields")
    if sent is None or sent == stored:
        return entries.trusted(stored)
    return entries.read(sent) or entries.trusted(stored)
