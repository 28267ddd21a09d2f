"""Writes to Worker objects: how it stands with each, and the finalizer that guards it."""

from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta
from typing import NamedTuple

from jobferry.clock import Seconds
from jobferry.core import view
from jobferry.kube import errors
from jobferry.kube.client import Client
from jobferry.kube.events import Tell
from jobferry.kube.informer import Informer
from jobferry.kube.items import Item
from jobferry.objects import Obj, merge_patch
from jobferry.runtime.reconcile import DONE, Again, Outcome
from jobferry.workers import removal, status
from jobferry.workers.link import Link
from jobferry.workers.resource import WORKERS, WorkerHead, finalizer
from jobferry.workers.status import CONFIRM_EVERY, Facts

CONFIRM = timedelta(seconds=CONFIRM_EVERY)

COUNT_EVERY: Seconds = 10.0
"""How often it is written at most how many mirrors a worker has: a write for each would be a storm."""

LOOK_EVERY: Seconds = 2.0
"""How often it is looked whether a Worker that is being removed can go: what it waits for tells nobody."""


class Counts(NamedTuple):
    """How much work one dispatcher has on a worker."""

    mirrors: int
    active: int


class Load(NamedTuple):
    """How many unfinished workloads of one dispatcher are placed on a worker."""

    active: int
    hidden: int = 0
    """Of these, how many are in namespaces out of sight."""


class Caretaker:
    """Keeps the Worker objects of one dispatcher; `load` counts its unfinished workloads on each."""

    def __init__(
        self,
        hub: Client,
        objects: Informer[WorkerHead],
        *,
        dispatcher: str,
        selector: Callable[[str], str],
        patience: Seconds,
        load: Callable[[str], Load],
        tell: Tell,
    ) -> None:
        self._hub = hub
        self._clock = hub.clock
        self._objects = objects
        self._dispatcher = dispatcher
        self._finalizer = finalizer(dispatcher)
        self._selector = selector
        self._patience = patience
        self._load = load
        self._tell = tell
        self._told: dict[str, object] = {}
        self._counted: dict[str, tuple[Seconds, Counts]] = {}

    def forget(self, name: str | None = None) -> None:
        """Say everything anew, about one Worker or all."""
        for known in (self._told, self._counted):
            known.clear() if name is None else known.pop(name, None)

    async def see_to(
        self, item: Item[WorkerHead], link: Link, seen: view.Worker, twin: str | None
    ) -> Outcome:
        """Bring one Worker up to date."""
        is_going = item.head.is_being_removed
        if not is_going:
            await self._guard(item)
        held_by = await self._held_by(item, link, seen) if is_going else None
        facts = Facts(
            state=link.state,
            lost_since=seen.lost_since,
            twin=twin,
            held_by=held_by,
            closed=link.looking.closed,
        )
        later = await self._say(item, link, facts)
        if is_going:
            if held_by is None:
                await self._let_go(item, link)
            return Again(LOOK_EVERY)
        return DONE if later is None else Again(later)

    # The status

    async def _say(self, item: Item[WorkerHead], link: Link, facts: Facts) -> Seconds | None:
        """Write what is new; return when there may be more to say."""
        name, now = item.key.name, self._clock.now()
        was = _status(item)
        counts, later = self._count(name, self._actual(item, link))
        wanted = status.counts(was, self._dispatcher, *counts)
        lost_for = now - facts.lost_since if facts.lost_since else None
        beat = lost_for // CONFIRM if lost_for is not None else None
        news = item.uid, item.head.metadata.generation, facts, beat
        standing = status.standing(was, item.head, facts, now)
        is_told = self._told.get(name) == news
        is_contradicted = status.is_contradicted(was, self._dispatcher, standing)
        is_news = (not is_told or is_contradicted) and _knows_better(facts, was)
        if is_news:
            wanted |= standing
        await self._write(name, was, wanted)
        if is_news:
            self._told[name] = news
        return later if lost_for is None else min(later or CONFIRM_EVERY, CONFIRM_EVERY)

    async def _write(self, name: str, was: Obj, wanted: Obj) -> None:
        if merge_patch.apply(was, wanted) == was:
            return
        with suppress(errors.NotFound):
            body = {"status": wanted}
            answer = await self._hub.patch(WORKERS, name, body, subresource="status")
            self._objects.absorb(answer)

    def _count(self, name: str, actual: Counts) -> tuple[Counts, Seconds | None]:
        """Return the counts to show, and when to look again if they are not the actual ones."""
        now = self._clock.monotonic()
        at, shown = self._counted.get(name, (now - COUNT_EVERY, actual))
        due = at + COUNT_EVERY
        # Compared before they are subtracted: what is left is never nothing, whatever floats do.
        if actual != shown and now < due:
            return shown, due - now
        if actual != shown or name not in self._counted:
            self._counted[name] = now, actual
        return actual, None

    def _actual(self, item: Item[WorkerHead], link: Link) -> Counts:
        """Count; until the worker was reached, what was seen before we started counts."""
        known = status.mirrors(_status(item), self._dispatcher)
        return Counts(link.mirrors if link.connection else known, self._load(link.name).active)

    # The finalizer

    async def _guard(self, item: Item[WorkerHead]) -> None:
        """Keep a Worker from vanishing while there may be mirrors."""
        finalizers = item.head.metadata.finalizers
        if self._finalizer not in finalizers:
            await self._set_finalizers(item, [*finalizers, self._finalizer])

    async def _held_by(
        self, item: Item[WorkerHead], link: Link, seen: view.Worker
    ) -> str | None:
        """Say what a Worker that is being removed waits for; None: for nothing, as far as can be told."""
        held_by = self._hold(item, link, seen)
        is_ours = self._finalizer in item.head.metadata.finalizers
        if held_by is None and is_ours and link.state.is_up:
            return await removal.left(link, self._selector(link.name))
        return held_by

    def _hold(self, item: Item[WorkerHead], link: Link, seen: view.Worker) -> str | None:
        now, counts = self._clock.now(), self._actual(item, link)
        return removal.hold(
            link.state,
            load=counts.active,
            hidden=self._load(link.name).hidden,
            unseen=removal.unseen(link),
            has_mirrors=counts.mirrors > 0 and removal.has_mirrors(link),
            lost_for=(now - seen.lost_since).total_seconds() if seen.lost_since else 0.0,
            patience=self._patience,
            stuck=removal.stuck(link),
        )

    async def _let_go(self, item: Item[WorkerHead], link: Link) -> None:
        """Take our finalizer off: nothing is left there, or it cannot be asked."""
        selector = self._selector(link.name)
        if self._finalizer not in item.head.metadata.finalizers:
            return  # it waits for another dispatcher
        current = self._objects.get(item.key) or item
        left = self._actual(current, link).mirrors
        if left and not link.state.is_up:
            farewell = removal.farewell(link.state.cluster, left, selector)
            self._tell(current.object(), "Warning", "MirrorsLeft", farewell)
        others = [each for each in current.head.metadata.finalizers if each != self._finalizer]
        await self._set_finalizers(current, others)

    async def _set_finalizers(self, item: Item[WorkerHead], finalizers: list[str]) -> None:
        meta = {
            "resourceVersion": item.head.metadata.resource_version,
            "finalizers": finalizers,
        }
        # Who changed it meanwhile has made an event, by which we look again.
        with suppress(errors.NotFound, errors.Conflict):
            answer = await self._hub.patch(WORKERS, item.key.name, {"metadata": meta})
            if answer["metadata"].get("deletionTimestamp") and not finalizers:
                return  # gone: the watch tells
            self._objects.absorb(answer)


def _knows_better(facts: Facts, was: Obj) -> bool:
    """Tell whether we know better: what was known before a restart stays until then."""
    is_known = facts.state.is_up or facts.state.lost_since is not None
    return is_known or "conditions" not in was


def _status(item: Item[WorkerHead]) -> Obj:
    found: Obj = item.object().get("status") or {}
    return found
