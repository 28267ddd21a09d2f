"""How many requests are served at once."""

from collections.abc import Iterator
from contextlib import contextmanager
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

    @contextmanager
    def taken(self, *, reads: bool) -> Iterator[None]:
        """Take room for one request, or refuse it."""
        if (self.reads if reads else self.writes) <= 0:
            raise status.too_many_requests(
                "Too many requests, please try again later.", retry_after=1
            )
        self._add(-1, reads=reads)
        try:
            yield
        finally:
            self._add(1, reads=reads)

    def _add(self, count: int, *, reads: bool) -> None:
        if reads:
            self.reads += count
        else:
            self.writes += count
