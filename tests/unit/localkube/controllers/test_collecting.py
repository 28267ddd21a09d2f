"""What the garbage collector decides about one object."""

import pytest

from jobferry.localkube.controllers import collecting
from jobferry.localkube.controllers.collecting import (
    NOTHING,
    Action,
    Delete,
    DropFinalizer,
    DropOwners,
    Pursue,
    Release,
    State,
)
from jobferry.localkube.controllers.heads import ObjectMetadata, Owner

SOLID, WAITING, GONE, UNKNOWN = State.SOLID, State.WAITING, State.GONE, State.UNKNOWN


def owner(uid: str, *, blocks: bool = False) -> Owner:
    return Owner("v1", "ConfigMap", uid, uid, block_owner_deletion=blocks)


def meta(
    *owners: Owner, uid: str = "me", finalizers: tuple[str, ...] = (), deleted: bool = False
) -> ObjectMetadata:
    return ObjectMetadata(
        name=uid,
        resource_version="1",
        uid=uid,
        owner_references=list(owners),
        finalizers=list(finalizers),
        deletion_timestamp="2026-01-01T00:00:00Z" if deleted else None,
    )


CHILD = meta(owner("me"), uid="child")
BLOCKING = meta(owner("me", blocks=True), uid="blocking")
BLOCKING_AND_WAITING = meta(
    owner("me", blocks=True), uid="both", finalizers=("foregroundDeletion",), deleted=True
)


@pytest.mark.parametrize(
    ("states", "dependents", "finalizers", "expected"),
    [
        ([], [], (), NOTHING),
        ([SOLID], [], (), NOTHING),
        ([SOLID, SOLID], [], (), NOTHING),
        ([GONE], [], (), Delete("Background")),
        ([GONE, GONE], [CHILD], (), Delete("Background")),
        ([GONE], [], ("orphan",), Delete("Orphan")),
        ([GONE], [], ("foregroundDeletion",), Delete("Foreground")),
        ([GONE], [], ("example.com/mine",), Delete("Background")),
        ([SOLID, GONE], [], (), DropOwners((owner("a"),))),
        ([WAITING, SOLID], [], (), DropOwners((owner("b"),))),
        ([GONE, SOLID], [CHILD], (), DropOwners((owner("b"),))),
        ([WAITING], [], (), Delete("Background")),
        ([WAITING, GONE], [], (), Delete("Background")),
        ([WAITING], [CHILD], (), Delete("Foreground")),
        ([WAITING], [BLOCKING_AND_WAITING], (), Delete("Foreground", unblock=True)),
        ([UNKNOWN], [], (), NOTHING),
        ([UNKNOWN, GONE], [], (), NOTHING),
    ],
)
def test_what_becomes_of_an_object_depends_on_its_owners(
    states: list[State],
    dependents: list[ObjectMetadata],
    finalizers: tuple[str, ...],
    expected: Action,
) -> None:
    owners = [owner(name) for name, _ in zip("ab", states, strict=False)]

    assert (
        collecting.on_owned(meta(*owners, finalizers=finalizers), states, dependents)
        == expected
    )


@pytest.mark.parametrize(
    ("finalizers", "dependents", "expected"),
    [
        ((), [BLOCKING], NOTHING),
        (("example.com/mine",), [BLOCKING], NOTHING),
        (("foregroundDeletion",), [], DropFinalizer("foregroundDeletion")),
        (("foregroundDeletion",), [CHILD], DropFinalizer("foregroundDeletion")),
        (("foregroundDeletion",), [CHILD, BLOCKING], Pursue(("blocking",))),
        (("foregroundDeletion",), [BLOCKING_AND_WAITING], Pursue(())),
        (("orphan",), [], Release()),
        (("orphan",), [BLOCKING], Release()),
    ],
)
def test_an_object_that_is_deleted_deals_with_its_dependents_first(
    finalizers: tuple[str, ...], dependents: list[ObjectMetadata], expected: Action
) -> None:
    deleted = meta(finalizers=finalizers, deleted=True)

    assert collecting.on_deleted(deleted, dependents) == expected
