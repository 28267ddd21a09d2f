"""CronJobs on a cluster in this process."""

from pathlib import Path
from typing import Any

from jobferry.kube.resources import JOBS
from jobferry.localkube.controllers.cron_jobs import CRON_JOBS
from jobferry.objects import Obj
from jobferry.objects.resource import Resource
from tests.unit.localkube.controllers.world import World, cluster, pod

NOT_RUN = frozenset({"job", "scheduler"})
MINUTE = 60
QUOTAS = Resource("", "v1", "resourcequotas", "ResourceQuota")


async def make(world: World, **spec: Any) -> None:
    """Make a CronJob whose Jobs nobody runs."""
    template = {"spec": {"template": {"spec": pod("x")["spec"]}}}
    body = {
        "metadata": {"name": "c", "namespace": "default"},
        "spec": {"schedule": "* * * * *", "jobTemplate": template, **spec},
    }
    await world.client.create(CRON_JOBS, body)
    await world.settle()


async def status(world: World) -> Obj:
    found = await world.find(CRON_JOBS, "c")
    assert found
    result: Obj = found["status"]
    return result


async def finish(world: World, name: str, type: str = "Complete") -> None:
    now = world.clock.now().strftime("%Y-%m-%dT%H:%M:%SZ")
    before = "SuccessCriteriaMet" if type == "Complete" else "FailureTarget"
    body: Obj = {
        "startTime": now,
        "uncountedTerminatedPods": {},
        "conditions": [
            {"type": each, "status": "True", "lastTransitionTime": now}
            for each in (before, type)
        ],
    }
    if type == "Complete":
        body |= {"completionTime": now, "succeeded": 1}
    await world.client.patch(
        JOBS, name, {"status": body}, namespace="default", subresource="status"
    )
    await world.settle()


async def test_a_job_is_made_every_minute(tmp_path: Path) -> None:
    async with cluster(tmp_path, without=NOT_RUN) as world:
        await make(world)
        assert await world.names(JOBS) == set()

        await world.pass_time(MINUTE + 1)

        minute = int(world.clock.now().timestamp()) // 60
        assert await world.names(JOBS) == {f"c-{minute}"}
        found = await status(world)
        assert [each["name"] for each in found["active"]] == [f"c-{minute}"]
        assert found["lastScheduleTime"] == "2026-01-01T00:01:00Z"
        assert ("SuccessfulCreate", f"Created job c-{minute}") in await world.told("c")

        await world.pass_time(2 * MINUTE)

        assert await world.names(JOBS) == {f"c-{minute + number}" for number in range(3)}
        assert len((await status(world))["active"]) == 3


async def test_finished_jobs_are_noted_and_the_oldest_go(tmp_path: Path) -> None:
    async with cluster(tmp_path, without=NOT_RUN) as world:
        await make(world, successfulJobsHistoryLimit=1)
        await world.pass_time(2 * MINUTE + 1)
        first, second = sorted(await world.names(JOBS))

        await finish(world, first)
        found = await status(world)
        assert [each["name"] for each in found["active"]] == [second]
        assert found["lastSuccessfulTime"]
        await finish(world, second)

        assert await world.names(JOBS) == {second}
        assert "active" not in await status(world)
        told = await world.told("c")
        assert ("SawCompletedJob", f"Saw completed job: {first}, condition: Complete") in told
        assert ("SuccessfulDelete", f"Deleted job {first}") in told


async def test_a_job_that_is_deleted_is_not_missed_for_long(tmp_path: Path) -> None:
    async with cluster(tmp_path, without=NOT_RUN) as world:
        await make(world)
        await world.pass_time(MINUTE + 1)
        (name,) = await world.names(JOBS)

        await world.client.delete(JOBS, name, "default", propagation="Background")
        await world.settle()

        assert "active" not in await status(world)
        assert ("MissingJob", f"Active job went missing: {name}") in await world.told("c")


async def test_a_job_is_replaced_by_the_next(tmp_path: Path) -> None:
    async with cluster(tmp_path, without=NOT_RUN) as world:
        await make(world, concurrencyPolicy="Replace")
        await world.pass_time(MINUTE + 1)
        first = await world.names(JOBS)

        await world.pass_time(MINUTE)

        second = await world.names(JOBS)
        assert len(second) == 1
        assert second != first
        assert {each["name"] for each in (await status(world))["active"]} == second


async def test_a_job_waits_for_the_one_before_it(tmp_path: Path) -> None:
    async with cluster(tmp_path, without=NOT_RUN) as world:
        await make(world, concurrencyPolicy="Forbid")
        await world.pass_time(3 * MINUTE + 1)
        (name,) = await world.names(JOBS)

        await finish(world, name)

        assert len(await world.names(JOBS)) == 2


async def test_a_suspended_cronjob_rests_and_catches_up(tmp_path: Path) -> None:
    async with cluster(tmp_path, without=NOT_RUN) as world:
        await make(world, suspend=True)
        await world.pass_time(5 * MINUTE + 1)
        assert await world.names(JOBS) == set()

        await world.client.patch(
            CRON_JOBS, "c", {"spec": {"suspend": False}}, namespace="default"
        )
        await world.settle()

        assert len(await world.names(JOBS)) == 1


async def test_a_new_schedule_counts_from_now_on(tmp_path: Path) -> None:
    async with cluster(tmp_path, without=NOT_RUN) as world:
        await make(world, schedule="0 0 1 1 *")
        await world.pass_time(10 * MINUTE + 1)

        await world.client.patch(
            CRON_JOBS, "c", {"spec": {"schedule": "*/5 * * * *"}}, namespace="default"
        )
        await world.settle()
        assert await world.names(JOBS) == set()

        await world.pass_time(5 * MINUTE)
        assert len(await world.names(JOBS)) == 1


async def test_jobs_that_cannot_be_made_are_tried_again(tmp_path: Path) -> None:
    async with cluster(tmp_path, without=NOT_RUN) as world:
        await make(world)
        quota = {
            "metadata": {"name": "q", "namespace": "default"},
            "spec": {"hard": {"count/jobs.batch": "0"}},
            "status": {"hard": {"count/jobs.batch": "0"}, "used": {"count/jobs.batch": "0"}},
        }

        await world.client.create(QUOTAS, quota)
        await world.client.patch(
            QUOTAS, "q", {"status": quota["status"]}, namespace="default", subresource="status"
        )
        await world.pass_time(MINUTE + 10)
        assert await world.names(JOBS) == set()
        assert any(reason == "FailedCreate" for reason, _ in await world.told("c"))
        assert "lastScheduleTime" not in await status(world)

        await world.client.delete(QUOTAS, "q", "default")
        await world.pass_time(40)

        assert len(await world.names(JOBS)) == 1


async def test_deleting_a_cronjob_takes_its_jobs_with_it(tmp_path: Path) -> None:
    async with cluster(tmp_path, without=NOT_RUN) as world:
        await make(world)
        await world.pass_time(2 * MINUTE + 1)

        await world.client.delete(CRON_JOBS, "c", "default", propagation="Background")
        await world.settle()

        assert await world.names(JOBS) == set()
