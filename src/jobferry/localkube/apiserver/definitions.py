"""Serves what CRDs define: names are settled, resources come and go, deleted ones are emptied first."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from jobferry import log
from jobferry.localkube.apiserver import own_writes
from jobferry.localkube.apiserver.crds import definition, naming
from jobferry.localkube.apiserver.handlers import deleting
from jobferry.localkube.apiserver.handlers.backend import Backend
from jobferry.localkube.apiserver.requests.options import DeleteOptions
from jobferry.localkube.apiserver.resource import Resource
from jobferry.localkube.apiserver.status import StatusError
from jobferry.localkube.apiserver.storage.entry import Change
from jobferry.localkube.apiserver.storage.following import follow
from jobferry.localkube.apiserver.upkeep import Upkeep
from jobferry.objects import Obj
from jobferry.objects.times import timestamp

if TYPE_CHECKING:
    from jobferry.localkube.apiserver.storage.watch import Watch

_log = log.get(__name__)


class Definitions:
    """Follows the definitions in storage."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self._resource = backend.registry.get(
            "apiextensions.k8s.io", "v1", "customresourcedefinitions"
        )
        self._begun = backend.storage.revision
        self._served: dict[str, Obj] = {}
        """The definitions whose resources are in the registry, by name."""
        self._upkeep = Upkeep(self._settle, backend.clock, failure="A CRD could not be settled")
        self._emptying: dict[str, Watch] = {}
        """The objects of deleted definitions, by the name of the definition."""

    @asynccontextmanager
    async def followed(self) -> AsyncIterator[None]:
        """Follow them within the block; those that are established are served when it begins."""
        with follow(self._backend.storage, self._resource.prefix, self._take):
            async with self._upkeep.running():
                yield
        for emptying in self._emptying.values():
            emptying.close()

    def _take(self, change: Change) -> None:
        """Take in a change at once: a definition that is established counts before its writer hears of it."""
        crd = change.entry.object
        self._upkeep.ask(crd["metadata"]["name"])
        if change.revision > self._begun:
            self._look_at_waiting(crd["spec"]["group"])
        if change.deleted:
            self._withdraw(crd["metadata"]["name"])
        else:
            self._serve(crd)

    def _look_at_waiting(self, group: str) -> None:
        """Look again at definitions that did not get their names: one may be free now."""
        for entry in self._backend.storage.range(self._resource.prefix).entries:
            crd = entry.object
            waits = definition.condition(crd, "NamesAccepted") == "False"
            if waits and crd["spec"]["group"] == group:
                self._upkeep.ask(crd["metadata"]["name"])

    # -- what is served -----------------------------------------------------------------------

    def _serve(self, crd: Obj) -> None:
        name = crd["metadata"]["name"]
        before = self._served.get(name)
        if definition.condition(crd, "Established") != "True":
            return
        if self._backend.registry.is_built_in(crd["spec"]["group"]):
            return  # what the server itself has there goes first, in all versions
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
            self._backend.registry.close(*definition.resource_name(crd))

    def _withdraw(self, name: str) -> None:
        crd = self._served.pop(name, None)
        if crd is not None:
            self._backend.registry.remove(*definition.resource_name(crd))
        if watch := self._emptying.pop(name, None):
            watch.close()

    # -- what is written ----------------------------------------------------------------------

    async def _settle(self, name: str) -> None:
        """Write to the status of a definition what it has come to."""
        entry = self._backend.door.newest(self._resource.key("", name))
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
            await own_writes.replace(
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
        await own_writes.replace(
            self._backend, self._resource, {**crd, "status": state}, "status"
        )

    async def _delete_objects(self, name: str, resource: Resource) -> bool:
        """Delete what is there; tell whether some of it stays for now."""
        storage = self._backend.storage
        if name not in self._emptying:
            self._emptying[name] = follow(
                storage,
                resource.prefix,
                lambda _: self._upkeep.ask(name),
                after=storage.revision,
            )
        door = self._backend.door
        for entry in door.newest_below(resource.prefix):
            if not entry.object["metadata"].get("deletionTimestamp"):
                intent = own_writes.intent(self._backend, resource, entry.object, "")
                try:
                    await deleting.delete_object(self._backend, intent, DeleteOptions())
                except StatusError as error:
                    if error.reason != "NotFound":
                        raise
        # Also what is accepted and not durable yet: it would stay behind.
        return bool(door.newest_below(resource.prefix))

    def _stored_resource(self, crd: Obj) -> Resource | None:
        """Return the resource whose objects are in storage, if it was ever served."""
        if definition.condition(crd, "Established") != "True":
            return None
        from jobferry.localkube.apiserver.crds import custom  # noqa: PLC0415 (heavy)

        return custom.resource(crd, definition.storage_version(crd))

    def _now(self) -> str:
        return timestamp(self._backend.clock.now())


def _same_resources(one: Obj, other: Obj) -> bool:
    """Tell whether two states of a definition mean the same resources."""
    names = [(crd.get("status") or {}).get("acceptedNames") for crd in (one, other)]
    return bool(one["spec"] == other["spec"] and names[0] == names[1])
