"""Worlds with a toy in them."""

from typing import Any

from jobferry.core.steps import WriteStatus
from jobferry.core.view import Worker
from tests.unit.core.toys import TOY, toy
from tests.unit.core.worlds import World, up

DRAINED = [up("east", moves_away=True, refuses="drained"), up("west")]


def toys(**facts: Any) -> World:
    return World(**{"hub": toy(), "kind": TOY, **facts})


def running(
    worker: str = "east", *, workers: list[Worker] | None = None, **facts: Any
) -> World:
    """A toy that has had two turns on a worker."""
    world = toys(**facts)
    world.place(worker)
    world.mirror(worker, phase="Running", turns=2)
    step = world.next()
    assert isinstance(step, WriteStatus)
    world.write(step.patch)
    world.workers = workers or world.workers
    return world
