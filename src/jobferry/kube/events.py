"""Tells people what happens to an object, by Events that `kubectl describe` shows.

    recorder = events.Recorder(client, component="jobferry", instance=identity)
    recorder.record(Subject(JOBS, item.key, item.uid), "Normal", "Placed", "Placed on east")

Nobody waits for an Event: `record` only notes it, `run` posts what was noted, and what cannot be posted is
dropped and counted. What was said before is not said again but counted, on the Event that is there.
"""

import asyncio
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from datetime import datetime
from itertools import chain
from typing import Literal, NamedTuple

from jobferry import log
from jobferry.clock import Seconds, sleep
from jobferry.errors import Error, Transient
from jobferry.kube import errors
from jobferry.kube.client import Client
from jobferry.kube.items import Key
from jobferry.kube.resources import EVENTS
from jobferry.objects import Obj
from jobferry.objects.resource import Resource
from jobferry.objects.times import timestamp
from jobferry.runtime.backoff import Backoff

Type = Literal["Normal", "Warning"]

Tell = Callable[[Obj, Type, str, str], None]
"""Tells people about an object: type, reason, message."""

LONGEST_MESSAGE = 1024
"""In bytes."""

LONGEST_NAME = 253
POSTING = 8
"""Requests in flight; those about one object go one after the other."""

BACKOFF = Backoff(first=1.0, cap=30.0)

_log = log.get(__name__)


class Subject(NamedTuple):
    """What an Event is about."""

    resource: Resource
    key: Key
    uid: str


Record = Callable[[Subject, Type, str, str], None]
"""Tells people about a subject: type, reason, message (`Recorder.record`)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """How much is said; mostly what Kubernetes' own components keep to."""

    window: Seconds = 600.0
    """What is said again within this time is counted; later it is news."""

    messages: int = 10
    """Different messages with one reason about one object; further ones share one Event."""

    burst: int = 25
    """Requests of one type about one object before `pause` applies."""

    pause: Seconds = 300.0
    """After the burst, one more request is granted each time this has passed."""

    subjects: int = 4096
    """Objects of which is remembered what was said."""

    waiting: int = 1000
    """Events that may wait to be posted; beyond that the oldest is dropped, Normal ones first."""


LIMITS = Limits()


@dataclass(frozen=True, slots=True, kw_only=True)
class Stats:
    """What became of what was recorded, since the start."""

    waiting: int
    posted: int
    """Requests that succeeded; one may stand for many records."""

    dropped: int
    """Requests that were not made, or failed for good."""


@dataclass(slots=True)
class _Series:
    """One Event, and how often it was recorded."""

    subject: Subject
    type: Type
    reason: str
    message: str
    name: str
    first: datetime
    last: datetime
    heard: Seconds
    count: int = 0
    is_posted: bool = False

    @property
    def namespace(self) -> str:
        return self.subject.key.namespace or "default"


@dataclass(slots=True)
class _History:
    """What was said about one object with one type."""

    tokens: float
    refilled: Seconds
    series: dict[tuple[str, str | None], _Series] = field(default_factory=dict)

    def slot(
        self, reason: str, message: str, now: Seconds, limits: Limits
    ) -> tuple[str, str | None]:
        """Say where the Event is kept; None in place of the message: with others like it."""
        self.series = {
            slot: series
            for slot, series in self.series.items()
            if now - series.heard <= limits.window
        }
        if (reason, message) in self.series:
            return reason, message
        alike = sum(known == reason for known, _ in self.series)
        return reason, message if alike < limits.messages else None

    def may_post(self, now: Seconds, limits: Limits) -> bool:
        """Take one of the requests that are granted to this object, if one is left."""
        granted = (now - self.refilled) / limits.pause
        self.tokens, self.refilled = min(limits.burst, self.tokens + granted), now
        if self.tokens < 1:
            return False
        self.tokens -= 1
        return True


class Recorder:
    """Records Events on one cluster in the name of `component`; `instance` is which one of several.

    Needs the rights create and patch on events.
    """

    def __init__(
        self, client: Client, *, component: str, instance: str, limits: Limits = LIMITS
    ) -> None:
        self._client = client
        self._clock = client.clock
        self._component = component
        self._instance = instance
        self._limits = limits
        self._histories: OrderedDict[tuple[str, Type], _History] = OrderedDict()
        # By name, in the order in which they came; those of the first type go first and stay longest.
        self._waiting: dict[Type, OrderedDict[str, _Series]] = {
            "Warning": OrderedDict(),
            "Normal": OrderedDict(),
        }
        self._news = asyncio.Event()
        self._in_work: set[str] = set()
        """The UIDs of the objects about which something is being posted."""
        self._complaints: set[type[Error]] = set()
        self._posted = 0
        self._dropped = 0

    def record(self, subject: Subject, type_: Type, reason: str, message: str) -> None:
        """Note that something happened to an object; never waits and never fails."""
        now = self._clock.monotonic()
        history = self._history(subject, type_, now)
        series = self._series(history, subject, type_, reason, _shortened(message))
        series.count += 1
        series.last, series.heard = self._clock.now(), now
        if series.name in self._waiting[type_]:
            return  # it goes out with the new count
        if history.may_post(now, self._limits):
            self._enqueue(series)
        else:
            self._dropped += 1

    def stats(self) -> Stats:
        """Return what became of what was recorded."""
        return Stats(waiting=self._count_waiting(), posted=self._posted, dropped=self._dropped)

    async def run(self) -> None:
        """Post what is recorded, a few at a time, until cancelled."""
        async with asyncio.TaskGroup() as group:
            for number in range(POSTING):
                group.create_task(self._post_all(), name=f"events {number}")

    # Noting

    def _history(self, subject: Subject, type_: Type, now: Seconds) -> _History:
        histories, key = self._histories, (subject.uid, type_)
        if key not in histories:
            histories[key] = _History(self._limits.burst, now)
        histories.move_to_end(key)
        if len(histories) > self._limits.subjects:
            histories.popitem(last=False)
        return histories[key]

    def _series(
        self, history: _History, subject: Subject, type_: Type, reason: str, message: str
    ) -> _Series:
        """Return the Event that says this, or a new one."""
        now, today = self._clock.monotonic(), self._clock.now()
        slot = history.slot(reason, message, now, self._limits)
        if slot not in history.series:
            suffix = f".{self._client.random.getrandbits(64):016x}"
            name = subject.key.name[: LONGEST_NAME - len(suffix)] + suffix
            history.series[slot] = _Series(
                subject, type_, reason, message, name, first=today, last=today, heard=now
            )
        if slot[1] is None:
            history.series[slot].message = _shortened(f"(one of many alike) {message}")
        return history.series[slot]

    def _enqueue(self, series: _Series) -> None:
        self._waiting[series.type][series.name] = series
        self._news.set()
        if self._count_waiting() > self._limits.waiting:
            queue = self._waiting["Normal"] or self._waiting["Warning"]
            queue.popitem(last=False)
            self._dropped += 1

    def _count_waiting(self) -> int:
        return sum(map(len, self._waiting.values()))

    # Posting

    async def _post_all(self) -> None:
        failures = 0
        while True:
            async with self._next() as series:
                try:
                    await self._post(series)
                except Transient as error:
                    failures += 1
                    self._put_off(series, error)
                    delay = BACKOFF.delay(failures, self._client.random.random())
                    await sleep(self._clock, delay)
                except Error as error:
                    self._give_up(error)
                else:
                    failures = 0
                    self._posted += 1

    @asynccontextmanager
    async def _next(self) -> AsyncIterator[_Series]:
        """Wait for something to post; until the end of the block nobody else posts about its object."""
        while (series := self._first()) is None:
            self._news.clear()
            await self._news.wait()
        del self._waiting[series.type][series.name]
        uid = series.subject.uid
        self._in_work.add(uid)
        try:
            yield series
        finally:
            self._in_work.discard(uid)
            self._news.set()

    def _first(self) -> _Series | None:
        everything = chain.from_iterable(queue.values() for queue in self._waiting.values())
        free = (series for series in everything if series.subject.uid not in self._in_work)
        return next(free, None)

    async def _post(self, series: _Series) -> None:
        """Create the Event, or write the new count to the one that is there."""
        if series.is_posted:
            with suppress(errors.NotFound):  # servers keep an Event for an hour only
                await self._patch(series)
                return
        try:
            await self._client.create(EVENTS, self._event(series))
        except errors.AlreadyExists:
            # An earlier try got there, only its answer was lost.
            await self._patch(series)
        series.is_posted = True

    async def _patch(self, series: _Series) -> None:
        body = _news(series)
        await self._client.patch(EVENTS, series.name, body, namespace=series.namespace)

    def _event(self, series: _Series) -> Obj:
        resource, key, uid = series.subject
        return {
            "metadata": {"name": series.name, "namespace": series.namespace},
            "involvedObject": {
                "apiVersion": resource.api_version,
                "kind": resource.kind,
                "namespace": key.namespace,
                "name": key.name,
                "uid": uid,
            },
            "type": series.type,
            "reason": series.reason,
            "firstTimestamp": timestamp(series.first),
            **_news(series),
            "source": {"component": self._component},
            "reportingComponent": self._component,
            "reportingInstance": self._instance,
        }

    def _put_off(self, series: _Series, error: Error) -> None:
        """Try again after what else waits, unless it is old news by now."""
        self._complain(error)
        if self._clock.monotonic() - series.heard > self._limits.window:
            self._dropped += 1
        else:
            self._enqueue(series)

    def _give_up(self, error: Error) -> None:
        self._dropped += 1
        if not _is_of_a_vanishing_namespace(error):
            self._complain(error)

    def _complain(self, error: Error) -> None:
        """Say what went wrong, once of each kind: Events are not worth more."""
        if type(error) not in self._complaints:
            self._complaints.add(type(error))
            _log.warning(
                "Event not posted", cluster=self._client.name, error=error, hint=error.hint
            )


def _news(series: _Series) -> Obj:
    """Return what changes when an Event is recorded again."""
    return {
        "message": series.message,
        "count": series.count,
        "lastTimestamp": timestamp(series.last),
    }


def _is_of_a_vanishing_namespace(error: Error) -> bool:
    if isinstance(error, errors.Forbidden):
        return error.is_of_a_vanishing_namespace
    return isinstance(error, errors.NotFound)


def _shortened(message: str) -> str:
    """Cut a message to what an Event may hold."""
    whole = message.encode("utf-8", "replace")  # half a surrogate pair cannot be sent
    if len(whole) <= LONGEST_MESSAGE:
        return whole.decode()
    return whole[: LONGEST_MESSAGE - 3].decode("utf-8", "ignore") + "…"
