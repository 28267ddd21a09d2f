"""PersistentVolumeClaim: stored and checked; nothing here binds one."""

from collections.abc import Iterator, Sequence
from typing import Any

from jobferry.localkube.apiserver import problems
from jobferry.localkube.apiserver.problems import Problem
from jobferry.localkube.apiserver.strategies import keeping
from jobferry.localkube.apiserver.strategy import Strategy
from jobferry.localkube.apiserver.validation import (
    claims,
    metadata,
    names,
    resources,
    values,
)
from jobferry.objects import Obj, quantities
from jobferry.objects.quantities import Quantity

_CLASS_ANNOTATION = "volume.beta.kubernetes.io/storage-class"
_RESIZE_STATES = (
    "ControllerResizeInProgress",
    "ControllerResizeInfeasible",
    "NodeResizeInProgress",
    "NodeResizeInfeasible",
    "NodeResizePending",
)
_FIXED = (
    "spec is immutable after creation except resources.requests and "
    "volumeAttributesClassName for bound claims"
)


def _default(claim: Obj) -> None:
    spec = claim.setdefault("spec", {})
    if spec.get("volumeMode") is None:
        spec["volumeMode"] = "Filesystem"
    wanted = spec.get("resources") or {}
    for kind in ("requests", "limits"):
        if amounts := wanted.get(kind):
            wanted[kind] = {name: resources.rounded(text) for name, text in amounts.items()}
    status = claim.setdefault("status", {})
    status.setdefault("phase", "Pending")


def _prepare_create(claim: Obj) -> None:
    claim["status"] = {"phase": "Pending"}
    _settle_sources(claim["spec"], {})


def _prepare_update(new: Obj, old: Obj) -> None:
    keeping.status(new, old)
    _settle_sources(new["spec"], old.get("spec") or {})


def _settle_sources(spec: Obj, before: Obj) -> None:
    """Make the old and the new way to name a source agree."""
    is_used = bool(before.get("dataSource") or before.get("dataSourceRef"))
    if (spec.get("dataSourceRef") or {}).get("namespace") and not before.get("dataSourceRef"):
        # Sources in other namespaces are off by default.
        del spec["dataSourceRef"]
    if not is_used and not spec.get("dataSourceRef") and not _is_classic(spec):
        spec.pop("dataSource", None)
    source, reference = spec.get("dataSource"), spec.get("dataSourceRef")
    if source and not reference:
        spec["dataSourceRef"] = dict(source)
    elif reference and not source and not reference.get("namespace"):
        spec["dataSource"] = dict(reference)


def _is_classic(spec: Obj) -> bool:
    source = spec.get("dataSource") or {}
    kind = (source.get("apiGroup") or "", source.get("kind"))
    return kind in (
        ("", "PersistentVolumeClaim"),
        ("snapshot.storage.k8s.io", "VolumeSnapshot"),
    )


# -- what is wrong with a claim -------------------------------------------------------------------


def _validate_create(claim: Obj) -> Sequence[Problem]:
    return list(_problems(claim))


def _problems(claim: Obj, *, any_group: bool = False) -> Iterator[Problem]:
    yield from metadata.create_problems(
        claim, namespaced=True, name_problems=names.is_subdomain
    )
    yield from claims.spec_problems(claim.get("spec") or {}, "spec", any_group=any_group)


# -- what may change ------------------------------------------------------------------------------


def _validate_update(new: Obj, old: Obj) -> Sequence[Problem]:
    return [
        *metadata.update_problems(new, old),
        *_problems(new, any_group=_has_group(old.get("spec") or {})),
        *_change_problems(new, old),
    ]


def _has_group(spec: Obj) -> bool:
    sources = (spec.get("dataSource") or {}, spec.get("dataSourceRef") or {})
    return any(source.get("apiGroup") is not None for source in sources)


def _change_problems(new: Obj, old: Obj) -> Iterator[Problem]:
    spec, before = new.get("spec") or {}, old.get("spec") or {}
    ours, theirs = _class_annotation(new), _class_annotation(old)
    if not _takes_over_annotation(spec, before, ours, theirs) and ours != theirs:
        field = f"metadata.annotations.{_CLASS_ANNOTATION}"
        yield problems.invalid(field, ours or "", values.IMMUTABLE)
    if not values.same(_fixed(spec, before, new, theirs), _fixed(before, before, new, theirs)):
        yield problems.forbidden("spec", _FIXED)
    if _storage(spec) < _storage(before) and _storage(spec) <= _capacity(old):
        field = "spec.resources.requests.storage"
        yield problems.forbidden(field, "field can not be less than status.capacity")
    yield from values.immutable("volumeMode", spec.get("volumeMode"), before.get("volumeMode"))
    yield from _attributes_problems(spec, before, old)


def _attributes_problems(spec: Obj, before: Obj, old: Obj) -> Iterator[Problem]:
    name = spec.get("volumeAttributesClassName")
    if name == before.get("volumeAttributesClassName") or name:
        return
    if (old.get("status") or {}).get("currentVolumeAttributesClassName") is None:
        return
    to = "nil" if name is None else "empty string"
    what = (
        f"update to {to} is forbidden when status.currentVolumeAttributesClassName is not nil"
    )
    yield problems.forbidden("spec.volumeAttributesClassName", what)


def _class_annotation(claim: Obj) -> str | None:
    annotations: dict[str, str] = claim["metadata"].get("annotations") or {}
    return annotations.get(_CLASS_ANNOTATION)


def _takes_over_annotation(
    spec: Obj, before: Obj, ours: str | None, theirs: str | None
) -> bool:
    """Tell whether the class moves from the old annotation to the field."""
    return (
        theirs is not None
        and before.get("storageClassName") is None
        and spec.get("storageClassName") == theirs
        and ours in (None, theirs)
    )


def _fixed(spec: Obj, before: Obj, new: Obj, annotation: str | None) -> dict[str, Any]:
    """Return what must be the same as before: all but what may be set once, or grow once bound."""
    fixed = dict(spec)
    if not before.get("volumeName"):
        fixed.pop("volumeName", None)
    name = spec.get("storageClassName")
    if before.get("storageClassName") is None and annotation in (None, name):
        fixed.pop("storageClassName", None)
    if (new.get("status") or {}).get("phase") == "Bound":
        fixed.pop("volumeAttributesClassName", None)
        if ((new["spec"].get("resources") or {}).get("requests")) is not None:
            wanted = dict(spec.get("resources") or {})
            requests = dict(wanted.get("requests") or {})
            requests.pop("storage", None)
            fixed["resources"] = {**wanted, "requests": requests}
    return fixed


def _storage(spec: Obj) -> Quantity:
    requests = (spec.get("resources") or {}).get("requests") or {}
    return quantities.parse(requests.get("storage"))


def _capacity(claim: Obj) -> Quantity:
    capacity = (claim.get("status") or {}).get("capacity") or {}
    return quantities.parse(capacity.get("storage"))


def _validate_status(new: Obj, old: Obj) -> Sequence[Problem]:
    found = list(metadata.update_problems(new, old))
    if not (new.get("spec") or {}).get("accessModes"):
        found.append(problems.required("Spec.accessModes"))
    status = new.get("status") or {}
    for name, text in (status.get("capacity") or {}).items():
        found.extend(_amount_problems(text, f"status.capacity[{name}]"))
    return [*found, *_resize_problems(status)]


def _resize_problems(status: Obj) -> Iterator[Problem]:
    """Say what is wrong with how far a claim has grown."""
    field = "status.allocatedResourceStatuses"
    for name, state in (status.get("allocatedResourceStatuses") or {}).items():
        yield from _resource_problems(name, field)
        if state not in _RESIZE_STATES:
            yield problems.not_in_enum(field, name, _RESIZE_STATES)
    field = "status.allocatedResources"
    for name, text in (status.get("allocatedResources") or {}).items():
        if wrong := list(_resource_problems(name, field)):
            yield from wrong
        else:
            yield from _amount_problems(text, f"{field}[{name}]")


def _resource_problems(name: str, field: str) -> Iterator[Problem]:
    if complaints := names.qualified_problems(name):
        yield from values.each(field, name, complaints)
    elif resources.is_native(name) and name != "storage":
        yield problems.not_supported(field, name, ("storage",))


def _amount_problems(text: str, field: str) -> Iterator[Problem]:
    amount = quantities.parse(text)
    if amount < quantities.ZERO:
        yield problems.invalid(field, amount.scaled(), "must be a valid resource quantity")


def _warnings(claim: Obj) -> Sequence[str]:
    found = []
    if _class_annotation(claim) is not None:
        what = 'deprecated since v1.8; use "storageClassName" attribute instead'
        found.append(f"metadata.annotations[{_CLASS_ANNOTATION}]: {what}")
    wanted = (claim.get("spec") or {}).get("resources") or {}
    for kind in ("requests", "limits"):
        amount = quantities.parse((wanted.get(kind) or {}).get("storage"))
        if not resources.is_whole(amount):
            what = f'fractional byte value "{amount}" is invalid, must be an integer'
            found.append(f"spec.resources.{kind}[storage]: {what}")
    return found


def _warnings_update(new: Obj, _old: Obj) -> Sequence[str]:
    return _warnings(new)


STRATEGY = Strategy(
    returns_deleted=True,
    default=_default,
    prepare_create=_prepare_create,
    prepare_update=_prepare_update,
    validate_create=_validate_create,
    validate_update=_validate_update,
    warn_create=_warnings,
    warn_update=_warnings_update,
    name_problems=names.is_subdomain,
    versioned=None,
    reset_fields=("status",),
)
"""PersistentVolumeClaims."""

STATUS = Strategy(
    default=_default,
    prepare_update=keeping.spec,
    validate_update=_validate_status,
    name_problems=names.is_subdomain,
    versioned=None,
    reset_fields=("spec",),
)
"""persistentvolumeclaims/status."""
