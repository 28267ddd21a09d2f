"""Where long work goes, so that it does not hold up the event loop: to threads, and only from here.

A simulation, which has to run the same way each time, lets it all happen at once instead.
"""

import asyncio
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

_P = ParamSpec("_P")
_T = TypeVar("_T")


class Execution:
    """Runs functions that take long; shared by all parts of a server."""

    def __init__(self, *, inline: bool = False) -> None:
        self.inline = inline
        """Whether everything happens at once, on the event loop: no threads, and no surprises."""
        self._running: set[asyncio.Future[Any]] = set()

    async def run(self, function: Callable[_P, _T], *args: _P.args, **kwargs: _P.kwargs) -> _T:
        """Return what `function` returns; others go on meanwhile, unless this is inline.

        If whoever waits is cancelled, the function still comes to its end.
        """
        if self.inline:
            return function(*args, **kwargs)
        running = asyncio.ensure_future(asyncio.to_thread(function, *args, **kwargs))
        self._running.add(running)
        running.add_done_callback(self._running.discard)
        return await running

    @property
    def is_settled(self) -> bool:
        """Whether nothing is under way that anybody waits for."""
        return not self._running

    async def settled(self) -> None:
        """Wait until what is under way is done."""
        if self._running:
            await asyncio.wait(self._running)
