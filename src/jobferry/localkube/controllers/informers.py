"""One copy of each collection for all controllers of a cluster."""

from collections.abc import Hashable
from typing import TYPE_CHECKING, cast

from jobferry.kube.calls import Scope
from jobferry.kube.client import Client
from jobferry.kube.informer import Informer
from jobferry.kube.items import Item
from jobferry.kube.resources import JOBS, PODS
from jobferry.localkube.controllers.heads import (
    Job,
    Object,
    Pod,
    by_controller,
    by_missing_controller,
    by_namespace,
    by_node,
    by_owner,
)
from jobferry.objects.resource import Resource
from jobferry.runtime.supervise import Run, Supervisor

if TYPE_CHECKING:
    from jobferry.kube.cache import Index

CONTROLLER = "controller"
"""The index of objects by the UID of the owner that manages them."""

UNMANAGED = "unmanaged"
"""The index of pods that no owner manages, by their namespace."""

OWNER = "owner"
"""The index of objects by the UID of each of their owners."""

NAMESPACE = "namespace"
"""The index of objects by their namespace."""

NODE = "node"
"""The index of pods by their node; those that wait for one are under the empty name."""


INDEXES: "dict[str, Index[Object]]" = {
    CONTROLLER: by_controller,
    OWNER: by_owner,
    NAMESPACE: by_namespace,
}


class Informers:
    """Makes an informer for each resource that somebody asks for, once, and runs them together.

    Ask for all of them before `start`; in the loops they are whole.
    """

    def __init__(self, client: Client) -> None:
        self._client = client
        self._made: dict[Resource, Informer[Object]] = {}
        self._named: dict[tuple[Resource, str], Informer[Object]] = {}

    @property
    def pods(self) -> Informer[Pod]:
        """All pods."""
        if PODS not in self._made:
            indexes: dict[str, Index[Pod]] = {
                CONTROLLER: by_controller,
                UNMANAGED: by_missing_controller,
                OWNER: by_owner,
                NAMESPACE: by_namespace,
                NODE: by_node,
            }
            made = Informer(self._client, Scope(resource=PODS), Pod, indexes=indexes)
            self._made[PODS] = cast("Informer[Object]", made)
        return cast("Informer[Pod]", self._made[PODS])

    @property
    def jobs(self) -> Informer[Job]:
        """All Jobs."""
        if JOBS not in self._made:
            indexes: dict[str, Index[Job]] = {
                CONTROLLER: by_controller,
                OWNER: by_owner,
                NAMESPACE: by_namespace,
            }
            made = Informer(self._client, Scope(resource=JOBS), Job, indexes=indexes)
            self._made[JOBS] = cast("Informer[Object]", made)
        return cast("Informer[Job]", self._made[JOBS])

    def of(self, resource: Resource) -> Informer[Object]:
        """All objects of a kind."""
        if resource == PODS:
            return cast("Informer[Object]", self.pods)
        if resource == JOBS:
            return cast("Informer[Object]", self.jobs)
        if resource not in self._made:
            self._made[resource] = Informer(
                self._client, Scope(resource=resource), Object, indexes=INDEXES
            )
        return self._made[resource]

    def named(self, resource: Resource, name: str) -> Informer[Object]:
        """All objects of a kind that have a certain name, whatever their namespace."""
        if (resource, name) not in self._named:
            scope = Scope(resource=resource, fields=f"metadata.name={name}")
            self._named[resource, name] = Informer(self._client, scope, Object)
        return self._named[resource, name]

    def known(self, resource: Resource) -> Informer[Object] | None:
        """Return the informer of a kind if somebody has asked for it."""
        return self._made.get(resource)

    async def start(self, tasks: Supervisor) -> None:
        """Run all of them as `tasks`, and wait until each is whole."""
        for name, run in self.runs().items():
            tasks.start(name, run)
        await self.whole()

    def runs(self) -> dict[str, Run]:
        """Return what has to run, by name."""
        named = {
            f"informer of {resource} {name}": informer.run
            for (resource, name), informer in self._named.items()
        }
        of_all = {f"informer of {each}": informer.run for each, informer in self._made.items()}
        return {**of_all, **named}

    async def whole(self) -> None:
        """Wait until each of them has been whole."""
        for informer in (*self._made.values(), *self._named.values()):
            await informer.synced.wait()

    def owned(self, resource: Resource, uid: Hashable) -> list[Item[Object]]:
        """Return the objects of a kind that the owner of that UID manages."""
        return self.of(resource).by(CONTROLLER, uid)
