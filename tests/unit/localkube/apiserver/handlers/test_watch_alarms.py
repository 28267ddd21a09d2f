"""Watches end when their timer rings, also when it rings a little early."""

import asyncio
from collections.abc import Callable

from jobferry.clock import Seconds, Timer
from jobferry.localkube.apiserver.handlers.watching import _Alarm
from jobferry.localkube.apiserver.requests import options
from jobferry.localkube.apiserver.timeouts import TIMEOUTS
from jobferry.testing.clock import ManualClock


class EarlyClock(ManualClock):
    """A clock whose timers ring a millisecond too early, as timers of event loops may."""

    def call_later(self, delay: Seconds, callback: Callable[[], None]) -> Timer:
        return super().call_later(max(0.0, delay - 0.001), callback)


def test_a_watch_is_over_when_its_timer_has_rung() -> None:
    clock, woken = EarlyClock(), asyncio.Event()
    alarm = _Alarm(clock, woken, options.list_options({"timeoutSeconds": ["5"]}), TIMEOUTS, 0.0)
    assert not alarm.is_over()

    clock.advance(4.9995)

    assert woken.is_set()
    assert alarm.is_over()


def test_a_bookmark_is_due_when_its_timer_has_rung() -> None:
    clock, woken = EarlyClock(), asyncio.Event()
    query = {"timeoutSeconds": ["600"], "allowWatchBookmarks": ["true"]}
    alarm = _Alarm(clock, woken, options.list_options(query), TIMEOUTS, 0.0)
    assert not alarm.bookmark_is_due()

    clock.advance(59.9995)

    assert alarm.bookmark_is_due()
    assert not alarm.bookmark_is_due()
