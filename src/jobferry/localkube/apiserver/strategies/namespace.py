"""Namespace: made active, ended in two steps, always labelled with its name."""

from collections.abc import Iterator, Mapping, Sequence

from jobferry.localkube.apiserver import problems
from jobferry.localkube.apiserver.problems import Problem
from jobferry.localkube.apiserver.strategies import keeping
from jobferry.localkube.apiserver.strategy import Strategy
from jobferry.localkube.apiserver.validation import metadata, names, values
from jobferry.objects import Obj

NAME_LABEL = "kubernetes.io/metadata.name"
FINALIZER = "kubernetes"
ACTIVE, TERMINATING = "Active", "Terminating"


def _default(namespace: Obj) -> None:
    status = namespace.setdefault("status", {})
    status.setdefault("phase", ACTIVE)
    meta = namespace["metadata"]
    if name := meta.get("name"):
        meta["labels"] = {**(meta.get("labels") or {}), NAME_LABEL: name}


def _prepare_create(namespace: Obj) -> None:
    # The name may have been generated after the defaults were set.
    _default(namespace)
    namespace["status"] = {"phase": ACTIVE}
    spec = namespace.get("spec") or {}
    finalizers = spec.get("finalizers") or []
    if FINALIZER not in finalizers:
        finalizers = [*finalizers, FINALIZER]
    namespace["spec"] = {**spec, "finalizers": finalizers}


def _prepare_update(new: Obj, old: Obj) -> None:
    # The spec has nothing but finalizers, and they have an endpoint of their own.
    keeping.spec(new, old)
    keeping.status(new, old)


def _validate_create(namespace: Obj) -> Sequence[Problem]:
    return list(_problems(namespace))


def _validate_update(new: Obj, old: Obj) -> Sequence[Problem]:
    return [*_problems(new), *metadata.update_problems(new, old)]


def _validate_status(new: Obj, old: Obj) -> Sequence[Problem]:
    found = list(metadata.update_problems(new, old))
    phase = (new.get("status") or {}).get("phase", "")
    is_deleted = bool(new["metadata"].get("deletionTimestamp"))
    wanted, how = (TERMINATING, "not empty") if is_deleted else (ACTIVE, "empty")
    if phase != wanted:
        what = f"may only be '{wanted}' if `deletionTimestamp` is {how}"
        found.append(problems.invalid("status.Phase", phase, what))
    return found


def _validate_finalize(new: Obj, old: Obj) -> Sequence[Problem]:
    found = list(metadata.update_problems(new, old))
    for index, name in enumerate((new.get("spec") or {}).get("finalizers") or ()):
        found.extend(_finalizer_problems(name, f"spec.finalizers[{index}]"))
    return found


def _problems(namespace: Obj) -> Iterator[Problem]:
    yield from metadata.create_problems(
        namespace, namespaced=False, name_problems=names.is_label
    )
    for name in (namespace.get("spec") or {}).get("finalizers") or ():
        yield from _finalizer_problems(name, "spec.finalizers")


def _finalizer_problems(name: str, field: str) -> Iterator[Problem]:
    yield from values.qualified(field, name)
    yield from metadata.finalizer_problems(name, field)


def _fields(namespace: Obj) -> Mapping[str, str]:
    return {"status.phase": (namespace.get("status") or {}).get("phase", "")}


def _is_held(namespace: Obj) -> bool:
    """Tell whether what is in the namespace has still to go."""
    return bool((namespace.get("spec") or {}).get("finalizers"))


def _mark_deleted(namespace: Obj, _now: str) -> None:
    namespace["status"] = {**(namespace.get("status") or {}), "phase": "Terminating"}


STRATEGY = Strategy(
    default=_default,
    prepare_create=_prepare_create,
    prepare_update=_prepare_update,
    validate_create=_validate_create,
    validate_update=_validate_update,
    name_problems=names.is_label,
    versioned=None,
    fields=_fields,
    field_names=frozenset({"status.phase"}),
    unknown_field="field label not supported: {0}",
    held=_is_held,
    mark_deleted=_mark_deleted,
    returns_deleted=True,
    reset_fields=("status",),
)
"""Namespaces."""

STATUS = Strategy(
    default=_default,
    prepare_update=keeping.spec,
    validate_update=_validate_status,
    name_problems=names.is_label,
    versioned=None,
    reset_fields=("spec",),
)
"""namespaces/status."""

FINALIZE = Strategy(
    default=_default,
    prepare_update=keeping.status,
    validate_update=_validate_finalize,
    name_problems=names.is_label,
    versioned=None,
    reset_fields=("status",),
)
"""namespaces/finalize: the only way to change the finalizers in the spec."""
