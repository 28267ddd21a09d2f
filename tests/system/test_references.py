"""What workloads refer to: looked for on workers before they are sent there, and followed on the hub where it tells what they need."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from itertools import count
from typing import Any

import pytest

from jobferry.kinds.referred import CLUSTER_TRAINING_RUNTIME, PIPELINE, TASK
from jobferry.kube.client import Reach
from jobferry.kube.resources import CONFIG_MAPS
from jobferry.kube.wire import Answer, Request
from jobferry.objects import Obj
from jobferry.objects.resource import Resource
from jobferry.workers.status import REFERENCES
from tests.system.fleet import WORKER
from tests.system.jobs import FOREVER, complete, condition, holds, job
from tests.system.kinds import (
    Trial,
    defined,
    known,
    rights,
    rights_to_look,
    trial,
)
from tests.system.lab import Lab
from tests.system.meddling import Meddling, Send
from tests.system.world import World

pytestmark = [pytest.mark.fleet, pytest.mark.timeout(120)]

PIPELINE_RUN = "PipelineRun.tekton.dev"
TRAIN_JOB = "TrainJob.trainer.kubeflow.org"


def with_references(name: str, *, config_map: str = "", secret: str = "", **spec: Any) -> Obj:
    """Return a Job whose environment is read from these."""
    made = job(name, **spec)
    (container,) = made["spec"]["template"]["spec"]["containers"]
    container["envFrom"] = [
        *([{"configMapRef": {"name": config_map}}] if config_map else []),
        *([{"secretRef": {"name": secret}}] if secret else []),
    ]
    return made


async def make_config_map(world: World, name: str) -> None:
    """Have the worker north have a ConfigMap."""
    body = {"metadata": {"name": name}, "data": {"a": "b"}}
    await world.workers["north"].create(CONFIG_MAPS, body, namespace=world.namespace)


def asked(lab: Lab, worker: str, resource: str) -> list[Obj]:
    """Return what the dispatcher asked a worker about objects of a resource in the namespace of the test."""
    return [
        entry
        for entry in lab.fleet.audited(lab.clusters[worker], WORKER)
        if entry.get("objectRef", {}).get("resource") == resource
        and entry["objectRef"].get("namespace") == lab.world.namespace
    ]


# On workers


async def test_what_a_worker_lacks_is_told_and_the_job_is_sent_there_all_the_same(
    lab: Lab,
) -> None:
    world = lab.world
    await lab.add_worker("north")
    async with rights_to_look(lab, "ConfigMap,PriorityClass"), lab.dispatcher():
        await make_config_map(world, "there")

        await world.submit(with_references("a", config_map="not-there", secret="unknown"))
        said = await world.event("a", "ReferencesMissing")
        await world.on("north", "a")
        await world.run(with_references("b", config_map="there"), complete)

        assert "Worker north lacks what it refers to: ConfigMap not-there." in said
        assert f"in namespace {world.namespace}" in said
        assert await world.reasons("b") == set()


async def test_where_we_may_not_look_the_worker_says_so_and_is_not_asked(lab: Lab) -> None:
    world = lab.world
    await lab.add_worker("north")
    async with rights_to_look(lab, "ConfigMap"), lab.dispatcher():
        await make_config_map(world, "there")
        await world.run(with_references("a", config_map="there"), complete)
        await lab.worker("north", holds(REFERENCES))

        for name in ("b", "c"):
            await world.run(with_references(name, secret="unknown"), complete)

        worker = await lab.worker(
            "north", lambda obj: condition(obj, REFERENCES).get("status") == "False"
        )
        assert "`jobferry manifests worker --references Secret`" in str(
            condition(worker, REFERENCES)["message"]
        )
        assert condition(worker, "Ready")["status"] == "True"
        assert asked(lab, "north", "secrets") == []
        assert await world.reasons("b") == set()


async def test_many_jobs_with_the_same_reference_cost_one_look(lab: Lab) -> None:
    world, names = lab.world, [f"job-{number}" for number in range(20)]
    await lab.add_worker("north")
    async with rights_to_look(lab, "ConfigMap"), lab.dispatcher():
        await make_config_map(world, "there")

        for name in names:
            await world.submit(with_references(name, config_map="there"))
        for name in names:
            await world.until(name, complete)

        assert [each["verb"] for each in asked(lab, "north", "configmaps")] == ["get"]


async def test_a_job_without_references_costs_no_look(lab: Lab) -> None:
    world = lab.world
    await lab.add_worker("north")
    async with rights_to_look(lab, "all"), lab.dispatcher():
        await world.run(job("a"), complete)

        spaced = [
            entry["objectRef"]["resource"]
            for entry in lab.fleet.audited(lab.clusters["north"], WORKER)
            if entry.get("objectRef", {}).get("namespace") == world.namespace
        ]
        assert spaced == ["jobs"]


async def test_what_is_missing_is_told_once_for_an_attempt(lab: Lab) -> None:
    world = lab.world
    await lab.add_worker("north")
    async with rights_to_look(lab, "ConfigMap"), lab.dispatcher():
        await world.submit(with_references("a", config_map="not-there", seconds=FOREVER))
        await world.event("a", "ReferencesMissing")
        await world.on("north", "a")

        await world.edit("a", {"metadata": {"labels": {"team": "blue"}}})
        await world.on("north", "a", lambda obj: "team" in obj["metadata"]["labels"])

        about = await world.told("a", "ReferencesMissing")
        assert [each.get("count", 1) for each in about] == [1]


async def test_a_look_that_hangs_holds_up_neither_its_job_nor_others(lab: Lab) -> None:
    world = lab.world
    await lab.add_worker("north")
    reach = hanging(lab.fleet.reach, "/configmaps/")
    async with rights_to_look(lab, "ConfigMap"), lab.dispatcher(reach=reach):
        names = [f"job-{number}" for number in range(12)]
        for name in names:
            await world.submit(with_references(name, config_map=name))
        began = lab.fleet.clock.monotonic()
        await world.run(job("plain"), complete)
        for name in names:
            await world.until(name, complete)

        # Looking for all of them in turn would take 24 s; and nothing is told of what nobody knows.
        assert lab.fleet.clock.monotonic() - began < 20
        assert await world.reasons(names[0]) == set()


def hanging(reach: Reach, part: str) -> Reach:
    """Return a way to clusters on which what is asked for with that part in its path is never answered."""

    async def hang(request: Request, send: Send) -> Answer:
        if part in request.target:
            await asyncio.Event().wait()
        return await send(request)

    meddling = Meddling(reach)
    meddling.meddle_everywhere(hang)
    return meddling.reach


# On the hub


@asynccontextmanager
async def staged(lab: Lab, kind: str, *resources: Resource) -> AsyncIterator[None]:
    """Have all clusters know a kind, the hub also these, and a dispatcher; north has two CPUs."""
    world = lab.world
    async with AsyncExitStack() as stack:
        await stack.enter_async_context(known(lab, kind))
        await stack.enter_async_context(defined(world.hub, *resources))
        await stack.enter_async_context(rights(lab, kind))
        await stack.enter_async_context(
            rights_to_look(lab, "Pipeline,Task,ClusterTrainingRuntime")
        )
        await lab.add_worker("north", capacity={"cpu": 2})
        chosen = {"kinds": ("Job", kind), "claim_multikueue": True}
        await stack.enter_async_context(lab.dispatcher(**chosen))
        yield


def run_of(lab: Lab, name: str, pipeline: str) -> Trial:
    """Return a PipelineRun of a Pipeline."""
    changes = {"pipelineSpec": None, "pipelineRef": {"name": pipeline}}
    return trial(lab, PIPELINE_RUN, name=name, changes=changes)


def pipeline(name: str, cpu: str) -> Obj:
    """Return a Pipeline of one task that needs so much."""
    step = {"name": "s", "image": "none", "computeResources": {"requests": {"cpu": cpu}}}
    tasks = [{"name": "one", "taskSpec": {"steps": [step]}}]
    return {"metadata": {"name": name}, "spec": {"tasks": tasks}}


async def test_a_run_waits_for_the_room_that_its_pipeline_needs(lab: Lab) -> None:
    world = lab.world
    async with staged(lab, PIPELINE_RUN, PIPELINE, TASK):
        await world.hub.create(PIPELINE, pipeline("build", "4"), namespace=world.namespace)
        found = run_of(lab, "a", "build")

        await found.submit()
        assert "cpu" in await world.event("a", "NoWorker")
        smaller = {"spec": pipeline("build", "1")["spec"]}
        await world.hub.patch(PIPELINE, "build", smaller, namespace=world.namespace)

        assert await found.where() == "north"
        await found.on("north")
        said = await world.event("a", "ReferencesMissing")
        assert "Pipeline.tekton.dev build (no such kind there)" in said


def runtime(cpu: str) -> Obj:
    """Return a runtime whose one node needs so much."""
    node = {"name": "node", "image": "none", "resources": {"requests": {"cpu": cpu}}}
    step = {"labels": {"trainer.kubeflow.org/trainjob-ancestor-step": "trainer"}}
    job_spec = {"template": {"spec": {"containers": [node]}}}
    jobs = [{"name": "node", "template": {"metadata": step, "spec": job_spec}}]
    return {
        "metadata": {"name": "torch-distributed"},
        "spec": {"mlPolicy": {"numNodes": 1}, "template": {"spec": {"replicatedJobs": jobs}}},
    }


async def test_a_train_job_waits_for_the_room_that_its_runtime_needs(lab: Lab) -> None:
    world = lab.world
    async with staged(lab, TRAIN_JOB, CLUSTER_TRAINING_RUNTIME):
        await world.hub.create(CLUSTER_TRAINING_RUNTIME, runtime("4"))
        found = trial(lab, TRAIN_JOB, changes={"trainer": None})

        await found.submit()
        assert "cpu" in await world.event(found.name, "NoWorker")
        smaller = {"spec": runtime("1")["spec"]}
        await world.hub.patch(CLUSTER_TRAINING_RUNTIME, "torch-distributed", smaller)

        assert await found.where() == "north"
        await found.on("north")
        said = await world.event(found.name, "ReferencesMissing")
        assert "torch-distributed (no such kind there)" in said


async def test_a_placed_run_counts_as_much_as_its_pipeline_says_by_now(lab: Lab) -> None:
    world = lab.world
    async with staged(lab, PIPELINE_RUN, PIPELINE, TASK):
        await world.hub.create(PIPELINE, pipeline("build", "2"), namespace=world.namespace)
        found = run_of(lab, "a", "build")
        await found.submit()
        await found.on("north")
        await world.submit(small_job("b"))
        assert "cpu" in await world.event("b", "NoWorker")

        await world.hub.delete(PIPELINE, "build", world.namespace)

        await world.until("b", complete)
        assert "not on the hub" in await world.event("a", "DemandUnknown")


async def test_a_kind_that_is_referred_to_and_comes_later_is_looked_up_from_then_on(
    lab: Lab,
) -> None:
    world = lab.world
    async with staged(lab, PIPELINE_RUN):
        early = run_of(lab, "early", "build")
        await early.submit()
        await early.on("north")
        assert "not on the hub" in await world.event("early", "DemandUnknown")

        async with defined(world.hub, PIPELINE):
            await world.hub.create(PIPELINE, pipeline("build", "2"), namespace=world.namespace)
            waiting = await _until_one_waits(world)

        await world.until(waiting, complete)


async def test_without_the_right_to_read_pipelines_their_runs_count_nothing(lab: Lab) -> None:
    world = lab.world
    async with AsyncExitStack() as stack:
        await stack.enter_async_context(known(lab, PIPELINE_RUN))
        await stack.enter_async_context(defined(world.hub, PIPELINE, TASK))
        await stack.enter_async_context(rights(lab, PIPELINE_RUN, looks_up=False))
        await lab.add_worker("north", capacity={"cpu": 2})
        await world.hub.create(PIPELINE, pipeline("build", "4"), namespace=world.namespace)
        await stack.enter_async_context(lab.dispatcher(kinds=("Job", PIPELINE_RUN)))
        found = run_of(lab, "a", "build")

        await found.submit()

        await found.on("north")
        assert "may not be read there" in await world.event("a", "DemandUnknown")


def small_job(name: str) -> Obj:
    """Return a Job that needs one CPU."""
    made = job(name)
    (container,) = made["spec"]["template"]["spec"]["containers"]
    container["resources"] = {"requests": {"cpu": "1"}}
    return made


async def _until_one_waits(world: World) -> str:
    """Submit small Jobs until one finds no room: nobody tells when a dispatcher has heard of a Pipeline."""
    for number in count():
        name = f"later-{number}"
        await world.submit(small_job(name))
        ends = asyncio.ensure_future(world.until(name, complete))
        waits = asyncio.ensure_future(world.event(name, "NoWorker"))
        await asyncio.wait([ends, waits], return_when=asyncio.FIRST_COMPLETED)
        has_ended = ends.done()
        for each in (ends, waits):
            each.cancel()
        await asyncio.wait([ends, waits])
        if not has_ended:
            return name
    raise AssertionError("count() never ends")
