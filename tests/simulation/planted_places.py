"""Bugs in where work may be, and how it comes to be there or leaves."""

from collections.abc import Iterator
from typing import Any

from jobferry.core import leave
from jobferry.core.placement import Placement
from jobferry.core.steps import DeleteMirror, ReadHub, Step
from jobferry.core.view import View
from jobferry.dispatch.memory import Memory
from jobferry.workers import removal
from tests.simulation.planting import bug, swapped


@bug("A worker that refused a Job is asked again at once.", jobs=4, webhook=60, quota=20)
def refusals_unheeded() -> Iterator[None]:
    with swapped(Memory, "refusals", lambda *_: {}):
        yield


@bug(
    "A Worker that is being removed goes though mirrors are left there.",
    jobs=4,
    delete_worker=60,
    create_worker=30,
)
def removed_at_once() -> Iterator[None]:
    async def nothing(*_: object) -> None:
        """Look at nothing."""

    with (
        swapped(removal, "hold", lambda *_, **__: None),
        swapped(removal, "left", nothing),
    ):
        yield


@bug(
    "A mirror that is to leave is deleted before the hub says why.",
    jobs=4,
    drain=60,
    create_set=20,
)
def leaves_unnoted() -> Iterator[None]:
    def remove(
        view: View, kind: Any, hub: Any, placed: Placement, mirror: Any, why: str
    ) -> Step:
        del kind, hub
        worker = placed.shards[0].worker
        return DeleteMirror(worker, mirror, why, waits=True) if view.is_live else ReadHub()

    with swapped(leave, "_remove", remove):
        yield
