"""All workers: a link for each Worker object on the hub, live, and its state written back to it."""

from collections.abc import Callable
from contextlib import suppress
from datetime import datetime

from jobferry.clock import Seconds
from jobferry.core import times, view
from jobferry.kube import errors
from jobferry.kube.cache import Change
from jobferry.kube.calls import Scope
from jobferry.kube.client import Client
from jobferry.kube.informer import Informer
from jobferry.kube.items import Head, Item, Key
from jobferry.kube.observed import Observe
from jobferry.objects import Obj, conditions
from jobferry.runtime import supervise
from jobferry.runtime.backoff import Backoff, Failures
from jobferry.runtime.reconcile import DONE, Loop, Outcome
from jobferry.runtime.workqueue import WorkQueue
from jobferry.workers.link import Link, State
from jobferry.workers.resource import WORKERS, WorkerHead
from jobferry.workers.source import Rules

AT_A_TIME = 8

AFTER_CRASH: Seconds = 30.0
"""A link that crashed would most likely crash again at once."""


class Workers:
    """Keeps the links to the workers.

    `load` says how much each has to do; `on_mirror` hears of every change of a mirror, `on_change` of every
    worker's.
    """

    def __init__(
        self,
        hub: Client,
        *,
        selector: str,
        requests: int,
        rules: Rules,
        observe: Observe,
        load: Callable[[str], int],
        may_write: Callable[[], bool],
        on_mirror: Callable[[str, Change[Head]], None],
        on_change: Callable[[str], None],
    ) -> None:
        self.objects = Informer(hub, Scope(resource=WORKERS), WorkerHead)
        self.objects.listen(lambda change: self._queue.add(change.item.key.name))
        self._hub = hub
        self._clock = hub.clock
        self._selector = selector
        self._requests = requests
        self._rules = rules
        self._observe = observe
        self._load = load
        self._may_write = may_write
        self._on_mirror = on_mirror
        self._on_change = on_change
        self._queue: WorkQueue[str] = WorkQueue(self._clock)
        self._links: dict[str, tuple[Link, supervise.Child]] = {}
        self._tasks: supervise.Supervisor | None = None
        self._told: dict[str, tuple[str, State, str | None]] = {}
        self._is_cut_off = False
        self._was_cut_off_at: datetime | None = None

    async def run(self) -> None:
        """Keep a link to every worker until cancelled."""
        failures: Failures[str] = Failures(Backoff(cap=10.0), self._hub.random)
        loop = Loop(
            "workers", self._reconcile, queue=self._queue, failures=failures, workers=AT_A_TIME
        )
        async with supervise.tasks("workers", clock=self._clock) as self._tasks:
            self._tasks.start("objects", self.objects.run)
            await self.objects.synced.wait()
            await loop.run()

    def look_at_all(self) -> None:
        """Write the state of every worker to its object, now that it is for us to do so."""
        self._told.clear()
        for item in self.objects:
            self._queue.add(item.key.name)

    def link(self, name: str) -> Link | None:
        """Return the link to a worker, up or not."""
        found = self._links.get(name)
        return found[0] if found else None

    def links(self) -> list[Link]:
        """Return the links to all workers, up or not."""
        return [link for link, _ in self._links.values()]

    def views(self) -> dict[str, view.Worker]:
        """Return every worker as placement sees it."""
        first: dict[str, str] = {}
        views = {}
        for item in sorted(self.objects, key=_age):
            name, link = item.key.name, self.link(item.key.name)
            state = link.state if link else State()
            twin = first.setdefault(state.cluster, name) if state.cluster else name
            since = self._lost_since(state)
            views[name] = _view(item, state, twin, since, self._load(name))
        return views

    def _lost_since(self, state: State) -> datetime | None:
        """Return since when a worker counts as lost: anew, if we had lost most of them meanwhile."""
        if state.lost_since is None or self._was_cut_off_at is None:
            return state.lost_since
        return max(state.lost_since, self._was_cut_off_at)

    def _note_state(self, name: str) -> None:
        # Those that are lost come back one by one, too: work must not flee from one to the other.
        if self._is_cut_off:
            self._was_cut_off_at = self._clock.now()
        self._is_cut_off = view.most_are_lost(self.views().values())
        self._queue.add(name)

    def _twin(self, name: str) -> str | None:
        """Return the older Worker that stands for the same cluster, if there is one."""
        refusal = self.views()[name].refuses or ""
        return refusal.removeprefix(_SAME) if refusal.startswith(_SAME) else None

    async def _reconcile(self, name: str) -> Outcome:
        item = self.objects.get(Key("", name))
        known = self._links.get(name)
        if known is not None and (
            item is None or known[0].spec.kubeconfig != item.head.spec.kubeconfig
        ):
            await known[1].stop()
            del self._links[name]
            self._on_change(name)
        if item is None:
            self._told.pop(name, None)
            return DONE
        if name not in self._links:
            self._start(item)
        self._links[name][0].spec = item.head.spec
        if self._may_write():
            await self._write_status(item, self._links[name][0].state)
        self._on_change(name)
        return DONE

    def _start(self, item: Item[WorkerHead]) -> None:
        assert self._tasks is not None  # noqa: S101 (the loop runs inside the block that sets it)
        name = item.key.name
        link = Link(
            name,
            item.head.spec,
            hub=self._hub,
            selector=self._selector,
            requests=self._requests,
            rules=self._rules,
            observe=self._observe,
            on_mirror=self._on_mirror,
            on_state=self._note_state,
        )
        run = self._tasks.start(
            f"worker {name}", link.run, on_failure=lambda _: self._crashed(name)
        )
        self._links[name] = link, run

    def _crashed(self, name: str) -> None:
        """Begin anew with a worker whose link had a bug to stumble over; the others go on meanwhile."""
        del self._links[name]
        self._queue.add_after(name, AFTER_CRASH)
        self._on_change(name)

    async def _write_status(self, item: Item[WorkerHead], state: State) -> None:
        """Say how it stands, once: other dispatchers may see it otherwise, and must not be contradicted."""
        name = item.key.name
        news = item.uid, state, self._twin(name)
        if self._told.get(name) == news:
            return
        status = item.object().get("status") or {}
        wanted = _status(status, state, self._twin(name), self._clock.now())
        if {key: status.get(key) for key in wanted} != wanted:
            with suppress(errors.NotFound):
                answer = await self._hub.patch(
                    WORKERS, name, {"status": wanted}, subresource="status"
                )
                self.objects.absorb(answer)
        self._told[name] = news


_SAME = "it is the same cluster as Worker "


def _age(item: Item[WorkerHead]) -> tuple[str, str]:
    return item.head.metadata.creation_timestamp, item.key.name


def _view(
    item: Item[WorkerHead], state: State, twin: str, lost_since: datetime | None, load: int
) -> view.Worker:
    spec = item.head.spec
    return view.Worker(
        name=item.key.name,
        cluster=state.cluster,
        is_up=state.is_up and twin == item.key.name,
        lost_since=lost_since,
        refuses=_refusal(item, load, twin),
        moves_away=spec.drain == "MoveAway",
        load=load,
    )


def _refusal(item: Item[WorkerHead], load: int, twin: str) -> str | None:
    spec = item.head.spec
    if twin != item.key.name:
        return f"{_SAME}{twin}"
    if item.head.metadata.deletion_timestamp:
        return "it is being removed"
    if spec.drain != "None":
        return f"it is drained ({spec.drain})"
    if spec.max_mirrors is not None and load >= spec.max_mirrors:
        return f"it has {load} workloads, and takes at most {spec.max_mirrors}"
    return None


def _status(status: Obj, state: State, twin: str | None, now: datetime) -> Obj:
    listed = status.get("conditions")
    is_ready = state.is_up and twin is None
    for condition in (
        _condition("Connected", state.is_up, state.reason, state.message),
        _condition("Ready", is_ready, *_readiness(state, twin)),
        _condition(
            "DuplicateCluster",
            twin is not None,
            "SameCluster" if twin else "OneOfAKind",
            f"{_SAME}{twin}." if twin else "No other Worker stands for this cluster.",
        ),
    ):
        listed = conditions.set(listed, condition, now)
    # Who was first to miss it has said since when; several dispatchers must not contradict each other.
    since = times.text(state.lost_since) if state.lost_since else None
    return {
        "conditions": listed,
        "clusterUID": state.cluster,
        "serverVersion": state.version,
        "lostSince": since and status.get("lostSince", since),
    }


def _readiness(state: State, twin: str | None) -> tuple[str, str]:
    if twin is not None:
        return "DuplicateCluster", f"{_SAME}{twin}."
    return (state.reason, state.message) if not state.is_up else ("Ready", "Takes work.")


def _condition(type: str, holds: bool, reason: str, message: str) -> Obj:
    status = "True" if holds else "False"
    return {"type": type, "status": status, "reason": reason, "message": message}
