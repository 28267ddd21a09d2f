"""The Placement objects of the hub: the records of workloads that do not carry theirs."""

import msgspec

from jobferry.core import placement_object
from jobferry.core.key import WorkloadKey
from jobferry.core.placement import Placement
from jobferry.core.placement_object import RESOURCE
from jobferry.dispatch.heads import Owner, WorkloadHead
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

    spec: PlacementSpec = PlacementSpec()

    @property
    def workload(self) -> WorkloadKey:
        """The workload that it says to be the record of."""
        named = self.spec.workload
        return WorkloadKey(named.type, self.metadata.namespace, named.name)


class Placements:
    """Finds the record of a workload by its UID."""

    def __init__(self, hub: Client) -> None:
        self.objects = Informer(hub, Scope(resource=RESOURCE), PlacementHead)

    def of(self, workload: Item[WorkloadHead]) -> Item[PlacementHead] | None:
        """Return the object that has the place of a workload's record, whatever it says."""
        return self.objects.get(Key(workload.key.namespace, workload.uid))

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
