"""What plugins may see and change of the cluster."""

from collections.abc import Sequence
from typing import Protocol

from jobferry.objects import Obj


class Cluster(Protocol):
    """The newest state that was accepted, read from memory; what it returns is shared, never to be changed."""

    def get(self, group: str, resource: str, namespace: str, name: str) -> Obj | None:
        """Return an object, or None if there is none; cluster-wide kinds have the namespace ""."""
        ...

    def list(self, group: str, resource: str, namespace: str) -> Sequence[Obj]:
        """Return the objects of a namespace, by name; those of a cluster-wide kind are in the namespace ""."""
        ...

    async def update_status(self, group: str, resource: str, obj: Obj) -> Obj:
        """Store the status of `obj` if its resourceVersion is still the newest, else raise `status.changed`.

        May return as soon as the write is accepted, provided that later writes fail if it does.
        """
        ...
