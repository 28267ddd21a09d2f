"""Mirrors that were deleted and are still there: a finalizer holds them, or pods that are to end first.

They are waited for, not deleted again; and nothing waits for them that need not have their name. Nor for what a worker does not
let us delete.
"""

from collections.abc import Iterator

from jobferry.core.steps import Notice
from jobferry.core.view import View
from jobferry.objects import Obj

MIRROR_GOING = "MirrorGoing"
MIRROR_KEPT = "MirrorKept"

FOREGROUND = "foregroundDeletion"
"""The finalizer of an API server on what goes only after all that it made."""


def is_going(obj: Obj) -> bool:
    """Tell whether an object was deleted and is not gone yet."""
    return bool(obj["metadata"].get("deletionTimestamp"))


def holds_name(view: View, worker: str) -> bool:
    """Tell whether a worker still has something of a workload's name that is about to go, or should."""
    mirror = view.mirrors.get(worker)
    return mirror is not None and (is_going(mirror) or worker in view.kept)


def notices(view: View) -> Iterator[Notice]:
    """Say what keeps mirrors of a workload from going."""
    for worker, obj in sorted(view.mirrors.items()):
        if is_going(obj):
            yield Notice(MIRROR_GOING, f"On worker {worker} its mirror {why(obj)}")

    for worker, refusal in sorted(view.kept.items()):
        message = f"Worker {worker} does not let us delete its mirror there: {refusal}"
        yield Notice(MIRROR_KEPT, message)


def why(mirror: Obj) -> str:
    """Say what a mirror that is going waits for."""
    finalizers = mirror["metadata"].get("finalizers") or (FOREGROUND,)
    held = ", ".join("what it made" if each == FOREGROUND else each for each in finalizers)
    return f"was deleted and is not gone yet, because of {held}"
