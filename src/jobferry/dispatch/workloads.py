"""The workloads of the hub that concern us, of every kind that is followed, and which workers they keep busy."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from functools import partial

from jobferry.core.key import WorkloadKey
from jobferry.core.marks import PREFIX
from jobferry.core.placement import Placement
from jobferry.dispatch import heads
from jobferry.dispatch.heads import WorkloadHead
from jobferry.dispatch.placements import PlacementHead, Placements
from jobferry.kinds.adapter import Adapter
from jobferry.kube.cache import Change
from jobferry.kube.calls import Scope
from jobferry.kube.client import Client
from jobferry.kube.informer import Informer
from jobferry.kube.items import Item, Key
from jobferry.objects import Obj

NOWHERE = ""
"""In place of a worker's name: where workloads are that were not placed yet."""

Workload = tuple[WorkloadKey, Item[WorkloadHead]]
Listener = Callable[[WorkloadKey, Change[WorkloadHead]], None]


class Workloads:
    """Keeps a copy of each kind that is followed; of others nothing is known."""

    def __init__(self, hub: Client, adapters: Iterable[Adapter]) -> None:
        self._hub = hub
        self.adapters: Mapping[str, Adapter] = {each.name: each for each in adapters}
        """All kinds that may be followed, by their names."""

        self.placements = Placements(hub)
        self.placements.objects.listen(self._note_record)
        self._informers: dict[str, Informer[WorkloadHead]] = {}
        self._workers: dict[WorkloadKey, tuple[str, ...]] = {}
        self._busy: dict[str, dict[WorkloadKey, None]] = {}
        self._listeners: list[Listener] = []
        self._load_listeners: list[Callable[[str], None]] = []

    # Which kinds

    def follow(self, kind: str, *, heeds_refusal: bool = False) -> Informer[WorkloadHead]:
        """Return a copy of a kind, which is to be run; from now on its workloads are known."""
        adapter = self.adapters[kind]
        informer = Informer(
            self._hub,
            Scope(resource=adapter.resource),
            heads.reading(adapter),
            keep=partial(_concerns, adapter),
            heeds_refusal=heeds_refusal,
        )
        self._informers[kind] = informer
        informer.listen(partial(self._note, kind))
        return informer

    def drop(self, kind: str, *, are_gone: bool) -> None:
        """Forget a kind that is followed no more; unless its workloads are gone with it, nothing is told of that."""
        informer = self._informers.pop(kind, None)
        for item in informer or ():
            if are_gone:
                self._note(kind, Change(item, None))
        for key in [each for each in self._workers if each.kind == kind]:
            self._set_workers(key, ())

    @property
    def copies(self) -> Mapping[str, Informer[WorkloadHead]]:
        """The copies of the kinds that are followed, by their names."""
        return self._informers

    @property
    def followed(self) -> Set[str]:
        """The kinds that are followed."""
        return self._informers.keys()

    # Reading

    def __iter__(self) -> Iterator[Workload]:
        for kind, informer in self._informers.items():
            for item in informer:
                yield WorkloadKey(kind, *item.key), item

    def get(self, key: WorkloadKey) -> Item[WorkloadHead] | None:
        """Return the workload of that name."""
        informer = self._informers.get(key.kind)
        return None if informer is None else informer.get(Key(key.namespace, key.name))

    def has(self, kind: str, head: WorkloadHead) -> bool:
        """Tell whether a workload is ours, and not a part of another that is, as far as is known."""
        if head.managed_by not in self.adapters[kind].claims:
            return False
        return not head.metadata.owner_references or not self._is_part(head)

    def parent(self, head: WorkloadHead) -> WorkloadKey | None:
        """Name the workload that a workload is a part of, if its kind may be ours."""
        owner = head.metadata.controller
        if owner is None or owner.type not in self.adapters:
            return None
        return WorkloadKey(owner.type, head.metadata.namespace, owner.name)

    def _is_part(self, head: WorkloadHead) -> bool:
        """Tell whether what made a workload is ours: then its mirror makes its own there.

        So it is if what made it is a part itself. Nobody follows owners any further: anybody may write them in a circle.
        """
        key, owner = self.parent(head), head.metadata.controller
        parent = self.get(key) if key is not None else None
        if key is None or parent is None or owner is None or parent.uid != owner.uid:
            return False
        return parent.head.managed_by in self.adapters[key.kind].claims

    def placed(self, kind: str, item: Item[WorkloadHead]) -> Placement | None:
        """Return where a workload was placed, as far as it can be told without decoding it."""
        is_carried = self.adapters[kind].carries_record
        return item.head.told if is_carried else self.placements.read(item)

    def workers(self, key: WorkloadKey) -> tuple[str, ...]:
        """Name the workers that a workload keeps busy; `NOWHERE` stands for those it waits for."""
        return self._workers.get(key, ())

    def on(self, worker: str) -> list[WorkloadKey]:
        """Return the workloads of ours that keep a worker busy."""
        return list(self._busy.get(worker, ()))

    def count(self, worker: str) -> int:
        """Return how many those are."""
        return len(self._busy.get(worker, ()))

    # What changes

    def listen(self, listener: Listener) -> None:
        """Call `listener` for every change from now on."""
        self._listeners.append(listener)

    def listen_to_load(self, listener: Callable[[str], None]) -> None:
        """Call `listener` with the name of each worker that has more to do from now on, or less."""
        self._load_listeners.append(listener)

    def absorb(self, kind: str, answer: Obj | bytes) -> None:
        """Take in the answer to a write of ours, ahead of the watch."""
        informer = self._informers.get(kind)
        if informer is not None:
            informer.absorb(answer)

    def _note(self, kind: str, change: Change[WorkloadHead]) -> None:
        key = WorkloadKey(kind, *change.item.key)
        self._set_workers(key, self._kept_busy(kind, change.after))
        for listener in self._listeners:
            listener(key, change)

    def _note_record(self, change: Change[PlacementHead]) -> None:
        """Take note that the record of a workload came, changed or went; who forges one is not heard."""
        key = change.item.head.workload
        item = self.get(key)
        if item is not None and item.uid == change.item.key.name:
            self._note(key.kind, Change(item, item))

    def _kept_busy(self, kind: str, item: Item[WorkloadHead] | None) -> tuple[str, ...]:
        if item is None or item.head.is_over or not self.has(kind, item.head):
            return ()
        placed = self.placed(kind, item)
        # Each once, whatever whoever wrote the record says.
        return tuple({shard.worker: None for shard in placed.shards}) if placed else (NOWHERE,)

    def _set_workers(self, key: WorkloadKey, now: tuple[str, ...]) -> None:
        before = self._workers.get(key, ())
        if before == now:
            return
        for worker in before:
            same = self._busy[worker]
            same.pop(key, None)
            if not same:
                del self._busy[worker]
        for worker in now:
            self._busy.setdefault(worker, {})[key] = None
        if now:
            self._workers[key] = now
        else:
            self._workers.pop(key, None)
        for worker in dict.fromkeys((*before, *now)):
            for listener in self._load_listeners if worker != NOWHERE else ():
                listener(worker)


def _concerns(adapter: Adapter, head: WorkloadHead) -> bool:
    """Tell whether a workload is ours, or looks as if it were meant to be."""
    return head.managed_by in adapter.claims or head.managed_by.startswith(PREFIX)
