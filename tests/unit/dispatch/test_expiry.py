from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from jobferry.dispatch import expiry
from jobferry.objects import Obj
from jobferry.objects.times import timestamp
from tests.unit.core.worlds import NOW, World, hub_job
from tests.unit.dispatch.hubs import JOB, JOB_SET, adapters
from tests.workloads.lives import condition

JOBS, JOB_SETS = adapters(JOB, JOB_SET)


def job_set(*, ttl: Any, minutes: float | None, **meta: str) -> Obj:
    """Return a JobSet that ended so long ago, or runs."""
    at = timestamp(NOW - timedelta(minutes=minutes or 0))
    ended = [] if minutes is None else [condition("Completed", at=at)]
    return {
        "metadata": {
            "name": "a",
            "namespace": "ns",
            "uid": "u",
            "resourceVersion": "1",
            **meta,
        },
        "spec": {"ttlSecondsAfterFinished": ttl, "replicatedJobs": []},
        "status": {"conditions": ended},
    }


def left(hub: Obj | None) -> float | None:
    return expiry.left(JOB_SETS, replace(World().view(), hub=hub))


@pytest.mark.parametrize(
    ("ttl", "minutes", "stays"),
    [(120, 1, 60), (60, 1, 0), (0, 1, 0), (None, 1, None), (60, None, None), ("x", 1, None)],
)
def test_what_has_ended_stays_as_long_as_it_says(
    ttl: Any, minutes: float | None, stays: float | None
) -> None:
    assert left(job_set(ttl=ttl, minutes=minutes)) == stays


def test_what_is_gone_or_goes_is_left_alone() -> None:
    assert left(None) is None
    going = {"deletionTimestamp": "2026-01-02T11:59:00Z"}
    assert left(job_set(ttl=0, minutes=1, **going)) is None


def test_jobs_are_for_the_hub_itself_to_delete() -> None:
    assert expiry.left(JOBS, World(hub_job(ttlSecondsAfterFinished=0)).view()) is None
