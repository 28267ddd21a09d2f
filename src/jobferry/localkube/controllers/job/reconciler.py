"""The shell round the decisions: reads the world, asks, carries out."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from jobferry.errors import Error
from jobferry.kube import errors
from jobferry.kube.client import Client
from jobferry.kube.informer import Informer
from jobferry.kube.items import Key
from jobferry.kube.resources import JOBS
from jobferry.localkube.controllers import heads
from jobferry.localkube.controllers.heads import Pod
from jobferry.localkube.controllers.informers import CONTROLLER, UNMANAGED
from jobferry.localkube.controllers.job import backoff, claims, drafts, jobs, sync
from jobferry.localkube.controllers.job.hands import Hands
from jobferry.localkube.controllers.job.jobs import Job
from jobferry.localkube.controllers.job.sync import Done, News, Plan
from jobferry.localkube.controllers.job.view import View
from jobferry.objects import Obj, merge_patch
from jobferry.runtime.reconcile import DONE, Again, Outcome


@dataclass(frozen=True, slots=True)
class Service:
    """Whose Jobs are run."""

    names: frozenset[str | None]
    """What their managedBy may say; None: nothing at all."""

    finalizer: str

    def is_ours(self, head: heads.Job) -> bool:
        """Tell whether a Job is ours to run."""
        return head.spec.managed_by in self.names


class Reconciler:
    """Brings one Job after the other forward."""

    def __init__(
        self,
        client: Client,
        *,
        jobs: Informer[heads.Job],
        pods: Informer[Pod],
        hands: Hands,
        service: Service,
    ) -> None:
        self._client = client
        self._jobs = jobs
        self._pods = pods
        self._hands = hands
        self._service = service
        self._records: dict[str, backoff.Record] = {}
        """By UID, so that a Job that is made again starts anew."""
        self._untold: dict[str, tuple[Obj, Sequence[News]]] = {}
        """By UID: a status that may have been written (the answer was lost), and what is new in it."""

    def forget(self, uid: str) -> None:
        """Forget a Job that is gone or has ended."""
        self._records.pop(uid, None)
        self._untold.pop(uid, None)
        self._hands.forget(uid)

    async def reconcile(self, key: Key) -> Outcome:
        """Do what is due for a Job."""
        item = self._jobs.get(key)
        # The name may be another Job's by now: who runs it is asked here, and not when it was queued.
        if item is None or not self._service.is_ours(item.head):
            return DONE
        if item.uid in self._untold:
            self._tell_late(jobs.decode(item.body))
        if item.head.is_finished:
            self.forget(item.uid)
            return DONE
        job = jobs.decode(item.body)
        if job.spec.completion_mode not in jobs.MODES:
            text = "Skipped Job sync because completion mode is unknown"
            self._hands.tell(job, "Warning", "UnknownCompletionMode", text)
            return DONE
        await self._hands.find_unsure(job)
        return await self._pass(await self._view(job))

    async def _pass(self, view: View) -> Outcome:
        plan = sync.plan(view)
        done, trouble = await self._carry_out(plan)
        account = sync.conclude(plan, done)
        let_go: Collection[str] = ()
        job = view.job
        if account.release:
            # First the status that tells of these pods, then they may go: else they could be lost.
            job = await self._write(job, account.status, account.news)
            self._records[job.metadata.uid] = view.next_record
            let_go, more_trouble = await self._hands.let_go(account.release)
            trouble = trouble or more_trouble
        verdict = sync.settle(account, let_go)
        told = () if account.release else account.news
        await self._write(job, verdict.status, (*told, *verdict.news))
        if trouble is not None:
            raise trouble
        return DONE if plan.after is None or verdict.is_finished else Again(plan.after)

    async def _carry_out(self, plan: Plan) -> tuple[Done, Error | None]:
        """Create and delete pods; says how far that went, and what went wrong."""
        job = plan.view.job
        if plan.stop:
            deleted, trouble = await self._hands.stop(job, plan.stop)
            return Done(frozenset(deleted)), trouble
        if plan.remove:
            deleted, trouble = await self._hands.remove(job, plan.remove)
            return Done(frozenset(deleted)), trouble
        created, trouble = await self._hands.create(job, plan.create)
        return Done(created=created), trouble

    async def _write(self, job: Job, status: Obj, news: Sequence[News]) -> Job:
        """Write a status and tell what is new in it; fails if somebody else wrote meanwhile."""
        if status == job.status:
            return job
        try:
            answer = await self._patch(job, merge_patch.create(job.status, status))
        except (errors.Unreachable, errors.ServerFailure):
            if news:
                self._untold[job.metadata.uid] = status, news
            raise
        self._untold.pop(job.metadata.uid, None)
        self._jobs.absorb(answer)
        self._tell(job, news)
        return jobs.written(job, answer)

    async def _patch(self, job: Job, status: Obj) -> Obj:
        meta = job.metadata
        return await self._client.patch(
            JOBS,
            meta.name,
            {"metadata": {"resourceVersion": meta.resource_version}, "status": status},
            namespace=meta.namespace,
            subresource="status",
        )

    def _tell(self, job: Job, news: Sequence[News]) -> None:
        for each in news:
            self._hands.tell(job, each.type, each.reason, each.message)

    def _tell_late(self, job: Job) -> None:
        """Tell what is new in a status whose answer was lost, once it is seen to be written."""
        status, news = self._untold[job.metadata.uid]
        if _said(job.status) == _said(status):
            del self._untold[job.metadata.uid]
            self._tell(job, news)

    async def _view(self, job: Job) -> View:
        """Gather what is to be decided on."""
        meta = job.metadata
        view = View(
            job=job,
            pods=(),
            now=self._client.clock.now(),
            finalizer=self._service.finalizer,
            record=self._records.get(meta.uid, backoff.NONE),
        )
        found = self._claims(job)
        if found.adopt or found.release:
            await self._change_hands(view, found)
            found = self._claims(job)
        return replace(view, pods=found.ours)

    def _claims(self, job: Job) -> claims.Claims:
        meta = job.metadata
        managed = [item.head for item in self._pods.by(CONTROLLER, meta.uid)]
        unmanaged = [item.head for item in self._pods.by(UNMANAGED, meta.namespace)]
        return claims.claims(job, managed, unmanaged)

    async def _change_hands(self, view: View, found: claims.Claims) -> None:
        """Adopt pods and leave others, as the Job's selector says."""
        owner = drafts.owner(view)
        for pod in found.release:
            await self._hands.disown(pod, owner)
        if found.adopt and await self._is_alive(view.job):
            for pod in found.adopt:
                await self._hands.adopt(pod, owner)

    async def _is_alive(self, job: Job) -> bool:
        """Ask the server itself: a Job that is gone must not take pods with it."""
        meta = job.metadata
        try:
            found = await self._client.get(JOBS, meta.name, meta.namespace)
        except errors.NotFound:
            return False
        is_same: bool = found["metadata"]["uid"] == meta.uid
        return is_same and "deletionTimestamp" not in found["metadata"]


def _said(status: Obj) -> list[tuple[str, str]]:
    return [(each["type"], each["status"]) for each in status.get("conditions") or ()]
