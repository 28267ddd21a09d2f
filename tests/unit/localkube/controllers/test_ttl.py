"""Finished Jobs go when their time is over."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import orjson
import pytest

from jobferry.kube.resources import JOBS
from jobferry.localkube.controllers import ttl
from jobferry.objects import Obj
from tests.unit.localkube.controllers.world import World, cluster, pod

END = "2026-01-01T00:00:10Z"


def condition(type: str, status: str = "True") -> Obj:
    return {"type": type, "status": status, "lastTransitionTime": END}


@pytest.mark.parametrize(
    ("spec", "conditions", "expected"),
    [
        ({}, [condition("Complete")], None),
        ({"ttlSecondsAfterFinished": 5}, [], None),
        ({"ttlSecondsAfterFinished": 5}, [condition("Suspended")], None),
        ({"ttlSecondsAfterFinished": 5}, [condition("FailureTarget")], None),
        ({"ttlSecondsAfterFinished": 5}, [condition("Complete", "False")], None),
        ({"ttlSecondsAfterFinished": 5}, [condition("Complete")], 15),
        ({"ttlSecondsAfterFinished": 0}, [condition("Failed")], 10),
        ({"ttlSecondsAfterFinished": None}, [condition("Failed")], None),
    ],
)
def test_the_time_runs_from_when_a_job_finished(
    spec: Obj, conditions: list[Obj], expected: int | None
) -> None:
    body = orjson.dumps({"spec": spec, "status": {"conditions": conditions}})

    due = ttl.expiry(body)

    assert due == (
        None if expected is None else datetime(2026, 1, 1, 0, 0, expected, tzinfo=UTC)
    )


async def finished(world: World, name: str, **spec: Any) -> None:
    """Make a Job that nobody runs, and finish it."""
    template = {"spec": pod("x")["spec"]}
    job = {
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"template": template, "managedBy": "example.com/x", **spec},
    }
    await world.client.create(JOBS, job)
    now = world.clock.now().strftime("%Y-%m-%dT%H:%M:%SZ")
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
    await world.client.patch(
        JOBS, name, {"status": status}, namespace="default", subresource="status"
    )
    await world.settle()


async def test_a_finished_job_goes_when_its_time_is_over(tmp_path: Path) -> None:
    async with cluster(tmp_path) as world:
        await finished(world, "short", ttlSecondsAfterFinished=30)
        await finished(world, "long", ttlSecondsAfterFinished=60)
        await finished(world, "kept")

        await world.pass_time(29)
        assert await world.names(JOBS) == {"short", "long", "kept"}

        await world.pass_time(1)
        assert await world.names(JOBS) == {"long", "kept"}

        await world.pass_time(1000)
        assert await world.names(JOBS) == {"kept"}


async def test_a_time_that_is_changed_counts_anew(tmp_path: Path) -> None:
    async with cluster(tmp_path) as world:
        await finished(world, "j", ttlSecondsAfterFinished=30)
        await world.client.patch(
            JOBS, "j", {"spec": {"ttlSecondsAfterFinished": 50}}, namespace="default"
        )
        await world.settle()

        await world.pass_time(40)
        assert await world.names(JOBS) == {"j"}

        await world.pass_time(10)
        assert await world.names(JOBS) == set()
