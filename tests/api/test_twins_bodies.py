"""Both servers beside each other: the bodies that the rules of Jobs, CronJobs and pods are tried with."""

import itertools
from typing import Any

import pytest

from jobferry.objects import Obj, merge_patch
from tests.api.cronjob_bodies import CRON, CRON_UPDATES, cronjobs
from tests.api.job_bodies import UPDATES, job, jobs
from tests.api.job_status_bodies import STATUSES
from tests.api.pod_bodies import PODS
from tests.api.pod_change_bodies import MAIN, POD_STATUSES, POD_UPDATES
from tests.api.twins import MERGE, Twins

pytestmark = [pytest.mark.kube, pytest.mark.timeout(120)]

DRY = {"dryRun": "All"}
NUMBERS = itertools.count()


def jobs_in(place: str, *parts: str) -> str:
    return "/".join((f"/apis/batch/v1/namespaces/{place}/jobs", *parts))


def crons_in(place: str, *parts: str) -> str:
    return "/".join((f"/apis/batch/v1/namespaces/{place}/cronjobs", *parts))


def pods_in(place: str, *parts: str) -> str:
    return "/".join((f"/api/v1/namespaces/{place}/pods", *parts))


def named(body: Obj) -> Obj:
    return body | {"metadata": {"name": f"case-{next(NUMBERS)}"} | body.get("metadata", {})}


def plain_pod(**members: Any) -> Obj:
    return {"metadata": {}, "spec": {"containers": [MAIN], **members}}


def over(status: Obj, new: Obj) -> Obj:
    """Return the patch that makes a new status of one."""
    return {"status": dict.fromkeys(status) | new}


async def changed(
    twins: Twins, path: str, body: Obj, status: Obj, patch: Obj, title: str, *parts: str
) -> None:
    """Create an object with a status on both, and change it."""
    made = await twins.post(path, named(body), title=f"{title} (before)", any_order=True)
    if made.code != 201:
        return
    here = f"{path}/{made.object['metadata']['name']}"
    if status:
        await twins.patch(
            f"{here}/status", {"status": status}, title=f"{title} (status before)"
        )
    await twins.patch("/".join((here, *parts)), patch, MERGE, title=title, any_order=True)
    await twins.get(here, title=title)


async def test_jobs_are_created_or_refused(twins: Twins, place: str) -> None:
    for title, body in jobs():
        await twins.post(jobs_in(place), named(body), title=title, any_order=True)


async def test_jobs_are_changed_or_not(twins: Twins, place: str) -> None:
    for title, (spec, patch) in UPDATES.items():
        await changed(twins, jobs_in(place), job(spec), {}, patch, title)


async def test_statuses_of_jobs_are_changed_or_not(twins: Twins, place: str) -> None:
    for title, (spec, status, new) in STATUSES.items():
        patch = over(status, new)
        await changed(twins, jobs_in(place), job(spec), status, patch, title, "status")


async def test_templates_are_accepted_or_refused(twins: Twins, place: str) -> None:
    for title, change in PODS.items():
        path, body = jobs_in(place), named(job(change))
        await twins.post(path, body, title=title, any_order=True, query=DRY)


async def test_pods_are_created_or_refused(twins: Twins, place: str) -> None:
    for title, change in PODS.items():
        body = named({"spec": job(change)["spec"]["template"]["spec"]})
        await twins.post(pods_in(place), body, title=title, any_order=True, query=DRY)


async def test_pods_are_changed_or_not(twins: Twins, place: str) -> None:
    for title, (spec, patch) in POD_UPDATES.items():
        await changed(twins, pods_in(place), plain_pod(**spec), {}, patch, title)


async def test_statuses_of_pods_are_changed_or_not(twins: Twins, place: str) -> None:
    for title, (spec, status, new) in POD_STATUSES.items():
        body, patch = plain_pod(**spec), over(status, new)
        await changed(twins, pods_in(place), body, status, patch, title, "status")


async def test_cronjobs_are_created_or_refused(twins: Twins, place: str) -> None:
    for title, body in cronjobs():
        await twins.post(crons_in(place), named(body), title=title, any_order=True)


async def test_cronjobs_are_changed_or_not(twins: Twins, place: str) -> None:
    for title, (spec, patch) in CRON_UPDATES.items():
        body = {"metadata": {}, "spec": merge_patch.apply(CRON, spec)}
        await changed(twins, crons_in(place), body, {}, patch, title)


async def test_statuses_of_cronjobs_are_changed(twins: Twins, place: str) -> None:
    path = crons_in(place, "a")
    await twins.post(crons_in(place), {"metadata": {"name": "a"}, "spec": CRON})
    about = {"kind": "Job", "name": "j", "uid": "u", "apiVersion": "batch/v1"}
    for status in (
        {"active": [about], "lastScheduleTime": "2026-01-01T00:00:00Z"},
        {"active": [{}, about], "lastSuccessfulTime": "x"},
        {"active": None},
        {"spec": {"suspend": True}},
    ):
        await twins.patch(f"{path}/status", {"status": status, "spec": {"suspend": True}})
