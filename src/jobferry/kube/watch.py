"""Follows a collection over one request, and notices when the other side has gone silent."""

from collections.abc import AsyncGenerator, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import msgspec

from jobferry.clock import Clock, Seconds
from jobferry.kube import calls, errors
from jobferry.kube.calls import Scope, Start
from jobferry.kube.client import Client
from jobferry.kube.wire import LONGEST_OBJECT, Stream


@dataclass(frozen=True, slots=True, kw_only=True)
class Watching:
    """How long a watch may last and be silent."""

    lasts: int = 300
    """Seconds after which the server ends a watch; up to twice that, so that not all end at once."""

    initial_events: bool = True
    """Ask for the first state as events (WatchList) where the server can: that spares its memory. A list
    in pages takes less CPU here."""

    silence: Seconds = 75.0
    """A watch that says nothing for this long is taken for dead: servers send a bookmark every minute."""


class Silent(errors.Timeout):
    """A watch was open, but not even a bookmark came any more."""


class Event(NamedTuple):
    """One change; `object` is JSON, in the buffer it came in."""

    type: str
    object: memoryview


class _Envelope(msgspec.Struct, gc=False):
    type: str
    object: msgspec.Raw


_ENVELOPE = msgspec.json.Decoder(_Envelope)
_USUAL = {
    type: b'{"type":"%s","object":' % type.encode() for type in ("MODIFIED", "ADDED", "DELETED")
}
"""How API servers begin the events of which there are many."""

_STATUS = msgspec.json.Decoder(dict[str, Any])


async def batches(
    client: Client, scope: Scope, since: str | Start, watching: Watching
) -> AsyncGenerator[list[Event]]:
    """Watch until the server ends it: yields an empty list when it has begun, then what arrives together.

    Raises `errors.Expired` when the server does not remember `since`, and `Silent`.
    """
    lasts = round(watching.lasts * (1 + client.random.random()))
    what = f"{client.name}: watching {scope.resource}"
    async with client.stream(calls.watch(scope, since, timeout=lasts)) as stream:
        with _Watchdog(stream, watching.silence, client.clock, what) as watchdog:
            yield []
            splitter = Splitter(what)
            while data := await stream.read():
                watchdog.hear()
                if lines := splitter.feed(data):
                    yield list(_decode(lines, what))


class Splitter:
    """Puts lines together of what comes in, in whichever pieces, and each byte is looked at once."""

    def __init__(self, what: str) -> None:
        self._what = what
        self._rest = bytearray()

    def feed(self, data: bytes) -> list[bytes]:
        """Return the lines that have come to their end; raises `errors.TooLong` for one that does not."""
        first, newline, more = data.partition(b"\n")
        self._rest += first
        if len(self._rest) > LONGEST_OBJECT:
            raise errors.TooLong(f"{self._what}: an event longer than {LONGEST_OBJECT} bytes")
        if not newline:
            return []
        whole = bytes(self._rest)
        *lines, rest = more.split(b"\n")
        self._rest = bytearray(rest)
        return [whole, *lines]


class _Watchdog:
    """Fails a stream that has been silent for too long; one timer for all that comes in."""

    def __init__(self, stream: Stream, silence: Seconds, clock: Clock, what: str) -> None:
        self._stream = stream
        self._silence = silence
        self._clock = clock
        self._what = what
        self._heard = clock.monotonic()
        self._timer = clock.call_later(silence, self._look)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._timer.cancel()

    def hear(self) -> None:
        """Take note that something came."""
        self._heard = self._clock.monotonic()

    def _look(self) -> None:
        left = self._heard + self._silence - self._clock.monotonic()
        if left > 0:
            self._timer = self._clock.call_later(left, self._look)
        else:
            self._stream.fail(Silent(f"{self._what}: silent for {self._silence:g} s"))


def _decode(lines: list[bytes], what: str) -> Iterator[Event]:
    for line in lines:
        try:
            event = _event(line)
        except msgspec.DecodeError as error:
            raise errors.ServerFailure(f"{what}: an event that is not JSON: {error}") from error
        if event.type == "ERROR":
            raise errors.from_status(what, _STATUS.decode(event.object))
        yield event


def _event(line: bytes) -> Event:
    """Open the envelope of an event; to decode it would take as long as all that is decoded of the object."""
    for type, start in _USUAL.items():
        if line.startswith(start) and line.endswith(b"}"):
            return Event(type, memoryview(line)[len(start) : -1])
    envelope = _ENVELOPE.decode(line)
    return Event(envelope.type, memoryview(envelope.object))
