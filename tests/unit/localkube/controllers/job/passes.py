"""Jobs, pods and whole passes over them, for tables: all that is asked for is done."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import orjson

from jobferry.localkube.controllers.heads import Pod
from jobferry.localkube.controllers.job import backoff, jobs, pods, sync
from jobferry.localkube.controllers.job.backoff import Record
from jobferry.localkube.controllers.job.jobs import Job
from jobferry.localkube.controllers.job.view import View
from jobferry.objects import Obj
from jobferry.objects.times import timestamp

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)
FINALIZER = "batch.kubernetes.io/job-tracking"
_POD = msgspec.json.Decoder(Pod)


def at(seconds: float) -> str:
    """Return the time so long after NOW, as it is written."""
    return timestamp(NOW + timedelta(seconds=seconds))


def job(
    status: Obj | None = None,
    *,
    restart: str = "Never",
    deleted: bool = False,
    name: str = "work",
    **spec: Any,
) -> Job:
    """Return a Job that has been running for a minute, unless `status` says otherwise."""
    metadata = {"name": name, "namespace": "default", "uid": "job-uid", "resourceVersion": "7"}
    if deleted:
        metadata["deletionTimestamp"] = at(-1)
    template = {"spec": {"restartPolicy": restart, "containers": [{"name": "main"}]}}
    if "completions" not in spec and "parallelism" not in spec:
        spec["completions"] = 1
    body = {
        "metadata": metadata,
        "spec": {"template": template, **spec},
        "status": {"startTime": at(-60)} if status is None else status,
    }
    return jobs.decode(orjson.dumps(body))


def indexed(status: Obj | None = None, **spec: Any) -> Job:
    """Return an Indexed Job of four, all at once."""
    spec = {"completions": 4, "parallelism": 4, "completionMode": "Indexed", **spec}
    return job(status, **spec)


def pod(
    name: str,
    phase: str = "Running",
    *,
    index: int | None = None,
    tracked: bool = True,
    deleted: float | None = None,
    grace: int = 30,
    ready: float | None = None,
    code: int | None = None,
    finished: float = -1,
    restarts: int = 0,
    created: float = -60,
    node: str = "n1",
    conditions: Mapping[str, str] | None = None,
    annotations: Mapping[str, str] | None = None,
    status: Obj | None = None,
) -> Pod:
    """Return a pod; it has ended, where its phase says so, a second ago, with 0 or 1."""
    said = dict(annotations or {})
    if index is not None:
        said[pods.INDEX] = str(index)
    metadata: Obj = {
        "name": name,
        "namespace": "default",
        "uid": name,
        "resourceVersion": "9",
        "creationTimestamp": at(created),
        "annotations": said,
        "finalizers": [FINALIZER] if tracked else [],
    }
    if deleted is not None:
        metadata |= {"deletionTimestamp": at(deleted), "deletionGracePeriodSeconds": grace}
    found = [{"type": type, "status": value} for type, value in (conditions or {}).items()]
    if ready is not None:
        found.append({"type": "Ready", "status": "True", "lastTransitionTime": at(ready)})
    state: Obj = {"running": {}}
    if code is not None or phase in {"Succeeded", "Failed"}:
        ended = int(phase == "Failed") if code is None else code
        state = {"terminated": {"exitCode": ended, "finishedAt": at(finished)}}
    body = {
        "metadata": metadata,
        "spec": {"nodeName": node},
        "status": {
            "phase": phase,
            "conditions": found,
            "containerStatuses": [{"name": "main", "restartCount": restarts, "state": state}],
            **(status or {}),
        },
    }
    return _POD.decode(orjson.dumps(body))


def view(job: Job, *found: Pod, now: float = 0, record: Record = backoff.NONE) -> View:
    """Return what a pass would look at."""
    moment = NOW + timedelta(seconds=now)
    return View(job=job, pods=found, now=moment, finalizer=FINALIZER, record=record)


@dataclass(frozen=True)
class Pass:
    """What a pass came to."""

    created: list[int | None]
    stopped: list[str]
    removed: list[str]
    released: list[str]
    first: Obj
    """The status that is written before pods are let go."""

    status: Obj
    finished: bool
    after: float | None
    news: list[str]

    @property
    def conditions(self) -> list[str]:
        """What holds in the end, and why."""
        return [
            f"{each['type']}={each['status']} {each['reason']}"
            for each in self.status.get("conditions") or ()
        ]

    @property
    def counts(self) -> str:
        """How many pods are what, in the end: active/ready/terminating/succeeded/failed."""
        members = ("active", "ready", "terminating", "succeeded", "failed")
        return "/".join(str(self.status.get(member, 0)) for member in members)


def names(found: Sequence[Pod]) -> list[str]:
    """Return the names of pods."""
    return [pod.metadata.name for pod in found]


def run(
    job: Job,
    *found: Pod,
    now: float = 0,
    record: Record = backoff.NONE,
    undeleted: Sequence[str] = (),
    uncreated: int = 0,
    kept: Sequence[str] = (),
) -> Pass:
    """Pass over a Job; all that is asked for is done, but for some pods that cannot be deleted, created, let go."""
    plan = sync.plan(view(job, *found, now=now, record=record))
    asked = {pod.metadata.uid for pod in (*plan.stop, *plan.remove)}
    done = sync.Done(frozenset(asked - set(undeleted)), len(plan.create) - uncreated)
    account = sync.conclude(plan, done)
    released = names(account.release)
    verdict = sync.settle(account, set(released) - set(kept))
    return Pass(
        created=[_index(draft) for draft in plan.create],
        stopped=names(plan.stop),
        removed=names(plan.remove),
        released=released,
        first=account.status,
        status=verdict.status,
        finished=verdict.is_finished,
        after=plan.after,
        news=[each.reason for each in (*account.news, *verdict.news)],
    )


def _index(draft: Obj) -> int | None:
    said = draft["metadata"]["annotations"].get(pods.INDEX)
    return None if said is None else int(said)
