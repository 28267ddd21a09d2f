"""How objects come into storage: what create, update, patch and apply share."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from jobferry.localkube.apiserver import status
from jobferry.localkube.apiserver.access.attributes import Attributes
from jobferry.localkube.apiserver.access.rbac import require
from jobferry.localkube.apiserver.admission.request import CREATE, UPDATE
from jobferry.localkube.apiserver.handlers import pacing, rendering
from jobferry.localkube.apiserver.handlers.backend import Backend
from jobferry.localkube.apiserver.handlers.intent import Intent
from jobferry.localkube.apiserver.managed.timestamps import steady
from jobferry.localkube.apiserver.managed.updating import updated
from jobferry.localkube.apiserver.problems import Problem
from jobferry.localkube.apiserver.requests.options import version_problem
from jobferry.localkube.apiserver.resource import Resource
from jobferry.localkube.apiserver.storage import errors
from jobferry.localkube.apiserver.storage.entry import Entry
from jobferry.localkube.apiserver.validation import metadata, values
from jobferry.objects import Obj, gotext
from jobferry.objects.equality import same
from jobferry.objects.times import timestamp

NAME_ATTEMPTS = 8
"""How often another name is drawn when a generated one is taken."""

NAME_LIMIT = 63 - 5
"""How much of a `generateName` is kept."""

_SYSTEM_FIELDS = ("creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds")


@dataclass(slots=True)
class Written:
    """What a write led to."""

    obj: Obj
    entry: Entry | None
    """None: nothing was stored (a dry run), or the object is gone."""
    created: bool = False


Transform = Callable[[Entry | None], Obj]
"""Makes the new object out of the stored one (or of none): a new object, with its managed fields."""


async def create(backend: Backend, intent: Intent, obj: Obj) -> Written:
    """Store a new object. It is decoded and defaulted; its fields have no owner yet."""
    await pacing.computed(backend, intent.work(), _begin, obj, intent)
    await backend.admission.admit(intent.request(CREATE, obj, None))
    if obj["metadata"].get("generateName") and not obj["metadata"].get("name"):
        return await _create_with_generated_name(backend, intent, obj)
    return await _store_new(backend, intent, obj)


def _begin(obj: Obj, intent: Intent) -> None:
    wipe(obj)
    set_namespace(obj, intent)
    _drop_repeated_owners(obj, intent)
    set_managed_fields(None, obj, intent)


async def admit_posted(backend: Backend, intent: Intent, obj: Obj) -> None:
    """Let admission see what is posted to a subresource and not stored by itself."""
    obj.setdefault("metadata", {})
    set_namespace(obj, intent)
    await backend.admission.admit(intent.request(CREATE, obj, None))


async def update(
    backend: Backend, intent: Intent, transform: Transform, *, may_create: bool = False
) -> Written:
    """Store a changed object; begin again if somebody else was quicker and nobody minds."""
    while True:
        entry = backend.door.newest(intent.key)
        if entry is None and not may_create:
            raise _not_found(intent)
        new = await pacing.computed(backend, intent.work(entry), transform, entry)
        try:
            if entry is None:
                return await _create_by_update(backend, intent, new)
            return await _store_changed(backend, intent, entry, new)
        except errors.Conflict:
            continue  # what it was based on is not the newest any more


def set_managed_fields(live: Obj | None, obj: Obj, intent: Intent) -> None:
    """Make the writer the owner of what it changes."""
    endpoint = intent.resource.endpoint(intent.subresource)
    entries = updated(
        live,
        obj,
        endpoint,
        manager=intent.manager,
        now=intent.now,
        forget=intent.call.forgets_owners,
    )
    _set_entries(obj, entries)


def _set_entries(obj: Obj, entries: list[Obj] | None) -> None:
    if entries:
        obj["metadata"]["managedFields"] = entries
    else:
        obj["metadata"].pop("managedFields", None)


def set_namespace(obj: Obj, intent: Intent) -> None:
    """Put an object into the namespace of the request, unless it says that it belongs elsewhere."""
    found, wanted = obj["metadata"].get("namespace", ""), intent.own_namespace
    if found == wanted:
        return
    if found and wanted:
        raise status.bad_request(
            "the namespace of the provided object does not match the namespace sent on the request"
        )
    if wanted:
        obj["metadata"]["namespace"] = wanted
    else:
        obj["metadata"].pop("namespace")


def check_name(obj: Obj, intent: Intent) -> None:
    """Refuse an object that has another name than the path."""
    name = obj["metadata"].get("name", "")
    if not name:
        raise status.bad_request(
            f"the name of the object ({intent.name} based on URL) was undeterminable: "
            "name must be provided"
        )
    if name != intent.name:
        raise status.bad_request(
            f"the name of the object ({name}) does not match the name on the URL ({intent.name})"
        )


def check_uid(uid: str | None, entry: Entry | None, intent: Intent) -> None:
    """Refuse a write that is meant for an object of another identity."""
    found = "" if entry is None else rendering.decoded(entry)["metadata"].get("uid", "")
    if uid and uid != found:
        raise failed_precondition(intent, "UID", uid, found)


def failed_precondition(
    intent: Intent, what: str, wanted: str, found: str
) -> status.StatusError:
    """Report a write that is meant for an object that has another id or version."""
    why = (
        f"StorageError: invalid object, Code: 4, Key: {_etcd_key(intent)}, ResourceVersion: 0, "
        f"AdditionalErrorMsg: Precondition failed: {what} in precondition: {wanted}, "
        f"{what} in object meta: {found}"
    )
    return status.conflict(intent.resource.group, intent.resource.plural, intent.name, why)


def _etcd_key(intent: Intent) -> str:
    """Return where kube-apiserver would have the object: it says so in some errors."""
    resource = intent.resource
    kind = resource.plural if resource.built_in else f"{resource.group}/{resource.plural}"
    namespace = f"{intent.own_namespace}/" if intent.own_namespace else ""
    root = "" if intent.options.dry_run else "/registry"
    return f"{root}/{kind}/{namespace}{intent.name}"


def _not_found(intent: Intent) -> status.StatusError:
    return status.not_found(intent.resource.group, intent.resource.plural, intent.name)


# -- new objects ------------------------------------------------------------------------------


async def _create_with_generated_name(backend: Backend, intent: Intent, obj: Obj) -> Written:
    base = obj["metadata"]["generateName"][:NAME_LIMIT]
    for _ in range(NAME_ATTEMPTS):
        intent.name = base + backend.new_suffix()
        if backend.door.newest(intent.key) is None:
            break
    obj["metadata"]["name"] = intent.name
    return await _store_new(backend, intent, obj)


async def _create_by_update(backend: Backend, intent: Intent, obj: Obj) -> Written:
    wipe(obj)
    set_namespace(obj, intent)
    await backend.admission.admit(intent.request(CREATE, obj, None))
    _based_on(obj)
    if not intent.options.dry_run:
        obj["metadata"].pop("resourceVersion", None)
    written = await _store_new(backend, intent, obj, intent.access("create"))
    written.created = True
    return written


async def _store_new(
    backend: Backend, intent: Intent, obj: Obj, wanted: Attributes | None = None
) -> Written:
    """Store a new object; `wanted` is what its author has to be allowed besides what was asked for."""
    resource, strategy, meta = intent.resource, intent.strategy, obj["metadata"]
    _check_open(backend, resource, meta)
    meta["uid"] = backend.new_uid()
    meta["creationTimestamp"] = timestamp(intent.now)
    if strategy.versioned is not None:
        meta["generation"] = 1
    await pacing.computed(backend, intent.work(), _check_new, intent, obj)
    intent.name = meta.get("name", "")
    if wanted is not None:
        require(backend.decide, wanted)
    await backend.admission.validate(intent.request(CREATE, obj, None))
    if not intent.options.dry_run and gotext.parse_int(meta.get("resourceVersion", "")):
        why = "resourceVersion should not be set on objects to be created"
        raise status.StatusError(500, "", why)
    _check_open(backend, resource, meta)  # its definition may have gone while it was checked
    taken = backend.door.newest(intent.key)
    if taken is not None:
        raise _taken(intent, taken, meta)
    entry = await backend.door.create(resource, intent.key, obj, dry_run=intent.options.dry_run)
    return Written(obj, entry)


def _check_open(backend: Backend, resource: Resource, meta: Obj) -> None:
    """Refuse a custom object whose definition is deleted."""
    if backend.registry.is_closed(resource):
        why = "create not allowed while custom resource definition is terminating"
        raise status.forbidden(resource.group, resource.plural, meta.get("name", ""), why)


def _check_new(intent: Intent, obj: Obj) -> None:
    """Complete a new object and see whether it may be; nothing else is looked at, and nothing waits."""
    strategy, resource, name = intent.strategy, intent.resource, obj["metadata"].get("name", "")
    strategy.prepare_create(obj)
    _raise_if(intent, name, strategy.validate_create(obj))
    found = metadata.common_create_problems(obj, namespaced=resource.namespaced)
    _raise_if(intent, name, list(found))
    for warning in filter(None, (*strategy.warn_create(obj), resource.notice)):
        intent.call.warn(warning)


def _taken(intent: Intent, taken: Entry, meta: Obj) -> status.StatusError:
    error = status.already_exists(intent.resource.group, intent.resource.plural, intent.name)
    if meta.get("generateName"):
        why = f"{error}, the server was not able to generate a unique name for the object"
        return status.StatusError(
            409, "AlreadyExists", why, details=error.details, retry_after=1
        )
    if not rendering.decoded(taken)["metadata"].get("deletionTimestamp"):
        return error
    return status.StatusError(
        error.code, error.reason, f"object is being deleted: {error}", details=error.details
    )


def wipe(obj: Obj) -> None:
    """Take out what only the server may set."""
    for name in (*_SYSTEM_FIELDS, "uid", "selfLink"):
        obj["metadata"].pop(name, None)


# -- changed objects --------------------------------------------------------------------------


async def _store_changed(backend: Backend, intent: Intent, entry: Entry, new: Obj) -> Written:
    resource, size = intent.resource, len(entry.value)
    old = await pacing.computed(backend, size, rendering.current, resource, entry)
    await backend.admission.admit(intent.request(UPDATE, new, old))
    work = intent.work(entry)
    await pacing.computed(backend, work, _check_changed, intent, entry, new, old)
    await backend.admission.validate(intent.request(UPDATE, new, old))
    dry_run = intent.options.dry_run
    if _is_gone(intent, new, old):
        # Watchers see the state before: what this write changed was never stored.
        last = await pacing.computed(backend, work, rendering.private, resource, entry)
        await backend.door.remove(resource, entry, last, dry_run=dry_run)
        return Written(new, None)
    stored = await backend.door.replace(resource, entry, old, new, dry_run=dry_run)
    return Written(new, stored)


def _check_changed(intent: Intent, entry: Entry, new: Obj, old: Obj) -> None:
    """Complete a changed object and see whether it may be; nothing else is looked at, and nothing waits."""
    _drop_repeated_owners(new, intent)
    _settle_version(intent, new, entry)
    _prepare(intent, new, old)
    found = list(
        metadata.common_update_problems(new, old, namespaced=intent.resource.namespaced)
    )
    found += intent.strategy.validate_update(new, old)
    _raise_if(intent, intent.name, found, new.get("kind", ""))
    for warning in intent.strategy.warn_update(new, old):
        intent.call.warn(warning)
    _set_entries(new, steady(new, old))


def _based_on(new: Obj) -> str:
    """Return the version that an object says it is based on, if any; refuse what is none."""
    found = str(new["metadata"].get("resourceVersion", ""))
    if found and (why := version_problem(found)):
        raise status.StatusError(500, "", why)
    return found


def _settle_version(intent: Intent, new: Obj, entry: Entry) -> None:
    """Refuse what is based on an older version; what is based on none replaces the newest, if it may."""
    found, newest = _based_on(new), str(entry.revision)
    if found in ("", "0"):
        if not intent.strategy.unconditional_update:
            problem = Problem(
                "FieldValueInvalid",
                "metadata.resourceVersion",
                "Invalid value: 0: must be specified for an update",
            )
            raise status.invalid(
                intent.resource.group, intent.resource.plural, intent.name, [problem]
            )
        new["metadata"]["resourceVersion"] = newest
    elif found != newest:
        raise status.changed(intent.resource.group, intent.resource.plural, intent.name)


def _prepare(intent: Intent, new: Obj, old: Obj) -> None:
    """Keep what an update cannot change, and count generations."""
    ours, theirs = new["metadata"], old["metadata"]
    _restore(ours, theirs, "generation")
    ours.pop("selfLink", None)
    intent.strategy.prepare_update(new, old)
    if intent.subresource:
        # What was restored may call for other defaults than what was sent.
        intent.resource.strategy.default(new)
    if not ours.get("uid"):
        ours["uid"] = theirs["uid"]
    for name in _SYSTEM_FIELDS:
        if name in theirs and (name != "deletionGracePeriodSeconds" or name not in ours):
            ours[name] = theirs[name]
    versioned = intent.resource.strategy.versioned
    alike = values.same if intent.resource.built_in else same
    if versioned is not None and not alike(versioned(new), versioned(old)):
        ours["generation"] = theirs.get("generation", 0) + 1


def _restore(ours: Obj, theirs: Obj, name: str) -> None:
    if name in theirs:
        ours[name] = theirs[name]
    else:
        ours.pop(name, None)


def _is_gone(intent: Intent, new: Obj, old: Obj) -> bool:
    """Tell whether the last finalizer of a deleted object was just removed."""
    ours, theirs = new["metadata"], old["metadata"]
    held = intent.resource.strategy.held
    return (
        not ours.get("finalizers")
        and not (held is not None and held(new))
        and bool(theirs.get("deletionTimestamp"))
        and not theirs.get("deletionGracePeriodSeconds")
    )


# -- both -------------------------------------------------------------------------------------


def _raise_if(intent: Intent, name: str, found: Sequence[Problem], kind: str = "") -> None:
    """Refuse what has problems. Of a custom object the kind is shown that it says it has."""
    if found:
        resource = intent.resource
        shown = resource.kind if resource.built_in or not kind else kind
        raise status.invalid(resource.type_group, shown, name, found)


def _drop_repeated_owners(obj: Obj, intent: Intent) -> None:
    owners = obj["metadata"].get("ownerReferences")
    if not owners:
        return
    kept: list[Obj] = []
    repeated = []
    for owner in owners:
        if any(same(owner, each) for each in kept):
            repeated.append(owner.get("uid", ""))
        else:
            kept.append(owner)
    if repeated:
        obj["metadata"]["ownerReferences"] = kept
        intent.call.warn(
            ".metadata.ownerReferences contains duplicate entries; API server dedups owner references "
            "in 1.20+, and may reject such requests as early as 1.24; please fix your requests; "
            f"duplicate UID(s) observed: {', '.join(repeated)}"
        )
