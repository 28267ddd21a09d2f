"""The store as readers see it: durable writes only. Who changes it goes through the door (`door.py`)."""

from collections.abc import Callable
from typing import Protocol

from jobferry.localkube.apiserver.storage.entry import Entry, Range
from jobferry.localkube.apiserver.storage.watch import Watch


class Reader(Protocol):
    """What `Storage` offers to readers; it says there what each does."""

    @property
    def revision(self) -> int:
        """The newest durable revision: what readers see now."""
        ...

    @property
    def floor(self) -> int:
        """The oldest revision that one can look back at."""
        ...

    def get(self, key: str) -> Entry | None:
        """Return the durable state of a key."""
        ...

    def range(
        self, prefix: str, *, start: str = "", limit: int = 0, at: int | None = None
    ) -> Range:
        """Return what is below `prefix`, as it is now or was at a revision."""
        ...

    def counts(self) -> dict[str, int]:
        """Count the entries of each collection."""
        ...

    def watch(
        self, prefix: str, *, after: int, notify: Callable[[], None] | None = None
    ) -> Watch:
        """Watch what happens below `prefix`."""
        ...

    async def wait_for(self, revision: int) -> None:
        """Wait until readers see `revision`."""
        ...
