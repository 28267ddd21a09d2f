"""Leader election on a Lease: of several candidates at most one works at any time.

    candidate = lease.Candidate(client, Key("jobferry", "dispatcher"), me=identity)
    await candidate.lead(dispatcher.run)

What is to be done, `leadership` decides; a `Candidate` looks, writes and waits as it says.
"""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import replace
from functools import partial

import msgspec

from jobferry import log
from jobferry.clock import Seconds, timeout
from jobferry.errors import BadInput, Error, Transient
from jobferry.kube import errors, items, leadership
from jobferry.kube.cache import Change
from jobferry.kube.calls import Scope
from jobferry.kube.client import Client
from jobferry.kube.informer import Informer
from jobferry.kube.items import Key, Metadata
from jobferry.kube.leadership import (
    TERMS,
    LeaseHead,
    ReadLease,
    State,
    StepDown,
    Terms,
    Wait,
    WriteLease,
)
from jobferry.kube.resources import LEASES
from jobferry.kube.watch import Watching
from jobferry.objects import Obj
from jobferry.runtime import supervise

_log = log.get(__name__)


class LeadershipLost(Transient):
    """Somebody else leads, or may soon: the work was stopped."""

    hint = "ReadLease at who holds the Lease, and whether the API server answers in time."


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
        self._refuted: LeaseHead | None = None
        self._news = asyncio.Event()
        self._informer = Informer(
            client,
            Scope(resource=LEASES, namespace=key.namespace, fields=f"metadata.name={key.name}"),
            LeaseHead,
            watching=Watching(silence=terms.duration),  # a living leader renews more often
        )
        self._informer.listen(self._hear)
        self._log = _log.bind(cluster=client.name, lease=key, me=me)

    @property
    def is_leading(self) -> bool:
        """Whether we may act now; right also when this process was stopped for a while."""
        now = self._clock.monotonic()
        return leadership.why_not(self._state, self._me, self._terms, now) is None

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
            may_hold = self.is_leading or self._may_have_claimed
            self._state = replace(
                self._state, renewed_at=None, is_current=False, is_in_doubt=False
            )
            if may_hold:
                await self._give_up()

    @property
    def _may_have_claimed(self) -> bool:
        return leadership.may_have_claimed(self._state, self._me, self._clock.monotonic())

    async def _renew(self) -> None:
        while True:
            await self._step()

    async def _step(self) -> None:
        """Carry out one decision."""
        state, now, chance = self._state, self._clock.monotonic(), self._client.random.random()
        match leadership.decide(state, self._me, self._terms, now, chance):
            case ReadLease(within):
                await self._try(self._look, within)
            case WriteLease(within):
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
            self._state = replace(self._state, is_current=False, is_in_doubt=False)
        except TimeoutError:
            self._rest(began, errors.Timeout(f"no answer within {within:g} s"))
        except Transient as error:
            self._rest(began, error)
        except Error as error:
            # Of rights that are missing a standby says so and ends; a leader has them, and may yet again.
            self._state = replace(self._state, is_in_doubt=False)
            if not self.is_leading:
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
            if self._state.record is self._refuted is not None:
                # The server went back to a time before what the informer has, which would not go back for that.
                self._see(
                    LeaseHead(
                        items.metadata(answer, Metadata),
                        msgspec.convert(answer.get("spec") or {}, leadership.Spec),
                    )
                )
        self._state = replace(self._state, is_current=True)

    async def _write(self, record: LeaseHead | None) -> None:
        sent = self._clock.monotonic()
        # Until there is an answer, and for good if it never comes, the Lease may be ours or not.
        self._state = replace(self._state, is_in_doubt=not self.is_leading)
        try:
            await self._save(
                record, leadership.claim(record, self._me, self._terms, self._clock.now())
            )
        except errors.NotFound:
            if record is None:
                raise  # not the Lease is missing but its namespace
            self._see(None)
        except errors.Conflict:
            self._refuted = record
            raise
        else:
            self._state = replace(self._state, renewed_at=sent)
        self._state = replace(self._state, is_in_doubt=False)

    async def _save(self, record: LeaseHead | None, spec: Obj) -> None:
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
            async with timeout(self._clock, self._terms.patience):
                await self._release()
        except (Error, TimeoutError) as error:
            self._log.warning("Lease not released", error=str(error) or "no answer in time")
        else:
            self._log.info("Lease released")

    async def _release(self) -> None:
        # Guarded by what a write was decided on that may still be under way: one of the two fails.
        try:
            await self._save(self._state.record, leadership.release(self._clock.now()))
        except (errors.Conflict, errors.AlreadyExists):
            await self._look()
            if self.holder == self._me:
                await self._save(self._state.record, leadership.release(self._clock.now()))

    async def _wait(self, delay: Seconds) -> None:
        self._news.clear()
        with suppress(TimeoutError):
            async with timeout(self._clock, delay):
                await self._news.wait()

    def _hear(self, change: Change[LeaseHead]) -> None:
        self._see(None if change.after is None else change.after.head)

    def _see(self, record: LeaseHead | None) -> None:
        before = self.holder
        self._state = leadership.see(self._state, record, self._clock.monotonic())
        self._news.set()
        if self.holder != before:
            self._log.info("Lease changed hands", holder=self.holder or "nobody")
