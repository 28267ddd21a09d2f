"""What the garbage collector does with one object, given its owners and dependents: pure decisions."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import Enum, auto

from jobferry.kube.calls import Propagation
from jobferry.localkube.controllers.heads import ObjectMetadata, Owner

FOREGROUND = "foregroundDeletion"
ORPHAN = "orphan"


class State(Enum):
    """What is known of an owner."""

    SOLID = auto()
    """It exists, and keeps what it owns."""

    WAITING = auto()
    """It is deleted in the foreground, and waits for what it owns to go."""

    GONE = auto()
    """There is no such object, or one of another identity."""

    UNKNOWN = auto()
    """It cannot be looked up: no such kind is served."""


@dataclass(frozen=True, slots=True)
class Nothing:
    """All is in order, or somebody else has to move first."""


@dataclass(frozen=True, slots=True)
class Delete:
    """Delete the object; first let its owners go on without it if `unblock` is set."""

    propagation: Propagation
    unblock: bool = False


@dataclass(frozen=True, slots=True)
class DropOwners:
    """Take owners out of the object's references; what is left is `kept`."""

    kept: tuple[Owner, ...]


@dataclass(frozen=True, slots=True)
class DropFinalizer:
    """The object has waited long enough for those that it owns."""

    finalizer: str


@dataclass(frozen=True, slots=True)
class Release:
    """Make orphans of all dependents, then drop the finalizer."""


@dataclass(frozen=True, slots=True)
class Pursue:
    """Look at the dependents that the object waits for."""

    dependents: tuple[str, ...]


Action = Nothing | Delete | DropOwners | DropFinalizer | Release | Pursue
NOTHING = Nothing()


def is_foreground(meta: ObjectMetadata) -> bool:
    """Tell whether an object waits for its dependents to go."""
    return meta.is_deleted and FOREGROUND in meta.finalizers


def is_orphaning(meta: ObjectMetadata) -> bool:
    """Tell whether an object that is deleted leaves its dependents behind."""
    return meta.is_deleted and ORPHAN in meta.finalizers


def is_waiting(meta: ObjectMetadata) -> bool:
    """Tell whether an object that is deleted waits for us to deal with its dependents."""
    return is_foreground(meta) or is_orphaning(meta)


def on_deleted(meta: ObjectMetadata, dependents: Iterable[ObjectMetadata]) -> Action:
    """Decide for an object that is deleted: what becomes of its dependents."""
    if is_foreground(meta):
        blocking = [each for each in dependents if _blocks(each, meta.uid)]
        if not blocking:
            return DropFinalizer(FOREGROUND)
        return Pursue(tuple(each.uid for each in blocking if not is_foreground(each)))
    return Release() if is_orphaning(meta) else NOTHING


def on_owned(
    meta: ObjectMetadata, owners: Sequence[State], dependents: Sequence[ObjectMetadata]
) -> Action:
    """Decide for an object that is not deleted; `owners` are the states of its references, in order."""
    if not owners or State.UNKNOWN in owners:
        return NOTHING
    if State.SOLID in owners:
        references = zip(meta.owner_references, owners, strict=True)
        kept = tuple(owner for owner, state in references if state is State.SOLID)
        return NOTHING if len(kept) == len(owners) else DropOwners(kept)
    if State.WAITING in owners and dependents:
        # Its own dependents go before it. If one of them waits for its dependents already, the two may
        # wait for each other: an owner that is in a circle must not be held up by it.
        return Delete("Foreground", unblock=any(map(is_foreground, dependents)))
    return Delete(_left_over(meta))


def _left_over(meta: ObjectMetadata) -> Propagation:
    """Return how an object asks to be deleted by the finalizers that somebody gave it."""
    if ORPHAN in meta.finalizers:
        return "Orphan"
    return "Foreground" if FOREGROUND in meta.finalizers else "Background"


def _blocks(dependent: ObjectMetadata, uid: str) -> bool:
    return any(
        owner.uid == uid and owner.block_owner_deletion for owner in dependent.owner_references
    )
