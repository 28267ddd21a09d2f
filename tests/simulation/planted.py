"""Bugs that are planted to see whether the simulation finds them: each swaps a few names while a history is played."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any

from jobferry.core import decide, follow, going, marks, placement, view
from jobferry.core.kind import Stillness
from jobferry.core.place import move
from jobferry.core.steps import Rest, Step
from jobferry.core.view import View
from jobferry.dispatch import act, views, workloads
from jobferry.dispatch.dispatcher import Dispatcher
from jobferry.dispatch.memory import Memory
from jobferry.dispatch.refusals import Refusals
from jobferry.dispatch.workloads import Workloads
from jobferry.kinds.forwarding import Edits
from jobferry.kinds.job import legal, moving
from jobferry.kinds.job.adapter import JobKind
from jobferry.kube import leadership
from jobferry.kube.cache import Cache
from jobferry.kube.client import Client
from jobferry.kube.hearing import Hearing
from jobferry.kube.informer import Informer
from jobferry.kube.resources import JOBS
from jobferry.runtime.reconcile import Loop
from jobferry.workers.link import Link

Plant = Callable[[], AbstractContextManager[None]]


@dataclass(frozen=True, slots=True)
class Bug:
    """Something that somebody might get wrong."""

    name: str
    what: str
    plant: Plant
    weights: Mapping[str, float] = field(default_factory=dict)
    """What has to happen more often than usual for it to show."""


BUGS: dict[str, Bug] = {}


def _bug(what: str, **weights: float) -> Callable[[Callable[[], Iterator[None]]], Plant]:
    """Enter a function that plants a bug, under its own name; weights are those of events, with _ for -."""

    def enter(make: Callable[[], Iterator[None]]) -> Plant:
        plant = contextmanager(make)
        name = make.__name__.replace("_", "-")
        drawn = {event.replace("_", "-"): weight for event, weight in weights.items()}
        BUGS[name] = Bug(name, what, plant, drawn)
        return plant

    return enter


@contextmanager
def _swapped(owner: Any, name: str, value: Any) -> Iterator[None]:
    """Let a name of a module or a class be something else during the block."""
    kept = owner.__dict__[name]
    setattr(owner, name, value)
    try:
        yield
    finally:
        setattr(owner, name, kept)


# What is known


@_bug(
    "The answers to our own writes do not go into the cache: it waits for the watch.", watch=16
)
def own_writes_unseen() -> Iterator[None]:
    def ignore(*_: object) -> None:
        """Learn nothing."""

    with (
        _swapped(Informer, "absorb", ignore),
        _swapped(Informer, "absorb_deletion", ignore),
        _swapped(Informer, "absorb_absence", ignore),
    ):
        yield


@_bug("A list after a gap tells of what is there, not of what is gone.", watch=30, delete=20)
def missed_deletes() -> Iterator[None]:
    def replace_all(self: Cache[Any], items: Any, version: int) -> list[Any]:
        return [change for item in items for change in self.put(item)]

    with _swapped(Cache, "replace", replace_all):
        yield


@_bug("A list after a gap tells of what is gone, not of what came.", watch=30)
def missed_news() -> Iterator[None]:
    def replace_all(self: Cache[Any], items: Any, version: int) -> list[Any]:
        found = [*items]
        if not len(self):
            return kept(self, found, version)
        gone = {item.key for item in self} - {item.key for item in found}
        return [change for key in sorted(gone) for change in self.remove(key, version)]

    kept = Cache.replace
    with _swapped(Cache, "replace", replace_all):
        yield


@_bug(
    "What a worker tells when it is connected again is taken for known.", revoke=10, restart=8
)
def news_after_a_gap_ignored() -> Iterator[None]:
    with _swapped(views.Views, "is_settled", lambda *_: True):
        yield


@_bug("A listener that fails ends its informer, and a huge quantity makes one fail.", scale=4)
def listener_breaks_informer() -> Iterator[None]:
    def call(self: Informer[Any], listener: Any, change: Any) -> None:
        if b"e1500" in change.item.body:
            raise OverflowError("too large")
        listener(change)

    with _swapped(Informer, "_call", call):
        yield


# What is written on the word of a cache


@_bug(
    "Hub writes do not name the resourceVersion that they were made for.",
    watch=20,
    finish=30,
    coup=20,
)
def no_resource_version() -> Iterator[None]:
    patch_hub = act.Actor._patch_hub

    async def unguarded(self: act.Actor, kind: Any, hub: Any, patch: Any, *rest: Any) -> None:
        metadata = {k: v for k, v in patch["metadata"].items() if k != "resourceVersion"}
        await patch_hub(self, kind, hub, {**patch, "metadata": metadata}, *rest)

    with _swapped(act.Actor, "_patch_hub", unguarded):
        yield


def _as_if_live(function: Callable[..., Step]) -> Callable[..., Step]:
    def decided(seen: View, *args: Any, **options: Any) -> Step:
        return function(replace(seen, is_live=True), *args, **options)

    return decided


@_bug(
    "A mirror is created though only the cache says that its Job wants one.", coup=40, delete=20
)
def create_without_live_read() -> Iterator[None]:
    with _swapped(decide, "_no_mirror", _as_if_live(decide._no_mirror)):
        yield


@_bug("A mirror is deleted because the cache says that nobody wants it.", coup=40)
def delete_without_live_read() -> Iterator[None]:
    with _swapped(decide, "_delete", _as_if_live(decide._delete)):
        yield


@_bug("A mirror that the cache does not show is taken for gone.", coup=40)
def mirror_not_read() -> Iterator[None]:
    no_mirror = decide._no_mirror

    def trusting(seen: View, *args: Any) -> Step:
        return no_mirror(replace(seen, seen=frozenset(seen.workers)), *args)

    with _swapped(decide, "_no_mirror", trusting):
        yield


# Whose it is


@_bug("A copy that somebody made of a mirror is taken for a mirror.", copy_mirror=20)
def copies_are_ours() -> Iterator[None]:
    with _swapped(marks, "_copied", lambda *_: None):
        yield


@_bug("Whatever has a mirror's name is ours.", squat=60)
def name_is_enough() -> Iterator[None]:
    async def existing(self: act.Actor, kind: Any, link: Any, sent: Any) -> Any:
        meta = sent["metadata"]
        return await act._client(link).get(JOBS, meta["name"], meta["namespace"])

    with _swapped(act.Actor, "_existing", existing):
        yield


@_bug("Deletes do not name the UID of what they are for.", usurp=60, watch=10)
def delete_by_name() -> Iterator[None]:
    delete = Client.delete

    async def by_name(self: Client, resource: Any, *args: Any, **options: Any) -> Any:
        if resource == JOBS and options.get("uid") and self.name != "hub":
            options["uid"] = None
        return await delete(self, resource, *args, **options)

    with _swapped(Client, "delete", by_name):
        yield


@_bug("Jobs that are for the hub itself are taken for ours.", hybrid=10)
def all_jobs_claimed() -> Iterator[None]:
    with (
        _swapped(Workloads, "has", lambda *_: True),
        _swapped(workloads, "_concerns", lambda *_: True),
    ):
        yield


@_bug("The annotation alone says where a Job was placed; nobody has to vouch for it.", forge=20)
def forged_records_count() -> Iterator[None]:
    def read(obj: Any) -> Any:
        return placement.noted(obj) or placement.vouched(obj)

    with _swapped(placement, "read", read):
        yield


@_bug("What a worker made of a mirror is not compared: marks may be stripped.", webhook=16)
def stripped_marks_unseen() -> Iterator[None]:
    with _swapped(act, "_difference", lambda *_: None):
        yield


@_bug("A Job whose managedBy we claim no more is taken for gone.", settings=60)
def unclaimed_is_gone() -> Iterator[None]:
    of = views.Views.of

    def blind(self: views.Views, known: Any) -> View:
        return replace(of(self, known), unclaimed="")

    with _swapped(views.Views, "of", blind):
        yield


@_bug("A mirror whose record was lost is not found again.", lose_record=60)
def no_adoption() -> Iterator[None]:
    with _swapped(decide, "adopt", lambda *_: None):
        yield


# When it runs, and where


@_bug("A worker that is not connected yet is taken for lost.", kill=20, freeze=30)
def unseen_is_dead() -> Iterator[None]:
    wait_or_move = decide._wait_or_move

    def hasty(seen: View, kind: Any, hub: Any, placed: Any, mirror: Any) -> Step:
        worker = seen.workers[placed.shards[0].worker]
        if worker.lost_since is None:
            return move(seen, kind, hub, placed, mirror, why="it is not there")
        return wait_or_move(seen, kind, hub, placed, mirror)

    with _swapped(decide, "_wait_or_move", hasty):
        yield


@_bug("A lost worker's work moves at once, not after the time that was chosen.", freeze=40)
def lost_at_once() -> Iterator[None]:
    def long_ago(self: Hearing) -> Any:
        return self._clock.now() - timedelta(hours=1)

    with _swapped(Hearing, "welcome", long_ago):
        yield


@_bug("Our own being cut off from most workers counts as their loss.", cut_off=60)
def most_are_lost_unseen() -> Iterator[None]:
    with _swapped(view, "are_most", lambda *_: False):
        yield


@_bug("A worker that was sent a mirror counts as one that was told nothing.", trap=12, freeze=8)
def told_is_untold() -> Iterator[None]:
    with _swapped(Memory, "note_told", lambda *_: None):
        yield


@_bug("The lost answer to a create is taken for a refusal.", trap=40, watch=20)
def existing_is_refusal() -> Iterator[None]:
    async def existing(self: act.Actor, kind: Any, link: Any, sent: Any) -> Any:
        raise act.Refused("its name is taken")

    with _swapped(act.Actor, "_existing", existing):
        yield


@_bug("A mirror that is to leave is placed elsewhere before its pods have ended.", drain=60)
def moved_while_it_runs() -> Iterator[None]:
    with _swapped(JobKind, "stillness", lambda *_: Stillness.STOPPED):
        yield


@_bug("A mirror that is being deleted is deleted again and again.", hold=40, delete=30)
def going_unseen() -> Iterator[None]:
    with (
        _swapped(going, "is_going", lambda _: False),
        _swapped(follow, "is_going", lambda _: False),
    ):
        yield


@_bug("A worker that refused a Job is never asked again.", quota=40, webhook=20)
def refused_for_ever() -> Iterator[None]:
    def note(self: Refusals, key: Any, worker: str, why: str, **options: Any) -> None:
        keep_note(self, key, worker, why, **options)
        for refusal in self._by_worker[worker].values():
            refusal.until = 1e9

    keep_note = Refusals.note
    with (
        _swapped(Refusals, "note", note),
        _swapped(Refusals, "forgive", lambda *_: set()),
    ):
        yield


# What is told


@_bug("The worker's status is copied to the hub as it is.", drain=6, freeze=6)
def status_copied() -> Iterator[None]:
    def copied(hub_job: Any, wanted: Any, now: Any) -> Any:
        kept = (hub_job.get("status") or {}).get("conditions") or ()
        placed = [each for each in kept if each["type"] == placement.CONDITION]
        return {**wanted, "conditions": [*wanted.get("conditions", ()), *placed]}

    with _swapped(legal, "legalise", copied):
        yield


@_bug("A status is written though it says what the hub shows.")
def same_status_again() -> Iterator[None]:
    def patch(hub_job: Any, status: Any) -> Any:
        version = hub_job["metadata"]["resourceVersion"]
        return {"metadata": {"resourceVersion": version}, "status": status}

    with _swapped(legal, "patch", patch):
        yield


@_bug("What earlier attempts earned is not given to the next.", drain=60)
def base_not_carried() -> Iterator[None]:
    with _swapped(JobKind, "carried", lambda *_: ""):
        yield


@_bug("What earlier attempts earned is not added to what the mirror shows.", drain=60)
def base_not_added() -> Iterator[None]:
    def wanted_status(hub_job: Any, mirror: Any, base: Any) -> Any:
        return mirror.get("status") or {}

    with _swapped(moving, "wanted_status", wanted_status):
        yield


@_bug(
    "The times that a worker tells are taken as they are, whatever its clock shows.",
    skew=40,
    drain=30,
)
def skew_unseen() -> Iterator[None]:
    with _swapped(Hearing, "measure", lambda *_: None):
        yield


@_bug("What a user changes on the hub is not forwarded.", suspend=60)
def edits_not_forwarded() -> Iterator[None]:
    with _swapped(JobKind, "edits", lambda *_: Edits(None, (), ())):
        yield


@_bug("The mirror of a Job that others have ended runs on.", finish=20)
def ended_runs_on() -> Iterator[None]:
    with _swapped(decide, "_finished", lambda *_: Rest("finished")):
        yield


# Who does it


@_bug("Who leads no more goes on with what it was about to write.", ambush=60)
def deposed_writes() -> Iterator[None]:
    with _swapped(act.Actor, "_check", lambda _: None):
        yield


@_bug("A standby takes the Lease at once, without waiting until it is free.")
def lease_taken_early() -> Iterator[None]:
    def eager(state: Any, me: str, terms: Any, now: float, chance: float) -> Any:
        free = replace(state, free_at=now - 1)
        return as_standby(free, me, terms, now, chance)

    as_standby = leadership._as_standby
    with _swapped(leadership, "_as_standby", eager):
        yield


@_bug("A key that failed is not tried again.", trap=60)
def failed_key_dropped() -> Iterator[None]:
    with _swapped(Loop, "_failed", lambda *_: None):
        yield


@_bug("A new leader looks at what changes, not at what there is.", kill=16)
def new_leader_sees_nothing() -> Iterator[None]:
    with _swapped(Dispatcher, "_queue_unfinished", lambda _: None):
        yield


@_bug("What was deleted on the hub while nobody led is left on workers.", kill=14, delete=12)
def strays_unseen() -> Iterator[None]:
    with _swapped(Dispatcher, "_queue_mirrors", lambda *_: None):
        yield


@_bug("The mirror of an earlier attempt stays where it was.", freeze=12, part=8)
def stale_mirrors_stay() -> Iterator[None]:
    with _swapped(decide, "_stale", lambda *_: None):
        yield


@_bug("A link that has crashed once is not tried again.", restart=8, revoke=8)
def link_gives_up() -> Iterator[None]:
    async def pause(self: Link, failures: int) -> None:
        if failures > 1:
            await self._common.hub.hearing.returned()
        await wait(self, failures)

    wait = Link._pause
    with _swapped(Link, "_pause", pause):
        yield
