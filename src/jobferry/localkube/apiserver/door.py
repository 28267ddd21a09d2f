"""The one way into storage: whatever is written there, by whom and for whatever reason, comes through here.

What holds for all writes, whichever verb or part of the server makes them:

- A write names the state that it was made from, and happens only if that is still the newest.
- A write that changes nothing is none: the object keeps its version.
- A dry run writes nothing.
- Whoever is answered, is answered from what is durable: also where nothing was written, the state that
  the answer was made from is on the disk by then.
"""

from functools import partial

import orjson

from jobferry.localkube.apiserver.execution import Execution
from jobferry.localkube.apiserver.resource import Resource
from jobferry.localkube.apiserver.storage.entry import Entry
from jobferry.localkube.apiserver.storage.store import Storage
from jobferry.objects import Obj

AT_ONCE = 256 * 1024
"""Objects of so many bytes are compared at once; others would be held up by larger ones."""


class Door:
    """Takes objects in, changes them and lets them out; shows the newest state, to build on.

    Raises `Conflict` if the state that a write was made from is not the newest, `CommitFailed` if it
    could not be stored.
    """

    def __init__(self, storage: Storage, execution: Execution) -> None:
        self._storage = storage
        self._execution = execution

    def newest(self, key: str) -> Entry | None:
        """Return the newest state of an object: accepted, but maybe not durable yet."""
        return self._storage.accepted(key)

    def newest_below(self, prefix: str) -> list[Entry]:
        """Return the newest state of all objects below a prefix."""
        return self._storage.accepted_below(prefix)

    async def settled(self) -> None:
        """Wait until all that one could have seen here is durable; `CommitFailed` if it was lost."""
        await self._storage.settled()

    async def create(
        self, resource: Resource, key: str, obj: Obj, *, dry_run: bool = False
    ) -> Entry | None:
        """Store a new object; None: it was a dry run."""
        if dry_run:
            await self.settled()
            return None
        return await self._storage.put(key, partial(resource.encode, obj), expected=0)

    async def replace(
        self, resource: Resource, entry: Entry, old: Obj, new: Obj, *, dry_run: bool = False
    ) -> Entry | None:
        """Store `new` in place of `old`, which is what `entry` says; None: it was a dry run."""
        if len(entry.value) <= AT_ONCE:
            is_same = _same(new, old)
        else:
            is_same = await self._execution.run(_same, new, old)
        if is_same or dry_run:
            await self.settled()
            return entry if is_same else None
        return await self._storage.put(
            entry.key, partial(resource.encode, new), expected=entry.revision
        )

    async def remove(
        self, resource: Resource, entry: Entry, last: Obj, *, dry_run: bool = False
    ) -> None:
        """Delete an object; `last` is the state that watchers are shown."""
        if dry_run:
            await self.settled()
            return
        await self._storage.delete(
            entry.key, partial(resource.encode, last), expected=entry.revision
        )


def _same(one: Obj, other: Obj) -> bool:
    """Tell whether two objects are the same JSON; by writing both, which is quicker than looking through them."""
    sort = orjson.OPT_SORT_KEYS
    return orjson.dumps(one, option=sort) == orjson.dumps(other, option=sort)
