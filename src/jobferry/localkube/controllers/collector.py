"""The garbage collector: what is left behind by its owners goes, in the way they were deleted."""

from collections import OrderedDict
from collections.abc import Iterable
from typing import NamedTuple

import msgspec

from jobferry.clock import Seconds
from jobferry.kube import errors, items
from jobferry.kube.cache import Change
from jobferry.kube.client import Client
from jobferry.kube.items import Item, Key
from jobferry.localkube.controllers import collecting
from jobferry.localkube.controllers.collecting import (
    ORPHAN,
    Action,
    Delete,
    DropFinalizer,
    DropOwners,
    Pursue,
    Release,
    State,
)
from jobferry.localkube.controllers.controller import Controller
from jobferry.localkube.controllers.everything import Everything
from jobferry.localkube.controllers.heads import Object, ObjectMetadata, Owner
from jobferry.objects import Obj
from jobferry.objects.resource import Resource
from jobferry.runtime.reconcile import DONE, Again, Outcome

REMEMBERED = 5000
"""Owners that are known to be gone; what they owned need not ask the server."""


UNTIL_WHOLE: Seconds = 1.0
"""When to look again while some kind is not followed yet."""


class Ref(NamedTuple):
    """One object of any kind."""

    resource: Resource
    key: Key
    uid: str

    def __str__(self) -> str:
        return f"{self.resource} {self.key}"


class GarbageCollector:
    """Looks at each object whose owners or dependents may have changed."""

    def __init__(self, client: Client, everything: Everything) -> None:
        self._client = client
        self._everything = everything
        self._gone: OrderedDict[str, None] = OrderedDict()
        self._puzzling: set[Ref] = set()
        self._controller: Controller[Ref] = Controller("garbage-collector", client, self._pass)
        everything.listen(self._note)
        everything.listen_to_kinds(self._note_kinds)

    async def run(self) -> None:
        """Work until cancelled, once the first state of everything is known."""
        await self._everything.whole.wait()
        await self._controller.run()

    # What to look at

    def _note(self, resource: Resource, change: Change[Object]) -> None:
        before, after = change
        if after is None:
            self._note_gone(resource, change.item)
            return
        meta = after.head.metadata
        if before is not None and not _differs(before.head.metadata, meta):
            return
        if before is not None:
            # One that waits may have lost its last dependent.
            self._add_owners(before.head.metadata)
        if meta.is_deleted or not all(
            self._known(meta, owner) is State.SOLID for owner in meta.owner_references
        ):
            self._controller.add(Ref(resource, after.key, after.uid))

    def _note_gone(self, resource: Resource, item: Item[Object]) -> None:
        self._puzzling.discard(Ref(resource, item.key, item.uid))
        dependents = [
            Ref(kind, each.key, each.uid)
            for kind, each in self._everything.dependents(item.uid)
        ]
        if dependents:
            self._remember_gone(item.uid)
        for ref in dependents:
            self._controller.add(ref)
        self._add_owners(item.head.metadata)

    def _add_owners(self, meta: ObjectMetadata) -> None:
        """Look again at owners that wait for an object which has changed."""
        for owner in meta.owner_references:
            found = self._find(meta, owner)
            if found is not None and collecting.is_foreground(found[1].head.metadata):
                self._controller.add(Ref(found[0], found[1].key, found[1].uid))

    def _note_kinds(self) -> None:
        puzzling, self._puzzling = self._puzzling, set()
        for ref in puzzling:
            self._controller.add(ref)

    # What to do

    async def _pass(self, ref: Ref) -> Outcome:
        item = self._item(ref)
        if item is None:
            return DONE
        meta = item.head.metadata
        if collecting.is_waiting(meta) and not self._everything.is_whole:
            # What is not known yet would be lost, where it was to stay.
            return Again(UNTIL_WHOLE)
        dependents = list(self._everything.dependents(ref.uid))
        heads = [each.head.metadata for _, each in dependents]
        if meta.is_deleted:
            action = collecting.on_deleted(meta, heads)
        else:
            states = [await self._state(ref, owner) for owner in meta.owner_references]
            action = collecting.on_owned(meta, states, heads)
        await self._carry_out(action, ref, meta, dependents)
        return DONE

    async def _carry_out(
        self,
        action: Action,
        ref: Ref,
        meta: ObjectMetadata,
        dependents: Iterable[tuple[Resource, Item[Object]]],
    ) -> None:
        match action:
            case Delete():
                await self._delete(ref, meta, action)
            case DropOwners(kept):
                await self._patch(ref, meta, ownerReferences=_references(kept))
            case DropFinalizer(finalizer):
                await self._drop_finalizer(ref, meta, finalizer)
            case Release():
                await self._release(ref, meta, dependents)
            case Pursue(blocking):
                for resource, each in dependents:
                    if each.uid in blocking and not each.head.metadata.is_deleted:
                        self._controller.add(Ref(resource, each.key, each.uid))

    async def _state(self, ref: Ref, owner: Owner) -> State:
        """Look an owner up: in memory, and where it is not, on the server."""
        meta = ref.key
        resource = self._resource(owner)
        if owner.uid in self._gone:
            return State.GONE
        if resource is None:
            self._puzzling.add(ref)
            return State.UNKNOWN
        if resource.namespaced and not meta.namespace:
            return State.UNKNOWN  # nothing in a namespace can own what is in none
        key = _key(resource, meta.namespace, owner)
        informer = self._everything.of(resource)
        known = None if informer is None else informer.get(key)
        if known is not None and known.uid == owner.uid:
            return _state(known.head.metadata)
        return await self._ask(resource, key, owner)

    async def _ask(self, resource: Resource, key: Key, owner: Owner) -> State:
        try:
            found = await self._client.get(resource, key.name, key.namespace or None)
        except errors.NotFound as error:
            if error.reason != "NotFound":
                raise  # it is the kind that is not served just now
            self._remember_gone(owner.uid)
            return State.GONE
        meta = items.metadata(found, ObjectMetadata)
        if meta.uid != owner.uid:
            self._remember_gone(owner.uid)
            return State.GONE
        return _state(meta)

    async def _delete(self, ref: Ref, meta: ObjectMetadata, action: Delete) -> None:
        if action.unblock:
            free = [
                msgspec.structs.replace(owner, block_owner_deletion=False)
                for owner in meta.owner_references
            ]
            answer = await self._patch(ref, meta, ownerReferences=_references(free))
            if answer is None:
                return
            meta = items.metadata(answer, ObjectMetadata)
        try:
            answer = await self._client.delete(
                ref.resource,
                ref.key.name,
                ref.key.namespace or None,
                propagation=action.propagation,
                uid=ref.uid,
                resource_version=meta.resource_version,
            )
        except errors.NotFound:
            return
        if informer := self._everything.of(ref.resource):
            informer.absorb_deletion(ref.key, answer)

    async def _release(
        self,
        ref: Ref,
        meta: ObjectMetadata,
        dependents: Iterable[tuple[Resource, Item[Object]]],
    ) -> None:
        for resource, item in dependents:
            its = item.head.metadata
            kept = [owner for owner in its.owner_references if owner.uid != ref.uid]
            of = Ref(resource, item.key, item.uid)
            await self._patch(of, its, ownerReferences=_references(kept))
        await self._drop_finalizer(ref, meta, ORPHAN)

    async def _drop_finalizer(self, ref: Ref, meta: ObjectMetadata, finalizer: str) -> None:
        kept = [each for each in meta.finalizers if each != finalizer]
        await self._patch(ref, meta, finalizers=kept)

    async def _patch(
        self, ref: Ref, meta: ObjectMetadata, **changes: list[Obj] | list[str]
    ) -> Obj | None:
        """Change metadata of exactly the object that was looked at; None if it is gone."""
        body = {
            "metadata": {"uid": ref.uid, "resourceVersion": meta.resource_version, **changes}
        }
        try:
            answer = await self._client.patch(
                ref.resource, ref.key.name, body, namespace=ref.key.namespace or None
            )
        except errors.NotFound:
            return None
        if informer := self._everything.of(ref.resource):
            informer.absorb(answer)
        return answer

    # What is known

    def _item(self, ref: Ref) -> Item[Object] | None:
        informer = self._everything.of(ref.resource)
        item = None if informer is None else informer.get(ref.key)
        return item if item is not None and item.uid == ref.uid else None

    def _known(self, meta: ObjectMetadata, owner: Owner) -> State | None:
        """Say how an owner is, if memory has it."""
        found = self._find(meta, owner)
        return None if found is None else _state(found[1].head.metadata)

    def _find(self, meta: ObjectMetadata, owner: Owner) -> tuple[Resource, Item[Object]] | None:
        resource = self._resource(owner)
        informer = None if resource is None else self._everything.of(resource)
        if resource is None or informer is None:
            return None
        item = informer.get(_key(resource, meta.namespace, owner))
        return None if item is None or item.uid != owner.uid else (resource, item)

    def _resource(self, owner: Owner) -> Resource | None:
        return self._everything.kind(owner.api_version.rpartition("/")[0], owner.kind)

    def _remember_gone(self, uid: str) -> None:
        self._gone[uid] = None
        if len(self._gone) > REMEMBERED:
            self._gone.popitem(last=False)


def _key(resource: Resource, namespace: str, owner: Owner) -> Key:
    return Key(namespace if resource.namespaced else "", owner.name)


def _state(meta: ObjectMetadata) -> State:
    return State.WAITING if collecting.is_foreground(meta) else State.SOLID


def _differs(one: ObjectMetadata, other: ObjectMetadata) -> bool:
    return (
        one.owner_references != other.owner_references
        or one.finalizers != other.finalizers
        or one.is_deleted != other.is_deleted
    )


def _references(owners: Iterable[Owner]) -> list[Obj]:
    return [msgspec.to_builtins(owner) for owner in owners]
