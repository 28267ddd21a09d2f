"""What must hold once nothing goes wrong any more: each rule is a function with a sentence, and says what breaks it."""

from collections.abc import Callable, Iterator

from jobferry.clock import Seconds
from jobferry.core import marks
from jobferry.kinds.job.status import count
from jobferry.objects import Obj, conditions
from jobferry.testing.simulation import job_sets, shapes, truth
from jobferry.testing.simulation.problems import Problem
from jobferry.testing.simulation.shapes import Ending
from jobferry.testing.simulation.world import World

LONG: Seconds = 300.0
"""No history lasts longer."""


def every_job_has_its_end(world: World) -> Iterator[str]:
    """Every Job ends as it would on a single cluster.

    Of a Job whose mirror others have changed, or which others have ended, it is asked only that it ends; so, too, of
    one with a deadline where the clock of a cluster jumped, or that of a dispatcher is wrong: who goes by it may take the
    deadline for exceeded, as the controllers of Kubernetes do. And one that
    failed may wait for an hour until it is tried again, where the clock of its worker was put back by that; one with a
    deadline may end there as if it had none.
    """
    for job in truth.claimed(world):
        if job["spec"].get("suspend") or _cannot_run(job):
            continue
        end = truth.finish(job)
        wanted = _ending(world, job, end)
        if end is None and shapes.is_endless(job):
            continue
        status = job.get("status") or {}
        if end is None and _waits_by_a_late_clock(world, job):
            continue
        if end is None:
            yield f"{truth.address(job)} has not ended: {_brief(status)}"
        elif _may_end_otherwise(world, job, end):
            continue
        elif (end["type"], end["reason"]) != (wanted.condition, wanted.reason):
            yield f"{truth.address(job)} ended as {end}, not as {wanted}"
        elif status.get("succeeded", 0) != wanted.succeeded and wanted.condition == "Complete":
            yield f"{truth.address(job)} has {status.get('succeeded')} successes, not {wanted}"


def every_job_set_has_its_end(world: World) -> Iterator[str]:
    """Every JobSet ends as it would on a single cluster; or nothing of it runs, if it is suspended, and it says so."""
    for each in truth.workloads(world):
        if truth.is_job(each):
            continue
        end, status = truth.finish(each), each.get("status") or {}
        if end is None and each["spec"].get("suspend"):
            if not conditions.is_true(status.get("conditions"), "Suspended"):
                yield f"JobSet {truth.address(each)} is suspended, and shows {_brief(status)}"
        elif end is None:
            yield f"JobSet {truth.address(each)} has not ended: {_brief(status)}"
        elif end["type"] != job_sets.ending(each) and not _is_tampered(world, each):
            yield f"JobSet {truth.address(each)} ended as {end}, not {job_sets.ending(each)}"


def suspended_jobs_rest(world: World) -> Iterator[str]:
    """Nothing runs of a Job that is suspended, and it says so."""
    for job in truth.claimed(world):
        if not job["spec"].get("suspend") or truth.finish(job):
            continue
        status = job.get("status") or {}
        said = conditions.find(status.get("conditions"), "Suspended")
        if said is None or said["status"] != "True" or status.get("active"):
            yield f"{truth.address(job)} is suspended, and shows {_brief(status)}"


def every_mirror_has_its_job(world: World) -> Iterator[str]:
    """Every mirror is that of a Job on the hub, of its last attempt, and where that was placed.

    One that has ended keeps its mirror though somebody took the record of its placement away: nothing is left to find.
    """
    jobs = {job["metadata"]["uid"]: job for job in truth.workloads(world)}
    for mirror in truth.mirrors(world):
        job = jobs.get(mirror.marks.hub_uid)
        placed = truth.placed(world, job) if job else None
        if job is None:
            yield f"{mirror}: its Job is gone"
        elif placed is None:
            if not (truth.finish(job) and truth.finish(mirror.obj)):
                yield f"{mirror}: its Job is placed nowhere"
        elif (placed.shards[0].worker, placed.attempt) != (mirror.on, mirror.marks.attempt):
            yield f"{mirror}: its Job is placed as {placed}"
        elif truth.finish(job) and not truth.finish(mirror.obj):
            yield f"{mirror} runs, though its Job has ended"


def nothing_is_left_behind(world: World) -> Iterator[str]:
    """Of what we have made nothing is left but mirrors, unless others have changed it, and records of what is there."""
    for name in world.workers:
        for prefix in truth.WORKLOADS_AT:
            for job in truth.objects(world.clusters[name], prefix):
                is_ours = job["metadata"]["uid"] in world.made and not _is_tampered(world, job)
                if is_ours and marks.read(job) is None:
                    yield f"{truth.address(job)} on {name} has lost our marks"
    there = {each["metadata"]["uid"] for each in truth.workloads(world)}
    for record in truth.objects(world.clusters["hub"], truth.PLACEMENTS_AT):
        if record["metadata"]["name"] not in there:
            yield f"the Placement {truth.address(record)} is of nothing that is there"


def nothing_is_going(world: World) -> Iterator[str]:
    """What was deleted is gone."""
    for job in truth.workloads(world):
        if job["metadata"].get("deletionTimestamp"):
            yield f"{truth.address(job)} was deleted, and is still there"
    for mirror in truth.mirrors(world):
        if mirror.obj["metadata"].get("deletionTimestamp"):
            yield f"{mirror} was deleted, and is still there"


def workers_are_counted(world: World) -> Iterator[str]:
    """Every Worker is ready, and says how many mirrors it has and how many Jobs it runs."""
    mirrors, jobs = [*truth.mirrors(world)], truth.workloads(world)
    for worker in truth.objects(world.clusters["hub"], truth.WORKERS_AT):
        name, status = worker["metadata"]["name"], worker.get("status") or {}
        ready = conditions.find(status.get("conditions"), "Ready")
        if ready is None or ready["status"] != "True":
            yield f"worker {name} is not ready: {ready}"
        held = sum(mirror.on == name for mirror in mirrors)
        active = sum(_is_active_on(world, job, name) for job in jobs)
        if (status.get("mirrors"), status.get("active")) != (held, active):
            said = f"{status.get('mirrors')} mirrors, {status.get('active')} active"
            yield f"worker {name} says {said}; there are {held}, {active}"


RULES: tuple[Callable[[World], Iterator[str]], ...] = (
    every_job_has_its_end,
    every_job_set_has_its_end,
    suspended_jobs_rest,
    every_mirror_has_its_job,
    nothing_is_left_behind,
    nothing_is_going,
    workers_are_counted,
)


def problems(world: World) -> list[Problem]:
    """Return what does not hold (yet)."""
    return [Problem(rule.__name__, what) for rule in RULES for what in rule(world)]


def _is_active_on(world: World, job: Obj, worker: str) -> bool:
    placed = truth.placed(world, job)
    is_over = truth.finish(job) is not None or job["metadata"].get("deletionTimestamp")
    return placed is not None and not is_over and placed.shards[0].worker == worker


def _ending(world: World, job: Obj, end: Obj | None) -> Ending:
    """Say how a Job must end: without its deadline, if the clock that this goes by was put back and it did."""
    timeless = shapes.ending({**job, "spec": {**job["spec"], "activeDeadlineSeconds": None}})
    is_timeless = end is not None and end["reason"] == timeless.reason
    return timeless if is_timeless and _is_by_a_late_clock(world, job) else shapes.ending(job)


def _may_end_otherwise(world: World, job: Obj, end: Obj) -> bool:
    """Tell whether others had a hand in how a Job ended, a clock, or the loss of a cluster."""
    is_late = "activeDeadlineSeconds" in job["spec"] and (bool(world.jumped) or world.misled)
    is_by_others = end.get("reason") == "Stopped" or _is_tampered(world, job)
    # The pods that a deadline ends count as failed. Why they did goes with a cluster that is put back, or replaced, or lost
    # to whoever leads by then.
    is_unknown = bool(world.restored) or job["metadata"]["uid"] in world.guessed
    was_late = shapes.ending(job).reason == "DeadlineExceeded" and is_unknown
    is_guess = was_late and end["reason"] == "BackoffLimitExceeded"
    return is_by_others or is_guess or (is_late and end["reason"] == "DeadlineExceeded")


def _is_tampered(world: World, job: Obj) -> bool:
    return (job["metadata"]["namespace"], job["metadata"]["name"]) in world.tampered


def _waits_by_a_late_clock(world: World, job: Obj) -> bool:
    """Tell whether its worker waits to try again after a failure, by a clock that was put back meanwhile."""
    return count(job.get("status") or {}, "failed") > 0 and _is_by_a_late_clock(world, job)


def _is_by_a_late_clock(world: World, job: Obj) -> bool:
    """Tell whether the clock of its worker was put back."""
    placed = truth.placed(world, job)
    return placed is not None and world.jumped.get(placed.shards[0].worker, False)


def _cannot_run(job: Obj) -> bool:
    """Tell whether no node has room for its pods, or it may have none at a time."""
    container = job["spec"]["template"]["spec"]["containers"][0]
    asked = container.get("resources", {}).get("requests", {}).get("cpu", "")
    cannot = job["spec"].get("parallelism") == 0 or len(asked) > 5
    return cannot and job["spec"].get("activeDeadlineSeconds", LONG) >= LONG


def _brief(status: Obj) -> str:
    told = {key: value for key, value in status.items() if key != "conditions"}
    named = [f"{each['type']}={each['status']}" for each in status.get("conditions") or ()]
    return f"{told} {', '.join(named)}"
