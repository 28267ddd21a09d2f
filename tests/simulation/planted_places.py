"""Bugs in where work may be, and how it comes to be there or leaves."""

from collections.abc import Iterator
from typing import Any

from jobferry.core import adopt, follow, leave, records
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


@bug("A mirror that need not leave its worker after all stays stopped.", jobs=4, drain=60)
def stays_stopped() -> Iterator[None]:
    with swapped(leave, "_stay", lambda *_: None):
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


@bug(
    "A mirror that is found again is taken for one that had nothing before it.",
    jobs=4,
    drain=40,
    lose_record=40,
    forget=20,
)
def found_without_base() -> Iterator[None]:
    with swapped(adopt, "_with_base", lambda view, kind, hub, here, mirror: here):
        yield


@bug("A record of which users altered their part is written off.", jobs=4, forge=60)
def altered_is_lost() -> Iterator[None]:
    with (
        swapped(records, "repair", lambda *_: None),
        swapped(records, "vouched", lambda *_: None),
    ):
        yield


@bug(
    "A mirror that somebody deleted is given up before its pods have ended.",
    jobs=4,
    remove_mirror=60,
)
def deleted_is_over() -> Iterator[None]:
    def see_off(view: View, kind: Any, hub: Any, placed: Any, mirror: Any) -> Step:
        return follow.place.move(view, kind, hub, placed, mirror, why="it was deleted")

    with swapped(follow, "_see_off", see_off):
        yield
