"""How many requests are served at once."""

from contextlib import AbstractContextManager
from dataclasses import dataclass

from jobferry.localkube.apiserver import status

READS = 400
WRITES = 200
"""As many as kube-apiserver takes by default; watches and health checks do not count."""


@dataclass(slots=True)
class Room:
    """Room for requests; one that finds none is told to come again."""

    reads: int = READS
    writes: int = WRITES

    def taken(self, *, reads: bool) -> AbstractContextManager[None]:
        """Take room for one request within the block, or refuse it."""
        return _Place(self, reads)

    def add(self, count: int, *, reads: bool) -> None:
        """Make more room, or less."""
        if reads:
            self.reads += count
        else:
            self.writes += count


class _Place(AbstractContextManager[None]):
    """The room of one request: as a class, since every request has one, and generators take longer."""

    __slots__ = ("_reads", "_room")

    def __init__(self, room: Room, reads: bool) -> None:
        self._room = room
        self._reads = reads

    def __enter__(self) -> None:
        if (self._room.reads if self._reads else self._room.writes) <= 0:
            raise status.too_many_requests(
                "Too many requests, please try again later.", retry_after=1
            )
        self._room.add(-1, reads=self._reads)

    def __exit__(self, *error: object) -> None:
        self._room.add(1, reads=self._reads)
