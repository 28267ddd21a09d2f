"""Keeps the account of order and room up to date, and wakes whom a pass over it concerns."""

import asyncio
from collections.abc import Callable, Mapping
from typing import NamedTuple

from jobferry.clock import Clock, Seconds, Timer
from jobferry.core import view, wishes
from jobferry.core.gangs import Gangs
from jobferry.core.key import WorkloadKey
from jobferry.core.line import Held
from jobferry.core.room import Amounts, Lack, amounts
from jobferry.core.steps import Want
from jobferry.core.view import View
from jobferry.dispatch.heads import WorkloadHead
from jobferry.kinds.adapter import Adapter
from jobferry.kube.decoded import Decoded
from jobferry.kube.items import Item

SETTLE_WITHIN: Seconds = 3.0
"""How long the workers that come first wait for the others: else all that waits would go to the first."""


class _Need(NamedTuple):
    """What a placed workload needs, and of what that was worked out."""

    generation: int
    worker: str
    demand: Amounts


class Admitting:
    """The account of one dispatcher; `wake` is told of every workload that a pass concerns."""

    def __init__(
        self, clock: Clock, wake: Callable[[WorkloadKey], None], decoded: Decoded
    ) -> None:
        self._clock = clock
        self._wake = wake
        self._decoded = decoded
        self._admission = Gangs[WorkloadKey]()
        self._needs: dict[WorkloadKey, _Need] = {}
        self._workers: dict[str, view.Worker] = {}
        self._is_acting = False
        self._settles_until: Seconds = 0.0
        self._soon: asyncio.Handle | None = None
        self._later: Timer | None = None

    # What is known

    def reserved(self, key: WorkloadKey) -> str | None:
        """Return the worker where a workload may be placed now."""
        return self._admission.reservation(key)

    def lacks(self, key: WorkloadKey) -> Callable[[], Mapping[str, Lack]] | None:
        """Return what tells why a workload waits; None if no pass has come to it yet."""
        if not self._admission.is_weighed(key):
            return None
        return lambda: self._admission.lacks(key)

    def held(self, key: WorkloadKey) -> Held | None:
        """Say why a workload is not in line that waits for the others of its gang; None: it is not so."""
        return self._admission.held(key)

    def follows(self, key: WorkloadKey) -> bool:
        """Tell whether a workload has to leave its worker because some of its gang have."""
        return self._admission.follows(key)

    def waits(self, key: WorkloadKey) -> bool:
        """Tell whether a workload is in line, or has a place that it has not taken yet."""
        return self._admission.has(key)

    # What changes

    def begin(self) -> None:
        """Begin to act: all that waits is going to be reconciled, and to say so."""
        self._is_acting = True
        self._settles_until = self._clock.monotonic() + SETTLE_WITHIN

    def end(self) -> None:
        """Act no more: who waits for what is for another to know."""
        self._is_acting = False
        self._admission.clear()
        if self._later is not None:
            self._later.cancel()

    def note_workload(
        self,
        key: WorkloadKey,
        item: Item[WorkloadHead] | None,
        worker: str | None,
        kind: Adapter,
    ) -> None:
        """Take note that a workload came, went, was placed, changed or ended; `worker` is where it was placed."""
        self._note_gang(key, item)
        if item is None or worker is None or item.head.is_over:
            if self._needs.pop(key, None) is not None:
                self._admission.remove(key)
                self._pass_soon()
            return
        generation, known = item.head.metadata.generation, self._needs.get(key)
        if known is None or (known.generation, known.worker) != (generation, worker):
            # Else its status is another, as most of the time.
            need = _Need(generation, worker, amounts(kind.demand(self._decoded(item))))
            self._needs[key] = need
            self._admission.place(key, worker, need.demand)
            self._pass_soon()

    def reweigh(
        self,
        key: WorkloadKey,
        item: Item[WorkloadHead],
        worker: str | None,
        kind: Adapter,
    ) -> None:
        """Work out anew what a placed workload needs: what it refers to is another now."""
        self._needs.pop(key, None)
        self.note_workload(key, item, worker, kind)

    def _note_gang(self, key: WorkloadKey, item: Item[WorkloadHead] | None) -> None:
        """Take note of those that a workload goes with, which are the same for ever of most: none."""
        gang = None if item is None else item.head.gang
        if item is None or gang is None or item.head.metadata.deletion_timestamp is not None:
            is_ganged = self._admission.note(key, None)
        else:
            is_ganged = self._admission.note(key, gang, is_done=item.head.has_ended)
        if is_ganged:
            self._pass_soon()

    def note_worker(self, name: str, seen: view.Worker | None) -> None:
        """Take note of what a worker takes now; None: it is gone."""
        before = self._workers.pop(name, None)
        if seen is None:
            self._admission.close(name)
        else:
            if (
                seen.is_up
                and before is not None
                and not before.is_up
                and self._most_were_lost()
            ):
                self._settles_until = self._clock.monotonic() + SETTLE_WITHIN
            self._workers[name] = seen
            wishes.note(self._admission, seen)
        if self._are_all_up():
            self._settles_until = 0.0  # who is added later is not waited for
        self._pass_soon()

    def note_wish(
        self, key: WorkloadKey, seen: View, wants: Want | None, kind: Adapter
    ) -> None:
        """Take note of what a workload wants that has just been reconciled."""
        if wants is None or seen.hub is None:
            self.withdraw(key)
        else:
            self._admission.want(wishes.wish(key, seen, kind, seen.hub, wants))
            self._pass_soon()

    def withdraw(self, key: WorkloadKey) -> None:
        """Take note that a workload wants nothing, or cannot have it now: others may."""
        self._admission.withdraw(key)
        self._pass_soon()

    def wake_all(self) -> None:
        """Wake all who are in line: they may wish something else now."""
        for key in self._admission.workloads():
            self._wake(key)

    # The pass

    def _pass_soon(self) -> None:
        """Have a pass after all that is reconciled now: who comes first is a matter of chance."""
        if self._is_acting and self._soon is None and self._admission.has_news:
            self._soon = asyncio.get_running_loop().call_soon(self._pass)

    def _pass(self) -> None:
        self._soon = None
        if not self._is_acting:
            return
        left = self._settles_until - self._clock.monotonic()
        if left > 0 and not self._are_all_up():
            if self._later is not None:
                self._later.cancel()
            self._later = self._clock.call_later(left, self._pass)
            return
        outcome = self._admission.admit(self._clock.now().timestamp())
        for made in outcome.admitted:
            self._wake(made.workload)
        for key in outcome.waiting:
            self._wake(key)

    def _are_all_up(self) -> bool:
        return all(worker.is_up for worker in self._workers.values())

    def _most_were_lost(self) -> bool:
        """Tell whether so many workers are out of reach, besides one that comes back, that it was us."""
        lost = 1 + sum(not worker.is_up for worker in self._workers.values())
        return view.are_most(lost, len(self._workers) + 1)
