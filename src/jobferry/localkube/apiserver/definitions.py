"""Serves what CRDs define: names are settled, resources come and go, deleted ones are emptied first."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING

from jobferry import log
from jobferry.clock import Seconds
from jobferry.localkube.apiserver import inside
from jobferry.localkube.apiserver.crds import definition, naming
from jobferry.localkube.apiserver.handlers import deleting
from jobferry.localkube.apiserver.handlers.backend import Backend
from jobferry.localkube.apiserver.requests.options import DeleteOptions
from jobferry.localkube.apiserver.resource import Resource
from jobferry.localkube.apiserver.status import StatusError
from jobferry.localkube.apiserver.storage.entry import Change
from jobferry.localkube.apiserver.storage.errors import Closed
from jobferry.localkube.apiserver.times import timestamp
from jobferry.objects import Obj

if TYPE_CHECKING:
    from jobferry.localkube.apiserver.storage.watch import Watch

RETRY_AFTER: Seconds = 1.0
"""When to look again at a CRD that could not be settled: a full disk may have room by then."""

_log = log.get(__name__)


class Definitions:
    """Follows the definitions in storage."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self._resource = backend.registry.get(
            "apiextensions.k8s.io", "v1", "customresourcedefinitions"
        )
        self._served: dict[str, Obj] = {}
        """The definitions whose resources are in the registry, by name."""
        self._dirty: dict[str, None] = {}
        """What has to be looked at."""
        self._woken = asyncio.Event()
        self._emptying: dict[str, Watch] = {}
        """The objects of deleted definitions, by the name of the definition."""

    @asynccontextmanager
    async def followed(self) -> AsyncIterator[None]:
        """Follow them within the block; those that are established are served when it begins."""
        storage, prefix = self._backend.storage, self._resource.prefix
        for entry in storage.range(prefix).entries:
            self._serve(entry.object)
            self._look_at(entry.object["metadata"]["name"])
        with storage.watch(prefix, after=storage.revision, notify=self._changed) as watch:
            self._watch = watch
            async with asyncio.TaskGroup() as tasks:
                running = tasks.create_task(self._run())
                yield
                running.cancel()
        for emptying in self._emptying.values():
            emptying.close()

    def _changed(self) -> None:
        """Take in changes at once: a definition that is established counts before its writer hears of it."""
        for change in _taken(self._watch):
            crd = change.entry.object
            if change.deleted:
                self._withdraw(crd["metadata"]["name"])
            else:
                self._serve(crd)
            self._look_at(crd["metadata"]["name"])
            self._look_at_waiting(crd["spec"]["group"])

    def _look_at_waiting(self, group: str) -> None:
        """Look again at definitions that did not get their names: one may be free now."""
        for entry in self._backend.storage.range(self._resource.prefix).entries:
            crd = entry.object
            waits = definition.condition(crd, "NamesAccepted") == "False"
            if waits and crd["spec"]["group"] == group:
                self._look_at(crd["metadata"]["name"])

    def _look_at(self, name: str) -> None:
        self._dirty[name] = None
        self._woken.set()

    async def _run(self) -> None:
        while True:
            await self._woken.wait()
            self._woken.clear()
            dirty, self._dirty = self._dirty, {}
            for name in dirty:
                try:
                    await self._settle(name)
                except StatusError as error:
                    # Somebody changed it at the same moment: that change is looked at next.
                    if error.reason not in ("Conflict", "NotFound"):
                        _log.failure("A CRD could not be settled", error, crd=name)
                except Exception as error:  # noqa: BLE001 (one CRD must not end the server)
                    _log.failure("A CRD could not be settled", error, crd=name)
                    self._backend.clock.call_later(RETRY_AFTER, partial(self._look_at, name))

    # -- what is served -----------------------------------------------------------------------

    def _serve(self, crd: Obj) -> None:
        name = crd["metadata"]["name"]
        before = self._served.get(name)
        if definition.condition(crd, "Established") != "True":
            return
        if before is not None and _same_resources(before, crd):
            self._served[name] = crd
            self._close(crd)
            return
        if before is not None:
            self._withdraw(name)
        try:
            from jobferry.localkube.apiserver.crds import custom  # noqa: PLC0415 (heavy)

            resources = custom.resources(crd)
        except Exception as error:  # noqa: BLE001 (storage calls us: it must be able to go on)
            _log.failure("A CRD cannot be served", error, crd=name)
            return
        for resource in resources:
            self._backend.registry.add(resource)
        self._served[name] = crd
        self._close(crd)

    def _close(self, crd: Obj) -> None:
        """Let nothing be created any more if a definition is deleted."""
        if definition.condition(crd, "Terminating") == "True":
            plural = crd["status"]["acceptedNames"]["plural"]
            self._backend.registry.closing.add((crd["spec"]["group"], plural))

    def _withdraw(self, name: str) -> None:
        crd = self._served.pop(name, None)
        if crd is not None:
            names = crd["status"]["acceptedNames"]
            self._backend.registry.remove(crd["spec"]["group"], names["plural"])
        if watch := self._emptying.pop(name, None):
            watch.close()

    # -- what is written ----------------------------------------------------------------------

    async def _settle(self, name: str) -> None:
        """Write to the status of a definition what it has come to."""
        entry = self._backend.storage.accepted(self._resource.key("", name))
        if entry is None:
            return
        crd = entry.fresh()
        if crd["metadata"].get("deletionTimestamp"):
            await self._empty(crd)
            return
        others = [
            each.object for each in self._backend.storage.range(self._resource.prefix).entries
        ]
        settled = naming.settled_status(crd, others, self._now())
        if settled != crd.get("status"):
            await inside.replace(
                self._backend, self._resource, {**crd, "status": settled}, "status"
            )

    async def _empty(self, crd: Obj) -> None:
        """Delete the objects of a deleted definition; let go of it when they are gone."""
        finalizers = crd["metadata"].get("finalizers") or []
        if definition.CLEANUP not in finalizers:
            return
        name = crd["metadata"]["name"]
        resource = self._stored_resource(crd)
        if resource is not None and await self._delete_objects(name, resource):
            condition = (
                "True",
                "InstanceDeletionInProgress",
                "CustomResource deletion is in progress",
            )
        elif resource is None:
            condition = ("False", "NeverEstablished", "resource was never established")
        else:
            condition = ("False", "InstanceDeletionCompleted", "removed all instances")
        state = naming.with_condition(
            crd, naming.terminating_condition(*condition), self._now()
        )
        if condition[0] == "False":
            crd["metadata"]["finalizers"] = [
                each for each in finalizers if each != definition.CLEANUP
            ]
        elif state == crd.get("status"):
            return
        await inside.replace(self._backend, self._resource, {**crd, "status": state}, "status")

    async def _delete_objects(self, name: str, resource: Resource) -> bool:
        """Delete what is there; tell whether some of it stays for now."""
        storage = self._backend.storage
        if name not in self._emptying:
            self._emptying[name] = storage.watch(
                resource.prefix, after=storage.revision, notify=lambda: self._drained(name)
            )
        for entry in storage.range(resource.prefix).entries:
            if not entry.object["metadata"].get("deletionTimestamp"):
                intent = inside.intent(self._backend, resource, entry.object, "")
                try:
                    await deleting.delete_object(self._backend, intent, DeleteOptions())
                except StatusError as error:
                    if error.reason != "NotFound":
                        raise
        return bool(storage.range(resource.prefix, limit=1).entries)

    def _drained(self, name: str) -> None:
        watch = self._emptying.get(name)
        if watch is not None and _taken(watch):
            self._look_at(name)

    def _stored_resource(self, crd: Obj) -> Resource | None:
        """Return the resource whose objects are in storage, if it was ever served."""
        if definition.condition(crd, "Established") != "True":
            return None
        from jobferry.localkube.apiserver.crds import custom  # noqa: PLC0415 (heavy)

        return custom.resource(crd, definition.storage_version(crd))

    def _now(self) -> str:
        return timestamp(self._backend.clock.now())


def _taken(watch: "Watch") -> list[Change]:
    """Take what has come; nothing comes any more from a watch that was closed."""
    try:
        return watch.take()
    except Closed:
        return []


def _same_resources(one: Obj, other: Obj) -> bool:
    """Tell whether two states of a definition mean the same resources."""
    names = [(crd.get("status") or {}).get("acceptedNames") for crd in (one, other)]
    return bool(one["spec"] == other["spec"] and names[0] == names[1])
