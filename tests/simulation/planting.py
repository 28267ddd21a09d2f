"""How bugs are planted: by swapping a few names while a history is played."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from typing import Any

from jobferry.testing.simulation.drawing import JOBS

Plant = Callable[[], AbstractContextManager[None]]


@dataclass(frozen=True, slots=True)
class Bug:
    """Something that somebody might get wrong."""

    name: str
    what: str
    plant: Plant
    weights: Mapping[str, float] = field(default_factory=dict)
    """What has to happen more often than usual for it to show."""

    jobs: int = JOBS
    """How many Jobs there are: where there are few, more happens to each."""


BUGS: dict[str, Bug] = {}
"""Those that must be found."""


def bug(
    what: str, *, jobs: int = JOBS, **weights: float
) -> Callable[[Callable[[], Iterator[None]]], Plant]:
    """Enter a function that plants a bug, under its own name; weights are those of events, with _ for -."""

    def enter(make: Callable[[], Iterator[None]]) -> Plant:
        plant = contextmanager(make)
        name = make.__name__.replace("_", "-")
        drawn = {event.replace("_", "-"): weight for event, weight in weights.items()}
        BUGS[name] = Bug(name, what, plant, drawn, jobs)
        return plant

    return enter


@contextmanager
def swapped(owner: Any, name: str, value: Any) -> Iterator[None]:
    """Let a name of a module or a class be something else during the block."""
    kept = owner.__dict__[name]
    setattr(owner, name, value)
    try:
        yield
    finally:
        setattr(owner, name, kept)
