"""All workers: a link for each Worker object on the hub, live."""

from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from functools import partial

from jobferry import log
from jobferry.clock import Seconds
from jobferry.core import marks, view
from jobferry.core.key import WorkloadKey
from jobferry.kinds.adapter import Adapter
from jobferry.kube.cache import Change
from jobferry.kube.calls import Scope
from jobferry.kube.client import Client, Reach
from jobferry.kube.events import Tell
from jobferry.kube.informer import Informer
from jobferry.kube.items import Item, Key
from jobferry.kube.observed import Observe
from jobferry.runtime import supervise
from jobferry.runtime.backoff import Backoff, Failures
from jobferry.runtime.reconcile import DONE, Loop, Outcome
from jobferry.runtime.workqueue import WorkQueue
from jobferry.workers import roster, secrets, status
from jobferry.workers.caretaker import COUNT_EVERY, Caretaker, Load
from jobferry.workers.link import Common, Link
from jobferry.workers.mirrors import MirrorHead
from jobferry.workers.resource import WORKERS, Spec, WorkerHead
from jobferry.workers.roster import Roster, Turn, Watched
from jobferry.workers.source import Rules
from jobferry.workers.vigil import Vigil

AT_A_TIME = 8

_log = log.get(__name__)


class Workers:
    """Keeps the links to the workers.

    `load` says how much each has to do; `on_mirror` hears of every change of a mirror, `on_change` of each
    worker that placement sees otherwise than before. Worker objects are written to only while `may_write`.
    """

    def __init__(
        self,
        hub: Client,
        kinds: Sequence[Adapter],
        *,
        origin: str,
        dispatcher: str,
        requests: int,
        lost_after: Seconds,
        rules: Rules,
        reach: Reach,
        observe: Observe,
        load: Callable[[str], Load],
        tell: Tell,
        may_write: Callable[[], bool],
        on_mirror: Callable[[str, WorkloadKey, Change[MirrorHead]], None],
        on_change: Callable[[Turn], None],
    ) -> None:
        self.objects = Informer(hub, Scope(resource=WORKERS), WorkerHead)
        self.objects.listen(self._note_object)
        self._hub = hub
        self._clock = hub.clock
        self._may_write = may_write
        self._on_mirror = on_mirror
        self._queue: WorkQueue[str] = WorkQueue(self._clock)
        self._links: dict[str, tuple[Link, supervise.Child]] = {}
        self._followed: set[str] = set()
        self._tasks: supervise.Supervisor | None = None
        self._roster = Roster()
        self._on_change = on_change
        selector = partial(marks.selector, origin, dispatcher)
        self._common = Common(
            hub=hub,
            kinds=kinds,
            selector=selector,
            requests=requests,
            rules=rules,
            reach=reach,
            observe=observe,
            on_mirror=self._note_mirror,
            on_state=self._note_state,
        )
        self._caretaker = Caretaker(
            hub,
            self.objects,
            dispatcher=dispatcher,
            selector=selector,
            patience=lost_after,
            load=load,
            tell=tell,
        )

    async def run(self) -> None:
        """Keep a link to every worker until cancelled."""
        failures: Failures[str] = Failures(Backoff(cap=10.0), self._hub.random)
        loop = Loop(
            "workers", self._reconcile, queue=self._queue, failures=failures, workers=AT_A_TIME
        )
        async with supervise.tasks("workers", clock=self._clock) as self._tasks:
            self._tasks.start("objects", self.objects.run)
            self._tasks.start("vigil", Vigil(self._clock, self._note_slip).run)
            await self.objects.synced.wait()
            self._warn_of_none()
            await loop.run()

    def report_all(self) -> None:
        """Write the state of every worker to its object, now that it is for us to do so."""
        self._caretaker.forget()
        for item in self.objects:
            self._queue.add(item.key.name)

    def count_soon(self, name: str) -> None:
        """Write how much a worker has to do, now that it is more or less."""
        self._queue.add_after(name, COUNT_EVERY)

    def link(self, name: str) -> Link | None:
        """Return the link to a worker, up or not."""
        found = self._links.get(name)
        return found[0] if found else None

    def links(self) -> list[Link]:
        """Return the links to all workers, up or not."""
        return [link for link, _ in self._links.values()]

    def views(self) -> Mapping[str, view.Worker]:
        """Return every worker as placement sees it for any workload: the same mapping until one of them changes."""
        return self._roster.views

    def views_of(self, kind: str) -> Mapping[str, view.Worker]:
        """Return every worker as placement sees it for workloads of a kind."""
        return self._roster.of_kind(kind)

    def watched(self, name: str) -> Watched:
        """Return what is seen on a worker: by kind, the namespaces."""
        return self._roster.watched(name)

    def shows(self, name: str, workload: WorkloadKey) -> bool:
        """Tell whether we see what is on a worker of the kind and in the namespace of a workload."""
        watched = self._roster.watched(name)
        if watched is None or workload.kind not in watched:
            return watched is None
        namespaces = watched[workload.kind]
        return namespaces is None or workload.namespace in namespaces

    # Observing

    def _note_object(self, change: Change[WorkerHead]) -> None:
        if roster.is_news(change):
            self._update_roster()
        self._queue.add(change.item.key.name)
        if change.after is None:
            self._warn_of_none()

    def _warn_of_none(self) -> None:
        if not len(self.objects):
            _log.warning("There is no Worker: workloads wait until there is one")

    def _note_state(self, name: str) -> None:
        self._update_roster()
        self._queue.add(name)

    def _note_slip(self, slip: timedelta) -> None:
        for link in self.links():
            link.forgive(slip)

    def _update_roster(self) -> None:
        states = {link.name: link.state for link in self.links()}
        for turn in self._roster.update(self.objects, states, self._clock.now()):
            self._on_change(turn)
            self._queue.add(
                turn.name
            )  # what others do may be told on it, such as a twin that goes

    def _note_mirror(self, name: str, key: WorkloadKey, change: Change[MirrorHead]) -> None:
        self._on_mirror(name, key, change)
        seen = self._roster.views.get(name)
        is_awaited = seen is not None and seen.is_being_removed and change.after is None
        self._queue.add_after(name, 0.0 if is_awaited else COUNT_EVERY)

    def _note_secret(self, secret: Key) -> None:
        for link in self.links():
            where = link.spec.kubeconfig.secret
            if where and (where.namespace, where.name) == secret:
                link.reread_kubeconfig()

    # Keeping a link to each

    async def _reconcile(self, name: str) -> Outcome:
        item = self.objects.get(Key("", name))
        known = self.link(name)
        if known is not None and (item is None or _leads_elsewhere(known.spec, item.head.spec)):
            await self._stop(name)
        if item is None:
            self._caretaker.forget(name)
            return DONE
        if name not in self._links:
            self._start(item)
        link = self._links[name][0]
        link.spec = item.head.spec
        if not self._may_write() or name not in self._roster.views:
            return DONE
        seen, twin = self._roster.views[name], self._roster.twins.get(name)
        return await self._caretaker.see_to(item, link, seen, twin)

    async def _stop(self, name: str) -> None:
        await self._links[name][1].stop()
        del self._links[name]
        self._update_roster()

    def _start(self, item: Item[WorkerHead]) -> None:
        assert self._tasks is not None  # noqa: S101 (the loop runs inside the block that sets it)
        name, spec = item.key.name, item.head.spec
        was = item.object().get("status") or {}
        cluster, missed_since = status.recall(was, item.head, self._clock.now())
        link = Link(name, spec, self._common, cluster=cluster, missed_since=missed_since)
        self._links[name] = link, self._tasks.start(f"worker {name}", link.run)
        if spec.kubeconfig.secret is not None:
            self._follow_secrets(spec.kubeconfig.secret.namespace)

    def _follow_secrets(self, namespace: str) -> None:
        assert self._tasks is not None  # noqa: S101 (as above)
        if namespace not in self._followed:
            self._followed.add(namespace)
            run = partial(secrets.follow, self._hub, namespace, self._note_secret)
            forget = partial(self._followed.discard, namespace)
            name = f"secrets of {namespace}"
            self._tasks.start(name, run, on_failure=lambda _: forget())


def _leads_elsewhere(old: Spec, new: Spec) -> bool:
    """Tell whether a link must begin anew: with another kubeconfig, or to see other namespaces."""
    was, now = old.namespaces.only, new.namespaces.only
    return old.kubeconfig != new.kubeconfig or {*was} != {*now}
