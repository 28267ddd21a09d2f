"""How placement sees the workers: worked out when one of them changes, not for every workload."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from datetime import datetime
from typing import NamedTuple

from jobferry.core import view
from jobferry.core.bounds import Bounds
from jobferry.kube.cache import Change
from jobferry.kube.items import Item
from jobferry.objects import quantities
from jobferry.objects.quantities import Quantity
from jobferry.workers.link import State
from jobferry.workers.resource import Spec, WorkerHead

Sight = Mapping[str, frozenset[str] | None] | None
"""What is seen on a worker: by kind, the namespaces, or None for all; None: nobody knows yet."""


class _Entry(NamedTuple):
    """All that placement may go by, about one worker."""

    view: view.Worker
    labels: dict[str, str]
    creates_namespaces: bool
    sight: Sight


class Roster:
    """Keeps the views of all workers; `on_change` hears of each that placement sees otherwise than before."""

    def __init__(self, on_change: Callable[[str], None]) -> None:
        self.views: Mapping[str, view.Worker] = {}
        """As far as it is the same for workloads of every kind."""

        self.twins: Mapping[str, str] = {}
        """Of each Worker that may not stand for its cluster, the one that does."""

        self._on_change = on_change
        self._entries: dict[str, _Entry] = {}
        self._by_kind: dict[str, Mapping[str, view.Worker]] = {}
        self._is_cut_off = False
        self._was_cut_off_at: datetime | None = None

    def update(
        self, items: Iterable[Item[WorkerHead]], states: Mapping[str, State], now: datetime
    ) -> None:
        """Work out anew how all workers are seen."""
        workers = [
            (item, states.get(item.key.name, State())) for item in sorted(items, key=_age)
        ]
        self._note_cut([state for _, state in workers], now)
        self.twins = _twins(workers)
        before, self._entries = self._entries, {}
        for item, state in workers:
            self._entries[item.key.name] = self._entry(item, state)
        self.views = {name: entry.view for name, entry in self._entries.items()}
        self._by_kind.clear()
        for name in before.keys() | self._entries.keys():
            if before.get(name) != self._entries.get(name):
                self._on_change(name)

    def of_kind(self, kind: str) -> Mapping[str, view.Worker]:
        """Return how all workers are seen for workloads of a kind: the same mapping until one of them changes."""
        if kind not in self._by_kind:
            self._by_kind[kind] = {
                name: _for_kind(kind, entry) for name, entry in self._entries.items()
            }
        return self._by_kind[kind]

    def sight(self, name: str) -> Sight:
        """Return what is seen on a worker."""
        found = self._entries.get(name)
        return found.sight if found else None

    def _note_cut(self, states: list[State], now: datetime) -> None:
        """Take note whether we are cut off ourselves: then nobody's being out of reach counts.

        Those that are lost come back one by one, too: work must not flee from one to the other. Those that
        are not connected yet, because we have just begun, are not lost.
        """
        if self._is_cut_off:
            self._was_cut_off_at = now
        lost = sum(state.lost_since is not None for state in states)
        self._is_cut_off = view.are_most(lost, len(states))

    def _entry(self, item: Item[WorkerHead], state: State) -> _Entry:
        name, head, spaces = item.key.name, item.head, item.head.spec.namespaces
        capacity = _capacity(head.spec)
        seen = view.Worker(
            name=name,
            cluster=state.cluster.uid,
            is_up=state.is_up and state.silent_since is None,
            silent_since=state.silent_since,
            lost_since=self._lost_since(state),
            refuses=capacity if isinstance(capacity, str) else self._refusal(head),
            moves_away=head.spec.drain == "MoveAway",
            is_being_removed=head.is_being_removed,
            counts_late=state.cluster.counts_late,
            max_load=head.spec.max_mirrors,
            capacity={} if isinstance(capacity, str) else capacity,
            bounds=Bounds(spaces.allow, spaces.deny),
            watched=frozenset(spaces.only) or None,
        )
        sight = _sight(spaces.only, state.watched)
        return _Entry(seen, head.metadata.labels, spaces.create, sight)

    def _lost_since(self, state: State) -> datetime | None:
        """Return since when a worker counts as lost: anew, if we had lost most of them meanwhile."""
        if state.lost_since is None or self._was_cut_off_at is None:
            return state.lost_since
        return max(state.lost_since, self._was_cut_off_at)

    def _refusal(self, head: WorkerHead) -> str | None:
        if twin := self.twins.get(head.metadata.name):
            return f"it is the same cluster as Worker {twin}"
        if head.is_being_removed:
            return "it is being removed"
        return None if head.spec.drain == "None" else f"it is drained ({head.spec.drain})"


def is_news(change: Change[WorkerHead]) -> bool:
    """Tell whether a Worker may be seen otherwise now: its status, which we write, is no news."""
    if change.before is None or change.after is None:
        return True
    old, new = change.before.head.metadata, change.after.head.metadata
    return (old.generation, old.labels, old.deletion_timestamp) != (
        new.generation,
        new.labels,
        new.deletion_timestamp,
    )


def _capacity(spec: Spec) -> dict[str, Quantity] | str:
    """Return the capacity, or what is wrong with it: not all that the schema lets pass is a quantity."""
    try:
        return {name: quantities.parse(amount) for name, amount in spec.capacity.items()}
    except quantities.BadQuantity as error:
        return f"its capacity makes no sense: {error}"


def _sight(only: tuple[str, ...], seen: Sight) -> Sight:
    """Return what is to be seen, and is: a link may not yet, or not any more, be as it should."""
    if not only or seen is None:
        return seen
    wanted = frozenset(only)
    return {kind: wanted if each is None else each & wanted for kind, each in seen.items()}


def _for_kind(kind: str, entry: _Entry) -> view.Worker:
    if entry.sight is None:
        return entry.view
    kinds, base = frozenset(entry.sight), entry.view
    watched = entry.sight.get(kind, base.watched)
    return replace(base, kinds=kinds, watched=watched)


def _age(item: Item[WorkerHead]) -> tuple[str, str]:
    return item.head.metadata.creation_timestamp, item.key.name


def _twins(workers: list[tuple[Item[WorkerHead], State]]) -> dict[str, str]:
    """Find the Workers whose cluster an older one stands for, unless both are said to share it.

    One that is being removed stands for nothing any more: what is to have its work may be its twin.
    """
    holders: dict[str, WorkerHead] = {}
    twins = {}
    for item, state in workers:
        if (uid := state.cluster.uid) and not item.head.is_being_removed:
            holder = holders.setdefault(uid, item.head)
            is_shared = holder.spec.shared_cluster and item.head.spec.shared_cluster
            if holder is not item.head and not is_shared:
                twins[item.key.name] = holder.metadata.name
    return twins
