"""Pods that are workloads, alone or in groups, in a lab: they run on a worker for as long as they say."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from jobferry.core.placement_object import RESOURCE as PLACEMENTS
from jobferry.kube.calls import Scope
from jobferry.kube.client import Reach
from jobferry.kube.resources import PODS
from jobferry.kube.wire import Answer, Request
from jobferry.objects import Obj
from tests.system.fleet import MIRROR_SECONDS
from tests.system.jobs import FOREVER, MANAGER
from tests.system.kinds import Trial, rights
from tests.system.lab import Lab
from tests.system.meddling import Meddling, Send

KIND = "Pod"
KINDS = ("Job", KIND)


@asynccontextmanager
async def with_pods(lab: Lab) -> AsyncIterator[None]:
    """Let a dispatcher see Pods during the block, and delete all that a test leaves."""
    clients = (lab.world.hub, *lab.world.workers.values())
    async with rights(lab, KIND):
        try:
            yield
        finally:
            for client in clients:
                scope = Scope(resource=PODS, namespace=lab.world.namespace)
                await client.delete_collection(scope, grace=0)


def pod(
    lab: Lab,
    name: str,
    *,
    group: str = "",
    total: Any = 3,
    seconds: float = FOREVER,
    cpu: str = "1",
    queue: str = "",
    gates: tuple[str, ...] = (MANAGER,),
) -> Trial:
    """Return a Pod that runs for so long once it is on a worker."""
    labels = {"jobferry.io/queue": queue} if queue else {}
    notes = {MIRROR_SECONDS: str(seconds)}
    if group:
        labels["jobferry.io/pod-group"] = group
        notes["jobferry.io/pod-group-total-count"] = str(total)
    container = {"name": "main", "image": "none", "resources": {"requests": {"cpu": cpu}}}
    obj: Obj = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "labels": labels, "annotations": notes},
        "spec": {
            "restartPolicy": "Never",
            "terminationGracePeriodSeconds": 1,
            "schedulingGates": [{"name": each} for each in gates],
            "containers": [container],
        },
    }
    return Trial(lab, KIND, obj)


def group(lab: Lab, name: str = "g", number: int = 3, **said: Any) -> list[Trial]:
    """Return the Pods of a group."""
    return [
        pod(lab, f"{name}-{n}", group=name, **{"total": number, **said}) for n in range(number)
    ]


async def submit(pods: list[Trial]) -> None:
    """Create Pods on the hub."""
    for each in pods:
        await each.submit()


async def where(pods: list[Trial], *, attempt: int = 1) -> set[str]:
    """Wait until all of some Pods are placed, and run; return where."""
    workers = [await each.where(attempt=attempt) for each in pods]
    for each, worker in zip(pods, workers, strict=True):
        await each.on(worker, runs)
        await each.until(runs)
    return {*workers}


async def recorded(lab: Lab) -> set[str]:
    """Name the workloads that are placed."""
    scope = Scope(resource=PLACEMENTS, namespace=lab.world.namespace)
    records = (await lab.world.hub.list(scope)).items
    return {each["spec"]["workload"]["name"] for each in records}


def runs(obj: Obj) -> bool:
    """Hold for a Pod that runs."""
    return bool((obj.get("status") or {}).get("phase") == "Running")


class FewRecords:
    """The way of a dispatcher that hangs for ever once it has recorded so many placements, of that attempt."""

    def __init__(self, reach: Reach, number: int, *, attempt: int = 1) -> None:
        self.left = number
        self.hangs = asyncio.Event()
        self._said = f'"attempt":{attempt}'.encode()
        meddling = Meddling(reach)
        meddling.meddle_everywhere(self._pass_on)
        self.reach = meddling.reach

    async def _pass_on(self, request: Request, send: Send) -> Answer:
        path = request.target.partition("?")[0]
        if "/placements" in path and self._said in request.body:
            self.left -= 1
        if self.left < 0 and request.method != "GET" and "/leases/" not in path:
            self.hangs.set()
            await asyncio.Event().wait()
        return await send(request)
