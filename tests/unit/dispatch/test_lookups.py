"""What workloads of the hub refer to, and whom it concerns if that changes."""

from collections.abc import AsyncIterator, Collection
from contextlib import asynccontextmanager

import pytest

from jobferry.dispatch import lookups
from jobferry.dispatch.following import Following
from jobferry.dispatch.lookups import Lookups, Place
from jobferry.dispatch.workloads import Workloads
from jobferry.kinds import registry
from jobferry.kinds.adapter import Context
from jobferry.kinds.references import Reference
from jobferry.kinds.referred import PIPELINE, TASK
from jobferry.kube.client import Client
from jobferry.kube.resources import CRDS
from jobferry.objects import Obj, quantities
from jobferry.runtime import supervise
from tests.unit.dispatch.hubs import OURS, Hub, hub
from tests.workloads import crds

RUN = "PipelineRun.tekton.dev"
RUNS, PIPELINES, TASKS = "pipelineruns.tekton.dev", "pipelines.tekton.dev", "tasks.tekton.dev"
BUILD = Reference("tekton.dev", "Pipeline", "build")


@pytest.fixture
async def there() -> AsyncIterator[Hub]:
    async with hub() as found:
        yield found


class Watched:
    """What is followed, and what was told of what it refers to."""

    def __init__(self, client: Client) -> None:
        self.lookups = Lookups(client)
        context = Context(frozenset({OURS}), lookup=self.lookups.find)
        self.adapter = registry.make(context)[RUN]
        self.workloads = Workloads(client, [self.adapter])
        self.following = Following(client, self.workloads, lambda _: None, self.lookups)
        self.lookups.on_change = self._note
        self.told: list[list[str]] = []
        """By change: the workloads that it concerns."""

    def _note(self, changed: Collection[Place]) -> None:
        found = lookups.referring(self.workloads, changed)
        self.told.append([key.name for key, _ in found])

    def has(self, name: str) -> bool:
        """Tell whether a workload is known."""
        return any(key.name == name for key, _ in self.workloads)


@asynccontextmanager
async def watched(found: Hub, client: Client) -> AsyncIterator[Watched]:
    seen = Watched(client)
    async with client, supervise.tasks("test", clock=found.clock) as tasks:
        tasks.start("following", seen.following.run)
        await seen.following.settled.wait()
        yield seen


async def install(found: Hub, *names: str) -> None:
    every = crds.smallest(referred=True)
    await found.install(*(each for each in every if each["metadata"]["name"] in names))


def run(name: str, pipeline: str = "build") -> Obj:
    meta = {"name": name, "namespace": "default"}
    return {"metadata": meta, "spec": {"managedBy": OURS, "pipelineRef": {"name": pipeline}}}


def named(name: str, **spec: object) -> Obj:
    return {"metadata": {"name": name, "namespace": "default"}, "spec": spec}


async def test_what_is_there_is_known_before_any_workload_is(there: Hub) -> None:
    await install(there, RUNS, PIPELINES, TASKS)
    await there.admin.create(PIPELINE, named("build", tasks=[]))
    async with watched(there, there.server.client()) as seen:
        assert seen.lookups.find("default", BUILD) is not None
        assert seen.lookups.find("other", BUILD) is None
        assert seen.lookups.find("default", Reference("tekton.dev", "Task", "build")) is None


async def test_a_change_is_told_to_those_whom_it_concerns(there: Hub) -> None:
    await install(there, RUNS, PIPELINES, TASKS)
    async with watched(there, there.server.client()) as seen:
        await there.admin.create(seen.adapter.resource, run("a"))
        await there.admin.create(seen.adapter.resource, run("b", "other"))
        await there.until(lambda: seen.has("a") and seen.has("b"))
        hub_object = next(item.object() for key, item in seen.workloads if key.name == "a")
        assert seen.adapter.unknown_demand(hub_object)

        entry = {"name": "one", "taskRef": {"name": "steps"}}
        await there.admin.create(PIPELINE, named("build", tasks=[entry]))
        await there.until(lambda: seen.told == [["a"]])
        step = {"computeResources": {"requests": {"cpu": "3"}}}
        await there.admin.create(TASK, named("steps", steps=[step]))
        await there.until(lambda: seen.told == [["a"], ["a"]])

        assert seen.adapter.unknown_demand(hub_object) is None
        assert seen.adapter.demand(hub_object)["cpu"] == quantities.parse("3")

        labels = {"metadata": {"labels": {"team": "blue"}}}
        await there.admin.patch(PIPELINE, "build", labels, namespace="default")
        await there.admin.delete(PIPELINE, "build", "default")
        await there.until(lambda: len(seen.told) > 2)
        assert seen.told == [["a"], ["a"], ["a"]]


async def test_kinds_come_and_go(there: Hub) -> None:
    await install(there, RUNS)
    async with watched(there, there.server.client()) as seen:
        await there.admin.create(seen.adapter.resource, run("a"))
        await there.until(lambda: seen.has("a"))

        await install(there, PIPELINES)
        await there.admin.create(PIPELINE, named("build", tasks=[]))
        await there.until(lambda: seen.lookups.find("default", BUILD) is not None)
        await there.undefine(PIPELINES)
        await there.until(lambda: seen.lookups.find("default", BUILD) is None)
        await there.until(lambda: seen.told == [["a"], ["a"]])


async def test_nothing_is_looked_up_for_kinds_that_are_not_followed(there: Hub) -> None:
    await install(there, RUNS, PIPELINES)
    await there.admin.create(PIPELINE, named("build", tasks=[]))
    async with watched(there, there.server.client()) as seen:
        assert seen.lookups.find("default", BUILD) is not None

        await there.undefine(RUNS)
        await there.until(lambda: seen.lookups.find("default", BUILD) is None)


async def test_without_the_right_nothing_is_known_and_nobody_waits(there: Hub) -> None:
    await install(there, RUNS, PIPELINES, TASKS)
    await there.admin.create(PIPELINE, named("build", tasks=[]))
    await there.allow("us", "tekton.dev", "pipelineruns", "list", "watch")
    await there.allow("us", CRDS.group, CRDS.plural, "list", "watch")
    began = there.clock.monotonic()
    async with watched(there, there.client("us")) as seen:
        assert there.clock.monotonic() - began < lookups.SETTLE_WITHIN
        assert seen.lookups.find("default", BUILD) is None

        await there.allow("us", "tekton.dev", "pipelines", "list", "watch")
        await there.until(lambda: seen.lookups.find("default", BUILD) is not None)
