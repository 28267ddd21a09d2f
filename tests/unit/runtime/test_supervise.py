import asyncio
from collections.abc import Coroutine
from functools import partial
from typing import Any

import pytest

from jobferry.errors import Transient
from jobferry.runtime import supervise
from jobferry.testing.clock import ManualClock, settle


class Story:
    """Tasks that note what happens to them."""

    def __init__(self) -> None:
        self.clock = ManualClock()
        self.lines: list[str] = []
        self.broken = asyncio.Event()
        """Once set, tasks that can break do."""

    def owner(self, name: str = "owner") -> Any:
        return supervise.tasks(name, clock=self.clock, grace=5)

    async def service(self, name: str) -> None:
        self.lines.append(f"{name} starts")
        try:
            await asyncio.Event().wait()
        finally:
            self.lines.append(f"{name} stops")

    async def stubborn(self, name: str, deaf_to: int) -> None:
        """Ignore that many cancellations."""
        for _ in range(deaf_to):
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                self.lines.append(f"{name} is cancelled")
        await asyncio.Event().wait()

    async def breaks(self, error: BaseException) -> None:
        await self.broken.wait()
        raise error

    async def fails_to_stop(self, error: Exception) -> None:
        try:
            await asyncio.Event().wait()
        finally:
            raise error


@pytest.fixture
def story() -> Story:
    return Story()


def others() -> set[asyncio.Task[Any]]:
    return asyncio.all_tasks() - {asyncio.current_task()}


async def run_alone(main: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
    """Start a task and let it get going."""
    task = asyncio.create_task(main)
    await settle()
    return task


async def test_leaving_the_block_stops_all_in_the_reverse_order(story: Story) -> None:
    async with story.owner() as tasks:
        for name in ("informer", "loop", "events"):
            tasks.start(name, partial(story.service, name))
        await settle()
        story.lines.clear()

    assert story.lines == ["events stops", "loop stops", "informer stops"]
    assert not others()


async def test_a_task_is_stopped_only_when_the_one_after_it_has_ended(story: Story) -> None:
    async def slow() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0)
            story.lines.append("slow stops")

    async with story.owner() as tasks:
        tasks.start("first", partial(story.service, "first"))
        tasks.start("slow", slow)
        await settle()

    assert story.lines == ["first starts", "slow stops", "first stops"]


async def test_a_task_that_never_ran_is_stopped_too(story: Story) -> None:
    async with story.owner() as tasks:
        tasks.start("service", partial(story.service, "service"))

    assert story.lines == []
    assert not others()


async def test_a_failure_cancels_the_block_stops_the_others_and_is_raised(story: Story) -> None:
    error = ZeroDivisionError("bug")
    story.broken.set()

    async def own() -> None:
        async with story.owner() as tasks:
            tasks.start("service", partial(story.service, "service"))
            tasks.start("breaks", partial(story.breaks, error))
            await asyncio.Event().wait()

    with pytest.raises(ZeroDivisionError) as caught:
        await own()

    assert caught.value is error
    assert story.lines == ["service starts", "service stops"]
    assert not others()
    assert asyncio.current_task().cancelling() == 0  # type: ignore[union-attr]


async def test_of_several_failures_the_first_is_raised_and_the_others_are_logged(
    story: Story, caplog: pytest.LogCaptureFixture
) -> None:
    story.broken.set()

    async def own() -> None:
        async with story.owner() as tasks:
            tasks.start("one", partial(story.breaks, KeyError("first")))
            tasks.start("two", partial(story.breaks, ValueError("second")))
            await asyncio.Event().wait()

    with pytest.raises(KeyError):
        await own()

    assert [type(record.exc_info[1]) for record in caplog.records if record.exc_info] == [
        ValueError
    ]


async def test_a_failure_just_as_the_block_ends_is_raised(
    story: Story, caplog: pytest.LogCaptureFixture
) -> None:
    async def own() -> None:
        async with story.owner() as tasks:
            tasks.start("breaks", partial(story.breaks, KeyError()))
            await settle()
            story.broken.set()
            await asyncio.sleep(0)  # it has failed by now, but nobody was told yet

    with pytest.raises(KeyError):
        await own()

    assert [record.getMessage() for record in caplog.records] == ["Task failed"]


async def test_a_failure_is_raised_even_if_the_block_ignores_its_cancellation(
    story: Story,
) -> None:
    story.broken.set()

    async def own() -> None:
        async with story.owner() as tasks:
            tasks.start("breaks", partial(story.breaks, KeyError()))
            with pytest.raises(asyncio.CancelledError):
                await asyncio.Event().wait()

    with pytest.raises(KeyError):
        await own()


async def test_an_error_of_the_block_stops_all_and_is_raised(story: Story) -> None:
    async def own() -> None:
        async with story.owner() as tasks:
            tasks.start("service", partial(story.service, "service"))
            await settle()
            raise TimeoutError("mine")

    with pytest.raises(TimeoutError, match="mine"):
        await own()

    assert story.lines == ["service starts", "service stops"]


async def test_a_cancelled_owner_stops_all_and_is_cancelled(story: Story) -> None:
    async def own() -> None:
        async with story.owner() as tasks:
            tasks.start("service", partial(story.service, "service"))
            await tasks.ended()

    owner = await run_alone(own())
    owner.cancel()
    await settle()

    assert owner.cancelled()
    assert story.lines == ["service starts", "service stops"]


async def test_a_task_that_returns_is_no_failure(story: Story) -> None:
    async with story.owner() as tasks:
        child = tasks.start("short", partial(asyncio.sleep, 0))
        assert child.is_running
        await tasks.ended()
        assert not child.is_running


async def test_waiting_for_the_end_includes_tasks_started_meanwhile(story: Story) -> None:
    async with story.owner() as tasks:

        async def first() -> None:
            tasks.start("second", second)

        async def second() -> None:
            await asyncio.sleep(0)
            story.lines.append("second ends")

        tasks.start("first", first)
        await tasks.ended()

    assert story.lines == ["second ends"]


async def test_one_task_can_be_stopped_while_the_rest_runs(story: Story) -> None:
    async with story.owner() as tasks:
        east = tasks.start("east", partial(story.service, "east"))
        west = tasks.start("west", partial(story.service, "west"))
        await settle()

        await east.stop()
        await east.stop()

        assert story.lines == ["east starts", "west starts", "east stops"]
        assert (east.is_running, west.is_running) == (False, True)


async def test_a_part_with_tasks_of_its_own_comes_and_goes_live(story: Story) -> None:
    async def worker(name: str) -> None:
        async with story.owner(name) as tasks:
            tasks.start("informer", partial(story.service, f"{name} informer"))
            tasks.start("loop", partial(story.service, f"{name} loop"))
            await tasks.ended()

    async with story.owner() as tasks:
        for _ in range(2):
            east = tasks.start("east", partial(worker, "east"))
            await settle()
            await east.stop()

    life = [
        "east informer starts",
        "east loop starts",
        "east loop stops",
        "east informer stops",
    ]
    assert story.lines == life * 2


async def test_a_failing_part_tells_its_owner_who_may_start_it_again(story: Story) -> None:
    heard: list[BaseException] = []
    error = Transient("connection lost")

    async def worker() -> None:
        async with story.owner("east") as tasks:
            tasks.start("informer", partial(story.service, "informer"))
            tasks.start("watch", partial(story.breaks, error))
            await tasks.ended()

    async with story.owner() as tasks:
        tasks.start("east", worker, on_failure=heard.append)
        tasks.start("other", partial(story.service, "other"))
        await settle()
        story.broken.set()
        await settle()

        assert heard == [error]
        story.broken.clear()
        again = tasks.start("east", worker, on_failure=heard.append)
        await settle()
        assert again.is_running

    life = ["informer starts", "informer stops"]
    assert [line for line in story.lines if "informer" in line] == life * 2
    assert story.lines[-2:] == ["informer stops", "other stops"]
    assert heard == [error]


async def test_a_task_cancelled_by_a_stranger_is_a_failure(story: Story) -> None:
    shared = asyncio.create_task(story.service("shared"))

    async def awaits_it() -> None:
        await shared

    async def own() -> None:
        async with story.owner() as tasks:
            tasks.start("victim", awaits_it)
            await settle()
            shared.cancel()
            await asyncio.Event().wait()

    with pytest.raises(supervise.Lost, match="victim"):
        await own()


async def test_who_does_not_stop_is_cancelled_again_after_each_grace_time(
    story: Story, caplog: pytest.LogCaptureFixture
) -> None:
    async def own() -> None:
        async with story.owner() as tasks:
            tasks.start("mule", partial(story.stubborn, "mule", deaf_to=2))
            await asyncio.sleep(0)

    owner = await run_alone(own())
    assert story.lines == ["mule is cancelled"]

    await story.clock.pass_time(4.9)
    assert story.lines == ["mule is cancelled"]

    await story.clock.pass_time(0.1)
    assert story.lines == ["mule is cancelled"] * 2

    await story.clock.pass_time(5)
    assert owner.done()
    assert [record.__dict__["facts"]["task"] for record in caplog.records] == ["mule"] * 2
    assert story.clock.waiting == 0


async def test_an_owner_cancelled_while_stopping_stops_the_rest_at_once_and_waits_for_all(
    story: Story,
) -> None:
    async def own() -> None:
        async with story.owner() as tasks:
            tasks.start("first", partial(story.service, "first"))
            tasks.start("mule", partial(story.stubborn, "mule", deaf_to=1))
            await asyncio.sleep(0)

    owner = await run_alone(own())
    assert story.lines == ["first starts", "mule is cancelled"]

    owner.cancel()
    await settle()
    assert story.lines[2:] == ["first stops"]
    assert not owner.done()

    await story.clock.pass_time(5)
    assert owner.cancelled()
    assert not others()


async def test_a_failure_while_stopping_is_logged_and_does_not_stop_the_stopping(
    story: Story, caplog: pytest.LogCaptureFixture
) -> None:
    async with story.owner() as tasks:
        tasks.start("first", partial(story.service, "first"))
        tasks.start("clumsy", partial(story.fails_to_stop, ValueError("oops")))
        await settle()

    assert story.lines == ["first starts", "first stops"]
    [record] = caplog.records
    assert record.getMessage() == "Task failed while stopping"
    assert record.exc_info is not None


async def test_a_failure_is_logged_with_the_names_of_task_and_owner(
    story: Story, caplog: pytest.LogCaptureFixture
) -> None:
    story.broken.set()

    async def own() -> None:
        async with story.owner("hub") as tasks:
            tasks.start("watch", partial(story.breaks, Transient("lost")))
            await asyncio.Event().wait()

    with pytest.raises(Transient):
        await own()

    [record] = caplog.records
    assert record.__dict__["facts"] == {
        "owner": "hub",
        "task": "watch",
        "error": "Transient('lost')",
    }


async def test_nothing_can_be_started_once_stopping_has_begun(story: Story) -> None:
    async with story.owner() as tasks:
        pass

    with pytest.raises(RuntimeError, match="stopping"):
        tasks.start("late", partial(story.service, "late"))


async def test_tasks_bear_their_names(story: Story) -> None:
    async with story.owner("hub") as tasks:
        tasks.start("informer", partial(story.service, "x"))

        assert [task.get_name() for task in others()] == ["hub: informer"]
