"""Carries out the steps that the core decides on: each is one request, and its answer goes into the cache."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from enum import IntEnum

import orjson

from jobferry import log
from jobferry.core import marks, records
from jobferry.core.key import WorkloadKey
from jobferry.core.marks import Marks, Standing
from jobferry.core.placement_object import RESOURCE
from jobferry.core.steps import (
    CreateMirror,
    DeleteMirror,
    DeleteRecord,
    EditMirror,
    Into,
    Record,
    Store,
    WriteStatus,
)
from jobferry.dispatch.setbacks import (
    Deposed,
    Estranged,
    KindGone,
    NamespaceRefused,
    NotForwarded,
    Refused,
    is_refusal,
    taking,
)
from jobferry.dispatch.workloads import Workloads
from jobferry.kinds.adapter import Adapter
from jobferry.kinds.references import Reference
from jobferry.kube import calls, errors
from jobferry.kube.client import Client
from jobferry.kube.events import Tell
from jobferry.kube.items import Key
from jobferry.kube.resources import NAMESPACES
from jobferry.objects import Obj
from jobferry.runtime.inflight import Inflight
from jobferry.workers import definitions
from jobferry.workers.copies import Copy
from jobferry.workers.link import Link
from jobferry.workers.looking import Missing
from jobferry.workers.registry import Workers

_log = log.get(__name__)

NO_RIGHT = "cannot create resource"
"""What an API server says of somebody who may not, whichever object it is."""


class Priority(IntEnum):
    """What goes first when a cluster is busy: news that people wait for before new work."""

    PLACEMENT = 0
    CREATE = 1
    STATUS = 2
    FINAL_STATUS = 3


class Actor:
    """Writes to the hub and to workers, as long as `may_act` says so."""

    def __init__(
        self,
        hub: Client,
        workloads: Workloads,
        workers: Workers,
        requests: int,
        record: Tell,
        *,
        may_act: Callable[[], bool],
        tells_all_placements: bool = False,
    ) -> None:
        self.hub = hub
        self._workloads = workloads
        self._workers = workers
        self._inflight = Inflight(requests)
        self._record = record
        self._may_act = may_act
        self._writing_hub = hub.guarded(self._check)
        self._tells_all_placements = tells_all_placements

    async def read_hub(self, kind: Adapter, key: WorkloadKey) -> Obj | None:
        """Read a workload from the hub's API server; None: it is gone."""
        async with self._inflight.slot(Priority.STATUS):
            try:
                obj = await self.hub.get(kind.resource, key.name, key.namespace)
            except errors.NotFound as error:
                if not error.names_one:
                    raise KindGone(f"the hub does not serve {kind.resource}") from error
                return None
            if records.has_object(kind, obj):
                await self._read_record(obj)
        self._workloads.absorb(kind.name, obj)
        return obj

    async def _read_record(self, hub: Obj) -> None:
        meta, placements = hub["metadata"], self._workloads.placements
        try:
            placements.absorb(await self.hub.get(RESOURCE, meta["uid"], meta["namespace"]))
        except errors.NotFound:
            placements.absorb_absence(meta["namespace"], meta["uid"])

    async def record(self, kind: Adapter, hub: Obj, step: Record) -> None:
        """Write a placement; of the first one nothing but the object itself tells, unless that is wanted."""
        await self.store(kind, hub, Store(step.body, step.into))
        if not (step.why or self._tells_all_placements):
            return
        workers = ", ".join(shard.worker for shard in step.placement.shards)
        attempt = step.placement.attempt
        again = f", attempt {attempt}: {step.why}" if step.why else ""
        self._record(hub, "Normal", "Placed", f"Placed on worker {workers}{again}")

    async def store(self, kind: Adapter, hub: Obj, step: Store) -> None:
        """Write what belongs to a record to where it is kept."""
        if step.into is Into.STATUS:
            await self._patch_hub(kind, hub, step.body, Priority.PLACEMENT)
            return
        meta = hub["metadata"]
        call = (
            calls.create(RESOURCE, step.body, field_validation="Strict")
            if step.into is Into.NEW
            else calls.patch(RESOURCE, meta["uid"], step.body, namespace=meta["namespace"])
        )
        async with self._inflight.slot(Priority.PLACEMENT):
            with taking("Placement"):
                answer = await self._writing_hub.send(call)
        self._workloads.placements.absorb(answer.body)

    async def delete_record(self, step: DeleteRecord) -> bool:
        """Delete a record that its workload left behind; tell whether we may."""
        meta = step.obj["metadata"]
        name, namespace = meta["name"], meta["namespace"]
        async with self._inflight.slot(Priority.PLACEMENT):
            try:
                await self._writing_hub.delete(RESOURCE, name, namespace, uid=meta["uid"])
            except errors.Forbidden as error:
                _log.warning("Placement left behind", placement=name, why=error)
                return False
            except errors.NotFound:
                pass
        self._workloads.placements.absorb_absence(namespace, name)
        return True

    async def write_status(self, kind: Adapter, hub: Obj, step: WriteStatus) -> None:
        """Write the status of a workload."""
        priority = Priority.FINAL_STATUS if step.end else Priority.STATUS
        await self._patch_hub(kind, hub, step.patch, priority)

    async def create(
        self, kind: Adapter, step: CreateMirror, on_send: Callable[[], None]
    ) -> None:
        """Create a mirror; raises `Refused` where the worker will not have it.

        `on_send` is called when the worker may hear of it, which may never be.
        """
        link = self._link(step.worker)
        sent, meta = step.obj, step.obj["metadata"]
        async with link.inflight.slot(Priority.CREATE):
            self._check()
            if link.hearing.is_shut:
                raise link.hearing.unheard()
            on_send()
            try:
                answer = await self._create(kind, link, sent)
            except errors.AlreadyExists:
                answer = await self._existing(kind, link, sent)
        if why := _difference(kind, sent, answer):
            await self.delete(kind, DeleteMirror(step.worker, answer, f"its worker {why}"))
            raise Refused(f"it {why}")
        _log.debug("Mirror is there", worker=step.worker, mirror=meta["name"])

    async def look(
        self, worker: str, namespace: str, references: Sequence[Reference]
    ) -> list[Missing]:
        """Return what a worker lacks of what a workload refers to, as far as we may see and it tells soon."""
        link = self._link(worker)
        only = link.spec.namespaces.only
        return await link.looking.look(_client(link), namespace, references, only=only)

    async def edit(self, kind: Adapter, step: EditMirror) -> None:
        """Forward a change to a mirror."""
        link, meta = self._link(step.worker), step.obj["metadata"]
        async with link.inflight.slot(Priority.CREATE):
            body = {
                **step.patch,
                "metadata": {**step.patch.get("metadata", {}), "uid": meta["uid"]},
            }
            try:
                answer = await self._writing(link).patch(
                    kind.resource, meta["name"], body, namespace=meta["namespace"]
                )
            except errors.ApiError as error:
                if not is_refusal(error):
                    raise
                why = f"Worker {step.worker} refused the change: {error}"
                raise NotForwarded(why) from error
        _absorb(kind, link, meta["namespace"], answer)

    async def delete(self, kind: Adapter, step: DeleteMirror) -> None:
        """Delete a mirror, and no other object that may bear its name by now."""
        link, meta = self._link(step.worker), step.obj["metadata"]
        key = Key(meta["namespace"], meta["name"])
        try:
            async with link.inflight.slot(Priority.CREATE):
                answer = await self._writing(link).delete(
                    kind.resource,
                    key.name,
                    key.namespace,
                    propagation="Foreground" if step.waits else "Background",
                    uid=meta["uid"],
                    resource_version=meta["resourceVersion"] if step.only_as_seen else None,
                )
        except (errors.NotFound, errors.Conflict):
            await self.read_mirror(kind, step.worker, key)  # gone, or another by now
        else:
            if (copy := _copy(kind, link)) is not None:
                copy.absorb_deletion(key, answer)
            write = _log.debug if step.is_routine else _log.info
            write("Mirror deleted", worker=step.worker, mirror=key.name, why=step.why)

    async def expire(self, kind: Adapter, hub: Obj) -> None:
        """Delete a workload on the hub whose time is over, unless it has changed since."""
        meta = hub["metadata"]
        async with self._inflight.slot(Priority.PLACEMENT):
            with suppress(errors.NotFound):
                await self._writing_hub.delete(
                    kind.resource,
                    meta["name"],
                    meta["namespace"],
                    propagation="Background",
                    uid=meta["uid"],
                    resource_version=meta["resourceVersion"],
                )

    async def read_mirror(self, kind: Adapter, worker: str, key: Key) -> Obj | None:
        """Read what a worker has in the place of a mirror, ahead of the watch; None: nothing."""
        link = self._link(worker)
        copy = _copy(kind, link)
        async with link.inflight.slot(Priority.CREATE):
            known = copy.get(key) if copy else None
            try:
                found = await _client(link).get(kind.resource, key.name, key.namespace)
            except errors.NotFound as error:
                if not error.names_one:
                    raise  # of a kind that is not served nothing is known
                if copy is not None and known is not None:
                    copy.absorb_absence(key, known.uid)
                return None
        _absorb(kind, link, key.namespace, found)
        return found

    async def has_lost(self, kind: Adapter, marks: Marks) -> bool:
        """Tell whether a worker has certainly neither a kind nor its mirror any more."""
        link = self._link(marks.worker)
        async with link.inflight.slot(Priority.CREATE):
            client, there = _client(link), Key(marks.namespace, marks.name)
            return await definitions.has_lost(client, kind.resource, there)

    async def _patch_hub(self, kind: Adapter, hub: Obj, patch: Obj, priority: Priority) -> None:
        """Write the status of a workload; raises `NotTaken` where that does not help to try again."""
        meta = hub["metadata"]
        call = calls.patch(
            kind.resource,
            meta["name"],
            patch,
            namespace=meta["namespace"],
            subresource="status",
        )
        async with self._inflight.slot(priority):
            with taking("status"):
                answer = await self._writing_hub.send(call)
        self._workloads.absorb(kind.name, answer.body)

    async def _create(self, kind: Adapter, link: Link, sent: Obj) -> Obj:
        """Create a mirror, and its namespace first if that is missing and ours to make."""
        namespace = sent["metadata"]["namespace"]
        try:
            return await self._post(kind, link, sent)
        except errors.NotFound as error:
            if not link.spec.namespaces.create:
                raise NamespaceRefused(f"namespace {namespace} is missing") from error
        await self._create_namespace(link, namespace)
        try:
            return await self._post(kind, link, sent)
        except errors.NotFound as error:
            raise NamespaceRefused(
                f"namespace {namespace} was made, and yet: {error}"
            ) from error

    async def _post(self, kind: Adapter, link: Link, sent: Obj) -> Obj:
        try:
            call = calls.create(kind.resource, sent, field_validation="Strict")
            answer = await self._writing(link).send(call)
        except errors.NotFound as error:
            if error.names_one:
                raise  # its namespace
            raise Refused(f"it does not serve {kind.resource}") from error
        except errors.ApiError as error:
            if not is_refusal(error):
                raise
            # Forbidden is also what a quota is exceeded with: that may be for this workload only.
            is_closed = NO_RIGHT in str(error)
            raise (NamespaceRefused if is_closed else Refused)(str(error)) from error
        _absorb(kind, link, sent["metadata"]["namespace"], answer.body)
        made: Obj = orjson.loads(answer.body)
        return made

    async def _create_namespace(self, link: Link, name: str) -> None:
        try:
            with suppress(errors.AlreadyExists):
                await self._writing(link).create(NAMESPACES, {"metadata": {"name": name}})
        except errors.ApiError as error:
            if not is_refusal(error):
                raise
            raise NamespaceRefused(f"namespace {name} is missing, and {error}") from error

    async def _existing(self, kind: Adapter, link: Link, sent: Obj) -> Obj:
        """Find out whose the object is that has the mirror's name."""
        meta = sent["metadata"]
        found = await _client(link).get(kind.resource, meta["name"], meta["namespace"])
        expected = marks.read(sent)
        assert expected is not None  # noqa: S101 (a mirror that we made bears our marks)
        verdict = expected.judge(found)
        if other := expected.other_dispatcher(found):
            raise Estranged(expected.worker, other)
        if verdict.standing is Standing.FOREIGN:
            raise Refused(f"its name is taken by an object of others: {verdict.reason}")
        # Ours: of this attempt, or of one before it, which the next look at the caches removes.
        _absorb(kind, link, meta["namespace"], found)
        is_current = verdict.standing is Standing.CURRENT
        is_as_sent = is_current and _generation(found) == _generation(sent)
        return found if is_as_sent else sent  # what was made of another is not to be compared

    def _writing(self, link: Link) -> Client:
        """Return a client for what is written to a worker."""
        return _client(link).guarded(self._check)

    def _check(self) -> None:
        """Raise `Deposed` if it is not for us to write any more; asked right before each try of a write.

        Whoever waits for a slot, or to be heard by a busy server, asks then, not before: it may have been a long wait.
        """
        if not self._may_act():
            raise Deposed("it is not for us to write any more")

    def _link(self, name: str) -> Link:
        link = self._workers.link(name)
        if link is None or link.connection is None:
            raise errors.Unreachable(f"worker {name} is not connected")
        return link


def _difference(kind: Adapter, sent: Obj, made: Obj) -> str | None:
    """Say what a worker did to a mirror that makes it useless, if anything."""
    if dropped := kind.dropped_fields(sent, made):
        return f"does not know {', '.join(dropped)}"
    if lost := marks.altered(sent, made):
        # Without them the mirror would be foreign to us: run on there, and again elsewhere.
        return (
            f"does not keep our marks {', '.join(lost)}:"
            " an admission webhook or policy there removes or changes them"
        )
    return None


def _generation(mirror: Obj) -> str | None:
    """Return the generation of the workload that a mirror was made from."""
    noted: str | None = mirror["metadata"]["annotations"].get(marks.HUB_GENERATION)
    return noted


def _client(link: Link) -> Client:
    assert link.connection is not None  # noqa: S101 (checked by whoever got the link)
    return link.connection.client


def _copy(kind: Adapter, link: Link) -> Copy | None:
    """Return the copy of a kind's mirrors; None: the worker does not serve it any more."""
    assert link.connection is not None  # noqa: S101 (checked by whoever got the link)
    return link.connection.mirrors.of(kind.name)


def _absorb(kind: Adapter, link: Link, namespace: str, answer: Obj | bytes) -> None:
    if (copy := _copy(kind, link)) is not None:
        copy.absorb(namespace, answer)
