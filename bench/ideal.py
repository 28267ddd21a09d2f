"""The least that any dispatcher has to do, in a process of its own (started by bench.dispatchers).

For each Job on the hub: one write that says where it goes, one that creates it there, one for each change of
its status worth telling. Nothing is checked, compared, guarded, counted or told; the workers take turns.
"""

import asyncio
import sys
from contextlib import AsyncExitStack
from itertools import cycle
from pathlib import Path

import msgspec

from bench.command import new_event_loop
from bench.processes import READY
from jobferry.clock import SystemClock
from jobferry.kube import kubeconfig
from jobferry.kube.cache import Change
from jobferry.kube.calls import Scope
from jobferry.kube.client import Client, connect
from jobferry.kube.informer import Informer
from jobferry.kube.items import Head, Key
from jobferry.kube.resources import JOBS
from jobferry.objects import Obj, conditions
from jobferry.runtime import supervise
from jobferry.settings import DEFAULTS

MANAGER = "bench.example.com/ideal"
MIRROR = "bench.example.com/mirror"
PLACED = {"type": "Placed", "status": "True", "reason": "Placed"}
POD_COUNTS = ("active", "ready", "terminating")


class Spec(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """Whose a Job is."""

    managed_by: str = ""


class JobHead(Head, frozen=True, gc=False):
    """A Job on the hub."""

    spec: Spec = Spec()


class Ideal:
    """Brings Jobs to workers and their status back, by the fewest writes."""

    def __init__(self, hub: Client, workers: list[Client], tasks: asyncio.TaskGroup) -> None:
        self._hub = hub
        self._turns = cycle(workers)
        self._tasks = tasks
        self._where: dict[Key, Client] = {}
        self._news: dict[Key, Obj] = {}
        self._telling: set[Key] = set()
        self._slots = {
            client.name: asyncio.Semaphore(DEFAULTS.requests_in_flight)
            for client in (hub, *workers)
        }

    def on_job(self, change: Change[JobHead]) -> None:
        """Place a new Job; remove the mirror of one that is gone."""
        key = change.item.key
        if change.after is None:
            self._tasks.create_task(self._delete(key, self._where.pop(key)))
        elif change.before is None:
            self._where[key] = worker = next(self._turns)
            self._tasks.create_task(self._place(change.after.object(), worker))

    def on_mirror(self, change: Change[Head]) -> None:
        """Tell the hub of a mirror's status; of several that wait to be told, only the last."""
        if change.after is None:
            return
        status = change.after.object().get("status") or {}
        if not status or _is_about_to_end(status):
            return
        key = change.item.key
        self._news[key] = status
        if key not in self._telling:
            self._telling.add(key)
            self._tasks.create_task(self._tell(key))

    async def _place(self, job: Obj, worker: Client) -> None:
        meta = job["metadata"]
        where = {"bench.example.com/worker": worker.name}
        async with self._slots[self._hub.name]:
            await self._write(
                Key(meta["namespace"], meta["name"]),
                {"metadata": {"annotations": where}, "status": {"conditions": [PLACED]}},
            )
        async with self._slots[worker.name]:
            await worker.create(JOBS, _mirror(job), field_validation="Strict")

    async def _tell(self, key: Key) -> None:
        while key in self._news:
            async with self._slots[self._hub.name]:
                await self._write(key, {"status": _told(self._news.pop(key))})
        self._telling.remove(key)

    async def _write(self, key: Key, body: Obj) -> None:
        await self._hub.patch(
            JOBS, key.name, body, namespace=key.namespace, subresource="status"
        )

    async def _delete(self, key: Key, worker: Client) -> None:
        async with self._slots[worker.name]:
            await worker.delete(JOBS, key.name, key.namespace, propagation="Background")


def _mirror(job: Obj) -> Obj:
    """Return the Job as its user wrote it, for a worker that makes selectors and labels of its own."""
    meta, spec = job["metadata"], dict(job["spec"])
    del spec["managedBy"], spec["selector"]
    template = spec["template"]
    annotations = template["metadata"].get("annotations", {})
    spec["template"] = {**template, "metadata": {"annotations": annotations}}
    name = {"namespace": meta["namespace"], "name": meta["name"], "labels": {MIRROR: "yes"}}
    return {"metadata": name, "spec": spec}


def _told(status: Obj) -> Obj:
    """Return the merge patch that makes the status of the hub's Job that of its mirror."""
    listed = [PLACED, *(status.get("conditions") or ())]
    counts = {name: status.get(name) for name in POD_COUNTS}
    return {**status, **counts, "conditions": listed, "uncountedTerminatedPods": None}


def _is_about_to_end(status: Obj) -> bool:
    """Tell whether the next status is the last: nobody needs to know of this one."""
    listed = status.get("conditions")
    is_decided = conditions.is_true(listed, "SuccessCriteriaMet")
    return is_decided and not conditions.is_true(listed, "Complete")


async def run(kubeconfigs: dict[str, str]) -> None:
    """Dispatch, until killed; the first of the clusters is the hub."""
    clock = SystemClock()
    async with AsyncExitStack() as stack:
        clients = []
        for name, file in kubeconfigs.items():
            access = kubeconfig.from_file(Path(file)).access(clock=clock)
            client = connect(access, name=name, clock=clock)
            clients.append(await stack.enter_async_context(client))
        hub, *workers = clients
        writes = await stack.enter_async_context(asyncio.TaskGroup())
        reads = await stack.enter_async_context(supervise.tasks("ideal", clock=clock))
        ideal = Ideal(hub, workers, writes)
        jobs = Informer(
            hub,
            Scope(resource=JOBS),
            JobHead,
            keep=lambda head: head.spec.managed_by == MANAGER,
        )
        jobs.listen(ideal.on_job)
        reads.start("hub", jobs.run)
        await jobs.synced.wait()
        for worker in workers:
            mirrors = Informer(worker, Scope(resource=JOBS, labels=MIRROR), Head)
            mirrors.listen(ideal.on_mirror)
            reads.start(worker.name, mirrors.run)
            await mirrors.synced.wait()
        print(READY, end="", flush=True)
        await reads.ended()


if __name__ == "__main__":
    with asyncio.Runner(loop_factory=new_event_loop) as runner:
        runner.run(run(msgspec.json.decode(sys.argv[1], type=dict[str, str])))
