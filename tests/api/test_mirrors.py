"""Mirrors on real API servers, new and old: taken as they are sent, edited as we mean it, ours by UID."""

from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from typing import Any

import pytest

from jobferry.clock import SystemClock
from jobferry.core import marks
from jobferry.core.marks import Marks, Standing
from jobferry.kinds.forwarding import Edits
from jobferry.kinds.job import base as bases
from jobferry.kinds.job.adapter import JOB
from jobferry.kinds.job.base import Base
from jobferry.kube import errors
from jobferry.kube.calls import Scope
from jobferry.kube.client import Client, connect
from jobferry.kube.resources import JOBS
from jobferry.objects import Obj
from jobferry.testing import assets
from jobferry.testing.control_plane import ControlPlane

pytestmark = pytest.mark.kube(assets.OLDEST)

MARKS = Marks(
    origin="5f0c",
    dispatcher="jobferry.io/dispatcher",
    worker="east",
    hub_uid="",
    attempt=1,
    namespace="default",
    name="",
    hub_name="",
)
BASE = ""
INDEXED = {"completionMode": "Indexed", "completions": 4, "parallelism": 4}
POLICY = {"successPolicy": {"rules": [{"succeededCount": 1}]}}
BY_HAND = {"manualSelector": True, "selector": {"matchLabels": {"app": "a"}}}


@pytest.fixture(scope="module")
def old_plane() -> Iterator[ControlPlane]:
    control_plane = ControlPlane(version=assets.OLDEST).start()
    yield control_plane
    control_plane.stop()


@pytest.fixture
async def old_worker(old_plane: ControlPlane) -> AsyncIterator[Client]:
    async with connect(old_plane.access(), name="old", clock=SystemClock()) as client:
        yield client


async def hub_job(hub: Client, namespace: str, **spec: Any) -> Obj:
    """A delegated Job that uses what a Job can have."""
    pod = {
        "containers": [{"name": "a", "image": "a", "env": [{"name": "X", "value": "1"}]}],
        "initContainers": [{"name": "b", "image": "b", "restartPolicy": "Always"}],
        "volumes": [{"name": "v", "emptyDir": {}}],
        "tolerations": [{"key": "gpu", "operator": "Exists"}],
        "restartPolicy": "Never",
    }
    template = {"metadata": {"labels": {"app": "a"}}, "spec": pod}
    delegated = {"managedBy": "jobferry.io/dispatcher", "ttlSecondsAfterFinished": 60}
    body = {
        "metadata": {"generateName": "it-", "labels": {"team": "a"}},
        "spec": {**delegated, "template": template, "activeDeadlineSeconds": 60, **spec},
    }
    return await hub.create(JOBS, body, namespace=namespace)


def marks_of(job: Obj, suffix: str = "") -> Marks:
    name = job["metadata"]["name"]
    return replace(MARKS, hub_uid=job["metadata"]["uid"], name=name + suffix, hub_name=name)


@pytest.mark.parametrize("base", [BASE, bases.write(Base(succeeded=1, failed=2, seconds=9))])
@pytest.mark.parametrize("spec", [{}, INDEXED, INDEXED | {"backoffLimitPerIndex": 0}, BY_HAND])
async def test_a_mirror_is_taken_as_it_is_by_workers_new_and_old(
    cluster: Client, namespace: str, old_worker: Client, spec: Obj, base: str
) -> None:
    hub = await hub_job(cluster, namespace, **spec)

    for worker in (cluster, old_worker):
        mine = marks_of(hub, suffix="-mirror")
        sent = JOB.mirror(hub, mine, base)
        answer = await worker.create(JOBS, sent, field_validation="Strict")

        assert JOB.dropped_fields(sent, answer) == []
        assert mine.judge(answer).standing is Standing.CURRENT
        ours = marks.selector(mine.origin, mine.dispatcher, mine.worker)
        selected = Scope(resource=JOBS, labels=ours)
        assert mine.name in {
            each["metadata"]["name"] for each in (await worker.list(selected)).items
        }
        assert JOB.edits(hub, answer, base) == Edits(None)


async def test_rule_17_a_field_that_an_old_worker_does_not_know_is_noticed(
    cluster: Client, namespace: str, old_worker: Client
) -> None:
    hub = await hub_job(cluster, namespace, **INDEXED, **POLICY)
    sent = JOB.mirror(hub, marks_of(hub), BASE)

    with pytest.raises(errors.BadRequest, match="successPolicy"):
        await old_worker.create(JOBS, sent, field_validation="Strict")

    answer = await old_worker.create(JOBS, sent)
    assert JOB.dropped_fields(sent, answer) == ["spec.successPolicy"]


async def test_edits_are_taken_by_workers_new_and_old(
    cluster: Client, namespace: str, old_worker: Client
) -> None:
    hub = await hub_job(cluster, namespace, **INDEXED, suspend=True, backoffLimitPerIndex=1)
    name = hub["metadata"]["name"]
    workers = (cluster, old_worker)
    mine = marks_of(hub, suffix="-mirror")
    mirrors = [await each.create(JOBS, JOB.mirror(hub, mine, BASE)) for each in workers]
    gpu: Obj = {"nodeSelector": {"gpu": "yes"}, "tolerations": None}
    changes: list[Obj] = [
        {"spec": {"template": {"spec": gpu, "metadata": {"labels": {"app": None, "b": "c"}}}}},
        {"spec": {"suspend": False, "completions": 2, "parallelism": 2}},
        {"spec": {"activeDeadlineSeconds": None, "backoffLimit": 3, "maxFailedIndexes": 1}},
        {"metadata": {"labels": {"team": None, "x": "y"}, "annotations": {"note": "z" * 99}}},
    ]

    for change in changes:
        hub = await cluster.patch(JOBS, name, change, namespace=namespace)
        for number, worker in enumerate(workers):
            found = JOB.edits(hub, mirrors[number], BASE)
            assert found.patch is not None
            assert (found.refusals, found.drift) == ((), ())
            mirrors[number] = await worker.patch(
                JOBS, mine.name, found.patch, namespace=mine.namespace
            )
            assert JOB.edits(hub, mirrors[number], BASE) == Edits(None)

    for mirror in mirrors:
        assert mirror["spec"]["completions"] == 2
        assert mirror["spec"]["template"]["spec"]["nodeSelector"] == {"gpu": "yes"}


async def test_an_edit_is_a_conflict_if_the_mirror_has_changed_or_is_another_one_by_now(
    cluster: Client, namespace: str
) -> None:
    hub = await hub_job(cluster, namespace)
    mine = marks_of(hub, suffix="-mirror")
    mirror = await cluster.create(JOBS, JOB.mirror(hub, mine, BASE))
    await cluster.delete(JOBS, mine.name, namespace=mine.namespace, propagation="Background")
    await cluster.create(JOBS, JOB.mirror(hub, mine, BASE))
    change = {"spec": {"parallelism": 3}}
    hub = await cluster.patch(JOBS, hub["metadata"]["name"], change, namespace=namespace)
    patch = JOB.edits(hub, mirror, BASE).patch

    with pytest.raises(errors.Conflict):
        await cluster.patch(JOBS, mine.name, patch, namespace=mine.namespace)
