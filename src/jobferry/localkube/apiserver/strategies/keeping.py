"""What an endpoint must not change stays as it is stored."""

from jobferry.objects import Obj


def restore(new: Obj, old: Obj, member: str) -> None:
    """Put a top-level member back to what it was, also when it was not there."""
    if member in old:
        new[member] = old[member]
    else:
        new.pop(member, None)


def status(new: Obj, old: Obj) -> None:
    """Keep the status: what the main endpoint of a kind with a status endpoint does."""
    restore(new, old, "status")


def spec(new: Obj, old: Obj) -> None:
    """Keep the spec: what a status endpoint does."""
    restore(new, old, "spec")
