"""The name of a workload: what passes, caches and the account of room know it by."""

from typing import NamedTuple


class WorkloadKey(NamedTuple):
    """A workload on the hub; the kind is that of its adapter, as in Job.batch."""

    kind: str
    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.kind} {self.namespace}/{self.name}"
