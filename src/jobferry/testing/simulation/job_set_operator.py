"""The JobSet controller of a worker, played: it acts as `job_sets` decides."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

from jobferry.kube import errors
from jobferry.kube.cache import Change
from jobferry.kube.calls import Scope
from jobferry.kube.client import Client
from jobferry.kube.informer import Informer
from jobferry.kube.items import Key
from jobferry.kube.resources import JOBS
from jobferry.localkube.controllers.controller import Controller
from jobferry.localkube.controllers.heads import Job, Object
from jobferry.localkube.controllers.informers import CONTROLLER
from jobferry.objects import Obj, merge_patch
from jobferry.runtime import supervise
from jobferry.runtime.reconcile import DONE, Outcome
from jobferry.testing.simulation import job_sets
from jobferry.testing.simulation.job_sets import RESOURCE, Plan


@asynccontextmanager
async def operating(client: Client, jobs: Informer[Job]) -> AsyncIterator[None]:
    """See to all JobSets of a cluster during the block; `jobs` follows its Jobs."""
    operator = _Operator(client, jobs)
    async with supervise.tasks("JobSets", clock=client.clock) as tasks:
        tasks.start("informer of JobSets", operator.sets.run)
        tasks.start("operator of JobSets", operator.run)
        yield


class _Operator:
    def __init__(self, client: Client, jobs: Informer[Job]) -> None:
        self._client = client
        self._jobs = jobs
        self.sets = Informer(client, Scope(resource=RESOURCE), Object)
        self._controller: Controller[Key] = Controller("job sets", client, self._pass)
        self.run = self._controller.run
        self.sets.listen(self._on_set)
        jobs.listen(self._on_job)

    def _on_set(self, change: Change[Object]) -> None:
        self._controller.add(change.item.key)

    def _on_job(self, change: Change[Job]) -> None:
        meta = change.item.head.metadata
        if (owner := meta.controller) is not None and owner.kind == RESOURCE.kind:
            self._controller.add(Key(meta.namespace, owner.name))

    async def _pass(self, key: Key) -> Outcome:
        """Bring one in order; the rest of a plan whose first part failed is for the next pass."""
        found = self.sets.get(key)
        if found is None or found.head.metadata.is_deleted:
            return DONE  # its Jobs go with it
        job_set, jobs = found.object(), self._jobs.by(CONTROLLER, found.uid)
        if job_set["spec"].get("managedBy"):
            return DONE
        kept = [job.object() for job in jobs if not job.head.metadata.is_deleted]
        await self._act(job_set, job_sets.plan(job_set, kept, self._client.clock.now()))
        return DONE

    async def _act(self, job_set: Obj, plan: Plan) -> None:
        namespace = job_set["metadata"]["namespace"]
        if plan.create and not await self._is_there(job_set):
            return  # its watch is late, and tells soon
        for job in plan.create:
            with suppress(errors.AlreadyExists):
                self._jobs.absorb(await self._client.create(JOBS, job))
        for name, is_suspended in plan.suspend.items():
            patch = {"spec": {"suspend": is_suspended}}
            self._jobs.absorb(await self._client.patch(JOBS, name, patch, namespace=namespace))
        for name in plan.delete:
            with suppress(errors.NotFound):
                await self._client.delete(JOBS, name, namespace, propagation="Background")
        if plan.status is not None:
            await self._tell(job_set, plan.status)

    async def _is_there(self, job_set: Obj) -> bool:
        """Ask for one, live.

        A Job that is made for one that is gone is collected at once, and made again, and here that takes no time:
        the watch would never get to tell.
        """
        meta = job_set["metadata"]
        try:
            found = await self._client.get(RESOURCE, meta["name"], meta["namespace"])
        except errors.NotFound:
            return False
        return bool(found["metadata"]["uid"] == meta["uid"])

    async def _tell(self, job_set: Obj, status: Obj) -> None:
        meta = job_set["metadata"]
        change = merge_patch.create(job_set.get("status") or {}, status)
        body = {
            "metadata": {"resourceVersion": meta["resourceVersion"]},
            "status": change,
        }
        answer = await self._client.patch(
            RESOURCE, meta["name"], body, namespace=meta["namespace"], subresource="status"
        )
        self.sets.absorb(answer)
