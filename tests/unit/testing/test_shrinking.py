"""What breaks a rule is made short: only histories are tried that can be played."""

from jobferry.testing.simulation.events import Event, History
from jobferry.testing.simulation.playing import Outcome
from jobferry.testing.simulation.problems import Problem
from jobferry.testing.simulation.shrinking import shrink

BROKEN = [Problem("NoCrash", "it crashed")]
KILLS = tuple(Event(at, "kill", {"who": who}) for at, who in enumerate(("d1", "d2", "d3")))


def tried(needed: int) -> tuple[History, list[History]]:
    """Shorten one that breaks with so many dispatchers; return what is left, and all that was tried."""
    histories = []

    def play(history: History) -> Outcome:
        histories.append(history)
        return Outcome(history, BROKEN if history.dispatchers >= needed else [])

    failed = Outcome(History(1, 2, 3, KILLS), BROKEN)
    return shrink(failed, play).history, histories


def test_a_dispatcher_that_is_left_out_takes_what_happens_to_it_along() -> None:
    for needed in (1, 2, 3):
        left, histories = tried(needed)

        assert (left.dispatchers, left.events) == (needed, ())
        for each in histories:
            there = {f"d{number}" for number in range(1, each.dispatchers + 1)}
            assert {event.args["who"] for event in each.events} <= there
