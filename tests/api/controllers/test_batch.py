"""Jobs that are over, CronJobs and quotas."""

from collections.abc import Callable

import pytest

from jobferry.kube import errors
from jobferry.kube.client import Client
from jobferry.kube.resources import JOBS, PODS
from jobferry.objects import Obj
from jobferry.objects.resource import Resource
from jobferry.testing.wait import until, until_gone
from tests.api.controllers.things import (
    POD,
    make_pod,
    until_told,
)

pytestmark = [pytest.mark.timeout(60)]

CRON_JOBS = Resource("batch", "v1", "cronjobs", "CronJob")
QUOTAS = Resource("", "v1", "resourcequotas", "ResourceQuota")


async def test_a_finished_job_goes_when_its_time_is_over(client: Client, place: str) -> None:
    job = {
        "metadata": {"name": "j", "namespace": place},
        "spec": {
            "template": {"spec": POD},
            "managedBy": "example.com/none",
            "ttlSecondsAfterFinished": 1,
        },
    }
    await client.create(JOBS, job)
    now = client.clock.now().strftime("%Y-%m-%dT%H:%M:%SZ")
    status = {
        "startTime": now,
        "completionTime": now,
        "succeeded": 1,
        "uncountedTerminatedPods": {},
        "conditions": [
            {"type": type, "status": "True", "lastTransitionTime": now}
            for type in ("SuccessCriteriaMet", "Complete")
        ],
    }
    await client.patch(JOBS, "j", {"status": status}, namespace=place, subresource="status")

    await until_gone(client, JOBS, "j", place)


@pytest.mark.parametrize("policy", ["Allow", "Forbid", "Replace"])
async def test_a_cronjob_makes_a_job(client: Client, place: str, policy: str) -> None:
    spec = {
        "schedule": "* * * * *",
        "timeZone": "Asia/Kolkata",
        "concurrencyPolicy": policy,
        "suspend": True,
        "jobTemplate": {
            "metadata": {"labels": {"a": "b"}},
            "spec": {"template": {"spec": POD}, "suspend": True},
        },
    }
    await client.create(
        CRON_JOBS, {"metadata": {"name": "c", "namespace": place}, "spec": spec}
    )
    # So that it is due now, and not at the next full minute.
    status = {"status": {"lastScheduleTime": "2026-01-01T00:00:00Z"}}
    await client.patch(CRON_JOBS, "c", status, namespace=place, subresource="status")
    await client.patch(CRON_JOBS, "c", {"spec": {"suspend": False}}, namespace=place)

    found = await until(
        client, CRON_JOBS, "c", place, lambda found: bool(found["status"].get("active"))
    )

    ref = found["status"]["active"][0]
    job = await client.get(JOBS, ref["name"], place)
    assert set(ref) == {"apiVersion", "kind", "name", "namespace", "resourceVersion", "uid"}
    scheduled = job["metadata"]["annotations"][
        "batch.kubernetes.io/cronjob-scheduled-timestamp"
    ]
    assert scheduled.endswith("+05:30")
    assert job["metadata"]["labels"] == {"a": "b"}
    (owner,) = job["metadata"]["ownerReferences"]
    assert (owner["kind"], owner["controller"], owner["blockOwnerDeletion"]) == (
        "CronJob",
        True,
        True,
    )
    assert (
        await until_told(client, place, "c", "SuccessfulCreate") == f"Created job {ref['name']}"
    )
    assert (await until_told(client, place, "c", "TooManyMissedTimes")).startswith("too many")


async def test_a_quota_is_counted(client: Client, place: str, machine: str) -> None:
    hard = {"pods": "1", "requests.cpu": "4", "configmaps": "9", "count/jobs.batch": "1"}
    await client.create(
        QUOTAS, {"metadata": {"name": "q", "namespace": place}, "spec": {"hard": hard}}
    )
    await until(client, QUOTAS, "q", place, _uses(pods="0", configmaps="1"))
    await make_pod(client, place, "p", machine)
    with pytest.raises(errors.Forbidden, match="exceeded quota: q"):
        await make_pod(client, place, "p2", machine)
    await until(client, QUOTAS, "q", place, _uses(pods="1", **{"requests.cpu": "1"}))

    body = {"status": {"phase": "Succeeded"}}
    await client.patch(PODS, "p", body, namespace=place, subresource="status")

    await until(client, QUOTAS, "q", place, _uses(pods="0", **{"requests.cpu": "0"}))
    await client.delete(PODS, "p", place, grace=0)


def _uses(**amounts: str) -> Callable[[Obj], bool]:
    def holds(quota: Obj) -> bool:
        used = (quota.get("status") or {}).get("used") or {}
        return all(used.get(name) == amount for name, amount in amounts.items())

    return holds
