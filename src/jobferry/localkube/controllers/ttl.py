"""Deletes finished Jobs once the time that they ask for has passed."""

from datetime import datetime, timedelta

import msgspec

from jobferry.kube import errors
from jobferry.kube.cache import Change
from jobferry.kube.client import Client
from jobferry.kube.items import Key
from jobferry.kube.resources import JOBS
from jobferry.localkube.controllers.controller import Controller
from jobferry.localkube.controllers.heads import Condition, Object
from jobferry.localkube.controllers.informers import Informers
from jobferry.runtime.reconcile import DONE, Again, Outcome

ASKED = b'"ttlSecondsAfterFinished":'
FINISHED = frozenset({"Complete", "Failed"})


class _Spec(msgspec.Struct, frozen=True, rename="camel"):
    ttl_seconds_after_finished: int | None = None


class _Status(msgspec.Struct, frozen=True):
    conditions: list[Condition] = []


class _Job(msgspec.Struct, frozen=True):
    spec: _Spec
    status: _Status = _Status()


_DECODER = msgspec.json.Decoder(_Job)


def expiry(body: bytes) -> datetime | None:
    """Return when a Job is to be deleted; None if it does not ask for that, or has not finished."""
    if ASKED not in body:
        return None
    job = _DECODER.decode(body)
    ttl = job.spec.ttl_seconds_after_finished
    if ttl is None:
        return None
    for condition in job.status.conditions:
        if condition.type in FINISHED and condition.status == "True":
            at = condition.last_transition_time
            return None if at is None else at + timedelta(seconds=ttl)
    return None


class TtlController:
    """Waits for the time of each finished Job."""

    def __init__(self, client: Client, informers: Informers) -> None:
        self._client = client
        self._jobs = informers.of(JOBS)
        self._controller: Controller[Key] = Controller("ttl", client, self._pass)
        self._jobs.listen(self._note)
        self.run = self._controller.run

    def _note(self, change: Change[Object]) -> None:
        if change.after is not None and expiry(change.after.body) is not None:
            self._controller.add(change.after.key)

    async def _pass(self, key: Key) -> Outcome:
        job = self._jobs.get(key)
        if job is None or job.head.metadata.is_deleted:
            return DONE
        due = expiry(job.body)
        if due is None:
            return DONE
        left = (due - self._client.clock.now()).total_seconds()
        if left > 0:
            return Again(left)
        try:
            answer = await self._client.delete(
                JOBS,
                key.name,
                key.namespace,
                propagation="Foreground",
                uid=job.uid,
                resource_version=job.head.metadata.resource_version,
            )
        except errors.NotFound:
            return DONE
        self._jobs.absorb_deletion(key, answer)
        return DONE
