"""How histories that break a rule are made short; what is played here breaks one whatever happens."""

from jobferry.testing.simulation.events import Event, History
from jobferry.testing.simulation.playing import Outcome
from jobferry.testing.simulation.problems import Problem
from jobferry.testing.simulation.shrinking import shrink

KILLS = tuple(Event(float(at), "kill", {"who": f"d{at}", "seconds": 1}) for at in (1, 2, 3))


def test_a_history_with_fewer_dispatchers_has_no_events_of_those_that_are_left_out() -> None:
    played: list[History] = []

    def play(history: History) -> Outcome:
        played.append(history)
        return Outcome(history, [Problem("Rule", "is broken")])

    first = play(History(7, workers=1, dispatchers=3, events=KILLS))
    shrink(first, play)

    assert played[1] == History(7, workers=1, dispatchers=1, events=KILLS[:1])


def test_what_needs_a_dispatcher_keeps_its_events() -> None:
    def play(history: History) -> Outcome:
        is_broken = KILLS[1] in history.events
        return Outcome(history, [Problem("Rule", "is broken")] if is_broken else [])

    short = shrink(play(History(7, workers=1, dispatchers=3, events=KILLS)), play)

    assert short.history == History(7, workers=1, dispatchers=2, events=KILLS[1:2])
