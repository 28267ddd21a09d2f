"""ResourceQuota: what is made in a namespace is charged to its quotas before it is stored.

Requests that come while a quota is being written are checked together afterwards, and written in
one go: so a burst costs few writes, and none of them meets another's.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime

from jobferry.clock import Clock
from jobferry.localkube.apiserver.admission import quota_check
from jobferry.localkube.apiserver.admission.cluster import Cluster
from jobferry.localkube.apiserver.admission.plugin import Plugin
from jobferry.localkube.apiserver.admission.quota_check import Book
from jobferry.localkube.apiserver.admission.quota_evaluators import (
    IGNORED,
    Evaluator,
    evaluator_of,
)
from jobferry.localkube.apiserver.admission.request import CREATE, UPDATE, Request, Topic
from jobferry.localkube.apiserver.status import StatusError

_RETRIES = 3
"""How often a write is tried again that met another one."""


@dataclass(slots=True, eq=False)
class _Waiter:
    """A request that waits for its verdict."""

    request: Request
    evaluator: Evaluator
    verdict: StatusError | None = None
    is_done: bool = False

    def close(self, verdict: StatusError | None = None) -> None:
        self.verdict, self.is_done = verdict, True


@dataclass(slots=True)
class _Counter:
    """Where the requests of one namespace queue up."""

    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    waiting: list[_Waiter] = field(default_factory=list)
    visitors: int = 0


def plugin(cluster: Cluster, clock: Clock) -> Plugin:
    """Return the plugin."""
    quotas = _Quotas(cluster, clock)
    return Plugin(name="ResourceQuota", handles=_handles, validate=quotas.validate)


def _handles(topic: Topic) -> bool:
    kind = (topic.group, topic.resource)
    if topic.operation not in (CREATE, UPDATE) or kind in IGNORED or kind == ("", "namespaces"):
        return False
    return evaluator_of(*kind).handles(topic)


class _Quotas:
    """The quotas of all namespaces."""

    def __init__(self, cluster: Cluster, clock: Clock) -> None:
        self._cluster = cluster
        self._clock = clock
        self._evaluators: dict[tuple[str, str], Evaluator] = {}
        self._counters: dict[str, _Counter] = {}

    async def validate(self, request: Request) -> None:
        """Charge a request to every quota that it concerns, or refuse it."""
        namespace = request.namespace
        if not namespace or not self._cluster.list("", "resourcequotas", namespace):
            return
        evaluator = self._evaluator(request)
        if not evaluator.concerns(request):
            return
        waiter = _Waiter(request, evaluator)
        await self._queue_up(request.namespace, waiter)
        if waiter.verdict is not None:
            raise waiter.verdict

    def _evaluator(self, request: Request) -> Evaluator:
        key = (request.group, request.resource)
        found = self._evaluators.get(key)
        if found is None:
            found = self._evaluators[key] = evaluator_of(*key)
        return found

    def _books(self, namespace: str) -> list[Book]:
        return [Book.of(each) for each in self._cluster.list("", "resourcequotas", namespace)]

    async def _queue_up(self, namespace: str, waiter: _Waiter) -> None:
        counter = self._counters.setdefault(namespace, _Counter())
        counter.visitors += 1
        counter.waiting.append(waiter)
        try:
            async with counter.lock:
                # Whoever had the lock before may have served us, too.
                if not waiter.is_done:
                    await self._serve(namespace, counter)
        finally:
            if waiter in counter.waiting:
                counter.waiting.remove(waiter)
            counter.visitors -= 1
            if not counter.visitors:
                del self._counters[namespace]

    async def _serve(self, namespace: str, counter: _Counter) -> None:
        """Give everyone who waits a verdict."""
        batch, counter.waiting = counter.waiting, []
        try:
            await self._check(self._books(namespace), batch)
        finally:
            # Left over only if whoever serves was called off: the next one in the queue goes on.
            counter.waiting[:0] = [waiter for waiter in batch if not waiter.is_done]

    async def _check(self, books: Sequence[Book], batch: Sequence[_Waiter]) -> None:
        # The first quota of each attempt is written as it was read; so many attempts write them all.
        retries = max(_RETRIES, len(books))
        while True:
            after = _charge_all(books, batch, self._clock.now())
            failed, error = await self._write(books, after)
            if not failed or error is None or not retries:
                break
            retries -= 1
            # The others were written, and so are charged already; a quota that is gone asks nothing.
            namespace = batch[0].request.namespace
            books = [book for book in self._books(namespace) if book.name in failed]
        for waiter in batch:
            if not waiter.is_done:
                waiter.close(error)

    async def _write(
        self, before: Sequence[Book], after: Sequence[Book]
    ) -> tuple[set[str], StatusError | None]:
        """Write what changed; return what could not be written, and the last reason."""
        failed: set[str] = set()
        error: StatusError | None = None
        for old, new in zip(before, after, strict=True):
            if new is not old:
                try:
                    await self._cluster.update_status("", "resourcequotas", new.written())
                except StatusError as refusal:
                    failed.add(new.name)
                    error = refusal
        return failed, error


def _charge_all(
    books: Sequence[Book], batch: Sequence[_Waiter], now: datetime
) -> Sequence[Book]:
    """Charge one request after the other; close those that are refused or change nothing."""
    for waiter in batch:
        if waiter.is_done:
            continue
        try:
            charged = quota_check.charge(books, waiter.request, waiter.evaluator, now)
        except StatusError as refusal:
            waiter.close(refusal)
            continue
        if waiter.request.dry_run or all(map(_is, charged, books)):
            waiter.close()
            if waiter.request.dry_run:
                continue
        books = charged
    return books


def _is(one: object, other: object) -> bool:
    return one is other
