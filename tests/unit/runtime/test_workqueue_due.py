import pytest

from jobferry.runtime.workqueue import WorkQueue
from jobferry.testing.clock import ManualClock


@pytest.fixture
def queue() -> WorkQueue[str]:
    return WorkQueue(ManualClock())


async def test_what_was_asked_for_again_can_be_withdrawn_by_who_has_seen_to_it(
    queue: WorkQueue[str],
) -> None:
    queue.add("a")
    assert await queue.get() == "a"
    queue.add("a")

    queue.withdraw("a")
    queue.done("a")

    assert not queue.is_due("a")


def test_only_what_is_in_work_can_be_withdrawn(queue: WorkQueue[str]) -> None:
    queue.add("a")

    queue.withdraw("a")

    assert queue.is_due("a")


async def test_what_is_delayed_is_not_due(queue: WorkQueue[str]) -> None:
    queue.add_after("a", 5)
    assert not queue.is_due("a")

    queue.add("a")
    assert queue.is_due(await queue.get())
