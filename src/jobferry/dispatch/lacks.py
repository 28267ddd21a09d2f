"""What people are told of what a worker lacks."""

from collections.abc import Sequence

from jobferry.workers.looking import Missing

REASON = "ReferencesMissing"

LONGEST = 600
"""Characters of what is named; an Event takes no more than 1024 bytes in all."""


def text(worker: str, namespace: str, missing: Sequence[Missing]) -> str:
    """Say what is missing, where, and what to do."""
    named = _listed([str(each) for each in missing])
    return (
        f"Worker {worker} lacks what it refers to: {named}. It is sent there all the same, and waits for it;"
        f" create it there, in namespace {namespace} where it is in one."
    )


def _listed(names: Sequence[str]) -> str:
    """Name as many as there is room for, at least one, and count the others."""
    shown = [names[0][:LONGEST]]
    for name in names[1:]:
        if len(", ".join(shown)) + len(name) > LONGEST:
            break
        shown.append(name)
    more = len(names) - len(shown)
    return ", ".join(shown) + (f" and {more} more" if more else "")
