"""Creates, deletes and patches the pods of Jobs, and lets the informer know at once.

That is why nothing is counted, created or deleted twice because the watch lags behind. Only an answer that is
lost leaves us unsure. A patch or a delete is simply sent again; a pod that may or may not have been created is
looked for by its name, which we choose ourselves for this reason, before the Job gets another one. (Should it
still appear after that, it is one too many like any other.)
"""

from collections.abc import Iterable, Sequence
from contextlib import suppress
from functools import partial

from jobferry.errors import Error
from jobferry.kube import errors
from jobferry.kube.calls import PatchKind
from jobferry.kube.client import Client
from jobferry.kube.events import Record, Subject, Type
from jobferry.kube.informer import Informer
from jobferry.kube.items import Key
from jobferry.kube.resources import JOBS, PODS
from jobferry.localkube.controllers.heads import Pod
from jobferry.localkube.controllers.job import parallel
from jobferry.localkube.controllers.job.drafts import LONGEST_PREFIX
from jobferry.localkube.controllers.job.jobs import Job
from jobferry.objects import Obj

_LETTERS = "bcdfghjklmnpqrstvwxz2456789"
"""As API servers use them: no word can come of it."""

_NAMES = 8
"""Names that are tried before we give up for now."""


class Hands:
    """Carries out what was decided about the pods of Jobs."""

    def __init__(
        self, client: Client, pods: Informer[Pod], *, tell: Record, finalizer: str
    ) -> None:
        self._client = client
        self._pods = pods
        self._tell = tell
        self._finalizer = finalizer
        self._unsure: dict[str, set[Key]] = {}

    def tell(self, job: Job, type: Type, reason: str, message: str) -> None:
        """Tell people about a Job."""
        meta = job.metadata
        self._tell(
            Subject(JOBS, Key(meta.namespace, meta.name), meta.uid), type, reason, message
        )

    def forget(self, uid: str) -> None:
        """Forget a Job that is gone."""
        self._unsure.pop(uid, None)

    # Creating

    async def find_unsure(self, job: Job) -> None:
        """Look for the pods that may have been created; afterwards the informer has them."""
        names = self._unsure.get(job.metadata.uid, set())
        for key in list(names):
            with suppress(errors.NotFound):
                self._pods.absorb(await self._client.get(PODS, key.name, key.namespace))
            names.discard(key)
        self.forget(job.metadata.uid)

    async def create(self, job: Job, drafts: Sequence[Obj]) -> tuple[int, Error | None]:
        """Create pods: one, then two, then four …, so that what cannot work is not tried often."""
        created, size, rest = 0, 1, list(drafts)
        while rest:
            batch, rest = rest[:size], rest[size:]
            results = await parallel.each(batch, partial(self._create, job))
            made = sum(result is True for result in results)
            created += made
            if made < len(batch):
                return created, next(iter(failed(results)), None)
            size *= 2
        return created, None

    async def _create(self, job: Job, draft: Obj) -> bool:
        """Create a pod; False if there is no point in it, since its namespace is going away."""
        try:
            answer = await self._create_somehow(job, draft)
        except errors.ApiError as error:
            if error.is_of_a_vanishing_namespace:
                return False
            self.tell(job, "Warning", "FailedCreate", f"Error creating: {error.words}")
            raise
        self._pods.absorb(answer)
        name = answer["metadata"]["name"]
        self.tell(job, "Normal", "SuccessfulCreate", f"Created pod: {name}")
        return True

    async def _create_somehow(self, job: Job, draft: Obj) -> Obj:
        """Create a pod under a name that is free."""
        for _ in range(_NAMES - 1):
            try:
                return await self._create_named(job, draft)
            except errors.AlreadyExists:
                continue
        return await self._create_named(job, draft)

    async def _create_named(self, job: Job, draft: Obj) -> Obj:
        meta = draft["metadata"]
        suffix = "".join(self._client.random.choices(_LETTERS, k=5))
        name = meta["generateName"][:LONGEST_PREFIX] + suffix
        try:
            return await self._client.create(
                PODS, {**draft, "metadata": {**meta, "name": name}}
            )
        except (errors.Unreachable, errors.ServerFailure):
            key = Key(meta["namespace"], name)
            self._unsure.setdefault(job.metadata.uid, set()).add(key)
            raise

    # Deleting

    async def stop(self, job: Job, pods: Iterable[Pod]) -> tuple[set[str], Error | None]:
        """Delete pods; returns the UIDs of those that are, or were already."""
        return _done(await parallel.each(pods, partial(self._delete, job)))

    async def remove(self, job: Job, pods: Iterable[Pod]) -> tuple[set[str], Error | None]:
        """Delete pods that nobody is to account for."""

        async def one(pod: Pod) -> str:
            if self._finalizer in pod.metadata.finalizers:
                # As we know it, or not at all: it may have ended meanwhile, and then it counts.
                version = {"resourceVersion": pod.metadata.resource_version}
                await self._patch(pod, version | self._without_finalizer())
            return await self._delete(job, pod)

        return _done(await parallel.each(pods, one))

    async def _delete(self, job: Job, pod: Pod) -> str:
        meta = pod.metadata
        try:
            answer = await self._client.delete(PODS, meta.name, meta.namespace, uid=meta.uid)
        except errors.NotFound:
            self._note_gone(pod)
        except errors.ApiError as error:
            self.tell(job, "Warning", "FailedDelete", f"Error deleting: {error.words}")
            raise
        else:
            self._pods.absorb_deletion(Key(meta.namespace, meta.name), answer)
            self.tell(job, "Normal", "SuccessfulDelete", f"Deleted pod: {meta.name}")
        return meta.uid

    # Letting go, adopting and leaving to others

    async def let_go(self, pods: Iterable[Pod]) -> tuple[set[str], Error | None]:
        """Drop what keeps pods; returns the UIDs of those that nothing of ours keeps now."""
        return _done(await parallel.each(pods, self._drop_finalizer))

    async def _drop_finalizer(self, pod: Pod) -> str:
        await self._patch(pod, self._without_finalizer())
        return pod.metadata.uid

    def _without_finalizer(self) -> Obj:
        return {"$deleteFromPrimitiveList/finalizers": [self._finalizer]}

    async def adopt(self, pod: Pod, owner: Obj) -> None:
        """Make a pod belong to a Job."""
        await self._patch(pod, {"ownerReferences": [owner], "finalizers": [self._finalizer]})

    async def disown(self, pod: Pod, owner: Obj) -> None:
        """Make a pod belong to nobody."""
        gone = {"ownerReferences": [{"$patch": "delete", "uid": owner["uid"]}]}
        await self._patch(pod, gone | self._without_finalizer())

    async def _patch(self, pod: Pod, metadata: Obj) -> None:
        meta = pod.metadata
        body = {"metadata": {"uid": meta.uid, **metadata}}
        try:
            answer = await self._client.patch(
                PODS, meta.name, body, namespace=meta.namespace, kind=PatchKind.STRATEGIC
            )
        except errors.NotFound:
            self._note_gone(pod)
        else:
            self._pods.absorb(answer)

    def _note_gone(self, pod: Pod) -> None:
        meta = pod.metadata
        status = {"kind": "Status", "details": {"uid": meta.uid}}
        self._pods.absorb_deletion(Key(meta.namespace, meta.name), status)


def failed(results: Iterable[object]) -> list[Error]:
    """Return what went wrong."""
    return [result for result in results if isinstance(result, Error)]


def _done(results: Sequence[str | Error]) -> tuple[set[str], Error | None]:
    failures = failed(results)
    uids = {result for result in results if isinstance(result, str)}
    return uids, failures[0] if failures else None
