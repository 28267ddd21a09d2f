"""Lease: who leads, and until when."""

from collections.abc import Iterator, Sequence

from jobferry.localkube.apiserver import problems
from jobferry.localkube.apiserver.problems import Problem
from jobferry.localkube.apiserver.strategy import Strategy
from jobferry.localkube.apiserver.validation import metadata, names, values
from jobferry.objects import Obj

_GATED = ("strategy", "preferredHolder")
"""Members of the spec that belong to coordinated leader election, which is off by default."""


def _prepare_create(lease: Obj) -> None:
    _drop(lease, {})


def _prepare_update(new: Obj, old: Obj) -> None:
    _drop(new, old.get("spec") or {})


def _drop(lease: Obj, before: Obj) -> None:
    spec = lease.get("spec") or {}
    for member in _GATED:
        if member not in before:
            spec.pop(member, None)


def _problems(lease: Obj) -> Iterator[Problem]:
    spec = lease.get("spec") or {}
    duration = spec.get("leaseDurationSeconds")
    if duration is not None and duration <= 0:
        yield problems.invalid("spec.leaseDurationSeconds", duration, "must be greater than 0")
    yield from values.not_negative("spec.leaseTransitions", spec.get("leaseTransitions"))


def _validate_create(lease: Obj) -> Sequence[Problem]:
    return [
        *metadata.create_problems(
            lease,
            namespaced=True,
            name_problems=names.is_subdomain,
            legacy_finalizers=False,
        ),
        *_problems(lease),
    ]


def _validate_update(new: Obj, old: Obj) -> Sequence[Problem]:
    return [
        *metadata.update_problems(new, old, legacy_finalizers=False),
        *_problems(new),
    ]


STRATEGY = Strategy(
    prepare_create=_prepare_create,
    prepare_update=_prepare_update,
    validate_create=_validate_create,
    validate_update=_validate_update,
    name_problems=names.is_subdomain,
    versioned=None,
    unconditional_update=False,
    create_on_update=True,
)
"""Leases."""
