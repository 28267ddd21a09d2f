"""Leader election on a Lease: of several candidates at most one works at any time.

    candidate = lease.Candidate(client, Key("jobferry", "dispatcher"), me=identity)
    await candidate.lead(dispatcher.run)

Nobody reads the clock of another. The leader counts from the moment at which it sent its last renewal that
succeeded, and stops after `deadline`; the others count from the moment at which they saw that renewal, which is
later, and take over after `duration`, which is longer. A renewal that they did not see makes their write fail:
each is guarded by the resourceVersion it was decided on.

What can be decided is decided by pure functions on a `State`; `Candidate` looks, writes and waits as they say.
"""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import partial
from math import inf

import msgspec

from jobferry import log
from jobferry.clock import Seconds, timeout
from jobferry.errors import BadInput, Error, Transient
from jobferry.kube import errors
from jobferry.kube.cache import Change
from jobferry.kube.calls import Scope
from jobferry.kube.client import Client
from jobferry.kube.informer import Informer
from jobferry.kube.items import Head, Key
from jobferry.kube.resources import LEASES
from jobferry.kube.watch import Watching
from jobferry.objects import Obj
from jobferry.runtime import supervise

JITTER = 0.1
"""The share of `retry` by which a candidate is late at random, so that not all try at the same moment."""

_log = log.get(__name__)


class LeadershipLost(Transient):
    """Somebody else leads, or may soon: the work was stopped."""

    hint = "Look at who holds the Lease, and whether the API server answers in time."


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """How long leadership lasts."""

    duration: int = 15
    """Seconds after the last renewal that was seen until somebody else may take over."""

    deadline: Seconds = 10.0
    """A leader that could not renew for this long stops; what is left of `duration` is for cleaning up."""

    retry: Seconds = 2.0
    """A leader renews this often; whoever failed to reach the server waits this long."""

    def __post_init__(self) -> None:
        if not 0 < 2 * self.retry <= self.deadline < self.duration:
            raise BadInput(
                f"a lease of {self.duration} s, to be renewed within {self.deadline:g} s, tried every"
                f" {self.retry:g} s, is not safe",
                hint="The deadline must be less than the duration and give time for two tries.",
            )


TERMS = Terms()
"""What Kubernetes' own controllers use."""


class Spec(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """What a Lease says."""

    holder_identity: str = ""
    lease_duration_seconds: int = 0
    lease_transitions: int = 0
    renew_time: str = ""


class Record(Head, frozen=True, gc=False):
    """A Lease as it was at one resourceVersion."""

    spec: Spec = Spec()


# What is known, and what to do about it


@dataclass(frozen=True, slots=True)
class State:
    """All that a candidate knows; times are readings of its own monotonic clock."""

    record: Record | None = None
    """The Lease as last seen; None: there was none."""

    is_current: bool = False
    """False until the Lease was looked at, and after it proved to be another than `record`."""

    free_at: Seconds = -inf
    """From then on nobody leads, if `record` stays as it is."""

    renewed_at: Seconds | None = None
    """When the write was sent by which we lead; None: we do not."""

    rest_until: Seconds = -inf
    """A try failed; the next one is not before this."""

    @property
    def holder(self) -> str:
        """Who leads according to the Lease; empty: nobody."""
        return self.record.spec.holder_identity if self.record else ""


@dataclass(frozen=True, slots=True)
class Look:
    """Read the Lease."""

    within: Seconds


@dataclass(frozen=True, slots=True)
class Write:
    """Write ourselves into the Lease."""

    within: Seconds


@dataclass(frozen=True, slots=True)
class Wait:
    """Do nothing for so long, unless there is news."""

    delay: Seconds


@dataclass(frozen=True, slots=True)
class StepDown:
    """Stop leading, at once."""

    why: str


Action = Look | Write | Wait | StepDown


def see(state: State, record: Record | None, now: Seconds) -> State:
    """Take in what the Lease looks like now."""
    if record is None:
        # Deleted by hand. Whoever held it may not have noticed, so `free_at` stays as it was.
        return replace(state, record=None)
    if record == state.record:
        return state
    held = record.spec.lease_duration_seconds if record.spec.holder_identity else 0
    return replace(state, record=record, free_at=now + held)


def decide(state: State, me: str, terms: Terms, now: Seconds, chance: float) -> Action:
    """Say what a candidate does now; `chance` is a random number from 0 to 1."""
    if state.renewed_at is None:
        return _as_standby(state, me, terms, now, chance)
    if why := why_not(state, me, terms, now):
        return StepDown(why)
    return _as_leader(state, state.renewed_at, terms, now)


def why_not(state: State, me: str, terms: Terms, now: Seconds) -> str | None:
    """Say why we must not act as the leader; None: we may."""
    if state.renewed_at is None:
        return "it was not taken"
    if now >= state.renewed_at + terms.deadline:
        return f"it could not be renewed within {terms.deadline:g} s"
    if state.record is None:
        return "it was deleted"
    if state.holder != me:
        return f"{state.holder or 'nobody'} holds it"
    return None


def _as_standby(state: State, me: str, terms: Terms, now: Seconds, chance: float) -> Action:
    late = JITTER * terms.retry * chance
    if now < state.rest_until:
        return Wait(state.rest_until - now + late)
    if not state.is_current:
        return Look(_patience(terms))
    # Ours without leading: the answer to an earlier write never came.
    if state.holder == me or now >= state.free_at:
        return Write(_patience(terms))
    return Wait(state.free_at - now + late)


def _as_leader(state: State, renewed_at: Seconds, terms: Terms, now: Seconds) -> Action:
    left = renewed_at + terms.deadline - now
    due = max(state.rest_until, renewed_at + terms.retry if state.is_current else -inf)
    if now < due:
        return Wait(min(due - now, left))
    within = min(_patience(terms), left)
    return Write(within) if state.is_current else Look(within)


def _patience(terms: Terms) -> Seconds:
    # One answer that never comes must not cost the leadership: a second try has to fit in.
    return terms.deadline / 2


def claim(record: Record | None, me: str, terms: Terms, now: datetime) -> Obj:
    """Return what to write into a Lease to take or keep it; `now` only informs people."""
    spec: Obj = {"holderIdentity": me, "leaseDurationSeconds": terms.duration}
    if record is None or record.spec.holder_identity != me:
        spec["acquireTime"] = micro_time(now)
        spec["leaseTransitions"] = record.spec.lease_transitions + 1 if record else 0
    elif record.spec.renew_time == micro_time(now):
        # A write that changes nothing is none, and the others would not see it.
        now += timedelta(microseconds=1)
    return {**spec, "renewTime": micro_time(now)}


def release(now: datetime) -> Obj:
    """Return what to write into a Lease to give it up."""
    return {"holderIdentity": "", "leaseDurationSeconds": 1, "renewTime": micro_time(now)}


def micro_time(when: datetime) -> str:
    """Return a time in UTC as the API's MicroTime."""
    return when.strftime("%Y-%m-%dT%H:%M:%S.%fZ")


# Doing it


class Candidate:
    """One who wants to lead; `me` must be the name of nobody else, not even of our next process.

    Needs the rights get, create and patch on the Lease; with list and watch it hears of a release at once.
    """

    def __init__(self, client: Client, key: Key, *, me: str, terms: Terms = TERMS) -> None:
        if not me:
            raise BadInput(f"a candidate for the lease {key} needs a name")
        self._client = client
        self._clock = client.clock
        self._key = key
        self._me = me
        self._terms = terms
        self._state = State()
        self._trouble: Error | None = None
        self._news = asyncio.Event()
        self._informer = Informer(
            client,
            Scope(resource=LEASES, namespace=key.namespace, fields=f"metadata.name={key.name}"),
            Record,
            watching=Watching(silence=terms.duration),  # a living leader renews more often
        )
        self._informer.listen(self._hear)
        self._log = _log.bind(cluster=client.name, lease=key, me=me)

    @property
    def is_leading(self) -> bool:
        """Whether we may act now; right also when this process was stopped for a while."""
        return why_not(self._state, self._me, self._terms, self._clock.monotonic()) is None

    @property
    def holder(self) -> str:
        """Who leads, as far as we know; empty: nobody."""
        return self._state.holder

    async def lead(self, run: supervise.Run) -> None:
        """Wait for the leadership, run `run`, and give the leadership up when it ends.

        When the leadership is lost, `run` is cancelled and, once it has ended, `LeadershipLost` raised.
        """
        try:
            async with supervise.tasks(f"lease {self._key}", clock=self._clock) as tasks:
                tasks.start("watch", self._informer.run)
                while not self.is_leading:
                    await self._step()
                self._log.info("Leading")
                tasks.start("renew", self._renew)
                await run()
        finally:
            is_held = self.is_leading
            self._state = replace(self._state, renewed_at=None, is_current=False)
            if is_held:
                await self._give_up()

    async def _renew(self) -> None:
        while True:
            await self._step()

    async def _step(self) -> None:
        """Carry out one decision."""
        state, now, chance = self._state, self._clock.monotonic(), self._client.random.random()
        match decide(state, self._me, self._terms, now, chance):
            case Look(within):
                await self._try(self._look, within)
            case Write(within):
                # Guarded by what was decided on, even if there should be news by the time it is sent.
                await self._try(partial(self._write, state.record), within)
            case Wait(delay):
                await self._wait(delay)
            case StepDown(why):
                because = f": {self._trouble}" if self._trouble else ""
                raise LeadershipLost(f"lost the lease {self._key}: {why}{because}")

    async def _try(self, act: Callable[[], Awaitable[None]], within: Seconds) -> None:
        """Look or write; what fails for the moment is tried again later."""
        began = self._clock.monotonic()
        try:
            async with timeout(self._clock, within):
                await act()
        except (errors.Conflict, errors.AlreadyExists):
            self._state = replace(self._state, is_current=False)
        except TimeoutError:
            self._rest(began, errors.Timeout(f"no answer within {within:g} s"))
        except Error as error:
            # Of rights that are missing a standby says so and ends; a leader has them, and may yet again.
            if not isinstance(error, Transient) and not self.is_leading:
                raise
            self._rest(began, error)
        else:
            self._trouble = None

    def _rest(self, began: Seconds, error: Error) -> None:
        if type(error) is not type(self._trouble):
            self._log.warning("Lease out of reach", error=error, hint=error.hint)
        self._trouble = error
        self._state = replace(self._state, rest_until=began + self._terms.retry)

    async def _look(self) -> None:
        try:
            answer = await self._client.get(LEASES, self._key.name, self._key.namespace)
        except errors.NotFound:
            self._see(None)
        else:
            self._informer.absorb(answer)
        self._state = replace(self._state, is_current=True)

    async def _write(self, record: Record | None) -> None:
        sent = self._clock.monotonic()
        try:
            await self._save(record, claim(record, self._me, self._terms, self._clock.now()))
        except errors.NotFound:
            if record is None:
                raise  # not the Lease is missing but its namespace
            self._see(None)
        else:
            self._state = replace(self._state, renewed_at=sent)

    async def _save(self, record: Record | None, spec: Obj) -> None:
        namespace, name = self._key
        if record is None:
            lease = {"metadata": {"namespace": namespace, "name": name}, "spec": spec}
            answer = await self._client.create(LEASES, lease)
        else:
            guard = {"resourceVersion": record.metadata.resource_version}
            body = {"metadata": guard, "spec": spec}
            answer = await self._client.patch(LEASES, name, body, namespace=namespace)
        self._informer.absorb(answer)

    async def _give_up(self) -> None:
        """Tell the others that they need not wait; if that fails, they wait."""
        try:
            async with timeout(self._clock, _patience(self._terms)):
                await self._release()
        except (Error, TimeoutError) as error:
            self._log.warning("Lease not released", error=error)
        else:
            self._log.info("Stopped leading")

    async def _release(self) -> None:
        try:
            await self._save(self._state.record, release(self._clock.now()))
        except errors.Conflict:
            # A renewal was under way when we stopped, and came first.
            await self._look()
            if self.holder == self._me:
                await self._save(self._state.record, release(self._clock.now()))

    async def _wait(self, delay: Seconds) -> None:
        self._news.clear()
        with suppress(TimeoutError):
            async with timeout(self._clock, delay):
                await self._news.wait()

    def _hear(self, change: Change[Record]) -> None:
        self._see(None if change.after is None else change.after.head)

    def _see(self, record: Record | None) -> None:
        before = self.holder
        self._state = see(self._state, record, self._clock.monotonic())
        self._news.set()
        if self.holder != before:
            self._log.info("Lease changed hands", holder=self.holder or "nobody")
