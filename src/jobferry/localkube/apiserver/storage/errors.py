"""What can go wrong in the store.

Error
├── Conflict        the key is not in the expected state
├── Compacted       the revision is older than the history that is kept
├── Future          the revision is not reached yet
├── CommitFailed    the write is not stored (Transient)
├── Overrun         the watcher did not take its changes in time
├── Closed          the store or the watch was closed
└── Unusable        the file cannot be opened (BadInput)
    └── InUse       another process, or another part of this one, has it open
"""

from jobferry.errors import BadInput, Error, Transient
from jobferry.localkube.apiserver.storage.entry import Entry


class Conflict(Error):
    """A key is not in the expected state; `accepted` is the state that it is in."""

    def __init__(self, key: str, expected: int | None, accepted: Entry | None) -> None:
        found = "absent" if accepted is None else f"at revision {accepted.revision}"
        wanted = {0: "absent", None: "present"}.get(expected, f"at revision {expected}")
        super().__init__(f"{key} is {found}, not {wanted}")
        self.key = key
        self.expected = expected
        self.accepted = accepted


class Compacted(Error):
    """A revision is older than the history that is kept, which begins at `floor`."""

    def __init__(self, revision: int, floor: int) -> None:
        super().__init__(f"revision {revision} has been compacted; history begins at {floor}")
        self.revision = revision
        self.floor = floor


class Future(Error):
    """A revision is not reached yet; `current` is the newest one."""

    def __init__(self, revision: int, current: int) -> None:
        super().__init__(f"revision {revision} is not reached yet; the newest is {current}")
        self.revision = revision
        self.current = current


class CommitFailed(Transient):
    """A write could not be made durable, and nobody has seen it."""

    hint = "Look at the disk of the database: is it full, or failing?"


class Overrun(Error):
    """A watcher did not take its changes in time and was cut off."""


class Closed(Error):
    """The store or the watch was closed."""


class Unusable(BadInput):
    """A file cannot serve as the database."""


class InUse(Unusable):
    """Somebody else has the database open."""
