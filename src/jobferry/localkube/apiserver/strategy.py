"""What is special about a kind: pure functions that the generic handlers call, one file per kind.

The functions get the request's own copy of an object and may change it; the stored object (`old`) is
shared and must never be changed. Objects are as the codec gives them: known fields of the right types,
empty ones left out as Go's `omitempty` does. They know no clock, no storage, no user.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from jobferry.localkube.apiserver.problems import Problem
from jobferry.objects import Obj

HEAVY = 1_000_000
"""The weight of what may take long, however small it is."""


def _leave(_obj: Obj) -> None:
    """Change nothing."""


def _leave_update(_new: Obj, _old: Obj) -> None:
    """Change nothing."""


def _accept(_obj: Obj) -> Sequence[Problem]:
    """Find nothing wrong."""
    return ()


def _accept_update(_new: Obj, _old: Obj) -> Sequence[Problem]:
    """Find nothing wrong."""
    return ()


def _silent(_obj: Obj) -> Sequence[str]:
    """Warn of nothing."""
    return ()


def _silent_update(_new: Obj, _old: Obj) -> Sequence[str]:
    """Warn of nothing."""
    return ()


def _no_fields(_obj: Obj) -> Mapping[str, str]:
    """Select by name and namespace only."""
    return {}


def spec_of(obj: Obj) -> Any:
    """Return what makes a new generation when it changes."""
    return obj.get("spec")


@dataclass(frozen=True, slots=True, kw_only=True)
class Strategy:
    """How objects of one kind are made, changed and checked.

    On create: `default`, admission, metadata filled in, `prepare_create`, `validate_create`, metadata
    validated. On update: `default`, admission, `prepare_update`, `validate_update` (which includes what
    `validate_create` checks, where upstream does), metadata validated.
    """

    default: Callable[[Obj], None] = _leave
    """Fill in what was left out; runs on every body of a request."""
    prepare_create: Callable[[Obj], None] = _leave
    """Complete a new object."""
    prepare_update: Callable[[Obj, Obj], None] = _leave_update
    """(new, old): restore what this endpoint must not change."""
    validate_create: Callable[[Obj], Sequence[Problem]] = _accept
    validate_update: Callable[[Obj, Obj], Sequence[Problem]] = _accept_update
    """(new, old)."""
    warn_create: Callable[[Obj], Sequence[str]] = _silent
    warn_update: Callable[[Obj, Obj], Sequence[str]] = _silent_update
    name_problems: Callable[[str, bool], Sequence[str]]
    """(name, is_prefix): what is wrong with a name, or with a `generateName`."""
    versioned: Callable[[Obj], Any] | None = spec_of
    """What counts for `metadata.generation`; None: the kind has no generations."""
    fields: Callable[[Obj], Mapping[str, str]] = _no_fields
    """What field selectors may ask for, besides metadata.name and metadata.namespace."""
    field_names: frozenset[str] = frozenset()
    """The names in `fields`."""
    unknown_field: str = (
        '"{0}" is not a known field selector: only "metadata.name", "metadata.namespace"'
    )
    """How a selector is refused that asks for any other."""
    unconditional_update: bool = True
    """A PUT without resourceVersion replaces whatever is there."""
    create_on_update: bool = False
    """A PUT to a name that is not there creates it."""
    default_propagation: str = "Background"
    """What a delete means for dependents when it does not say: Background or Orphan; empty: there are none."""
    undeletable: Mapping[str, str] = field(default_factory=dict)
    """The names of objects that stay, and why: a delete of one by its name is refused."""
    delete_warning: str = ""
    """What a delete without a propagation policy is answered with, besides."""
    grace_period: Callable[[Obj, int | None], int] | None = None
    """(object, wanted): how many seconds a deleted object stays; None: objects go at once."""
    held: Callable[[Obj], bool] | None = None
    """Whether a deleted object has to stay for a reason of its kind, besides its finalizers."""
    mark_deleted: Callable[[Obj, str], None] | None = None
    """(object, now): say in the object itself that it is being deleted; for kinds that are `held`."""
    returns_deleted: bool = False
    """A delete is answered with the object that is gone, not with a Status."""
    weight: int = 1
    """How many times more work it is to check an object than its size tells; `HEAVY`: nobody knows."""
    reset_fields: tuple[str, ...] = ()
    """Fields that this endpoint ignores, so that nobody comes to own them by it ("status"); may be dotted."""
