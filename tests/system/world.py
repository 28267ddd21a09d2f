"""What a test sees: a hub and its workers, in a namespace of its own, by nothing but the Kubernetes API."""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import orjson

from jobferry.core import placement
from jobferry.dispatch.queues import QUEUES
from jobferry.kube.calls import Scope
from jobferry.kube.client import Client
from jobferry.kube.informer import Informer
from jobferry.kube.items import Head
from jobferry.kube.resources import EVENTS, JOBS, PODS, PRIORITY_CLASSES
from jobferry.objects import Obj
from jobferry.objects.resource import Resource
from jobferry.runtime import supervise
from tests.system.jobs import Holds, is_there


@dataclass(frozen=True, slots=True)
class World:
    """A hub and its workers."""

    hub: Client
    workers: Mapping[str, Client]
    namespace: str

    async def submit(self, job: Obj) -> Obj:
        """Create a Job on the hub."""
        return await self.hub.create(JOBS, job, namespace=self.namespace)

    async def run(self, job: Obj, holds: Holds) -> Obj:
        """Create a Job on the hub and wait until it is as wanted."""
        await self.submit(job)
        return await self.until(job["metadata"]["name"], holds)

    async def until(self, name: str, holds: Holds) -> Obj:
        """Wait until a Job on the hub is as wanted."""
        return await until_one(self.hub, named(JOBS, name, self.namespace), holds)

    async def edit(self, name: str, patch: Obj) -> Obj:
        """Patch a Job on the hub."""
        return await self.hub.patch(JOBS, name, patch, namespace=self.namespace)

    async def delete(self, name: str) -> None:
        """Delete a Job on the hub, as `kubectl delete` does."""
        await self.hub.delete(JOBS, name, self.namespace, propagation="Background")

    async def where(self, name: str, *, attempt: int = 1) -> str:
        """Wait for the placement of a Job; return the worker."""

        def is_placed(job: Obj) -> bool:
            record = placement.read(job)
            return record is not None and record.attempt >= attempt

        record = placement.read(await self.until(name, is_placed))
        assert record is not None
        return record.shards[0].worker

    async def mirror(self, name: str, holds: Holds = is_there, *, attempt: int = 1) -> Obj:
        """Wait for the mirror of a Job, and until it is as wanted."""
        worker = await self.where(name, attempt=attempt)
        return await self.on(worker, name, holds)

    async def on(self, worker: str, name: str, holds: Holds = is_there) -> Obj:
        """Wait until the Job of that name on a worker is as wanted."""
        scope = named(JOBS, name, self.namespace)
        return await until_one(self.workers[worker], scope, holds)

    async def gone(self, name: str) -> None:
        """Wait until no worker has a Job of that name or a pod of it."""
        for client in self.workers.values():
            await until_none(client, named(JOBS, name, self.namespace))
            await until_none(client, pods_of(name, self.namespace))

    async def pods(self, name: str) -> dict[str, int]:
        """Count the pods of a Job on each worker that has any."""
        found = {}
        for worker, client in self.workers.items():
            pods = await client.list(pods_of(name, self.namespace))
            if pods.items:
                found[worker] = len(pods.items)
        return found

    async def event(self, name: str, reason: str, part: str = "") -> str:
        """Wait for an Event about an object on the hub, with that part; return what it says."""
        about = Scope(
            resource=EVENTS,
            namespace=self.namespace,
            fields=f"involvedObject.name={name},reason={reason}",
        )
        event = await until_one(self.hub, about, lambda event: part in event["message"])
        return str(event["message"])

    async def told(self, name: str, reason: str) -> list[Obj]:
        """Return the Events about an object on the hub with that reason."""
        fields = f"involvedObject.name={name},reason={reason}"
        about = Scope(resource=EVENTS, namespace=self.namespace, fields=fields)
        return (await self.hub.list(about)).items

    async def reasons(self, name: str) -> set[str]:
        """Return the reasons of all Events about an object on the hub."""
        about = Scope(
            resource=EVENTS, namespace=self.namespace, fields=f"involvedObject.name={name}"
        )
        return {event["reason"] for event in (await self.hub.list(about)).items}

    async def queue(self, name: str, **spec: Any) -> str:
        """Create a Queue that goes when the test ends; return its name."""
        full = f"{self.namespace}-{name}"
        await self.hub.create(QUEUES, {"metadata": {"name": full}, "spec": spec})
        return full

    async def priority_class(self, name: str, value: int) -> str:
        """Create a PriorityClass that goes when the test ends, on the hub last; return its name."""
        full = f"{self.namespace}-{name}"
        for client in (*self.workers.values(), self.hub):
            body = {"metadata": {"name": full}, "value": value}
            await client.create(PRIORITY_CLASSES, body)
        return full

    async def clear(self) -> None:
        """Delete what the test left: Jobs would be load for the next."""
        jobs = Scope(resource=JOBS, namespace=self.namespace)
        await self.hub.delete_collection(jobs, propagation="Background")
        await until_none(self.hub, jobs)
        await self._delete_named(self.hub, QUEUES)
        for client in (self.hub, *self.workers.values()):
            await self._delete_named(client, PRIORITY_CLASSES)

    async def _delete_named(self, client: Client, resource: Resource) -> None:
        for obj in (await client.list(Scope(resource=resource))).items:
            if obj["metadata"]["name"].startswith(self.namespace):
                await client.delete(resource, obj["metadata"]["name"])

    async def finish_pod(self, worker: str, name: str) -> None:
        """Let one pod of a Job that would run for ever end well."""
        client = self.workers[worker]
        pods = (await client.list(pods_of(name, self.namespace))).items
        pod = next(pod for pod in pods if pod["status"]["phase"] == "Running")
        await client.patch(
            PODS,
            pod["metadata"]["name"],
            {"status": {"phase": "Succeeded"}},
            namespace=self.namespace,
            subresource="status",
        )


def pods_of(name: str, namespace: str) -> Scope:
    """Mean the pods of a Job."""
    labels = f"batch.kubernetes.io/job-name={name}"
    return Scope(resource=PODS, namespace=namespace, labels=labels)


def named(resource: Resource, name: str, namespace: str | None = None) -> Scope:
    """Mean one object."""
    return Scope(resource=resource, namespace=namespace, fields=f"metadata.name={name}")


async def until_one(client: Client, scope: Scope, holds: Holds) -> Obj:
    """Wait until some object in `scope` is as wanted."""
    found = await until(client, scope, lambda objects: any(map(holds, objects)))
    return next(filter(holds, found))


async def until_none(client: Client, scope: Scope) -> None:
    """Wait until there is nothing in `scope`."""
    await until(client, scope, lambda objects: not objects)


async def until(client: Client, scope: Scope, holds: Callable[[list[Obj]], bool]) -> list[Obj]:
    """Wait until what is in `scope` is as wanted; if that takes too long, tell how it is."""
    informer = Informer(client, scope, Head)
    found: asyncio.Future[list[Obj]] = asyncio.get_running_loop().create_future()

    def look(_: object = None) -> None:
        objects = [item.object() for item in informer]
        if informer.synced.is_set() and not found.done() and holds(objects):
            found.set_result(objects)

    informer.listen(look)
    async with supervise.tasks("until", clock=client.clock) as tasks:
        tasks.start("informer", informer.run)
        try:
            await informer.synced.wait()
            look()
            return await found
        except asyncio.CancelledError as error:
            last = [item.object() for item in informer]
            shown = orjson.dumps(last, option=orjson.OPT_INDENT_2).decode()
            error.add_note(f"Last seen on {client.name} of {scope}: {shown}")
            raise
