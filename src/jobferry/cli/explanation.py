"""Why a Job waits, or is where it is: pure, from the objects of the hub."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from jobferry.cli import job_facts, silence
from jobferry.cli.arguments import program
from jobferry.cli.job_events import lacking, refusals
from jobferry.cli.picture import Opinion, Picture, Turn
from jobferry.cli.workload_facts import Workload
from jobferry.core import placement
from jobferry.core.decide import decide
from jobferry.core.kind import Kind
from jobferry.core.steps import Rest
from jobferry.core.view import Policy, View
from jobferry.kinds.job.adapter import JOB
from jobferry.kinds.job.status import end
from jobferry.localkube.apiserver.printing import durations
from jobferry.objects import Obj
from jobferry.settings import Settings

_ADD = "workers add NAME --from-context CONTEXT"
_REFUSED = "no worker can run it as it is"


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """All that is to be said about where a Job is."""

    says: tuple[str, ...]
    """In sentences, what matters most first."""

    turn: Turn | None
    """None: it does not wait for a worker."""

    opinions: tuple[Opinion, ...]

    @property
    def choice(self) -> str | None:
        """The worker that it would get if it were placed now."""
        return self.turn.worker if self.turn else None


def explain(
    job: Obj, picture: Picture, events: Sequence[Obj], lease: Obj | None, now: datetime
) -> Explanation:
    """Explain where a Job is; `lease` is that of the dispatcher, if it can be read."""
    refused = refusals(events, picture.workers, now)
    says = [_standing(job, picture, refused, now)]
    unled = [said] if (said := silence.sentence(lease, now)) else []
    policy = picture.policy(job)
    if isinstance(policy, str):
        says.append(f"It has no queue: {policy}.")
        return Explanation(says=(*says, *unled), turn=None, opinions=())
    view = picture.view(job, policy, refused)
    turn = picture.turn(view) if _is_waiting(job) else None
    if turn is not None:
        says.append(_in_line(turn, policy))
    says.append(_queue(job, policy))
    if not picture.workers:
        says.append(f"There are no Workers: `{program()} {_ADD}` adds one.")
    if not JOB.finish(job):
        says.append(_needs(job))
    if view.priority_note:
        says.append(f"{view.priority_note[0].upper()}{view.priority_note[1:]}.")
    lack = _lack(events, job_facts.worker(job), JOB.finish(job))
    return Explanation(
        says=(*says, *lack, *_loss(job, view), *unled),
        turn=turn,
        opinions=tuple(picture.opinions(view)),
    )


def explain_any(
    seen: Workload,
    picture: Picture,
    events: Sequence[Obj],
    lease: Obj | None,
    now: datetime,
    *,
    is_on: bool = True,
) -> Explanation:
    """Explain where a workload of any kind is; `lease` is that of the dispatcher, if it can be read.

    `is_on` tells whether its kind is followed by the settings here; what Workers say counts more.
    """
    unled = [said] if (said := silence.sentence(lease, now)) else []
    says, policy = [_said(seen, now)], picture.policy(seen.obj)
    if isinstance(policy, str):
        says.append(f"It has no queue: {policy}.")
        return Explanation(says=(*says, *unled), turn=None, opinions=())
    refused = refusals(events, picture.workers, now)
    view = picture.view(seen.obj, policy, refused, kind=seen.kind, record=seen.record)
    refusal = seen.kind.refusal(seen.obj)
    waits = seen.state == "Waiting" and not refusal
    is_unseen = waits and _is_unseen(seen.kind, view)
    turn = picture.turn(view, seen.kind) if waits and (is_on or not is_unseen) else None
    if turn is not None:
        says.append(_in_line(turn, policy))
    if is_unseen:
        says.append(_unseen(seen.kind, is_on))
    says.append(_queue(seen.obj, policy))
    if not seen.kind.finish(seen.obj):
        says.append(_needs(seen.obj, seen.kind))
    says += [f"{why}." for why in (refusal, view.priority_note) if why]
    if unknown := seen.kind.unknown_demand(seen.obj):
        says.append(f"Not all that it needs is known: {unknown}.")
    says += _lack(events, seen.worker, seen.kind.finish(seen.obj))
    opinions = picture.opinions(view, seen.kind)
    if refusal and seen.placed is None:
        opinions = [Opinion(each.worker, False, _REFUSED) for each in opinions]
    if is_unseen:
        opinions = [_unsure(each, seen.kind) for each in opinions]
    says += _leaving(seen, view, opinions)
    return Explanation(says=(*says, *unled), turn=turn, opinions=tuple(opinions))


def _is_unseen(kind: Kind, view: View) -> bool:
    """Tell whether no Worker shows that a kind is served: none may, or nobody has looked."""
    workers = view.workers.values()
    return bool(workers) and not any(
        each.serves(kind.name) or kind.name in each.hidden for each in workers
    )


def _unseen(kind: Kind, is_on: bool) -> str:
    what = kind.name.partition(".")[0]
    tells = f"`{program()} kinds` tells what is missing"
    if is_on:
        return (
            f"No Worker serves {what}s, or the dispatcher's settings leave them out: {tells}."
        )
    return f"The dispatcher does not follow {what}s, by its settings as they are known here: {tells}."


def _unsure(opinion: Opinion, kind: Kind) -> Opinion:
    """Say no more of a worker than is known, where nobody may have looked."""
    if opinion.reason != f"does not serve {kind.name}":
        return opinion
    return replace(opinion, reason=f"is not known to serve {kind.name}")


def _leaving(seen: Workload, view: View, opinions: Sequence[Opinion]) -> list[str]:
    """Say of an unfinished workload that its worker gives away what it waits for."""
    worker = view.workers.get(seen.worker or "")
    if worker is None or not worker.moves_away or seen.kind.finish(seen.obj):
        return []
    if not any(each.fits for each in opinions):
        return [f"It is to leave {seen.worker}, and stays until another Worker can take it."]
    operator = ", by its operator there" if seen.kind.stop(seen.obj) is not None else ""
    return [f"It is to leave {seen.worker}, and moves once it has stopped there{operator}."]


def _said(seen: Workload, now: datetime) -> str:
    meta = seen.obj["metadata"]
    name = f"{seen.kind.resource.kind} {meta['namespace']}/{seen.name}"
    on = f" on {seen.worker}, attempt {seen.attempt}" if seen.attempt else ""
    if seen.state == "Waiting":
        age = durations.since(meta["creationTimestamp"], now)
        return f"{name} waits for a worker; it was made {age} ago."
    if seen.state in ("Placed", "Running"):
        return f"{name} {'runs' if seen.state == 'Running' else 'is placed'}{on}."
    return f"{name} is {seen.state}{on}."


def _in_line(turn: Turn, policy: Policy) -> str:
    if turn.held:
        return f"{turn.held[0].upper()}{turn.held[1:]}."
    line = "line of its queue" if policy.queue else "default line"
    return f"In the {line} it is number {turn.place} of {turn.length}."


def is_claimed(job: Obj, settings: Settings) -> bool:
    """Tell whether the dispatcher that these settings are of runs a Job."""
    return job_facts.manager(job) in settings.managed_by


def _is_waiting(job: Obj) -> bool:
    return job_facts.state(job) == "Waiting" and placement.vouched(job) is None


def _standing(job: Obj, picture: Picture, refused: Mapping[str, str], now: datetime) -> str:
    meta, worker, how = job["metadata"], job_facts.worker(job), job_facts.state(job)
    name = f"{meta['namespace']}/{meta['name']}"
    attempt = placement.last_attempt(job)
    on = f" on {worker}, attempt {attempt}" if attempt else ""
    if ended := end(job.get("status") or {}):
        why = f": {ended['message']}" if ended.get("message") else ""
        return f"{name} has ended{on} ({ended['type']}{why})."
    if how == "Deleting":
        return f"{name} is being deleted{on}."
    if how == "Suspended":
        return f"{name} is suspended{on}: it is placed and runs once spec.suspend is false."
    if how == "Waiting":
        age = durations.since(meta["creationTimestamp"], now)
        return f"{name} waits for a worker; it was made {age} ago."
    if how == "Placed" and worker is not None and worker in refused:
        return f"{name} waits: it was placed{on}, but {refused[worker]}."
    known = picture.workers.get(worker or "")
    if known is not None and (not known.is_up or known.silent_since is not None):
        return f"{name} was placed{on}, which is not heard of: how it goes there is unknown."
    if how == job_facts.STARTING:
        ready = job_facts.message(job)
        return f"{name} starts{on}: {ready}; `{program()} logs {meta['name']}` tells why."
    doing = "runs" if how == "Running" else "is placed, and none of its pods is active yet,"
    return f"{name} {doing}{on}."


def _queue(job: Obj, policy: Policy) -> str:
    label = (job["metadata"].get("labels") or {}).get(job_facts.QUEUE_LABEL)
    how = "label" if label else "namespace"
    where = f"in queue {policy.queue} (by its {how})" if policy.queue else "in no queue"
    over = job_facts.plural(len(policy.workers), "worker")
    return f"It is {where}; placement is {policy.placement} over {over}."


def _needs(job: Obj, kind: Kind = JOB) -> str:
    demand = kind.demand(job)
    needed = ", ".join(f"{amount} {name}" for name, amount in sorted(demand.items()) if amount)
    return f"What is left of it needs {needed}." if needed else "It requests no resources."


def _lack(events: Sequence[Obj], worker: str | None, ended: str | None) -> list[str]:
    """Repeat what the worker of an unfinished workload was found to lack."""
    said = lacking(events, worker) if worker and not ended else ""
    return [said] if said else []


def _loss(job: Obj, view: View) -> list[str]:
    """Say what becomes of a Job whose worker is out of reach, as the core has decided."""
    placed = placement.read(job)
    worker = view.workers.get(placed.shards[0].worker) if placed else None
    if worker is None or worker.is_up or JOB.finish(job):
        return []
    step = decide(view, JOB)
    return [f"{step.why}."] if isinstance(step, Rest) else []
