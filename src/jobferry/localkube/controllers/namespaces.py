"""Ends namespaces that are deleted: first what is in them, the pods before all else."""

import contextlib
from typing import TYPE_CHECKING

from jobferry.clock import Seconds
from jobferry.errors import Error
from jobferry.kube import errors
from jobferry.kube.cache import Change
from jobferry.kube.calls import Scope
from jobferry.kube.client import Client
from jobferry.kube.items import Key
from jobferry.kube.resources import NAMESPACES, PODS
from jobferry.localkube.controllers import discovery, namespace_content
from jobferry.localkube.controllers.controller import Controller
from jobferry.localkube.controllers.discovery import Served
from jobferry.localkube.controllers.everything import Everything
from jobferry.localkube.controllers.heads import Object
from jobferry.localkube.controllers.informers import Informers
from jobferry.localkube.controllers.namespace_content import Content
from jobferry.objects import Obj
from jobferry.objects.resource import Resource
from jobferry.runtime.reconcile import DONE, Again, Outcome

if TYPE_CHECKING:
    from jobferry.kube.informer import Informer

FINALIZER = "kubernetes"
OVERDUE: Seconds = 15.0
"""When to look again if no watch has told that content went: for kinds that cannot be watched."""


class NamespaceController:
    """Brings about the end of each namespace that is deleted."""

    def __init__(self, client: Client, informers: Informers, everything: Everything) -> None:
        self._client = client
        self._namespaces: Informer[Object] = informers.of(NAMESPACES)
        self._controller: Controller[str] = Controller("namespaces", client, self._pass)
        self._namespaces.listen(self._note)
        everything.listen(self._note_content)
        self.run = self._controller.run

    def _note(self, change: Change[Object]) -> None:
        if change.after is not None and change.after.head.metadata.is_deleted:
            self._controller.add(change.item.key.name)

    def _note_content(self, resource: Resource, change: Change[Object]) -> None:
        """Look again when something has gone from a namespace that is on its way out."""
        if change.after is None and resource.namespaced:
            namespace = change.item.key.namespace
            found = self._namespaces.get(Key("", namespace))
            if found is not None and found.head.metadata.is_deleted:
                self._controller.add(namespace)

    async def _pass(self, name: str) -> Outcome:
        item = self._namespaces.get(Key("", name))
        if item is None or not item.head.metadata.is_deleted:
            return DONE
        namespace = item.object()
        if not (namespace.get("spec") or {}).get("finalizers"):
            return DONE
        content = await self._delete_content(name)
        namespace = await self._write_conditions(namespace, content)
        if not content.is_gone:
            return Again(OVERDUE)
        await self._finalize(namespace)
        return DONE

    async def _delete_content(self, name: str) -> Content:
        """Delete everything; nothing but pods as long as there are any."""
        content = Content()
        try:
            kinds = discovery.namespaced(await discovery.served(self._client), "delete")
        except Error as error:
            content.discovery_failure = str(error)
            return content
        kinds.sort(key=lambda each: each.resource != PODS)
        for kind in kinds:
            try:
                content.note(kind.resource, await self._delete_all(kind, name))
            except errors.ApiError as error:
                content.failures.append(str(error))
            if kind.resource == PODS and not content.is_gone:
                break
        return content

    async def _delete_all(self, kind: Served, namespace: str) -> list[Obj]:
        """Delete all objects of one kind; return those that are still there."""
        scope = Scope(resource=kind.resource, namespace=namespace)
        if "deletecollection" in kind.verbs:
            answer = await self._client.delete_collection(scope, propagation="Background")
            if answer.get("items") == []:
                return []
        else:
            for obj in (await self._client.list(scope)).items:
                await self._delete(kind.resource, obj)
        return (await self._client.list(scope)).items

    async def _delete(self, resource: Resource, obj: Obj) -> None:
        meta = obj["metadata"]
        with contextlib.suppress(errors.NotFound):
            await self._client.delete(
                resource, meta["name"], meta["namespace"], propagation="Background"
            )

    async def _write_conditions(self, namespace: Obj, content: Content) -> Obj:
        now = self._client.clock.now()
        conditions = namespace_content.next_conditions(namespace, content, now)
        if conditions is None:
            return namespace
        body = {
            "metadata": {"resourceVersion": namespace["metadata"]["resourceVersion"]},
            "status": {"phase": "Terminating", "conditions": conditions},
        }
        answer = await self._client.patch(
            NAMESPACES, namespace["metadata"]["name"], body, subresource="status"
        )
        self._namespaces.absorb(answer)
        return answer

    async def _finalize(self, namespace: Obj) -> None:
        """Say that nothing of ours keeps the namespace; the server removes it if that was the last."""
        spec = namespace.get("spec") or {}
        kept = [each for each in spec.get("finalizers") or () if each != FINALIZER]
        body = {**namespace, "spec": {**spec, "finalizers": kept}}
        with contextlib.suppress(errors.NotFound):
            self._namespaces.absorb(
                await self._client.update(NAMESPACES, body, subresource="finalize")
            )
