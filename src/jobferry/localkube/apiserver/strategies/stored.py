"""Stored kinds: checked against their schema and otherwise kept as they are; nothing acts on them."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from jobferry.localkube.apiserver.problems import Problem
from jobferry.localkube.apiserver.strategies import keeping
from jobferry.localkube.apiserver.strategy import Strategy, spec_of
from jobferry.localkube.apiserver.validation import metadata, names
from jobferry.localkube.apiserver.validation.names import NameProblems
from jobferry.objects import Obj


def strategy(
    *,
    namespaced: bool,
    has_status: bool,
    has_generation: bool = False,
    returns_deleted: bool = False,
    default_propagation: str = "Background",
    fields: Mapping[str, str] | None = None,
    unknown_field: str = "",
    name_problems: NameProblems = names.is_subdomain,
) -> Strategy:
    """Return how a stored kind is made and changed."""
    return Strategy(
        prepare_create=_without_status if has_status else _leave,
        prepare_update=keeping.status if has_status else _leave_update,
        validate_create=partial(_validate_create, namespaced, name_problems),
        validate_update=_validate_update,
        name_problems=name_problems,
        versioned=spec_of if has_generation else None,
        returns_deleted=returns_deleted,
        default_propagation=default_propagation,
        fields=partial(_fields, fields or {}),
        field_names=frozenset(fields or {}),
        **({"unknown_field": unknown_field} if unknown_field else {}),  # type: ignore[arg-type]
        reset_fields=("status",) if has_status else (),
    )


def status_strategy(*, name_problems: NameProblems = names.is_subdomain) -> Strategy:
    """Return how the status endpoint of a stored kind changes its objects: only the status."""
    return Strategy(
        prepare_update=_keep_all_but_status,
        validate_update=_validate_update,
        name_problems=name_problems,
        versioned=None,
        reset_fields=("spec",),
    )


def _fields(defaults: Mapping[str, str], obj: Obj) -> Mapping[str, str]:
    """Return the fields that selectors may ask for; those that are not set are as Go has them then."""
    found = {}
    for path, default in defaults.items():
        part: Any = obj
        for name in path.split("."):
            part = part.get(name) if isinstance(part, dict) else None
        found[path] = default if part is None else str(part)
    return found


def _leave(_obj: Obj) -> None:
    pass


def _leave_update(_new: Obj, _old: Obj) -> None:
    pass


def _without_status(obj: Obj) -> None:
    obj.pop("status", None)


def _keep_all_but_status(new: Obj, old: Obj) -> None:
    for member in new.keys() | old.keys():
        if member not in ("status", "metadata"):
            keeping.restore(new, old, member)


def _validate_create(
    namespaced: bool, name_problems: Callable[[str, bool], Sequence[str]], obj: Obj
) -> Sequence[Problem]:
    return list(
        metadata.create_problems(obj, namespaced=namespaced, name_problems=name_problems)
    )


def _validate_update(new: Obj, old: Obj) -> Sequence[Problem]:
    return list(metadata.update_problems(new, old))
