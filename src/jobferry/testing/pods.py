"""What a fake kubelet makes of a pod: pure decisions and the statuses they lead to."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

import msgspec

from jobferry.clock import Seconds
from jobferry.errors import BadInput
from jobferry.kube.items import Head, Metadata
from jobferry.objects import Obj
from jobferry.objects.times import timestamp

RUN_SECONDS = "jobferry.io/run-seconds"
"""The annotation that says how long a pod runs; "inf" for as long as it is let."""

EXIT_CODE = "jobferry.io/exit-code"
"""The annotation that says what its containers end with."""

STOP_SECONDS = "jobferry.io/stop-seconds"
"""The annotation that says how long its containers take to end when they are asked to."""

STOPPED = 143
"""What a container ends with that heeds SIGTERM."""


@dataclass(frozen=True, slots=True)
class Run:
    """What a pod does: for how long, and what all of its containers end with."""

    seconds: Seconds = 0.0
    exit_code: int = 0
    stop_seconds: Seconds = 0.0
    """How long it takes to end when it is asked to."""


Play = Callable[[Obj], Run]
"""Says what a pod does."""


def by_annotations(pod: Obj) -> Run:
    """Let a pod say itself what it does; one that does not say ends well at once."""
    said = pod["metadata"].get("annotations") or {}
    try:
        seconds, stops = (float(said.get(each, 0)) for each in (RUN_SECONDS, STOP_SECONDS))
        return Run(seconds, int(said.get(EXIT_CODE, 0)), stops)
    except ValueError as error:
        raise BadInput(f"pod {pod['metadata']['name']} cannot be run: {error}") from error


class PodMetadata(Metadata, frozen=True, gc=False, rename="camel"):
    """Also, how much longer a deleted pod may take; 0 once its kubelet is done with it."""

    deletion_grace_period_seconds: int | None = None


class Container(msgspec.Struct, frozen=True, gc=False):
    """A container as its pod names it."""

    name: str
    image: str = ""


class Spec(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """Where a pod runs, and what."""

    node_name: str = ""
    containers: list[Container] = []
    scheduling_gates: list[msgspec.Raw] = []


class Status(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """How far a pod has got."""

    phase: str = "Pending"
    start_time: datetime | None = None


class Pod(Head, frozen=True, gc=False):
    """As much of a pod as a fake kubelet looks at."""

    metadata: PodMetadata
    spec: Spec
    status: Status

    @property
    def is_finished(self) -> bool:
        """Whether it has ended, well or not."""
        return self.status.phase in {"Succeeded", "Failed"}

    @property
    def is_deleted(self) -> bool:
        """Whether it is to be ended and removed."""
        return self.metadata.deletion_timestamp is not None

    @property
    def needs_a_kubelet(self) -> bool:
        """Whether there is anything left to do about it."""
        if self.is_deleted:
            return self.metadata.deletion_grace_period_seconds != 0
        return not self.is_finished and not self.spec.scheduling_gates


@dataclass(frozen=True, slots=True)
class Bind:
    """Give it to our node."""


@dataclass(frozen=True, slots=True)
class Report:
    """Write its status."""

    status: Obj


@dataclass(frozen=True, slots=True)
class Wait:
    """Let it run."""

    seconds: Seconds


@dataclass(frozen=True, slots=True)
class Remove:
    """Say that nothing of it runs any more, so that the API server lets it go."""


Step = Bind | Report | Wait | Remove


def next_step(pod: Pod, run: Run, began: datetime, now: datetime) -> Step | None:
    """Decide what is due for a pod that began to run, or would begin, at `began`."""
    if not pod.needs_a_kubelet:
        return None
    if pod.is_deleted:
        return _stop(pod, run, began, now)
    if not pod.spec.node_name:
        return Bind()
    if (now - began).total_seconds() >= run.seconds:
        return Report(ended(pod, run.exit_code, began, now))
    if pod.status.phase == "Pending":
        return Report(running(pod, began))
    return Wait(run.seconds - (now - began).total_seconds())


def _stop(pod: Pod, run: Run, began: datetime, now: datetime) -> Step:
    """Decide what is due for a pod that was deleted; it has `stop_seconds`, and no more than its grace."""
    if pod.is_finished:
        return Remove()
    grace = pod.metadata.deletion_grace_period_seconds or 0
    killed = datetime.fromisoformat(pod.metadata.deletion_timestamp or timestamp(now))
    left = (killed - now).total_seconds() - grace + min(run.stop_seconds, grace)
    runs = pod.status.phase == "Running" and run.stop_seconds and left > 0
    return Wait(left) if runs else Report(ended(pod, STOPPED, began, now))


def running(pod: Pod, began: datetime) -> Obj:
    """Return the status of a pod that has begun to run."""
    state = {"running": {"startedAt": timestamp(began)}}
    return {
        "phase": "Running",
        "startTime": timestamp(began),
        "containerStatuses": _containers(pod, state, is_ready=True),
        "conditions": _conditions(began, is_ready=True),
    }


def ended(pod: Pod, exit_code: int, began: datetime, now: datetime) -> Obj:
    """Return the status of a pod all of whose containers have ended."""
    state = {
        "terminated": {
            "exitCode": exit_code,
            "reason": "Error" if exit_code else "Completed",
            "startedAt": timestamp(began),
            "finishedAt": timestamp(now),
        }
    }
    return {
        "phase": "Failed" if exit_code else "Succeeded",
        "startTime": timestamp(began),
        "containerStatuses": _containers(pod, state, is_ready=False),
        "conditions": _conditions(now, is_ready=False),
    }


def node(name: str, capacity: dict[str, str], now: datetime) -> Obj:
    """Return a node that is ready for pods."""
    heard = timestamp(now)
    ready = {
        "type": "Ready",
        "status": "True",
        "reason": "KubeletReady",
        "lastHeartbeatTime": heard,
        "lastTransitionTime": heard,
    }
    return {
        "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name}},
        "status": {"capacity": capacity, "allocatable": capacity, "conditions": [ready]},
    }


def began_at(pod: Pod, now: datetime) -> datetime:
    """Return when a pod began to run, to the second; `now` if it has not yet."""
    start = pod.status.start_time
    return now if start is None else start


def _containers(pod: Pod, state: Obj, *, is_ready: bool) -> list[Obj]:
    return [
        {
            "name": container.name,
            "image": container.image,
            "imageID": "",
            "ready": is_ready,
            "started": is_ready,
            "restartCount": 0,
            "state": state,
        }
        for container in pod.spec.containers
    ]


def _conditions(moment: datetime, *, is_ready: bool) -> list[Obj]:
    return [
        {
            "type": kind,
            "status": "True" if holds else "False",
            "lastTransitionTime": timestamp(moment),
        }
        for kind, holds in (
            ("Initialized", True),
            ("ContainersReady", is_ready),
            ("Ready", is_ready),
        )
    ]
