"""Makes a history that breaks a rule short: as few events as still break it."""

from collections.abc import Callable, Sequence
from dataclasses import replace

from jobferry.testing.simulation.events import Event, History
from jobferry.testing.simulation.playing import Outcome, play

MOST_TRIES = 150

Play = Callable[[History], Outcome]


def shrink(failed: Outcome, play: Play = play, tries: int = MOST_TRIES) -> Outcome:
    """Leave out events, many at a time and then one by one, as long as the same rule is broken."""
    return _Shrinking(failed, play, tries).run()


class _Shrinking:
    def __init__(self, failed: Outcome, play: Play, tries: int) -> None:
        self._best = failed
        self._rule = failed.problems[0].rule
        self._play = play
        self._left = tries

    def run(self) -> Outcome:
        for dispatchers in range(1, self._best.history.dispatchers):
            if self._is_enough(_led_by(self._best.history, dispatchers)):
                break
        size = len(self._best.history.events)
        while size > 1:
            size = (size + 1) // 2
            self._leave_out(size)
        while self._leave_out(1):
            pass  # what could not be left out before may be now
        return self._best

    def _leave_out(self, size: int) -> bool:
        """Leave out each run of so many events that can be; tell whether any could."""
        place, before = 0, len(self._best.history.events)
        while place < len(events := self._best.history.events) and self._left:
            if not self._is_enough(self._with((*events[:place], *events[place + size :]))):
                place += size
        return len(self._best.history.events) < before

    def _with(self, events: Sequence[Event]) -> History:
        return replace(self._best.history, events=tuple(events))

    def _is_enough(self, history: History) -> bool:
        if not self._left:
            return False
        self._left -= 1
        outcome = self._play(history)
        is_broken = any(problem.rule == self._rule for problem in outcome.problems)
        if is_broken:
            self._best = outcome
        return is_broken


def _led_by(history: History, dispatchers: int) -> History:
    """Return a history with the first so many dispatchers, without what happens to the others."""
    others = {f"d{number + 1}" for number in range(dispatchers, history.dispatchers)}
    kept = tuple(event for event in history.events if event.args.get("who") not in others)
    return replace(history, dispatchers=dispatchers, events=kept)
