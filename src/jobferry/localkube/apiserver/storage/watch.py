"""Who is told of changes: each watcher has a bounded buffer, and is found by the prefix it watches."""

import asyncio
from collections.abc import Callable, Iterable, Iterator
from types import TracebackType
from typing import Self

from jobferry import log
from jobferry.errors import Error
from jobferry.localkube.apiserver.storage.entry import Change, resource_of
from jobferry.localkube.apiserver.storage.errors import Closed, Overrun

MOST_BYTES = 64 << 20
"""How much may wait for a watcher, whatever the number of changes: nobody else needs these values any more."""

_log = log.get(__name__)


class Watch:
    """The durable changes below a prefix, or of one key, in the order of their revisions.

    Whatever is visible has been put in its buffer: once `take` was called, its caller has seen all
    through `Storage.revision`.
    """

    def __init__(
        self,
        prefix: str,
        *,
        after: int,
        backlog: list[Change],
        limit: int,
        notify: Callable[[], None] | None = None,
        leave: "Callable[[Watch], None]",
    ) -> None:
        self.prefix = prefix
        self._after = after
        self._buffer = backlog
        self._limit = limit
        # What it asked for itself at the beginning does not count against it.
        self._room = limit + len(backlog)
        self._bytes = 0
        self._notify = notify
        self._leave = leave
        self._waiter: asyncio.Future[None] | None = None
        self._end: Error | None = None

    def take(self) -> list[Change]:
        """Return what has come since the last time, maybe nothing; never waits.

        Raises `Overrun` if too much had come, `Closed` if it was closed.
        """
        if self._end is not None:
            raise self._end
        found, self._buffer = self._buffer, []
        self._room = self._limit
        self._bytes = 0
        return found

    async def changes(self) -> list[Change]:
        """Wait until something has come, and take it; nothing is lost if this is cancelled."""
        while not (found := self.take()):
            self._waiter = asyncio.get_running_loop().create_future()
            try:
                await self._waiter
            finally:
                self._waiter = None
        return found

    def close(self, why: Error | None = None) -> None:
        """Stop watching; whoever waits for changes gets `why`."""
        if self._end is None:
            self._end = why or Closed("the watch was closed")
            self._buffer = []
            self._leave(self)
            self._wake()

    def add(self, changes: list[Change], size: int = 0) -> None:
        """Put in what has become durable, `size` bytes; cut the watcher off if that is too much."""
        if changes[0].entry.revision <= self._after:
            changes = [each for each in changes if each.revision > self._after]
        if not changes:
            return
        was_empty = not self._buffer
        self._buffer += changes
        self._bytes += size
        if was_empty:
            self._wake()  # nobody was slow yet, however many these are
        elif len(self._buffer) > self._room:
            self.close(Overrun(f"more than {self._limit} changes were not taken in time"))
        elif self._bytes > MOST_BYTES:
            self.close(Overrun(f"more than {MOST_BYTES} bytes were not taken in time"))

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)
        if self._notify is not None:
            try:
                self._notify()
            except (Exception, asyncio.CancelledError) as error:  # noqa: BLE001 (writes go on)
                _log.failure("A watcher failed and hears no more", error, prefix=self.prefix)
                self._notify = None
                self.close(Closed(f"the watch was closed, since its watcher failed: {error!r}"))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._notify = None  # who leaves the block need not be told
        self.close()


class Watchers:
    """All watchers, by what they watch: those of other collections cost a change nothing."""

    def __init__(self) -> None:
        self._by_prefix: dict[str, dict[Watch, None]] = {}

    def __len__(self) -> int:
        return sum(map(len, self._by_prefix.values()))

    def add(self, watch: Watch) -> None:
        """Tell `watch` from now on."""
        self._by_prefix.setdefault(watch.prefix, {})[watch] = None

    def remove(self, watch: Watch) -> None:
        """Tell `watch` no longer."""
        same = self._by_prefix[watch.prefix]
        del same[watch]
        if not same:
            del self._by_prefix[watch.prefix]

    def tell(self, changes: Iterable[Change]) -> None:
        """Hand out what has become durable."""
        if not self._by_prefix:
            return
        wanted: dict[str, list[Change]] = {}
        for change in changes:
            for scope in _scopes(change.entry.key):
                if scope in self._by_prefix:
                    wanted.setdefault(scope, []).append(change)
        for scope, found in wanted.items():
            size = sum(len(each.entry.value) for each in found)
            # A copy: who is told may close watches.
            for watch in tuple(self._by_prefix.get(scope, ())):
                watch.add(found, size)

    def close(self, why: Error) -> None:
        """End them all."""
        for same in tuple(self._by_prefix.values()):
            for watch in tuple(same):
                watch.close(why)


def _scopes(key: str) -> Iterator[str]:
    """Yield whatever may be watched to see `key`: its collection, its namespace, itself."""
    end = len(resource_of(key))
    while end:
        yield key[:end]
        end = key.find("/", end) + 1
    yield key
