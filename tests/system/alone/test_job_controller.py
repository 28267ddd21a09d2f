"""The Job controller where requests get lost, where it is killed, and where others run Jobs too."""

import asyncio

import pytest

from jobferry.objects import Obj
from tests.system.job_scenarios import indexed, plain
from tests.system.job_stage import FOREVER, Runs, Scenario, Stage, short
from tests.system.lossy import lossy

MIXED: Runs = {"1": [(1, 1), (1, 0)], "": [(1, 1), (1, 0)]}
HARD = [
    Scenario(
        "plain",
        plain(3, 2),
        "SuccessCriteriaMet Complete CompletionsReached | succeeded 3, failed 1 | Failed*1 Succeeded*3",
        MIXED,
    ),
    Scenario(
        "indexed",
        indexed(3, 2, backoffLimitPerIndex=1),
        "SuccessCriteriaMet Complete CompletionsReached | succeeded 3, failed 2, completedIndexes 0-2, failedIndexes  | Failed*2 Succeeded*3",
        MIXED,
    ),
    Scenario(
        "stopped",
        plain(2, 2, activeDeadlineSeconds=3),
        "FailureTarget Failed DeadlineExceeded | failed 2 | -",
        {"": [(FOREVER, 0)]},
    ),
    Scenario(
        "scaled",
        plain(None, 2, podReplacementPolicy="Failed"),
        "SuccessCriteriaMet Complete CompletionsReached | succeeded 2 | Succeeded*2",
    ),
]
MOST_WRITES = 30


def without_events(seen: Obj) -> str:
    return short(seen).rpartition(" | ")[0]


def times_ended(seen: Obj) -> int:
    """Return how often people were told that the Job has ended."""
    return sum(
        count
        for words, count in seen["events"].items()
        if words.split()[1] in ("Completed:", "DeadlineExceeded:")
    )


@pytest.mark.timeout(120)
@pytest.mark.parametrize("after", [False, True], ids=["request", "answer"])
@pytest.mark.parametrize("scenario", HARD, ids=lambda scenario: scenario.name)
async def test_whatever_is_lost_each_pod_is_counted_once(
    scenario: Scenario, after: bool
) -> None:
    async with lossy() as (controller, audience):
        for number in range(1, MOST_WRITES):
            controller.faulty.arm(number, after=after)
            stage = Stage(audience, scenario, f"lost-{number}", None)
            await stage.play(without_events)
            await stage.wait(3)

            assert without_events(stage.seen()) == scenario.seen, number
            assert times_ended(stage.seen()) == 1, number
            if not controller.faulty.hit.is_set():
                break
    assert 5 < number < MOST_WRITES - 1


@pytest.mark.timeout(120)
@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("scenario", HARD, ids=lambda scenario: scenario.name)
async def test_killed_at_any_write_it_goes_on_where_it_was(
    scenario: Scenario, after: bool
) -> None:
    async with lossy() as (controller, audience):
        for number in range(1, MOST_WRITES):
            controller.faulty.arm(number, after=after, silent=True)
            stage = Stage(audience, scenario, f"killed-{number}", None)
            async with asyncio.TaskGroup() as group:
                playing_it = group.create_task(stage.play(without_events))
                hit = group.create_task(controller.faulty.hit.wait())
                await asyncio.wait([playing_it, hit], return_when=asyncio.FIRST_COMPLETED)
                if is_over := not hit.done():
                    hit.cancel()
                else:
                    await controller.stop()
                    await controller.start()

            await stage.wait(3)
            assert without_events(stage.seen()) == scenario.seen, number
            if is_over:
                break
    assert 5 < number < MOST_WRITES - 1


async def test_a_pod_whose_answer_was_lost_is_found_though_the_watch_is_late() -> None:
    async with lossy() as (controller, audience):
        stage = Stage(audience, HARD[-1], "late", None)
        controller.faulty.arm(1, after=True, hold="pods")
        async with asyncio.TaskGroup() as group:
            playing_it = group.create_task(stage.play(without_events))
            await controller.faulty.hit.wait()
            await stage.until(lambda: stage.status.get("active") == 2)
            controller.faulty.deliver()

        made = [each for each in controller.faulty.writes if each.startswith("POST")]
        assert len(made) == 2
        assert without_events(playing_it.result()) == HARD[-1].seen


async def test_what_others_write_meanwhile_is_not_written_over() -> None:
    async with lossy() as (controller, audience):
        stage = Stage(audience, LONG, "others", None)
        await stage.open()
        await stage.begin()
        (name,) = await stage.running(1)
        controller.faulty.hold("jobs")
        placed = {"type": "Placed", "status": "True", "reason": "Us", "message": ""}
        await stage.preset(conditions=[placed])
        await stage.delete_pod(name)
        await stage.wait(2)
        controller.faulty.deliver()
        await stage.until(lambda: stage.status.get("failed") == 1)

        assert stage.has("Placed")


async def test_a_pod_that_ended_unseen_counts_though_it_was_to_be_removed() -> None:
    async with lossy() as (controller, audience):
        stage = Stage(audience, SHORT, "unseen", None)
        await stage.open()
        await stage.begin()
        (name,) = await stage.running(1)
        controller.faulty.hold("pods")
        await stage.until(lambda: stage.pods[0]["status"]["phase"] == "Succeeded")
        await stage.edit(suspend=True)
        await stage.wait(1)
        controller.faulty.deliver()
        await stage.until(lambda: stage.has("Complete"))

        assert [pod["metadata"]["name"] for pod in stage.pods] == [name]


SHORT = Scenario("short", plain(), "", {"": [(3, 0)]})
LONG = Scenario("long", plain(), "", {"": [(FOREVER, 0)]})
