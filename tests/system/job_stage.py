"""Where Jobs are played out: any cluster with any Job controller, and pods that end as told."""

import asyncio
import json
import re
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from jobferry.clock import Seconds, sleep, timeout
from jobferry.kube.cache import Change
from jobferry.kube.calls import PatchKind, Scope
from jobferry.kube.client import Client
from jobferry.kube.informer import Informer
from jobferry.kube.items import Head, Item, Key
from jobferry.kube.resources import EVENTS, JOBS, NAMESPACES, PODS
from jobferry.objects import Obj, conditions
from jobferry.objects.resource import Resource
from jobferry.objects.times import timestamp
from jobferry.runtime import supervise
from jobferry.testing.fake_kubelet import fake_kubelet
from jobferry.testing.pods import Run

RUNS = "test.jobferry.io/runs"
"""The annotation that says how long the pods of each index run and how they end, one after the other."""

INDEX = "batch.kubernetes.io/job-completion-index"
SERVICE_ACCOUNTS = Resource("", "v1", "serviceaccounts", "ServiceAccount")
FOREVER = 1e9

Runs = dict[str, list[tuple[float, int]]]
"""Seconds and exit codes by index, "" for the others; the last one goes on for ever."""


class Stuck(AssertionError):
    """What was waited for did not come."""


@dataclass(frozen=True)
class Scenario:
    """A Job, what happens to it, and what is to come of it."""

    name: str
    spec: Obj
    seen: str
    """What is to be seen in the end, in short."""

    runs: Runs = field(default_factory=lambda: {"": [(1, 0)]})
    steps: "Callable[[Stage], Awaitable[None]] | None" = None
    job: str = "work"


class Script:
    """Lets pods end as their annotation says: the first of an index so, the second so …"""

    def __init__(self) -> None:
        self._seen: dict[tuple[str, str], list[str]] = {}

    def __call__(self, pod: Obj) -> Run:
        meta = pod["metadata"]
        said = meta.get("annotations") or {}
        runs: Runs = json.loads(said.get(RUNS, "{}"))
        index = said.get(INDEX, "")
        index = index if index in runs else ""
        mates = self._seen.setdefault((meta["namespace"], index), [])
        if meta["uid"] not in mates:
            mates.append(meta["uid"])
        chosen = runs.get(index, [(0.0, 0)])
        seconds, code = chosen[min(mates.index(meta["uid"]), len(chosen) - 1)]
        return Run(float("inf") if seconds >= FOREVER else seconds, code)


class Audience:
    """Sees all Jobs, pods and Events of a cluster."""

    def __init__(self, client: Client) -> None:
        self.client = client
        self.jobs, self.pods, self.events = (
            Informer(client, Scope(resource=resource), Head, indexes={"namespace": _namespace})
            for resource in (JOBS, PODS, EVENTS)
        )
        self._waiting: dict[asyncio.Event, frozenset[str]] = {}
        for informer in (self.jobs, self.pods, self.events):
            informer.listen(self._note)

    def _note(self, change: Change[Head]) -> None:
        for looked, namespaces in self._waiting.items():
            if change.item.key.namespace in namespaces:
                looked.set()

    async def run(self, tasks: supervise.Supervisor) -> None:
        """Begin to look."""
        for informer in (self.jobs, self.pods, self.events):
            tasks.start("informer", informer.run)
            await informer.synced.wait()

    async def until(
        self, holds: Callable[[], bool], *namespaces: str, within: Seconds = 120.0
    ) -> bool:
        """Wait until something holds in these namespaces; tells whether it does."""
        looked = asyncio.Event()
        self._waiting[looked] = frozenset(namespaces)
        try:
            async with timeout(self.client.clock, within):
                while not holds():
                    looked.clear()
                    await looked.wait()
        except TimeoutError:
            return False
        finally:
            del self._waiting[looked]
        return True


def _namespace(item: Item[Head]) -> tuple[str]:
    return (item.head.metadata.namespace,)


class Stage:
    """One scenario in a namespace of its own."""

    def __init__(
        self, audience: Audience, scenario: Scenario, namespace: str, managed_by: str | None
    ) -> None:
        self.scenario = scenario
        self.namespace = namespace
        self.client = audience.client
        self._audience = audience
        self._managed_by = managed_by

    async def play(self, look: "Callable[[Obj], str] | None" = None) -> Obj:
        """Play it out, and return what is to be seen in the end; `look` says how much of it matters."""
        look = look or short
        await self.open()
        if self.scenario.steps is None:
            await self.begin()
            await self.finished()
        else:
            await self.scenario.steps(self)

        def is_as_wanted() -> bool:
            return look(self.seen()) == self.scenario.seen

        await self._audience.until(is_as_wanted, self.namespace, within=60)
        return self.seen()

    # What happens

    async def open(self) -> None:
        """Make the namespace."""
        await self.client.create(NAMESPACES, {"metadata": {"name": self.namespace}})
        account = {"metadata": {"name": "default", "namespace": self.namespace}}
        await self.client.create(SERVICE_ACCOUNTS, account)

    async def begin(self, **spec: Any) -> None:
        """Create the Job."""
        whole = {**self.scenario.spec, **spec}
        template = whole.pop("template", {})
        meta = dict(template.get("metadata") or {})
        runs = {RUNS: json.dumps(self.scenario.runs)}
        meta["annotations"] = runs | (meta.get("annotations") or {})
        pod_spec = {
            "restartPolicy": "Never",
            "containers": [{"name": "main", "image": "none"}],
            **template.get("spec", {}),
        }
        whole["template"] = {"metadata": meta, "spec": pod_spec}
        if self._managed_by is not None:
            whole["managedBy"] = self._managed_by
        body = {
            "metadata": {"name": self.scenario.job, "namespace": self.namespace},
            "spec": whole,
        }
        await self.client.create(JOBS, body)

    async def edit(self, **spec: Any) -> None:
        """Change what is asked of the Job."""
        await self._patch(JOBS, self.scenario.job, {"spec": spec})

    async def preset(self, **status: Any) -> None:
        """Write into the Job's status."""
        await self._patch(JOBS, self.scenario.job, {"status": status}, subresource="status")

    async def wait(self, seconds: Seconds) -> None:
        """Let time pass."""
        await sleep(self.client.clock, seconds)

    async def change_pod(self, name: str, body: Obj, *, subresource: str | None = None) -> None:
        """Change a pod."""
        await self._patch(PODS, name, body, subresource=subresource)

    async def end_pod(self, name: str, code: int) -> None:
        """Let a pod end that would run for ever."""
        end = {"exitCode": code, "finishedAt": timestamp(self.client.clock.now())}
        status = {
            "phase": "Failed" if code else "Succeeded",
            "containerStatuses": [{"name": "main", "state": {"terminated": end}}],
        }
        await self.change_pod(name, {"status": status}, subresource="status")

    async def delete_pod(self, name: str) -> None:
        """Delete a pod."""
        await self.client.delete(PODS, name, self.namespace)

    async def _patch(
        self, resource: Resource, name: str, body: Obj, *, subresource: str | None = None
    ) -> None:
        kind = PatchKind.STRATEGIC if resource is PODS else PatchKind.MERGE
        await self.client.patch(
            resource, name, body, namespace=self.namespace, kind=kind, subresource=subresource
        )

    # What is seen

    @property
    def job(self) -> Obj:
        """The Job as it is; empty if there is none."""
        item = self._audience.jobs.get(Key(self.namespace, self.scenario.job))
        return item.object() if item else {}

    @property
    def pods(self) -> list[Obj]:
        """The pods as they are."""
        return [item.object() for item in self._audience.pods.by("namespace", self.namespace)]

    async def until(self, holds: Callable[[], bool]) -> None:
        """Wait until something holds."""
        if not await self._audience.until(holds, self.namespace):
            raise Stuck(f"{self.scenario.name}: {short(self.seen())}")

    async def finished(self) -> None:
        """Wait until the Job has ended and its pods have too."""
        await self.until(lambda: self.has("Complete") or self.has("Failed"))

    def has(self, condition: str) -> bool:
        """Tell whether a condition of the Job is True."""
        return conditions.is_true(self.status.get("conditions"), condition)

    @property
    def status(self) -> Obj:
        """The status of the Job."""
        status: Obj = self.job.get("status") or {}
        return status

    async def running(self, count: int) -> list[str]:
        """Wait until so many pods run, and the Job says so; returns their names."""
        await self.until(lambda: len(self._running()) == count == self.status.get("ready"))
        return self._running()

    def _running(self) -> list[str]:
        return [
            pod["metadata"]["name"]
            for pod in self.pods
            if pod["status"].get("phase") == "Running"
            and "deletionTimestamp" not in pod["metadata"]
        ]

    def seen(self) -> Obj:
        """Return all that people see in the end, but for what is different each time."""
        events = Counter[str]()
        for item in self._audience.events.by("namespace", self.namespace):
            event = item.object()
            if event["involvedObject"]["kind"] == "Job":
                words = f"{event['type']} {event['reason']}: {self._masked(event['message'])}"
                events[words] += event.get("count") or 1
        return {
            "status": self._masked_status(),
            "events": dict(sorted(events.items())),
            "pods": sorted((_pod(pod) for pod in self.pods), key=json.dumps),
        }

    def _masked_status(self) -> Obj:
        status: Obj = {
            member: "TIME" if member.endswith("Time") else value
            for member, value in self.status.items()
        }
        status["conditions"] = [
            {
                member: "TIME" if member.endswith("Time") else self._masked(value)
                for member, value in condition.items()
            }
            for condition in status.get("conditions") or ()
        ]
        return status

    def _masked(self, text: str) -> str:
        return re.sub(r"\b([Pp]od:? )\S+-[a-z0-9]{5}\b", r"\1NAME", text)


def _pod(pod: Obj) -> Obj:
    meta, spec = pod["metadata"], pod["spec"]
    said = {key: value for key, value in (meta.get("annotations") or {}).items() if key != RUNS}
    owner = [
        {key: value for key, value in each.items() if key != "uid"}
        for each in meta.get("ownerReferences") or ()
    ]
    labels = {
        key: "UID" if key.endswith("controller-uid") else value
        for key, value in (meta.get("labels") or {}).items()
    }
    return {
        "phase": pod["status"]["phase"],
        "generateName": meta.get("generateName"),
        "annotations": said,
        "labels": labels,
        "owners": owner,
        "finalizers": [
            each.partition("/")[2] for each in meta.get("finalizers") or ()
        ],  # a controller beside the cluster's own has one of its own
        "hostname": spec.get("hostname"),
        "env": [container.get("env") or [] for container in spec["containers"]],
        "deleted": "deletionTimestamp" in meta,
    }


def short(seen: Obj) -> str:
    """Say in one line what is seen."""
    status = seen["status"]
    types = [
        each["type"] + ("" if each["status"] == "True" else f"={each['status']}")
        for each in status["conditions"]
    ]
    reasons = [each["reason"] for each in status["conditions"][-1:]]
    numbers = [
        f"{member} {status[member]}"
        for member in (
            *("active", "ready", "terminating", "succeeded", "failed"),
            *("completedIndexes", "failedIndexes"),
        )
        if status.get(member) or (member == "failedIndexes" and member in status)
    ]
    pods = Counter(f"{pod['phase']}" for pod in seen["pods"])
    events = Counter[str]()
    for words, count in seen["events"].items():
        events[words.split()[1].rstrip(":")] += count
    parts = (
        " ".join(types + reasons) or "-",
        ", ".join(numbers) or "-",
        _counted(pods),
        _counted(events),
    )
    return " | ".join(parts)


def _counted(counter: Counter[str]) -> str:
    return " ".join(f"{name}*{count}" for name, count in sorted(counter.items())) or "-"


@asynccontextmanager
async def playing(client: Client) -> AsyncIterator[Audience]:
    """Run the pods of a cluster, and look on."""
    audience = Audience(client)
    async with (
        supervise.tasks("audience", clock=client.clock) as tasks,
        fake_kubelet(client, bind=True, play=Script()),
    ):
        await audience.run(tasks)
        yield audience
