"""Bugs in what we do: when and where work runs, what is told of it, and who does it."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from typing import Any

from jobferry.core import decide, follow, going, placement, view
from jobferry.core.kind import Stillness
from jobferry.core.place import move
from jobferry.core.steps import Rest, Step
from jobferry.core.view import View
from jobferry.dispatch import act, setbacks
from jobferry.dispatch.dispatcher import Dispatcher
from jobferry.dispatch.memory import Memory
from jobferry.dispatch.refusals import Refusals
from jobferry.kinds.custom import CustomKind
from jobferry.kinds.forwarding import Edits
from jobferry.kinds.job import legal, moving
from jobferry.kinds.job.adapter import JobKind
from jobferry.kube import leadership
from jobferry.kube.hearing import Hearing
from jobferry.runtime.reconcile import Loop
from jobferry.workers.link import Link
from tests.simulation.planting import bug, swapped

# When it runs, and where


@bug("A worker that is not connected yet is taken for lost.", kill=20, freeze=30)
def unseen_is_dead() -> Iterator[None]:
    wait_or_move = decide._wait_or_move

    def hasty(seen: View, kind: Any, hub: Any, placed: Any, mirror: Any) -> Step:
        worker = seen.workers[placed.shards[0].worker]
        if worker.lost_since is None:
            return move(seen, kind, hub, placed, mirror, why="it is not there")
        return wait_or_move(seen, kind, hub, placed, mirror)

    with swapped(decide, "_wait_or_move", hasty):
        yield


@bug(
    "A lost worker's work moves at once, not after the time that was chosen.", jobs=4, freeze=60
)
def lost_at_once() -> Iterator[None]:
    def long_ago(self: Hearing) -> Any:
        return self._clock.now() - timedelta(hours=1)

    with swapped(Hearing, "welcome", long_ago):
        yield


@bug("Our own being cut off from most workers counts as their loss.", cut_off=60)
def most_are_lost_unseen() -> Iterator[None]:
    with swapped(view, "are_most", lambda *_: False):
        yield


@bug("A worker that was sent a mirror counts as one that was told nothing.", trap=12, freeze=8)
def told_is_untold() -> Iterator[None]:
    with swapped(Memory, "note_told", lambda *_: None):
        yield


@bug(
    "The lost answer to a create is taken for a refusal.",
    unheard=40,
)
def existing_is_refusal() -> Iterator[None]:
    async def existing(self: act.Actor, kind: Any, link: Any, sent: Any) -> Any:
        raise setbacks.Refused("its name is taken")

    with swapped(act.Actor, "_existing", existing):
        yield


@bug("A mirror that is to leave is placed elsewhere before its pods have ended.", drain=60)
def moved_while_it_runs() -> Iterator[None]:
    with swapped(JobKind, "stillness", lambda *_: Stillness.STOPPED):
        yield


@bug(
    "A JobSet that says it has stopped is placed elsewhere while pods of it still end.",
    drain=60,
    create_set=20,
)
def quiet_is_stopped() -> Iterator[None]:
    def stillness(self: CustomKind, mirror: Any) -> Stillness:
        found = keep_stillness(self, mirror)
        return Stillness.STOPPED if found is Stillness.QUIET else found

    keep_stillness = CustomKind.stillness
    with swapped(CustomKind, "stillness", stillness):
        yield


@bug(
    "What a JobSet shows of its last attempt is taken for what the next one did.",
    drain=60,
    suspend_set=2,
)
def set_attempts_mixed_up() -> Iterator[None]:
    def has_run_since(self: CustomKind, hub: Any, base: Any) -> bool:
        return self.has_run(hub)

    with swapped(CustomKind, "has_run_since", has_run_since):
        yield


@bug("A mirror that is being deleted is deleted again and again.", jobs=3, hold=60, delete=40)
def going_unseen() -> Iterator[None]:
    with (
        swapped(going, "is_going", lambda _: False),
        swapped(follow, "is_going", lambda _: False),
    ):
        yield


@bug("A worker that refused a Job is never asked again.", jobs=4, quota=40, webhook=40)
def refused_for_ever() -> Iterator[None]:
    def note(self: Refusals, key: Any, worker: str, why: str, **options: Any) -> None:
        keep_note(self, key, worker, why, **options)
        for refusal in self._by_worker[worker].values():
            refusal.until = 1e9

    keep_note = Refusals.note
    with (
        swapped(Refusals, "note", note),
        swapped(Refusals, "forgive", lambda *_: set()),
    ):
        yield


# What is told


@bug("The worker's status is copied to the hub as it is.", drain=6, freeze=6)
def status_copied() -> Iterator[None]:
    def copied(hub_job: Any, wanted: Any, now: Any) -> Any:
        kept = (hub_job.get("status") or {}).get("conditions") or ()
        placed = [each for each in kept if each["type"] == placement.CONDITION]
        return {**wanted, "conditions": [*wanted.get("conditions", ()), *placed]}

    with swapped(legal, "legalise", copied):
        yield


@bug("A status is written though it says what the hub shows.")
def same_status_again() -> Iterator[None]:
    def patch(hub_job: Any, status: Any) -> Any:
        version = hub_job["metadata"]["resourceVersion"]
        return {"metadata": {"resourceVersion": version}, "status": status}

    with swapped(legal, "patch", patch):
        yield


@bug("What earlier attempts earned is not given to the next.", jobs=4, drain=60)
def base_not_carried() -> Iterator[None]:
    with swapped(JobKind, "carried", lambda *_: ""):
        yield


@bug("What earlier attempts earned is not added to what the mirror shows.", drain=60)
def base_not_added() -> Iterator[None]:
    def wanted_status(hub_job: Any, mirror: Any, base: Any) -> Any:
        return mirror.get("status") or {}

    with swapped(moving, "wanted_status", wanted_status):
        yield


@bug(
    "The times that a worker tells are taken as they are, whatever its clock shows.",
    wrong_clock=40,
)
def skew_unseen() -> Iterator[None]:
    with swapped(Hearing, "measure", lambda *_: None):
        yield


@bug("What a user changes on the hub is not forwarded.", suspend=60)
def edits_not_forwarded() -> Iterator[None]:
    with swapped(JobKind, "edits", lambda *_: Edits(None, (), ())):
        yield


@bug("The mirror of a Job that others have ended runs on.", finish=20)
def ended_runs_on() -> Iterator[None]:
    with swapped(decide, "_finished", lambda *_: Rest("finished")):
        yield


# Who does it


@bug(
    "Who leads no more goes on with what it was about to write.",
    stun=40,
)
def deposed_writes() -> Iterator[None]:
    with swapped(act.Actor, "_check", lambda _: None):
        yield


@bug("A standby takes the Lease at once, without waiting until it is free.")
def lease_taken_early() -> Iterator[None]:
    def eager(state: Any, me: str, terms: Any, now: float, chance: float) -> Any:
        free = replace(state, free_at=now - 1)
        return as_standby(free, me, terms, now, chance)

    as_standby = leadership._as_standby
    with swapped(leadership, "_as_standby", eager):
        yield


@bug("A key that failed is not tried again.", jobs=4, last_word=40)
def failed_key_dropped() -> Iterator[None]:
    with swapped(Loop, "_failed", lambda *_: None):
        yield


@bug("A new leader looks at what changes, not at what there is.", kill=16)
def new_leader_sees_nothing() -> Iterator[None]:
    with swapped(Dispatcher, "_queue_unfinished", lambda _: None):
        yield


@bug(
    "What was deleted on the hub while nobody led is left on workers.",
    interregnum=40,
)
def strays_unseen() -> Iterator[None]:
    with swapped(Dispatcher, "_queue_mirrors", lambda *_: None):
        yield


@bug("The mirror of an earlier attempt stays where it was.", freeze=12, part=8)
def stale_mirrors_stay() -> Iterator[None]:
    with swapped(decide, "_stale", lambda *_: None):
        yield


@bug("A link that has crashed once is not tried again.", restart=8, revoke=8)
def link_gives_up() -> Iterator[None]:
    async def pause(self: Link, failures: int) -> None:
        if failures > 1:
            await self._common.hub.hearing.returned()
        await wait(self, failures)

    wait = Link._pause
    with swapped(Link, "_pause", pause):
        yield
