"""What commits: a thread, all writes that are in line at once, together.

Orders reach it through one queue and are carried out in order; what comes of them is reported to the
event loop, also in order. After a failure it drops all writes until it is told to resume: those were
accepted before anybody knew of the failure, and may build on what was lost.
"""

import asyncio
import itertools
import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from queue import Empty, SimpleQueue

from jobferry import log
from jobferry.localkube.apiserver.storage.database import Database
from jobferry.localkube.apiserver.storage.entry import Change
from jobferry.localkube.apiserver.storage.journal import Contents, Listener, Record
from jobferry.localkube.apiserver.storage.state import Stale

MOST_ROWS = 256
MOST_BYTES = 8 << 20
"""How much goes into one commit; more goes into the next."""

PIECE = 256
"""How many stale rows are removed at a time: enough to be worth a commit, few enough not to be felt."""

_log = log.get(__name__)


@dataclass(frozen=True, slots=True)
class _Append:
    changes: list[Change]
    written: int


@dataclass(frozen=True, slots=True)
class _Reserve:
    ceiling: int


@dataclass(frozen=True, slots=True)
class _Forget:
    stale: list[Stale]


@dataclass(frozen=True, slots=True)
class _Resume:
    pass


@dataclass(frozen=True, slots=True)
class _Stop:
    last: int | None


_Task = _Append | _Reserve | _Forget | _Resume
_Order = _Task | _Stop
_Report = Callable[..., object]
"""Has something called on the event loop, with arguments."""


class Writer:
    """A `Journal` in SQLite: its face to the event loop.

    With `inline` there is no thread: every order is carried out at once, as simulations need it.
    """

    def __init__(self, open_database: Callable[[], Database], *, inline: bool = False) -> None:
        self._open_database = open_database
        self._inline = inline
        self._orders: SimpleQueue[_Order] = SimpleQueue()
        self._work: _Work | None = None
        self._ended = asyncio.Event()

    async def open(self, listener: Listener) -> Contents:
        """Start to work; return what is in the file."""
        if not self._inline:
            return await self._open_in_thread(listener)
        database = self._open_database()
        try:
            contents = database.load()
        except BaseException:
            database.close(None)
            raise
        # Reports come in a turn of their own, as those of the thread do.
        report = asyncio.get_running_loop().call_soon
        self._work = _Work(database, self._orders, report, listener)
        return contents

    async def _open_in_thread(self, listener: Listener) -> Contents:
        loop = asyncio.get_running_loop()
        opened: asyncio.Future[Contents] = loop.create_future()
        ended = self._ended

        def run() -> None:
            with suppress(_LoopClosed):
                _run(self._open_database, self._orders, report, listener, opened)
                report(ended.set)

        def report(call: Callable[..., object], *facts: object) -> None:
            try:
                loop.call_soon_threadsafe(call, *facts)
            except RuntimeError as error:
                raise _LoopClosed from error

        threading.Thread(target=run, name="storage", daemon=True).start()
        try:
            return await opened
        except asyncio.CancelledError:
            self._orders.put(_Stop(None))
            raise

    def _give(self, order: _Task) -> None:
        if self._work is not None:
            self._work.do(order)
        else:
            self._orders.put(order)

    def append(self, changes: list[Change], written: int) -> None:
        """Make these durable."""
        self._give(_Append(changes, written))

    def resume(self) -> None:
        """Take up work after a failure."""
        self._give(_Resume())

    def reserve(self, ceiling: int) -> None:
        """Make durable that revisions up to `ceiling` may have been given out."""
        self._give(_Reserve(ceiling))

    def forget(self, stale: list[Stale]) -> None:
        """Remove what is of no use, a piece at a time."""
        self._give(_Forget(stale))

    async def close(self, last: int) -> None:
        """Finish what was asked for and end."""
        if self._work is not None:
            self._work.close(last)
            asyncio.get_running_loop().call_soon(self._ended.set)  # after all reports
        else:
            self._orders.put(_Stop(last))
        await self._ended.wait()


class _LoopClosed(Exception):
    """There is nobody left to report to."""


def _run(
    open_database: Callable[[], Database],
    orders: SimpleQueue[_Order],
    report: _Report,
    listener: Listener,
    opened: asyncio.Future[Contents],
) -> None:
    """Do all that the thread does."""
    try:
        database = open_database()
    except Exception as error:  # noqa: BLE001 (whoever opens the store gets it)
        report(_settle, opened, None, error)
        return
    last = None
    try:
        report(_settle, opened, database.load(), None)
        last = _Work(database, orders, report, listener).run()
    except _LoopClosed:
        raise
    except Exception as error:  # noqa: BLE001 (as above)
        report(_settle, opened, None, error)
    finally:
        database.close(last)


def _settle(
    opened: asyncio.Future[Contents], contents: Contents | None, error: Exception | None
) -> None:
    if opened.done():  # whoever waited was cancelled
        return
    if contents is not None:
        opened.set_result(contents)
    elif error is not None:
        opened.set_exception(error)


class _Work:
    """The thread's side: takes orders until it is told to stop."""

    def __init__(
        self,
        database: Database,
        orders: SimpleQueue[_Order],
        report: _Report,
        listener: Listener,
    ) -> None:
        self._database = database
        self._orders = orders
        self._report = report
        self._listener = listener
        self._inbox: deque[_Order] = deque()
        self._stale: deque[Stale] = deque()
        self._is_broken = False
        """Whether a commit failed and nobody told us to resume yet."""

        self._cannot_tidy = False
        """Whether removing failed, and no commit has succeeded since."""

    def run(self) -> int | None:
        """Work; return the highest revision given out, if whoever stops us knows."""
        while True:
            self._fetch()
            if not self._inbox:
                self._tidy()
                continue
            order = self._inbox.popleft()
            if isinstance(order, _Stop):
                return order.last
            self._carry_out(order)

    def do(self, order: _Task) -> None:
        """Carry out one order by itself, with all that comes of it."""
        self._carry_out(order)
        while self._is_untidy:
            self._tidy()

    def close(self, last: int) -> None:
        """End: `last` is the highest revision given out."""
        self._database.close(last)

    def _carry_out(self, order: _Task) -> None:
        match order:
            case _Append():
                self._append(order)
            case _Reserve(ceiling):
                self._reserve(ceiling)
            case _Forget(stale):
                self._stale += stale
            case _Resume():
                self._is_broken = False

    def _fetch(self) -> None:
        """Take all orders that are there; wait for one only if there is nothing else to do."""
        with suppress(Empty):
            if not self._inbox and not self._is_untidy:
                self._inbox.append(self._orders.get())
            while True:
                self._inbox.append(self._orders.get_nowait())

    def _append(self, order: _Append) -> None:
        changes, records = list(order.changes), _records(order)
        while self._inbox and isinstance(following := self._inbox[0], _Append):
            self._inbox.popleft()
            changes += following.changes
            records += _records(following)
        done = 0
        for count in _portions(records):
            if self._is_broken:
                return  # those who wait for these have been told, or will be with the failed ones
            self._commit(changes[done : done + count], records[done : done + count])
            done += count

    def _commit(self, changes: list[Change], records: list[Record]) -> None:
        try:
            self._database.commit(records)
        except Exception as error:  # noqa: BLE001 (whatever it is, nobody may take them for stored)
            self._is_broken = True
            self._report(self._listener.failed, error)
            return
        self._report(self._listener.committed, changes)
        self._cannot_tidy = False
        if self._is_untidy:
            self._tidy()

    def _reserve(self, ceiling: int) -> None:
        result: int | Exception = ceiling
        try:
            self._database.reserve(ceiling)
        except Exception as error:  # noqa: BLE001 (whatever it is, they may not be used)
            result = error
        self._report(self._listener.reserved, result)

    @property
    def _is_untidy(self) -> bool:
        return len(self._stale) >= PIECE and not self._cannot_tidy

    def _tidy(self) -> None:
        """Remove one piece of what is of no use; if that fails, it can wait."""
        piece = list(itertools.islice(self._stale, PIECE))
        try:
            self._database.forget([each.revision for each in piece], piece[-1].floor)
        except Exception as error:  # noqa: BLE001 (whatever it is, nothing is lost by it)
            _log.warning("Old revisions could not be removed", error=error)
            self._cannot_tidy = True
            return
        for _ in piece:
            self._stale.popleft()


def _records(order: _Append) -> list[Record]:
    return [Record(each.entry, each.deleted, order.written) for each in order.changes]


def _portions(records: list[Record]) -> Iterator[int]:
    """Yield how many records go into each commit."""
    count = size = 0
    for record in records:
        length = len(record.entry.value)
        if count and (count == MOST_ROWS or size + length > MOST_BYTES):
            yield count
            count = size = 0
        count += 1
        size += length
    yield count
