"""Watch: what is there, and every change from then on."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable
from dataclasses import dataclass
from typing import TypeVar

from jobferry.clock import Clock, Timer
from jobferry.localkube.apiserver import status
from jobferry.localkube.apiserver.handlers import events, pacing, reading, rendering, selection
from jobferry.localkube.apiserver.handlers.backend import Backend
from jobferry.localkube.apiserver.handlers.events import ADDED, DELETED, MODIFIED, Writer
from jobferry.localkube.apiserver.handlers.selection import Matches
from jobferry.localkube.apiserver.requests import options
from jobferry.localkube.apiserver.requests.call import Answer, Call
from jobferry.localkube.apiserver.requests.options import ListOptions
from jobferry.localkube.apiserver.resource import Resource
from jobferry.localkube.apiserver.storage import errors
from jobferry.localkube.apiserver.storage.entry import Change, Entry
from jobferry.localkube.apiserver.storage.watch import Watch
from jobferry.localkube.apiserver.timeouts import Timeouts

T = TypeVar("T")


async def watch(backend: Backend, call: Call, resource: Resource) -> Answer:
    """Answer with a stream of events."""
    query = {**call.query, "watch": ["true"]}
    if call.target.name_in_path:
        query["fieldSelector"] = [f"metadata.name={call.target.name}"]
    wanted = options.list_options(query)
    matches = selection.matcher(resource, wanted)
    writer = events.writer(call, resource, backend.clock)
    try:
        after = options.version_number(wanted.resource_version)
    except options.BadVersion as error:
        raise status.StatusError(500, "", str(error)) from error
    if wanted.initial_events is False and not after:
        after = backend.storage.revision
    with_state = wanted.initial_events or (wanted.initial_events is None and not after)
    if with_state and after:
        try:
            await reading.wait_for(backend, after)
        except status.StatusError as error:
            return _stream(_failed(error))
    prefix = _prefix(resource, call.target.namespace, wanted)
    # From here to the first chunk nothing may wait: what is listed and what is watched must join.
    state = backend.storage.range(prefix) if with_state else None
    woken = asyncio.Event()
    try:
        watching = backend.storage.watch(
            prefix, after=state.revision if state else after, notify=woken.set
        )
    except errors.Compacted as error:
        why = f"too old resource version: {after} ({error.floor - 1})"
        return _stream(_failed(status.expired(why)))
    stream = _Stream(
        resource=resource,
        wanted=wanted,
        matches=matches,
        writer=writer,
        watching=watching,
        woken=woken,
        first=state.entries if state else [],
        revision=state.revision if state else after,
        backend=backend,
    )
    parts = stream.events()
    # What never began would never end either, if nobody reads it: the watch would stay.
    await anext(parts)
    return _stream(parts)


def _prefix(resource: Resource, namespace: str, wanted: ListOptions) -> str:
    """Return what the keys begin with that can be selected at all."""
    if not resource.namespaced:
        return resource.prefix
    return resource.range_prefix(namespace or selection.exact_namespace(wanted.fields) or "")


def _stream(parts: AsyncIterator[bytes]) -> Answer:
    return Answer(200, stream=parts)


async def _failed(error: status.StatusError) -> AsyncIterator[bytes]:
    yield events.failure(error)


@dataclass(slots=True, kw_only=True)
class _Stream:
    """A watch that stands in storage; nothing of it is sent yet."""

    backend: Backend
    resource: Resource
    wanted: ListOptions
    matches: Matches | None
    writer: Writer
    watching: Watch
    woken: asyncio.Event
    first: list[Entry]
    revision: int
    """Up to where the client knows everything that it selected."""

    async def events(self) -> AsyncIterator[bytes]:
        """Send what is there, then changes, until time is up or the client is too slow; first nothing."""
        with self.watching:
            yield b""
            try:
                async for part in self._state():
                    yield part
            except status.StatusError as error:
                yield events.failure(error)
                return
            alarm = _Alarm(
                self.backend.clock,
                self.woken,
                self.wanted,
                self.backend.timeouts,
                self.backend.random.random(),
            )
            self.woken.set()  # what came since the version that was given is there already
            self.resource.watchers[self.woken.set] = None
            try:
                while not alarm.is_over():
                    await self.woken.wait()
                    self.woken.clear()
                    if self._is_withdrawn():
                        return
                    async for part in self._changes():
                        yield part
                    if alarm.bookmark_is_due():
                        yield self.writer.bookmark(self.revision)
            except (errors.Overrun, errors.Closed):
                return
            except status.StatusError as error:
                yield events.failure(error)
            finally:
                alarm.cancel()
                self.resource.watchers.pop(self.woken.set, None)

    def _is_withdrawn(self) -> bool:
        """Tell whether the definition behind a custom resource is gone, or another one by now."""
        served = self.resource
        found = self.backend.registry.find(served.group, served.version, served.plural)
        return found is not served

    async def _state(self) -> AsyncIterator[bytes]:
        first, self.first = self.first, []
        async for part in self._in_slices(((entry, entry) for entry in first), self._added):
            yield part
        if self.wanted.initial_events and self.wanted.bookmarks:
            yield self.writer.bookmark(self.revision, initial_end=True)

    def _added(self, entry: Entry) -> bytes:
        return self.writer.stored(ADDED, entry) if self._selects(entry) else b""

    async def _changes(self) -> AsyncIterator[bytes]:
        changes, revision = self.watching.take(), self.backend.storage.revision
        about = ((change.entry, change) for change in changes)
        async for part in self._in_slices(about, self._event):
            yield part
        self.revision = max(self.revision, revision)

    async def _in_slices(
        self, items: Iterable[tuple[Entry, T]], write: Callable[[T], bytes]
    ) -> AsyncIterator[bytes]:
        """Write events and put them together; others have turns, and the first need not wait for the last."""
        part: list[bytes] = []
        done = pacing.Slice()
        for entry, item in items:
            work = len(entry.value) if self.resource.load else 0
            part.append(await pacing.computed(self.backend, work, write, item))
            if done.is_full(len(entry.value)):
                yield b"".join(part)
                part = []
                await pacing.others()
        if joined := b"".join(part):
            yield joined

    def _event(self, change: Change) -> bytes:
        entry, previous = change.entry, change.previous
        if self.matches is None:
            kind = DELETED if change.deleted else MODIFIED if previous else ADDED
            return self.writer.stored(kind, entry)
        before = previous is not None and self._selects(previous)
        if not change.deleted and self._selects(entry):
            return self.writer.stored(MODIFIED if before else ADDED, entry)
        if previous is None or not before:
            return b""
        if change.deleted:
            return self.writer.stored(DELETED, entry)
        return self.writer.made(DELETED, self._unselected(previous, entry.revision))

    def _selects(self, entry: Entry) -> bool:
        return self.matches is None or self.matches(rendering.current(self.resource, entry))

    def _unselected(self, previous: Entry, revision: int) -> dict[str, object]:
        """Return the last state that was selected, with the version of the change that ended it."""
        last = dict(rendering.current(self.resource, previous))
        last["metadata"] = {**last["metadata"], "resourceVersion": str(revision)}
        return last


class _Alarm:
    """Wakes a watch when a bookmark is due and when its time is over."""

    def __init__(
        self,
        clock: Clock,
        woken: asyncio.Event,
        wanted: ListOptions,
        timeouts: Timeouts,
        chance: float,
    ) -> None:
        self._clock = clock
        self._timeouts = timeouts
        self._woken = woken
        limit = wanted.timeout or timeouts.watch * (1 + chance)
        self._end = clock.monotonic() + limit
        self._last_bookmark = self._end - timeouts.last_bookmark
        self._over = self._bookmark_due = False
        # Timers may ring a little early: what they say counts, not the clock.
        self._timers: list[Timer] = [clock.call_later(limit, self._finish)]
        if wanted.bookmarks:
            self._plan_bookmark()

    def is_over(self) -> bool:
        """Tell whether the time of the watch is over."""
        return self._over

    def bookmark_is_due(self) -> bool:
        """Tell whether to send a bookmark now; then the next one is planned."""
        if not self._bookmark_due or self._over:
            return False
        self._bookmark_due = False
        self._plan_bookmark()
        return True

    def cancel(self) -> None:
        """Wake nobody any more."""
        for timer in self._timers:
            timer.cancel()

    def _plan_bookmark(self) -> None:
        now = self._clock.monotonic()
        due = min(now + self._timeouts.bookmark, self._last_bookmark)
        if due > now:
            self._timers[1:] = [self._clock.call_later(due - now, self._remind)]

    def _finish(self) -> None:
        self._over = True
        self._woken.set()

    def _remind(self) -> None:
        self._bookmark_due = True
        self._woken.set()
