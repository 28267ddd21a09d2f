"""How placement sees the workers: worked out when one of them changes, not for every workload."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import datetime
from typing import NamedTuple

from jobferry.core import view
from jobferry.core.bounds import Bounds
from jobferry.core.room import amounts
from jobferry.kube.cache import Change
from jobferry.kube.items import Item
from jobferry.objects import quantities
from jobferry.objects.quantities import Quantity
from jobferry.workers.link import State
from jobferry.workers.resource import Spec, WorkerHead

Watched = Mapping[str, frozenset[str] | None] | None
"""What is seen on a worker: by kind, the namespaces, or None for all; None: nobody knows yet."""


class Sight(NamedTuple):
    """All that placement may go by, about one worker."""

    view: view.Worker
    labels: Mapping[str, str]
    creates_namespaces: bool
    watched: Watched

    def heard(self) -> "Sight":
        """Return what would be seen if it answered."""
        return self._replace(view=replace(self.view, is_up=True, silent_since=None))


class Turn(NamedTuple):
    """That a worker is seen otherwise than before; None: it was not there, or is gone."""

    name: str
    before: Sight | None
    after: Sight | None

    @property
    def is_silence(self) -> bool:
        """Whether it has done no more than fall silent or be heard again: it refuses what it refused."""
        if self.before is None or self.after is None:
            return False
        return self.before.heard() == self.after.heard()

    @property
    def is_for_others(self) -> bool:
        """Whether others may go there than before, whether it has room or not."""
        return _admits(self.before) != _admits(self.after)


class Roster:
    """Keeps the views of all workers."""

    def __init__(self) -> None:
        self.views: Mapping[str, view.Worker] = {}
        """As far as it is the same for workloads of every kind."""

        self.twins: Mapping[str, str] = {}
        """Of each Worker that may not stand for its cluster, the one that does."""

        self._sights: dict[str, Sight] = {}
        self._by_kind: dict[str, Mapping[str, view.Worker]] = {}
        self._is_cut_off = False
        self._was_cut_off_at: datetime | None = None

    def update(
        self, items: Iterable[Item[WorkerHead]], states: Mapping[str, State], now: datetime
    ) -> list[Turn]:
        """Work out anew how all workers are seen; return whom placement sees otherwise than before."""
        workers = [
            (item, states.get(item.key.name, State())) for item in sorted(items, key=_age)
        ]
        self._note_cut([state for _, state in workers], now)
        self.twins = _twins(workers)
        before = self._sights
        self._sights = {item.key.name: self._sight(item, state) for item, state in workers}
        self.views = {name: sight.view for name, sight in self._sights.items()}
        self._by_kind.clear()
        turns = (
            Turn(name, before.get(name), self._sights.get(name))
            for name in before | self._sights
        )
        return [turn for turn in turns if turn.before != turn.after]

    def of_kind(self, kind: str) -> Mapping[str, view.Worker]:
        """Return how all workers are seen for workloads of a kind: the same mapping until one of them changes."""
        if kind not in self._by_kind:
            self._by_kind[kind] = {
                name: _for_kind(kind, sight) for name, sight in self._sights.items()
            }
        return self._by_kind[kind]

    def watched(self, name: str) -> Watched:
        """Return what is seen on a worker."""
        found = self._sights.get(name)
        return found.watched if found else None

    def _note_cut(self, states: list[State], now: datetime) -> None:
        """Take note whether we are cut off ourselves: then nobody's being out of reach counts.

        Those that are lost come back one by one, too: work must not flee from one to the other. Those that
        are not connected yet, because we have just begun, are not lost.
        """
        if self._is_cut_off:
            self._was_cut_off_at = now
        lost = sum(state.lost_since is not None for state in states)
        self._is_cut_off = view.are_most(lost, len(states))

    def _sight(self, item: Item[WorkerHead], state: State) -> Sight:
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
            hidden=state.hidden,
        )
        watched = _watched(spaces.only, state.watched)
        return Sight(seen, head.metadata.labels, spaces.create, watched)

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


def _admits(sight: Sight | None) -> object:
    """Return what decides who may go to a worker."""
    return sight and (sight.labels, sight.view.bounds, sight.watched)


def _capacity(spec: Spec) -> dict[str, Quantity] | str:
    """Return the capacity, or what is wrong with it: not all that the schema lets pass is a quantity."""
    try:
        parsed = {name: quantities.parse(amount) for name, amount in spec.capacity.items()}
        amounts(parsed)  # is it one that room can be counted with?
    except (quantities.BadQuantity, quantities.OutOfRange) as error:
        return f"its capacity makes no sense: {error}"
    return parsed


def _watched(only: tuple[str, ...], seen: Watched) -> Watched:
    """Return what is to be seen, and is: a link may not yet, or not any more, be as it should."""
    if not only or seen is None:
        return seen
    wanted = frozenset(only)
    return {kind: wanted if each is None else each & wanted for kind, each in seen.items()}


def _for_kind(kind: str, sight: Sight) -> view.Worker:
    if sight.watched is None:
        return sight.view
    kinds, base = frozenset(sight.watched), sight.view
    watched = sight.watched.get(kind, base.watched)
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
