"""Carries out the steps that the core decides on: each is one request, and its answer goes into the cache."""

from collections.abc import Callable
from contextlib import suppress
from enum import IntEnum

from jobferry import log
from jobferry.core import marks
from jobferry.core.marks import Standing
from jobferry.core.steps import CreateMirror, DeleteMirror, EditMirror, Record, WriteStatus
from jobferry.errors import Error
from jobferry.kinds import job
from jobferry.kube import errors
from jobferry.kube.client import Client
from jobferry.kube.events import Tell
from jobferry.kube.items import Key
from jobferry.kube.resources import JOBS, NAMESPACES
from jobferry.objects import Obj
from jobferry.runtime.inflight import Inflight
from jobferry.workers.copies import Copy
from jobferry.workers.link import Link
from jobferry.workers.registry import Workers

_log = log.get(__name__)

FINAL = (errors.Forbidden, errors.Invalid, errors.BadRequest)
"""Answers of a worker that will be the same if it is asked again soon."""


NO_RIGHT = "cannot create resource"
"""What an API server says of somebody who may not, whichever object it is."""


class Priority(IntEnum):
    """What goes first when a cluster is busy: news that people wait for before new work."""

    PLACEMENT = 0
    CREATE = 1
    STATUS = 2
    FINAL_STATUS = 3


class Refused(Error):
    """A worker will not have this workload; another may."""


class NamespaceRefused(Refused):
    """A worker will have no workload of this namespace."""


class NotForwarded(Error):
    """A worker would not have a change of the workload that it runs."""


class Actor:
    """Writes to the hub and to workers."""

    def __init__(
        self,
        hub: Client,
        absorb: Callable[[Obj], None],
        workers: Workers,
        requests: int,
        record: Tell,
    ) -> None:
        self.hub = hub
        self._absorb = absorb
        self._workers = workers
        self._inflight = Inflight(requests)
        self._record = record

    async def look(self, key: Key) -> Obj | None:
        """Read a workload from the hub's API server; None: it is gone."""
        async with self._inflight.slot(Priority.STATUS):
            try:
                obj = await self.hub.get(JOBS, key.name, key.namespace)
            except errors.NotFound:
                return None
        self._absorb(obj)
        return obj

    async def record(self, hub: Obj, step: Record) -> Obj:
        """Write a placement."""
        answer = await self._patch_hub(hub, step.patch, Priority.PLACEMENT)
        workers = ", ".join(shard.worker for shard in step.placement.shards)
        attempt = step.placement.attempt
        again = f", attempt {attempt}: {step.why}" if step.why else ""
        self._record(answer, "Normal", "Placed", f"Placed on worker {workers}{again}")
        return answer

    async def write_status(self, hub: Obj, step: WriteStatus) -> Obj:
        """Write the status of a workload."""
        priority = Priority.FINAL_STATUS if step.end else Priority.STATUS
        return await self._patch_hub(hub, step.patch, priority)

    async def create(self, step: CreateMirror) -> None:
        """Create a mirror; raises `Refused` where the worker will not have it."""
        link = self._link(step.worker)
        sent, meta = step.obj, step.obj["metadata"]
        async with link.inflight.slot(Priority.CREATE):
            try:
                answer = await self._create(link, sent)
            except errors.AlreadyExists:
                answer = await self._existing(link, sent)
        dropped = job.dropped_fields(sent, answer)
        if dropped:
            await self.delete(DeleteMirror(step.worker, answer, "its worker dropped fields"))
            raise Refused(f"it does not know {', '.join(dropped)}")
        _log.info("Mirror is there", worker=step.worker, mirror=meta["name"])

    async def edit(self, step: EditMirror) -> None:
        """Forward a change to a mirror."""
        link, meta = self._link(step.worker), step.obj["metadata"]
        async with link.inflight.slot(Priority.CREATE):
            body = {
                **step.patch,
                "metadata": {**step.patch.get("metadata", {}), "uid": meta["uid"]},
            }
            try:
                answer = await _client(link).patch(
                    JOBS, meta["name"], body, namespace=meta["namespace"]
                )
            except FINAL as error:
                raise NotForwarded(
                    f"Worker {step.worker} refused the change: {error}"
                ) from error
        _mirrors(link).absorb(answer)

    async def delete(self, step: DeleteMirror) -> None:
        """Delete a mirror, and no other object that may bear its name by now."""
        link, meta = self._link(step.worker), step.obj["metadata"]
        async with link.inflight.slot(Priority.CREATE):
            # Gone, or another by now: either way it is not ours any more.
            with suppress(errors.NotFound):
                try:
                    answer = await _client(link).delete(
                        JOBS,
                        meta["name"],
                        meta["namespace"],
                        propagation="Background",
                        uid=meta["uid"],
                        resource_version=meta["resourceVersion"] if step.only_as_seen else None,
                    )
                except errors.Conflict:
                    await self._see(link, meta)
                    return
                _mirrors(link).absorb_deletion(Key(meta["namespace"], meta["name"]), answer)
        _log.info("Mirror deleted", worker=step.worker, mirror=meta["name"], why=step.why)

    async def _see(self, link: Link, meta: Obj) -> None:
        """Read what is there under a mirror's name by now."""
        found = await _client(link).get(JOBS, meta["name"], meta["namespace"])
        _mirrors(link).absorb(found)

    async def _patch_hub(self, hub: Obj, patch: Obj, priority: Priority) -> Obj:
        meta = hub["metadata"]
        async with self._inflight.slot(priority):
            answer = await self.hub.patch(
                JOBS, meta["name"], patch, namespace=meta["namespace"], subresource="status"
            )
        self._absorb(answer)
        return answer

    async def _create(self, link: Link, sent: Obj) -> Obj:
        try:
            answer = await _client(link).create(JOBS, sent, field_validation="Strict")
        except errors.NotFound as error:
            if not link.spec.namespaces.create:
                raise NamespaceRefused(
                    f"namespace {sent['metadata']['namespace']} is missing"
                ) from error
            await self._create_namespace(link, sent["metadata"]["namespace"])
            return await self._create(link, sent)
        except FINAL as error:
            # Forbidden is also what a quota is exceeded with: that may be for this workload only.
            is_closed = NO_RIGHT in str(error)
            raise (NamespaceRefused if is_closed else Refused)(str(error)) from error
        except errors.ServerFailure as error:
            # An admission webhook there is broken. What else fails within a server may yet have been done.
            if "failed calling webhook" not in str(error):
                raise
            raise Refused(str(error)) from error
        _mirrors(link).absorb(answer)
        return answer

    async def _create_namespace(self, link: Link, name: str) -> None:
        try:
            with suppress(errors.AlreadyExists):
                await _client(link).create(NAMESPACES, {"metadata": {"name": name}})
        except errors.Forbidden as error:
            raise NamespaceRefused(f"namespace {name} is missing, and {error}") from error

    async def _existing(self, link: Link, sent: Obj) -> Obj:
        """Find out whose the object is that has the mirror's name."""
        meta = sent["metadata"]
        found = await _client(link).get(JOBS, meta["name"], meta["namespace"])
        expected = marks.read(sent)
        assert expected is not None  # noqa: S101 (a mirror that we made bears our marks)
        verdict = expected.judge(found)
        if verdict.standing is Standing.FOREIGN:
            raise Refused(f"its name is taken by an object of others: {verdict.reason}")
        # Ours: of this attempt, or of one before it, which the next look at the caches removes.
        _mirrors(link).absorb(found)
        return sent if verdict.standing is Standing.STALE else found

    def _link(self, name: str) -> Link:
        link = self._workers.link(name)
        if link is None or link.connection is None:
            raise errors.Unreachable(f"worker {name} is not connected")
        return link


def _client(link: Link) -> Client:
    assert link.connection is not None  # noqa: S101 (checked by whoever got the link)
    return link.connection.client


def _mirrors(link: Link) -> Copy:
    assert link.connection is not None  # noqa: S101 (checked by whoever got the link)
    return link.connection.mirrors
