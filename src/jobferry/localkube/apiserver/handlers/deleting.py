"""DELETE: an object, or all that are selected; gracefully, and not before its finalizers are gone."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime

from jobferry.clock import span
from jobferry.localkube.apiserver import status
from jobferry.localkube.apiserver.admission.request import DELETE
from jobferry.localkube.apiserver.handlers import (
    decoding,
    pacing,
    reading,
    rendering,
    selection,
)
from jobferry.localkube.apiserver.handlers.backend import Backend
from jobferry.localkube.apiserver.handlers.intent import Intent
from jobferry.localkube.apiserver.requests import body, options
from jobferry.localkube.apiserver.requests.accept import PROTOBUF, YAML
from jobferry.localkube.apiserver.requests.call import Answer, Call
from jobferry.localkube.apiserver.requests.options import DeleteOptions, WriteOptions
from jobferry.localkube.apiserver.resource import Resource
from jobferry.localkube.apiserver.storage import errors
from jobferry.localkube.apiserver.storage.entry import Entry
from jobferry.localkube.apiserver.types import codec, protobuf
from jobferry.objects import Obj
from jobferry.objects.times import timestamp

ORPHAN_FINALIZER = "orphan"
FOREGROUND_FINALIZER = "foregroundDeletion"
DELETE_OPTIONS = "DeleteOptions"


async def delete(backend: Backend, call: Call, resource: Resource) -> Answer:
    """Delete one object."""
    wanted = await read_options(backend, call)
    if why := resource.strategy.undeletable.get(call.target.name):
        raise status.forbidden(resource.group, resource.plural, call.target.name, why)
    intent = intent_for(backend, call, resource, call.target.name, wanted)
    _warn(intent, wanted)
    deleted = await delete_object(backend, intent, wanted)
    if not deleted.at_once:
        code = 202 if wanted.orphan is False else 200
        return rendering.one(call, resource, code, deleted.obj, backend.clock)
    if resource.strategy.returns_deleted:
        return rendering.one(call, resource, 200, deleted.obj, backend.clock)
    return rendering.written(call, 200, _gone(resource, deleted.obj))


async def delete_collection(backend: Backend, call: Call, resource: Resource) -> Answer:
    """Delete all objects that are selected."""
    wanted = await read_options(backend, call)
    listing = options.list_options(call.query)
    matches = selection.matcher(resource, listing)
    page = await reading.read_page(backend, resource, call.target.namespace, listing, matches)
    _warn(intent_for(backend, call, resource, "", wanted), wanted)
    done = pacing.Slice()
    for entry in page.entries:
        meta = rendering.decoded(entry)["metadata"]
        intent = intent_for(backend, call, resource, meta["name"], wanted)
        intent.namespace = meta.get("namespace", intent.namespace)
        _warn(intent, wanted)
        try:
            await delete_object(backend, intent, wanted)
        except status.StatusError as error:
            if error.reason != "NotFound":
                raise
        if done.is_full(len(entry.value)):
            await pacing.others()
    await backend.door.settled()  # others may have deleted some, a moment ago
    meta = reading.list_meta(resource, call.target.namespace, page)
    return await rendering.many(backend, call, resource, page.entries, meta)


async def read_options(backend: Backend, call: Call) -> DeleteOptions:
    """Read how to delete, from the body if there is one."""
    if not call.body:
        return options.delete_options(call.query)
    return await pacing.computed(backend, len(call.body), _read_options, call)


def _read_options(call: Call) -> DeleteOptions:
    media_type = body.check_readable(call.headers.get("content-type", ""))
    try:
        parsed = _parsed(call.body, media_type)
    except ValueError as error:
        raise status.bad_request(str(error)) from error
    kind, version = parsed.get("kind") or DELETE_OPTIONS, parsed.get("apiVersion") or "v1"
    if kind != DELETE_OPTIONS:
        raise status.bad_request(f'no kind "{kind}" is registered for version "{version}"')
    try:
        decoded = codec.decode("v1", DELETE_OPTIONS, parsed)
    except status.StatusError as error:
        why = str(error).partition(f" cannot be handled as a {DELETE_OPTIONS}: ")
        raise status.bad_request(why[2] or why[0]) from error
    return options.delete_options_of(decoded.obj)


def _parsed(data: bytes, media_type: str) -> Obj:
    if media_type == PROTOBUF:
        decoded = protobuf.decode(data, "v1", DELETE_OPTIONS)
        return {**decoded.obj, "kind": decoded.kind}
    if media_type == YAML:
        found = body.parse_yaml(data).value
    else:
        try:
            found = body.parse_json(data)
        except ValueError as error:
            raise ValueError(f"{decoding.NO_KIND}{error}") from error
    if found is None:
        return {}
    if why := decoding.unreadable(found):
        raise ValueError(why)
    if body.is_too_deep(found):
        raise ValueError("json: exceeded max depth")
    parsed: Obj = found
    return parsed


def intent_for(
    backend: Backend, call: Call, resource: Resource, name: str, wanted: DeleteOptions
) -> Intent:
    """Return a delete as one of the writes."""
    return Intent(
        call=call,
        resource=resource,
        namespace=call.target.namespace,
        name=name,
        subresource="",
        options=WriteOptions(dry_run=wanted.dry_run),
        now=backend.clock.now(),
    )


@dataclass(slots=True)
class Deleted:
    """What a delete led to."""

    obj: Obj
    at_once: bool


async def delete_object(backend: Backend, intent: Intent, wanted: DeleteOptions) -> Deleted:
    """Delete an object, or mark it if something has to happen first."""
    resource = intent.resource
    while True:
        entry = backend.door.newest(intent.key)
        if entry is None:
            raise status.not_found(resource.group, resource.plural, intent.name)
        check_preconditions(intent, entry, wanted)
        try:
            return await _delete_entry(backend, intent, entry, wanted)
        except errors.Conflict:
            if wanted.resource_version is not None:
                raise status.changed(resource.group, resource.plural, intent.name) from None


async def _delete_entry(
    backend: Backend, intent: Intent, entry: Entry, wanted: DeleteOptions
) -> Deleted:
    resource = intent.resource
    size = len(entry.value)
    old = await pacing.computed(backend, size, rendering.current, resource, entry)
    obj = await pacing.computed(backend, size, rendering.private, resource, entry)
    await backend.admission.admit(intent.request(DELETE, None, old))
    plan = _plan(intent, obj, wanted)
    if plan.pending:
        await backend.door.settled()
        return Deleted(old, at_once=False)
    await backend.admission.validate(intent.request(DELETE, None, old))
    dry_run = intent.options.dry_run
    # What goes gracefully is marked first, also when it has no time left.
    if plan.stays or resource.strategy.grace_period is not None:
        stored = await backend.door.replace(resource, entry, old, obj, dry_run=dry_run)
        entry = stored or entry
        if plan.stays:
            shown = obj if stored is None else rendering.current(resource, stored)
            return Deleted(shown, at_once=False)
    await backend.door.remove(resource, entry, obj, dry_run=dry_run)
    return Deleted(obj, at_once=True)


@dataclass(slots=True)
class _Plan:
    """What is to happen to an object that is deleted; it is marked already."""

    stays: bool
    """It has to wait, for its finalizers or for its grace period."""
    pending: bool = False
    """A delete is under way that this one does not change."""


def _plan(intent: Intent, obj: Obj, wanted: DeleteOptions) -> _Plan:
    """Decide how an object goes, and mark it."""
    meta = obj["metadata"]
    strategy = intent.resource.strategy
    if strategy.held is not None and strategy.mark_deleted is not None:
        return _plan_held(strategy.held, strategy.mark_deleted, obj, intent.now)
    grace = 0
    if strategy.grace_period is not None:
        if meta.get("deletionTimestamp"):
            shortened = _shorten(meta, wanted.grace_period, intent.now)
            if shortened is None:
                return _Plan(stays=True, pending=True)
            grace = shortened
        else:
            asked = wanted.grace_period
            grace = strategy.grace_period(obj, 1 if asked is not None and asked < 0 else asked)
            _mark(meta, grace, intent.now)
    _set_finalizers(meta, _finalizers(intent, meta, wanted))
    if meta.get("finalizers"):
        if strategy.grace_period is None:
            _mark(meta, 0, intent.now)
        return _Plan(stays=True)
    return _Plan(stays=grace > 0)


def _plan_held(
    held: Callable[[Obj], bool], mark: Callable[[Obj, str], None], obj: Obj, now: datetime
) -> _Plan:
    """Decide for a kind that goes only when something else has been done."""
    meta = obj["metadata"]
    stays = held(obj) or bool(meta.get("finalizers"))
    if meta.get("deletionTimestamp"):
        return _Plan(stays=stays, pending=stays)
    meta["deletionTimestamp"] = timestamp(now)
    mark(obj, timestamp(now))
    return _Plan(stays=True)


def _mark(meta: Obj, grace: int, now: datetime) -> None:
    """Mark an object as deleted, `grace` seconds from now."""
    when = timestamp(now + span(grace))
    if not meta.get("deletionTimestamp"):
        if meta.get("generation", 0) > 0:
            meta["generation"] += 1
        meta["deletionTimestamp"] = when
    elif meta["deletionTimestamp"] > when:
        meta["deletionTimestamp"] = when
    meta["deletionGracePeriodSeconds"] = grace


def _shorten(meta: Obj, wanted: int | None, now: datetime) -> int | None:
    """Return the new grace period of an object that is being deleted; None: it stays as it is."""
    running = meta.get("deletionGracePeriodSeconds", 0)
    if not running:
        return 0
    if wanted is None:
        return None
    wanted = 1 if wanted < 0 else wanted
    if wanted >= running:
        return None
    when = datetime.fromisoformat(meta["deletionTimestamp"])
    when += span(wanted - running)
    if when < now:
        when, wanted = now, min(wanted, 1)
    meta["deletionTimestamp"] = timestamp(when)
    meta["deletionGracePeriodSeconds"] = wanted
    return wanted


def _finalizers(intent: Intent, meta: Obj, wanted: DeleteOptions) -> list[str]:
    """Return the finalizers that a delete leaves: those for the garbage collector as it was asked for."""
    present = meta.get("finalizers") or []
    kept = [each for each in present if each not in (ORPHAN_FINALIZER, FOREGROUND_FINALIZER)]
    chosen = _propagation(intent, present, wanted)
    if chosen == options.ORPHAN:
        kept.append(ORPHAN_FINALIZER)
    elif chosen == options.FOREGROUND:
        kept.append(FOREGROUND_FINALIZER)
    return present if set(kept) == set(present) else kept


def _propagation(intent: Intent, present: Sequence[str], wanted: DeleteOptions) -> str:
    if not intent.resource.strategy.default_propagation:
        return options.BACKGROUND
    if wanted.orphan is not None:
        return options.ORPHAN if wanted.orphan else options.BACKGROUND
    if wanted.propagation is not None:
        return wanted.propagation
    if ORPHAN_FINALIZER in present:
        return options.ORPHAN
    if FOREGROUND_FINALIZER in present:
        return options.FOREGROUND
    return intent.resource.strategy.default_propagation


def _set_finalizers(meta: Obj, finalizers: Sequence[str]) -> None:
    if finalizers:
        meta["finalizers"] = list(finalizers)
    else:
        meta.pop("finalizers", None)


def check_preconditions(intent: Intent, entry: Entry, wanted: DeleteOptions) -> None:
    """Refuse a delete that is meant for an object of another identity or version."""
    resource, meta = intent.resource, rendering.decoded(entry)["metadata"]
    if wanted.uid is not None and wanted.uid != meta["uid"]:
        raise status.conflict(
            resource.group,
            resource.kind,
            intent.name,
            f"the UID in the precondition ({wanted.uid}) does not match the UID in record "
            f"({meta['uid']}). The object might have been deleted and then recreated",
        )
    version = str(entry.revision)
    if wanted.resource_version is not None and wanted.resource_version != version:
        raise status.conflict(
            resource.group,
            resource.kind,
            intent.name,
            f"the ResourceVersion in the precondition ({wanted.resource_version}) does not match "
            f"the ResourceVersion in record ({version}). The object might have been modified",
        )


def _warn(intent: Intent, wanted: DeleteOptions) -> None:
    warning = intent.resource.strategy.delete_warning
    if warning and wanted.propagation is None and wanted.orphan is None:
        intent.call.warn(warning)


def _gone(resource: Resource, obj: Obj) -> Obj:
    """Say that an object is gone."""
    details = {"name": obj["metadata"]["name"], "group": resource.group}
    details |= {"kind": resource.plural, "uid": obj["metadata"]["uid"]}
    return {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Success",
        "details": {key: value for key, value in details.items() if value},
    }
