"""Watch: what is there, and every change from then on."""

import asyncio
import random
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass

from jobferry.clock import Clock, Seconds, Timer
from jobferry.localkube.apiserver import status
from jobferry.localkube.apiserver.handlers import events, reading, rendering, selection
from jobferry.localkube.apiserver.handlers.backend import Backend
from jobferry.localkube.apiserver.handlers.events import ADDED, DELETED, MODIFIED, Writer
from jobferry.localkube.apiserver.handlers.selection import Matches
from jobferry.localkube.apiserver.requests import accept, options
from jobferry.localkube.apiserver.requests.call import Answer, Call
from jobferry.localkube.apiserver.requests.options import ListOptions
from jobferry.localkube.apiserver.resource import Resource
from jobferry.localkube.apiserver.storage import errors
from jobferry.localkube.apiserver.storage.entry import Change, Entry
from jobferry.localkube.apiserver.storage.watch import Watch

SHORTEST: Seconds = 1800.0
"""A watch without a limit of its own ends after this long, or up to twice that: not all at once."""

BOOKMARK_EVERY: Seconds = 60.0
BOOKMARK_BEFORE_END: Seconds = 2.0
CHUNK = 64
"""How many of the first events go out together: the first need not wait for the last."""


async def watch(backend: Backend, call: Call, resource: Resource) -> Answer:
    """Answer with a stream of events."""
    accept.check_stream(call.form)
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
                for part in self._state():
                    yield part
            except status.StatusError as error:
                yield events.failure(error)
                return
            alarm = _Alarm(self.backend.clock, self.woken, self.wanted)
            self.woken.set()  # what came since the version that was given is there already
            self.resource.watchers.add(self.woken.set)
            try:
                while not alarm.is_over():
                    await self.woken.wait()
                    self.woken.clear()
                    if self._is_withdrawn():
                        return
                    if part := self._changes():
                        yield part
                    if alarm.bookmark_is_due():
                        yield self.writer.bookmark(self.revision)
            except (errors.Overrun, errors.Closed):
                return
            except status.StatusError as error:
                yield events.failure(error)
            finally:
                alarm.cancel()
                self.resource.watchers.discard(self.woken.set)

    def _is_withdrawn(self) -> bool:
        """Tell whether the definition behind a custom resource is gone, or another one by now."""
        served = self.resource
        found = self.backend.registry.find(served.group, served.version, served.plural)
        return found is not served

    def _state(self) -> Iterator[bytes]:
        for start in range(0, len(self.first), CHUNK):
            chosen = filter(self._selects, self.first[start : start + CHUNK])
            yield b"".join(self.writer.stored(ADDED, entry) for entry in chosen)
        self.first = []
        if self.wanted.initial_events and self.wanted.bookmarks:
            yield self.writer.bookmark(self.revision, initial_end=True)

    def _changes(self) -> bytes:
        changes = self.watching.take()
        self.revision = max(self.revision, self.backend.storage.revision)
        return b"".join(map(self._event, changes))

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

    def __init__(self, clock: Clock, woken: asyncio.Event, wanted: ListOptions) -> None:
        self._clock = clock
        self._woken = woken
        limit = wanted.timeout or SHORTEST * (1 + random.random())  # noqa: S311 (no secret)
        self._end = clock.monotonic() + limit
        self._last_bookmark = self._end - BOOKMARK_BEFORE_END
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
        due = min(now + BOOKMARK_EVERY, self._last_bookmark)
        if due > now:
            self._timers[1:] = [self._clock.call_later(due - now, self._remind)]

    def _finish(self) -> None:
        self._over = True
        self._woken.set()

    def _remind(self) -> None:
        self._bookmark_due = True
        self._woken.set()
