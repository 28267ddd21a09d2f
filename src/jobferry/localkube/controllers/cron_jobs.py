"""Makes Jobs at the times that CronJobs name."""

from contextlib import suppress
from datetime import datetime

from jobferry.errors import Error
from jobferry.kube import errors
from jobferry.kube.cache import Change
from jobferry.kube.client import Client
from jobferry.kube.events import Record, Subject, Type
from jobferry.kube.items import Item, Key
from jobferry.kube.resources import JOBS
from jobferry.localkube.controllers import cron
from jobferry.localkube.controllers.controller import Controller
from jobferry.localkube.controllers.cron import Plan
from jobferry.localkube.controllers.heads import Job, Object
from jobferry.localkube.controllers.informers import CONTROLLER, Informers
from jobferry.objects import Obj, owners, schedules
from jobferry.objects.resource import Resource
from jobferry.runtime.reconcile import DONE, Again, Outcome

CRON_JOBS = Resource("batch", "v1", "cronjobs", "CronJob")


class CronJobController:
    """Carries out what each CronJob wants."""

    def __init__(self, client: Client, informers: Informers, record: Record) -> None:
        self._client = client
        self._record = record
        self._cron_jobs = informers.of(CRON_JOBS)
        self._jobs = informers.jobs
        self._controller: Controller[Key] = Controller("cron-jobs", client, self._pass)
        self._cron_jobs.listen(self._note)
        self._jobs.listen(self._note_job)
        self.run = self._controller.run

    def _note(self, change: Change[Object]) -> None:
        if change.after is None:
            return
        if change.before is not None and _timing(change.before) != _timing(change.after):
            # What a new schedule would have wanted before is past.
            self._controller.queue.add_after(change.after.key, self._until_next(change.after))
            return
        self._controller.add(change.after.key)

    def _until_next(self, item: Item[Object]) -> float:
        cron_job, now = item.object(), self._client.clock.now()
        spec = cron_job["spec"]
        try:
            schedule = schedules.parse(spec["schedule"], spec.get("timeZone") or "")
        except schedules.BadSchedule:
            return 0  # the pass tells what is wrong
        due = cron.next_look(cron_job, schedule, now)
        return 0 if due is None else (due - now).total_seconds()

    def _note_job(self, change: Change[Job]) -> None:
        owner = change.item.head.metadata.controller
        if owner is not None and (owner.api_version, owner.kind) == ("batch/v1", "CronJob"):
            self._controller.add(Key(change.item.key.namespace, owner.name))

    async def _pass(self, key: Key) -> Outcome:
        item = self._cron_jobs.get(key)
        if item is None:
            return DONE
        cron_job = item.object()
        jobs = [job.object() for job in self._jobs.by(CONTROLLER, item.uid)]
        missing = await self._missing(cron_job, jobs)
        plan = cron.decide(cron_job, jobs, missing, self._client.clock.now())
        for told in plan.told:
            self._tell(item, *told)
        started = None
        try:
            started = await self._carry_out(item, plan)
            for job in cron.surplus(cron_job, jobs):
                await self._delete(item, cron.reference(job))
        except Error:
            await self._write(item, cron_job, plan, started)  # as far as we got
            raise
        await self._write(item, cron_job, plan, started)
        if plan.again is None:
            return DONE
        return Again((plan.again - self._client.clock.now()).total_seconds())

    async def _missing(self, cron_job: Obj, jobs: list[Obj]) -> set[str]:
        """Ask for active Jobs that memory does not have: they may be too new for it."""
        known = {job["metadata"]["uid"] for job in jobs}
        missing = set()
        for ref in (cron_job.get("status") or {}).get("active") or ():
            if ref["uid"] in known:
                continue
            try:
                found = await self._client.get(JOBS, ref["name"], ref["namespace"])
            except errors.NotFound:
                missing.add(ref["uid"])
            else:
                if found["metadata"]["uid"] != ref["uid"]:
                    missing.add(ref["uid"])
        return missing

    async def _carry_out(self, item: Item[Object], plan: Plan) -> datetime | None:
        """Do what is due; return the time for which there is a Job now that was not there before."""
        for ref in plan.replace:
            await self._delete(item, ref)
            plan.active.remove(ref)
        if plan.create is None:
            return None
        job = await self._create(item, plan.create)
        if not owners.is_controlled_by(job, item.uid):
            return None  # somebody else has taken the name
        if not cron.finished_as(job):
            plan.active.append(cron.reference(job))
        return plan.scheduled

    async def _create(self, item: Item[Object], wanted: Obj) -> Obj:
        """Make the Job that is due, or return the one that has its name."""
        name = wanted["metadata"]["name"]
        try:
            job = await self._client.create(JOBS, wanted)
        except errors.AlreadyExists:
            # We made it ourselves, and were stopped before we could write that down; or it is not ours.
            return await self._client.get(JOBS, name, item.key.namespace)
        except errors.ApiError as error:
            self._tell(item, "Warning", "FailedCreate", f"Error creating job: {error}")
            raise
        self._jobs.absorb(job)
        self._tell(item, "Normal", "SuccessfulCreate", f"Created job {name}")
        return job

    async def _delete(self, item: Item[Object], ref: Obj) -> None:
        name, namespace = ref["name"], ref["namespace"]
        with suppress(errors.NotFound):
            answer = await self._client.delete(
                JOBS, name, namespace, propagation="Background", uid=ref["uid"]
            )
            self._jobs.absorb_deletion(Key(namespace, name), answer)
        self._tell(item, "Normal", "SuccessfulDelete", f"Deleted job {name}")

    async def _write(
        self, item: Item[Object], cron_job: Obj, plan: Plan, started: datetime | None
    ) -> None:
        """Write the status, if it is another than before; nobody else does, so it meets no conflict."""
        before = cron_job.get("status") or {}
        last = plan.last_schedule if started is None else cron.rfc3339(started)
        after = {
            **before,
            "active": plan.active,
            "lastSuccessfulTime": plan.last_success,
            "lastScheduleTime": last,
        }
        if {name: value for name, value in after.items() if value} == before:
            return
        status = {name: value or None for name, value in after.items()}
        body = {"metadata": {"uid": item.uid}, "status": status}
        name, namespace = item.key.name, item.key.namespace
        with suppress(errors.NotFound):
            answer = await self._client.patch(
                CRON_JOBS, name, body, namespace=namespace, subresource="status"
            )
            self._cron_jobs.absorb(answer)

    def _tell(self, item: Item[Object], type: Type, reason: str, message: str) -> None:
        self._record(Subject(CRON_JOBS, item.key, item.uid), type, reason, message)


def _timing(item: Item[Object]) -> tuple[str, str]:
    spec = item.object()["spec"]
    return spec["schedule"], spec.get("timeZone") or ""
