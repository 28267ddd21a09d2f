import pytest

from jobferry.core.key import WorkloadKey
from jobferry.core.placement import Placement, Shard
from jobferry.core.steps import Notice
from jobferry.dispatch.memory import Memory
from jobferry.dispatch.refusals import FIRST, LONGEST
from jobferry.testing.clock import ManualClock

JOB = WorkloadKey("Job.batch", "ns", "a")
SLOW, LOST = Notice("NotStarted", "slow"), Notice("WorkerLost", "lost")


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def memory(clock: ManualClock) -> Memory:
    return Memory(clock.monotonic)


def test_a_refusal_lasts_for_a_while(memory: Memory, clock: ManualClock) -> None:
    memory.refuse(JOB, "east", "quota")
    assert memory.refusals(JOB) == {"east": "quota"}
    assert memory.refusals(WorkloadKey("Job.batch", "ns", "b")) == {}

    clock.advance(FIRST)

    assert memory.refusals(JOB) == {}


def test_people_hear_once_for_an_attempt_of_what_its_worker_lacks(memory: Memory) -> None:
    assert memory.note_lack(JOB, "1", "east lacks a")
    assert not memory.note_lack(JOB, "1", "east lacks a")
    assert memory.note_lack(JOB, "1", "east lacks a and b")
    assert memory.note_lack(JOB, "2", "east lacks a and b")


def test_people_hear_of_a_refusal_once(memory: Memory, clock: ManualClock) -> None:
    assert memory.refuse(JOB, "east", "quota")
    assert memory.refuse(JOB, "west", "quota")
    clock.advance(LONGEST)

    assert not memory.refuse(JOB, "east", "quota")
    assert memory.refuse(JOB, "east", "no such field")


def test_who_was_refused_is_known_until_it_is_gone(memory: Memory, clock: ManualClock) -> None:
    memory.refuse(JOB, "east", "quota")
    memory.news(WorkloadKey("Job.batch", "ns", "b"), (SLOW,))
    clock.advance(LONGEST)
    assert memory.refused_ones() == [JOB]

    memory.bury(JOB, "uid-1")
    assert memory.refused_ones() == []


def test_an_edit_that_is_refused_is_left_alone_for_longer_each_time(memory: Memory) -> None:
    pauses = [memory.postpone(JOB) for _ in range(9)]
    assert pauses[:3] == [FIRST, 2 * FIRST, 4 * FIRST]
    assert pauses[-1] == LONGEST

    memory.reconsider(JOB)
    assert memory.postpone(JOB) == FIRST


def test_what_was_told_is_not_news(memory: Memory) -> None:
    assert memory.news(JOB, (SLOW,)) == [SLOW]
    assert memory.news(JOB, (SLOW, LOST)) == [LOST]
    assert memory.news(JOB, (SLOW, LOST)) == []


def test_what_was_over_and_comes_again_is_news(memory: Memory) -> None:
    memory.news(JOB, (SLOW,))
    memory.news(JOB, ())

    assert memory.news(JOB, (SLOW,)) == [SLOW]


def test_of_a_workload_that_is_gone_nothing_is_known(memory: Memory) -> None:
    memory.refuse(JOB, "east", "quota")
    memory.news(JOB, (SLOW,))
    memory.forget(JOB)

    assert memory.refusals(JOB) == {}
    assert memory.news(JOB, (SLOW,)) == [SLOW]


def test_a_workload_that_was_deleted_is_remembered_by_its_identity_only(memory: Memory) -> None:
    memory.refuse(JOB, "east", "quota")
    assert memory.buried(JOB) == ""

    memory.bury(JOB, "uid-1")

    assert memory.buried(JOB) == "uid-1"
    assert memory.refusals(JOB) == {}


class TestPlacements:
    HERE = Placement("uid-1", 1, (Shard("east", "east-uid"),))

    def test_one_that_we_made_is_unknown_to_its_worker_until_it_is_told(
        self, memory: Memory
    ) -> None:
        assert memory.untold(JOB) is None
        memory.note_placed(JOB, self.HERE)
        assert memory.untold(JOB) == self.HERE

        memory.note_told(JOB)

        assert memory.untold(JOB) is None

    def test_nothing_is_certain_once_somebody_else_may_have_led(self, memory: Memory) -> None:
        memory.note_placed(JOB, self.HERE)

        memory.doubt_all()

        assert memory.untold(JOB) is None

    def test_those_of_workloads_that_are_gone_are_forgotten(self, memory: Memory) -> None:
        memory.note_placed(JOB, self.HERE)
        memory.forget(JOB)
        assert memory.untold(JOB) is None
        memory.note_placed(JOB, self.HERE)
        memory.bury(JOB, "uid-1")
        assert memory.untold(JOB) is None
