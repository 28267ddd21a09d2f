"""Follows the workloads of the hub: of each kind that is switched on, from when its CRD is there until it goes."""

import asyncio
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from jobferry import log
from jobferry.clock import Seconds
from jobferry.dispatch.lookups import Lookups
from jobferry.dispatch.presence import Presence, is_custom
from jobferry.dispatch.rivals import Rivals
from jobferry.dispatch.workloads import Workloads
from jobferry.errors import Error
from jobferry.kinds.adapter import MULTIKUEUE, Adapter
from jobferry.kube import errors, optional
from jobferry.kube.client import Client
from jobferry.kube.informer import Freshness, Informer
from jobferry.kube.resources import JOBS
from jobferry.runtime import supervise
from jobferry.runtime.backoff import Backoff, Failures
from jobferry.runtime.reconcile import DONE, Again, Loop, Outcome
from jobferry.runtime.workqueue import WorkQueue

if TYPE_CHECKING:
    from collections.abc import Mapping

    from jobferry.dispatch.heads import WorkloadHead

BACKOFF = Backoff(first=0.5, cap=30.0)

NOT_THERE = "its CRD is not on the hub"

_log = log.get(__name__)


class Following:
    """Starts and ends the copies of kinds as they come and go; no kind keeps another from being followed.

    `on_whole` hears of each kind of which all workloads are known from now on.
    """

    def __init__(
        self,
        hub: Client,
        workloads: Workloads,
        on_whole: Callable[[str], None],
        lookups: Lookups | None = None,
    ) -> None:
        self._clock = hub.clock
        self._lookups = lookups or Lookups(hub)
        self._workloads = workloads
        self._on_whole = on_whole
        self._kinds: Mapping[str, Adapter] = workloads.adapters
        self._names = {str(each.resource): name for name, each in self._kinds.items()}
        self.objections: dict[str, str] = {}
        """Of each kind that is not followed, why."""

        self._presence = Presence(hub, self._note_definition, self._warn)
        self._rivals = Rivals(hub, self._note_rivals)
        self._told: set[str] = set()
        self._running: dict[str, supervise.Child] = {}
        self._unsettled = set(self._kinds)
        self.settled = asyncio.Event()
        """Set once all kinds that are there have been copied, but for those that cannot be."""

        self._tasks: supervise.Supervisor | None = None
        self._queue: WorkQueue[str] = WorkQueue(hub.clock)
        self._loop = Loop(
            "kinds",
            self._see_to,
            queue=self._queue,
            failures=Failures(BACKOFF, hub.random),
            workers=1,
        )

    async def run(self) -> None:
        """Follow until cancelled."""
        async with supervise.tasks("kinds of the hub", clock=self._clock) as self._tasks:
            if any(map(_is_custom, self._kinds.values())):
                self._tasks.start("definitions", self._presence.definitions.run)
                await self._presence.definitions.settled.wait()
            if any(each.looks_up for each in self._kinds.values()):
                self._tasks.start("lookups", partial(self._lookups.run, self._presence))
            if any(map(_borrows, self._kinds.values())):
                self._tasks.start("rivals", self._rivals.run)
            for kind in self._kinds:
                self._queue.add(kind)
            await self._loop.run()

    # What changes

    def _note_definition(self, name: str) -> None:
        if (kind := self._names.get(name)) is not None:
            self._queue.add(kind)
        self._rivals.note_definition(name)
        self._lookups.note_definition(name)

    def _note_rivals(self) -> None:
        for name, kind in self._kinds.items():
            if _borrows(kind):
                self._queue.add(name)

    def _warn(self, refusal: Error) -> None:
        _log.warning(
            "CRDs cannot be watched: a kind that is installed later is noticed after minutes",
            error=refusal,
        )

    # What follows

    async def _see_to(self, kind: str) -> Outcome:
        adapter = self._kinds[kind]
        objection = await self._objection(adapter)
        if objection is None:
            self._start(kind)
        else:
            await self._stop(kind, are_gone=self._presence.is_undefined(adapter.resource))
            self._settle(kind)
        self._tell(kind, objection)
        after = self._look_again(adapter, objection)
        return DONE if after is None else Again(after)

    async def _objection(self, adapter: Adapter) -> str | None:
        """Say why a kind is not to be followed; None: it is."""
        if not await self._presence.has(adapter.resource):
            return NOT_THERE
        return self._rivals.objection if _borrows(adapter) else None

    def _look_again(self, adapter: Adapter, objection: str | None) -> Seconds | None:
        """Return when something may be otherwise that nobody tells of."""
        is_absent = objection == NOT_THERE
        return self._presence.look_again(adapter.resource) if is_absent else None

    def _start(self, kind: str) -> None:
        if kind in self._running:
            return
        assert self._tasks is not None  # noqa: S101 (the loop runs inside the block that sets it)
        self._lookups.want(kind, self._kinds[kind].looks_up)
        is_optional = _is_optional(self._kinds[kind])
        informer = self._workloads.follow(kind, heeds_refusal=is_optional)
        informer.listen_to_link(partial(self._note_link, kind))
        self._running[kind] = self._tasks.start(kind, partial(self._follow, kind, informer))

    async def _follow(self, kind: str, informer: "Informer[WorkloadHead]") -> None:
        # What they refer to comes first: else they would seem to need nothing of it.
        await self._lookups.settled(self._kinds[kind].looks_up)
        async with supervise.tasks(kind, clock=self._clock) as tasks:
            refuse = partial(self._note_refusal, kind)
            # Only one that heeds a refusal ends of itself.
            tasks.start("copy", partial(optional.follow, informer, self._clock, refuse))
            await informer.synced.wait()
            self._settle(kind)
            self._on_whole(kind)
            await tasks.ended()

    async def _stop(self, kind: str, *, are_gone: bool) -> None:
        running = self._running.pop(kind, None)
        if running is not None:
            await running.stop()
            self._workloads.drop(kind, are_gone=are_gone)
            self._lookups.release(kind)

    def _note_link(self, kind: str, link: Freshness) -> None:
        if isinstance(link.trouble, errors.ApiError) and _is_optional(self._kinds[kind]):
            # Something is wrong with it alone: the others do not wait for it.
            self._settle(kind)
        elif link.is_following:
            self._tell(kind, None)

    def _note_refusal(self, kind: str, refusal: Error) -> None:
        self._tell(kind, str(refusal))

    def _settle(self, kind: str) -> None:
        self._unsettled.discard(kind)
        if not self._unsettled:
            self.settled.set()

    def _tell(self, kind: str, objection: str | None) -> None:
        if kind in self._told and self.objections.get(kind) == objection:
            return
        self._told.add(kind)
        if objection is not None:
            self.objections[kind] = objection
            write = _log.debug if objection == NOT_THERE else _log.warning
            write("Kind is not followed", kind=kind, why=objection)
            return
        self.objections.pop(kind, None)
        _log.info("Kind is followed", kind=kind)
        if caution := self._kinds[kind].caution:
            _log.warning("Its own operator may run it on the hub", kind=kind, why=caution)


def _is_optional(kind: Adapter) -> bool:
    """Tell whether the others can do without a kind: what is wrong with Jobs is wrong with the hub."""
    return kind.resource != JOBS


def _is_custom(kind: Adapter) -> bool:
    return is_custom(kind.resource)


def _borrows(kind: Adapter) -> bool:
    """Tell whether we claim a name of others for want of one of our own."""
    return kind.accepts is not None and MULTIKUEUE in kind.claims
