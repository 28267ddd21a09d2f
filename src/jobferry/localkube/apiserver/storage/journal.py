"""What `Storage` asks of whatever makes its writes durable; and one that keeps them in memory only."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple, Protocol

from jobferry.localkube.apiserver.storage.entry import Change, Entry
from jobferry.localkube.apiserver.storage.state import BEGINNING, Stale


class Record(NamedTuple):
    """One line of the log as it is stored."""

    entry: Entry
    deleted: bool
    written: int
    """Milliseconds since 1970."""


class Contents(NamedTuple):
    """What a journal holds when it is opened."""

    records: Iterable[Record]
    revision: int
    """No revision above it has ever been given out."""

    floor: int
    """Where history begins."""

    ceiling: int
    """The highest revision that may be given out; the same as `revision` if none could be reserved."""


class Listener(Protocol):
    """Who hears from the journal, always on the event loop."""

    def committed(self, changes: Sequence[Change]) -> None:
        """Hear that these are durable: the next ones of those appended, in order."""
        ...

    def failed(self, error: Exception) -> None:
        """Hear that all appended and not committed is lost, and will be until `resume` is called."""
        ...

    def reserved(self, ceiling: int | Exception) -> None:
        """Hear up to where revisions may be given out, or why no more could be reserved."""
        ...


class Journal(Protocol):
    """Where changes are made durable. Only `open` and `close` wait."""

    async def open(self, listener: Listener) -> Contents:
        """Begin; return what is there."""
        ...

    def append(self, changes: list[Change], written: int) -> None:
        """Make these durable, together or in several steps, but in order."""
        ...

    def resume(self) -> None:
        """Take up work after a failure: what is appended from now on builds on durable state."""
        ...

    def reserve(self, ceiling: int) -> None:
        """Make durable that revisions up to `ceiling` may have been given out."""
        ...

    def forget(self, stale: list[Stale]) -> None:
        """Remove what is of no use, whenever it is convenient."""
        ...

    async def close(self, last: int) -> None:
        """Finish what was asked for and end; `last` is the highest revision given out."""
        ...


NOTHING = Contents((), BEGINNING, BEGINNING, BEGINNING)
"""What a store begins with that was never written to."""


class Memory:
    """A journal that keeps nothing: what is appended is as durable as it will ever be."""

    def __init__(self, contents: Contents = NOTHING) -> None:
        self._contents = contents
        self._listener: Listener | None = None

    async def open(self, listener: Listener) -> Contents:
        """Begin with what was given."""
        self._listener = listener
        # What the other store gave out and lost, if anything, stays out of use.
        last = max(self._contents.revision, self._contents.ceiling)
        return self._contents._replace(revision=last, ceiling=1 << 62)

    def append(self, changes: list[Change], written: int) -> None:
        """Report them at once."""
        if self._listener is not None:
            self._listener.committed(changes)

    def resume(self) -> None:
        """Do nothing: it never fails."""

    def reserve(self, ceiling: int) -> None:
        """Do nothing: all revisions are free."""

    def forget(self, stale: list[Stale]) -> None:
        """Do nothing: there is nothing to remove."""

    async def close(self, last: int) -> None:
        """Do nothing."""
