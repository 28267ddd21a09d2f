"""Server-side apply: a configuration is merged into an object, and who applies it owns what it says."""

import copy
from datetime import datetime

from jobferry.localkube.apiserver import status
from jobferry.localkube.apiserver.managed import (
    checking,
    conflicts,
    entries,
    footprints,
    last_applied,
    merging,
    pruning,
    sets,
    updating,
)
from jobferry.localkube.apiserver.managed.comparing import compare
from jobferry.localkube.apiserver.managed.conflicts import Conflicts
from jobferry.localkube.apiserver.managed.endpoint import Endpoint, UnknownVersion, aligned
from jobferry.localkube.apiserver.managed.entries import Entry, Managed
from jobferry.localkube.apiserver.managed.path_steps import Misfit
from jobferry.localkube.apiserver.status import StatusError
from jobferry.objects import Obj
from jobferry.objects.equality import same
from jobferry.objects.times import timestamp

_FIRST = "before-first-apply"


def applied(
    live: Obj | None,
    config: Obj,
    endpoint: Endpoint,
    *,
    manager: str,
    force: bool = False,
    now: datetime,
) -> Obj:
    """Return the object that results, with its managedFields, or raise a StatusError (409: Conflicts).

    `live` is what is stored now, or None. The result must still go through the codec and get defaults
    (it has what the configuration says, as it says it), then admission and strategy. An apply that changes
    nothing gives an object equal to `live`.
    """
    _check_request(config, endpoint)
    try:
        return _applied(live, config, endpoint, manager, now, force=force)
    except Conflicts as found:
        if manager != last_applied.KUBECTL or live is None:
            raise
        if (allowed := last_applied.allowed(live, endpoint)) is None:
            raise
        if left := found.less(allowed):
            raise left from None
    return _applied(live, config, endpoint, manager, now, force=True)


def _check_request(config: Obj, endpoint: Endpoint) -> None:
    version, kind = config.get("apiVersion") or "", config.get("kind") or ""
    version, kind = (each if isinstance(each, str) else "" for each in (version, kind))
    if (version, kind) != (endpoint.api_version, endpoint.kind):
        raise status.bad_request(f"invalid object type: {_kind_of(version, kind)}")
    metadata = config.get("metadata")
    if isinstance(metadata, dict) and isinstance(metadata.get("managedFields"), list):
        raise status.bad_request("metadata.managedFields must be nil")
    if flaws := checking.check(endpoint.shape, config):
        raise _untyped("patch", config, flaws)


def _untyped(which: str, obj: Obj, flaws: str) -> StatusError:
    """Report an object that does not fit its shape."""
    metadata = obj.get("metadata")
    named = metadata if isinstance(metadata, dict) else {}
    where = f"{named.get('namespace') or ''}/{named.get('name') or ''}"
    kind = _kind_of(obj["apiVersion"], obj["kind"])
    return StatusError(
        500, "", f"failed to create typed {which} object ({where}; {kind}): {flaws}"
    )


def _kind_of(api_version: str, kind: str) -> str:
    """Return a kind as Go prints it."""
    if api_version.count("/") > 1:
        api_version, kind = "", ""
    group, _, version = api_version.rpartition("/")
    return f"{group}/{version}, Kind={kind}"


def _applied(
    live: Obj | None,
    config: Obj,
    endpoint: Endpoint,
    manager: str,
    now: datetime,
    *,
    force: bool,
) -> Obj:
    blank = copy.deepcopy(endpoint.zero) if live is None else endpoint.zero
    zero: Obj = {**blank, "apiVersion": endpoint.api_version, "kind": endpoint.kind}
    stored = zero if live is None else live
    try:
        managed = _tracked(stored, zero, endpoint, now)
        merged, managed = _merged(stored, config, endpoint, managed, manager, now, force=force)
    except UnknownVersion as unknown:
        raise StatusError(500, "", str(unknown)) from unknown
    except Misfit as misfit:
        flaws = checking.check(endpoint.shape, stored, duplicates=True)
        raise _untyped("live", stored, flaws) from misfit
    if manager == last_applied.KUBECTL:
        merged = last_applied.kept_in_step(merged, config)
    return _with_entries(merged, entries.written(managed))


def _tracked(live: Obj, zero: Obj, endpoint: Endpoint, now: datetime) -> Managed:
    """Return the entries so far; what is there already belongs to somebody from before."""
    managed = entries.trusted(live.get("metadata", {}).get("managedFields") or ())
    if managed:
        return aligned(endpoint, managed)
    return updating.tracked({}, zero, live, endpoint, manager=_FIRST, now=now)


def _merged(
    live: Obj,
    config: Obj,
    endpoint: Endpoint,
    managed: Managed,
    manager: str,
    now: datetime,
    *,
    force: bool,
) -> tuple[Obj, Managed]:
    shape, version = endpoint.shape, endpoint.api_version
    known = entries.manager(manager, entries.APPLY, version, endpoint.subresource)
    last = managed.get(known)
    fields = sets.without(footprints.footprint(shape, config), endpoint.ignored)
    managed = {**managed, known: Entry(fields, version, last.time if last else "")}
    merged = merging.merge(shape, live, config)
    if last:
        merged = pruning.prune(shape, merged, last.fields, [e.fields for e in managed.values()])
    managed = _taken(live, merged, endpoint, managed, known, force=force)
    changed = live != merged or not same(live, merged)
    fields = sets.difference(fields, updating.UNOWNED)
    if fields:
        when = timestamp(now) if changed else managed[known].time
        managed[known] = Entry(fields, version, when)
    else:
        managed.pop(known, None)
    return merged, managed


def _taken(
    live: Obj,
    merged: Obj,
    endpoint: Endpoint,
    managed: Managed,
    known: entries.Manager,
    *,
    force: bool,
) -> Managed:
    """Return the entries after others have lost what changes, or raise Conflicts."""
    gone, come = compare(endpoint.shape, live, merged)
    gone, come = sets.without(gone, endpoint.ignored), sets.without(come, endpoint.ignored)
    if not force and (found := conflicts.find(managed, come, known)):
        raise found
    return updating.yielded(managed, gone, come, known)


def _with_entries(obj: Obj, managed: list[Obj] | None) -> Obj:
    named = obj.get("metadata") or {}
    metadata = {key: value for key, value in named.items() if key != "managedFields"}
    if managed:
        metadata["managedFields"] = managed
    return {**obj, "metadata": metadata}
