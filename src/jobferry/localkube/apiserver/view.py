"""The cluster as the server itself looks at it: from memory, the newest state that was accepted."""

from collections.abc import Sequence

from jobferry.localkube.apiserver import status
from jobferry.localkube.apiserver.door import Door
from jobferry.localkube.apiserver.registry import Registry
from jobferry.localkube.apiserver.resource import Resource
from jobferry.localkube.apiserver.storage import errors
from jobferry.objects import Obj


class View:
    """Reads objects by group and plural name; what it returns is shared, never to be changed."""

    def __init__(self, door: Door, registry: Registry) -> None:
        self._door = door
        self._registry = registry

    def get(self, group: str, resource: str, namespace: str, name: str) -> Obj | None:
        """Return an object, or None if there is none."""
        entry = self._door.newest(self._resource(group, resource).key(namespace, name))
        return None if entry is None else entry.object

    def list(self, group: str, resource: str, namespace: str) -> Sequence[Obj]:
        """Return the objects of a namespace (of all, without one), by name."""
        prefix = self._resource(group, resource).range_prefix(namespace)
        return [entry.object for entry in self._door.newest_below(prefix)]

    async def update_status(self, group: str, resource: str, obj: Obj) -> Obj:
        """Store `obj` if its resourceVersion is still the newest, else report that it changed."""
        served = self._resource(group, resource)
        meta = dict(
            obj["metadata"]
        )  # it gets a new version, and may be shared with the stored one
        entry = self._door.newest(served.key(meta.get("namespace", ""), meta["name"]))
        if entry is None or str(entry.revision) != meta["resourceVersion"]:
            raise status.changed(group, resource, meta["name"])
        new = {**obj, "metadata": meta}
        try:
            await self._door.replace(served, entry, entry.object, new)
        except errors.Conflict:
            raise status.changed(group, resource, meta["name"]) from None
        return new

    def _resource(self, group: str, plural: str) -> Resource:
        found = self._registry.any_version(group, plural)
        if found is None:
            raise LookupError(f"{plural}.{group} is not served")
        return found
