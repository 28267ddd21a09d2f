"""So that no request holds up the others: how much is done at once, and where the rest is done.

It is counted in work, never in time, so that a run can be repeated: in bytes of JSON that are read, looked
through or written, at about a quarter of a microsecond each where an object is checked, a tenth of that where it is shown.
"""

import asyncio
from collections.abc import Callable
from typing import ParamSpec, TypeVar

from jobferry.localkube.apiserver.handlers.backend import Backend
from jobferry.localkube.apiserver.resource import Resource
from jobferry.localkube.apiserver.strategy import HEAVY

INLINE = 16 * 1024
"""The most work that is done at once with one object; more goes where it holds up nobody."""

SLICE = 128 * 1024
"""How much work is done with many objects before others have a turn."""

EACH = 512
"""What any object costs, however small."""

_P = ParamSpec("_P")
_T = TypeVar("_T")


def work_of(resource: Resource, *sizes: int) -> int:
    """Return how much work it is to check objects of these sizes."""
    is_cold = resource.is_cold is not None and resource.is_cold()
    return HEAVY if is_cold else sum(sizes) * resource.strategy.weight


async def computed(
    backend: Backend,
    work: int,
    function: Callable[_P, _T],
    *args: _P.args,
    **kwargs: _P.kwargs,
) -> _T:
    """Return what a function computes that touches nothing but its arguments."""
    if work <= INLINE:
        return function(*args, **kwargs)
    return await backend.execution.run(function, *args, **kwargs)


class Slice:
    """Counts the work that is done with many objects at once."""

    def __init__(self) -> None:
        self._left = SLICE

    def is_full(self, work: int) -> bool:
        """Note work that was done with one object; tell whether it is time for `others`."""
        self._left -= work + EACH
        if self._left > 0:
            return False
        self._left = SLICE
        return True


async def others() -> None:
    """Let everybody else have a turn."""
    await asyncio.sleep(0)  # noqa: TID251 (no time passes by that)
