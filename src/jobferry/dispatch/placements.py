"""The Placement objects of the hub: the records of workloads that do not carry theirs."""

import msgspec

from jobferry.core import placement_object
from jobferry.core.key import WorkloadKey
from jobferry.core.placement import Placement
from jobferry.core.placement_object import RESOURCE
from jobferry.dispatch.heads import Owner, WorkloadHead, WorkloadMetadata
from jobferry.kube.cache import Change
from jobferry.kube.calls import Scope
from jobferry.kube.client import Client
from jobferry.kube.informer import Informer
from jobferry.kube.items import Head, Item, Key
from jobferry.objects import Obj


class PlacementSpec(msgspec.Struct, frozen=True, gc=False):
    """Whose record it is, or says to be."""

    workload: Owner = Owner()


class PlacementHead(Head, frozen=True, gc=False):
    """A Placement."""

    metadata: WorkloadMetadata
    spec: PlacementSpec = PlacementSpec()

    @property
    def workload(self) -> WorkloadKey:
        """The workload that it says to be the record of."""
        named = self.spec.workload
        return WorkloadKey(named.type, self.metadata.namespace, named.name)

    @property
    def is_ownerless(self) -> bool:
        """Whether it is a record that does not go with its workload: somebody orphaned it, or both."""
        meta = self.metadata
        is_record = self.spec.workload.uid == meta.name
        return is_record and not (meta.owner_references or meta.deletion_timestamp)


class Placements:
    """Finds the record of a workload by its UID."""

    def __init__(self, hub: Client) -> None:
        self.objects = Informer(hub, Scope(resource=RESOURCE), PlacementHead)
        self.objects.listen(self._note)
        self._ownerless: dict[WorkloadKey, dict[Key, None]] = {}
        """By the workload that each says to be the record of: few of many."""

    def of(self, workload: Item[WorkloadHead]) -> Item[PlacementHead] | None:
        """Return the object that has the place of a workload's record, whatever it says."""
        return self.objects.get(Key(workload.key.namespace, workload.uid))

    def ownerless(self, workload: WorkloadKey) -> list[Item[PlacementHead]]:
        """Return the records of workloads of a name that do not go with these."""
        found = map(self.objects.get, self._ownerless.get(workload, ()))
        return [each for each in found if each is not None]

    def all_ownerless(self) -> list[WorkloadKey]:
        """Return the workloads that there are such records of, or were."""
        return list(self._ownerless)

    def _note(self, change: Change[PlacementHead]) -> None:
        for item in change:
            if item is not None and (known := self._ownerless.get(item.head.workload)):
                known.pop(item.key, None)
                if not known:
                    del self._ownerless[item.head.workload]
        if change.after is not None and change.after.head.is_ownerless:
            self._ownerless.setdefault(change.after.head.workload, {})[change.after.key] = None

    def read(self, workload: Item[WorkloadHead]) -> Placement | None:
        """Return the placement that it tells."""
        found = self.of(workload)
        if found is None:
            return None
        meta = {"namespace": workload.key.namespace, "uid": workload.uid}
        return placement_object.read({"metadata": meta}, found.object())

    def absorb(self, answer: Obj | bytes) -> None:
        """Take in the answer to a write of ours, ahead of the watch."""
        self.objects.absorb(answer)

    def absorb_absence(self, namespace: str, uid: str) -> None:
        """Take in that a workload has no record."""
        key = Key(namespace, uid)
        known = self.objects.get(key)
        if known is not None:
            self.objects.absorb_absence(key, known.uid)
