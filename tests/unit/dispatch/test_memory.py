import pytest

from jobferry.core.placement import Placement, Shard
from jobferry.core.steps import Notice
from jobferry.dispatch.memory import REFUSAL_LASTS, Memory
from jobferry.kube.items import Key
from jobferry.testing.clock import ManualClock

JOB = Key("ns", "a")
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
    assert memory.refusals(Key("ns", "b")) == {}

    clock.advance(REFUSAL_LASTS)

    assert memory.refusals(JOB) == {}


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
