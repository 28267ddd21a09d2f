import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from random import Random
from typing import Any

import pytest

from jobferry import log
from jobferry.errors import BadInput, Transient
from jobferry.runtime.backoff import Backoff, Failures
from jobferry.runtime.reconcile import DONE, PROMPT, Again, Loop, Outcome, Stats
from jobferry.runtime.workqueue import WorkQueue
from jobferry.testing.clock import ManualClock, settle

RANDOM = Random(0)
STEADY = Backoff(first=1, factor=2, cap=60, jitter=0)

Answer = Outcome | Exception


class World:
    """A loop whose reconciler gives the answers that a test prepared, then DONE."""

    def __init__(self, workers: int = 2, most_slow: int = 0) -> None:
        self.clock = ManualClock()
        self.queue: WorkQueue[str] = WorkQueue(self.clock)
        self.answers: dict[str, list[Answer]] = {}
        self.before: Callable[[str], Any] | None = None
        """Awaited before the answer is given."""
        self.passes: list[tuple[str, float]] = []
        """Which key was looked at, and after how many seconds."""
        self.failures: Failures[str] = Failures(STEADY, RANDOM)
        self.loop = Loop(
            "jobs",
            self.reconcile,
            queue=self.queue,
            failures=self.failures,
            workers=workers,
            most_slow=most_slow,
        )
        self._start = self.clock.monotonic()

    async def reconcile(self, key: str) -> Outcome:
        self.passes.append((key, self.clock.monotonic() - self._start))
        if self.before is not None:
            await self.before(key)
        answers = self.answers.get(key)
        answer = answers.pop(0) if answers else DONE
        if isinstance(answer, Exception):
            raise answer
        return answer

    def keys(self) -> list[str]:
        return [key for key, _ in self.passes]

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        task = asyncio.create_task(self.loop.run())
        yield
        task.cancel()
        await asyncio.wait([task])
        assert task.cancelled()


async def test_a_key_in_order_is_looked_at_once() -> None:
    world = World()

    async with world.running():
        world.queue.add("a")
        await world.clock.pass_time(1000)

    assert world.passes == [("a", 0)]
    assert world.loop.stats() == Stats(done=1, again=0, error=0)


async def test_a_key_that_wants_another_look_gets_it_after_its_time() -> None:
    world = World()
    world.answers["a"] = [Again(after=30)]

    async with world.running():
        world.queue.add("a")
        await world.clock.pass_time(1000)

    assert world.passes == [("a", 0), ("a", 30)]
    assert world.loop.stats() == Stats(done=1, again=1, error=0)


async def test_a_failure_is_tried_again_after_ever_longer_waits() -> None:
    world = World()
    world.answers["a"] = [*[Transient("down")] * 3, ValueError("bug")]

    async with world.running():
        world.queue.add("a")
        await world.clock.pass_time(1000)

    assert world.passes == [("a", 0), ("a", 1), ("a", 3), ("a", 7), ("a", 15)]
    assert world.loop.stats() == Stats(done=1, again=0, error=4)


@pytest.mark.parametrize("success", [DONE, Again(after=0)])
async def test_after_a_success_the_waits_start_anew(success: Outcome) -> None:
    world = World()
    world.answers["a"] = [Transient("down"), Transient("down"), success]

    async with world.running():
        world.queue.add("a")
        await world.clock.pass_time(100)

    assert world.failures.count("a") == 0


async def test_nothing_but_success_ends_a_key() -> None:
    world = World()
    world.answers["a"] = [BadInput("cpu: many"), BadInput("fork: no memory")]

    async with world.running():
        world.queue.add("a")
        await world.clock.pass_time(1000)

    assert world.passes == [("a", 0), ("a", 1), ("a", 3)]
    assert world.loop.stats() == Stats(done=1, again=0, error=2)
    assert world.failures.count("a") == 0


async def test_who_says_when_to_come_back_is_not_bothered_earlier() -> None:
    class Throttled(Transient):
        retry_after = 20.0

    world = World()
    world.answers["a"] = [Throttled("slow down")]

    async with world.running():
        world.queue.add("a")
        await world.clock.pass_time(1000)

    assert world.passes == [("a", 0), ("a", 20)]


async def test_one_failing_key_does_not_hold_up_the_others() -> None:
    world = World(workers=1)
    world.answers["bad"] = [RuntimeError("bug")] * 5

    async with world.running():
        world.queue.add("bad")
        world.queue.add("good")
        await settle()

    assert world.passes == [("bad", 0), ("good", 0)]


async def test_a_key_that_changes_during_its_pass_is_looked_at_again_afterwards() -> None:
    world, go_on = World(), asyncio.Event()
    world.before = lambda _: go_on.wait()

    async with world.running():
        world.queue.add("a")
        await settle()
        world.queue.add("a")
        await settle()
        assert len(world.passes) == 1

        go_on.set()
        await settle()

    assert len(world.passes) == 2


async def test_so_many_passes_run_at_a_time_as_there_are_workers() -> None:
    world, go_on = World(workers=3), asyncio.Event()
    world.before = lambda _: go_on.wait()

    async with world.running():
        for key in "abcde":
            world.queue.add(key)
        await settle()

        assert [key for key, _ in world.passes] == ["a", "b", "c"]


async def test_a_pass_that_is_cut_off_is_not_lost() -> None:
    world = World()
    world.before = lambda _: asyncio.Event().wait()
    async with world.running():
        world.queue.add("a")
        await settle()
    assert world.queue.stats().waiting == 1
    assert world.loop.stats() == Stats(done=0, again=0, error=0)

    world.before = None
    async with world.running():
        await settle()

    assert world.loop.stats().done == 1


async def test_a_pass_that_awaits_what_others_cancelled_has_failed_and_its_worker_goes_on() -> (
    None
):
    world, shared = World(workers=1), asyncio.Event()
    victim = asyncio.create_task(shared.wait())
    world.before = lambda _: victim

    async with world.running():
        world.queue.add("a")
        await settle()
        victim.cancel()
        await settle()
        assert world.loop.stats().error == 1

        world.before = None
        await world.clock.pass_time(1)

    assert world.loop.stats().done == 1


async def test_the_loop_ends_when_its_queue_is_closed() -> None:
    world = World()
    task = asyncio.create_task(world.loop.run())
    await settle()

    world.queue.close()

    await task


def facts(record: logging.LogRecord) -> dict[str, object]:
    found: dict[str, object] = record.__dict__["facts"]
    return found


async def test_our_own_error_is_logged_in_one_line_without_a_traceback(
    caplog: pytest.LogCaptureFixture,
) -> None:
    world = World()
    error = Transient("east does not answer", hint="look at its API server")
    world.answers["ml/a"] = [error]

    async with world.running():
        world.queue.add("ml/a")
        await settle()

    [record] = caplog.records
    assert record.levelno == logging.WARNING
    assert record.exc_info is None
    assert facts(record) == {
        "key": "ml/a",
        "pass_id": "jobs-1",
        "error": error,
        "hint": "look at its API server",
        "again_in": 1,
    }


async def test_an_error_that_is_not_ours_is_logged_with_its_traceback(
    caplog: pytest.LogCaptureFixture,
) -> None:
    world = World()
    world.answers["ml/a"] = [error := ZeroDivisionError("bug")]

    async with world.running():
        world.queue.add("ml/a")
        await settle()

    [record] = caplog.records
    assert record.levelno == logging.ERROR
    assert record.exc_info is not None
    assert record.exc_info[1] is error
    assert facts(record)["key"] == "ml/a"


async def test_each_pass_has_an_id_on_whatever_is_logged_during_it(
    caplog: pytest.LogCaptureFixture,
) -> None:
    world = World()
    caplog.set_level(logging.INFO)

    async def say(key: str) -> None:
        await asyncio.sleep(0)  # so that the passes overlap
        log.get("jobferry.elsewhere").info("Looked", inside=key)

    world.before = say
    async with world.running():
        for key in "abc":
            world.queue.add(key)
        await settle()

    assert {(facts(record)["key"], facts(record)["inside"]) for record in caplog.records} == {
        (key, key) for key in "abc"
    }
    assert len({facts(record)["pass_id"] for record in caplog.records}) == 3


async def test_passes_that_wait_for_somebody_keep_no_others_from_their_turn() -> None:
    world = World(workers=2, most_slow=3)
    answered = asyncio.Event()

    async def hang(key: str) -> None:
        if key.startswith("slow"):
            await answered.wait()

    world.before = hang
    async with world.running():
        for key in ("slow-1", "slow-2", "slow-3", "slow-4", "quick"):
            world.queue.add(key)
        await world.clock.pass_time(2 * PROMPT)
        assert world.keys()[-1] == "quick"

        world.queue.add("slow-5")
        world.queue.add("late")
        await world.clock.pass_time(1)
        assert world.keys()[-1] == "slow-5"  # that is enough

        answered.set()
        await settle()
        assert world.keys()[-1] == "late"
        assert world.loop.stats().done == 7
