"""The cluster as the server itself looks at it: from memory, the newest state that was accepted."""

from collections.abc import Sequence

from jobferry.localkube.apiserver import status
from jobferry.localkube.apiserver.registry import Registry
from jobferry.localkube.apiserver.resource import Resource
from jobferry.localkube.apiserver.storage import errors
from jobferry.localkube.apiserver.storage.store import Storage
from jobferry.objects import Obj


class View:
    """Reads objects by group and plural name; what it returns is shared, never to be changed."""

    def __init__(self, storage: Storage, registry: Registry) -> None:
        self._storage = storage
        self._registry = registry

    def get(self, group: str, resource: str, namespace: str, name: str) -> Obj | None:
        """Return an object, or None if there is none."""
        entry = self._storage.accepted(self._resource(group, resource).key(namespace, name))
        return None if entry is None else entry.object

    def list(self, group: str, resource: str, namespace: str) -> Sequence[Obj]:
        """Return the objects of a namespace (of all, without one), by name."""
        prefix = self._resource(group, resource).range_prefix(namespace)
        return [entry.object for entry in self._storage.range(prefix).entries]

    async def update_status(self, group: str, resource: str, obj: Obj) -> Obj:
        """Store `obj` if its resourceVersion is still the newest, else report that it changed."""
        served = self._resource(group, resource)
        meta = obj["metadata"]
        name = meta["name"]
        key = served.key(meta.get("namespace", ""), name)
        try:
            entry = await self._storage.put(
                key,
                lambda revision: served.encode(obj, revision),
                expected=int(meta["resourceVersion"]),
            )
        except errors.Conflict:
            raise status.changed(group, resource, name) from None
        return entry.object

    def _resource(self, group: str, plural: str) -> Resource:
        found = self._registry.any_version(group, plural)
        if found is None:
            raise LookupError(f"{plural}.{group} is not served")
        return found
