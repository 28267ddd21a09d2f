"""Jobs finish under the real Job controller, because a fake kubelet runs their pods."""

from collections.abc import AsyncIterator
from contextlib import aclosing
from typing import Any

import pytest

from jobferry.clock import SystemClock
from jobferry.kube import resources
from jobferry.kube.calls import Scope
from jobferry.kube.client import Client, connect
from jobferry.objects import Obj
from jobferry.testing import assets, pods
from jobferry.testing.control_plane import ControlPlane
from jobferry.testing.fake_kubelet import fake_kubelet
from jobferry.testing.pods import Run
from jobferry.testing.wait import states, until, until_gone

pytestmark = pytest.mark.kube

INDEX = "batch.kubernetes.io/job-completion-index"


@pytest.fixture
async def cluster(job_plane: ControlPlane) -> AsyncIterator[Client]:
    """A client of the control plane that runs Jobs; `namespace` is there, too."""
    async with connect(job_plane.access(), name="job_plane", clock=SystemClock()) as client:
        yield client


@pytest.fixture
async def kubelet(cluster: Client, namespace: str) -> AsyncIterator[None]:
    """A node that does what the pods' annotations say."""
    async with fake_kubelet(cluster, bind=True, namespace=namespace):
        yield


def job(name: str, *, seconds: float = 0.0, code: int = 0, **spec: Any) -> Obj:
    said = {pods.RUN_SECONDS: str(seconds), pods.EXIT_CODE: str(code)}
    template = {
        "metadata": {"annotations": said},
        "spec": {"restartPolicy": "Never", "containers": [{"name": "main", "image": "none"}]},
    }
    return {"metadata": {"name": name}, "spec": {"template": template, **spec}}


def has(kind: str, obj: Obj) -> bool:
    conditions = obj.get("status", {}).get("conditions") or []
    return any(it["type"] == kind and it["status"] == "True" for it in conditions)


def is_over(obj: Obj) -> bool:
    return has("Complete", obj) or has("Failed", obj)


def is_ready(obj: Obj) -> bool:
    return bool(obj.get("status", {}).get("ready"))


async def finish(cluster: Client, namespace: str, a_job: Obj) -> Obj:
    """Create a Job and return it as it is when it is over."""
    await cluster.create(resources.JOBS, a_job, namespace=namespace)
    return await until(cluster, resources.JOBS, a_job["metadata"]["name"], namespace, is_over)


async def pods_of(cluster: Client, namespace: str) -> list[Obj]:
    return (await cluster.list(Scope(resource=resources.PODS, namespace=namespace))).items


@pytest.mark.usefixtures("kubelet")
async def test_a_job_completes(cluster: Client, namespace: str) -> None:
    done = await finish(cluster, namespace, job("plain", completions=3, parallelism=2))

    assert has("Complete", done)
    assert done["status"]["succeeded"] == 3


@pytest.mark.usefixtures("kubelet")
async def test_a_pod_is_seen_running_before_it_ends(cluster: Client, namespace: str) -> None:
    pod = job("unused", seconds=0.3)["spec"]["template"]
    pod["metadata"]["name"] = "short"

    await cluster.create(resources.PODS, pod, namespace=namespace)

    phases = []
    async with aclosing(states(cluster, resources.PODS, "short", namespace)) as seen:
        async for obj in seen:
            assert obj is not None
            phases.append(obj["status"]["phase"])
            if phases[-1] == "Succeeded":
                break
    assert list(dict.fromkeys(phases)) == ["Pending", "Running", "Succeeded"]


@pytest.mark.usefixtures("kubelet")
async def test_an_indexed_job_completes_every_index(cluster: Client, namespace: str) -> None:
    spec: Obj = {"completions": 5, "parallelism": 5, "completionMode": "Indexed"}

    done = await finish(cluster, namespace, job("indexed", **spec))

    assert done["status"]["completedIndexes"] == "0-4"


@pytest.mark.usefixtures("kubelet")
async def test_a_failing_job_is_given_up_after_its_backoff_limit(
    cluster: Client, namespace: str
) -> None:
    done = await finish(cluster, namespace, job("failing", code=1, backoffLimit=0))

    assert has("Failed", done)
    assert done["status"]["failed"] == 1
    [failure] = [it for it in done["status"]["conditions"] if it["type"] == "Failed"]
    assert failure["reason"] == "BackoffLimitExceeded"


@pytest.mark.usefixtures("kubelet")
async def test_a_pod_failure_policy_sees_the_exit_code(cluster: Client, namespace: str) -> None:
    rule = {"action": "FailJob", "onExitCodes": {"operator": "In", "values": [42]}}

    done = await finish(
        cluster,
        namespace,
        job("policy", code=42, backoffLimit=6, podFailurePolicy={"rules": [rule]}),
    )

    [failure] = [it for it in done["status"]["conditions"] if it["type"] == "Failed"]
    assert failure["reason"] == "PodFailurePolicy"
    assert "exit code 42" in failure["message"]


async def test_a_function_decides_what_each_pod_does(cluster: Client, namespace: str) -> None:
    def play(pod: Obj) -> Run:
        return Run(exit_code=1 if pod["metadata"]["annotations"][INDEX] == "1" else 0)

    spec: Obj = {"completions": 3, "parallelism": 3, "completionMode": "Indexed"}
    async with fake_kubelet(cluster, bind=True, namespace=namespace, play=play):
        done = await finish(cluster, namespace, job("by-index", backoffLimitPerIndex=0, **spec))

    assert done["status"]["completedIndexes"] == "0,2"
    assert done["status"]["failedIndexes"] == "1"


@pytest.mark.usefixtures("kubelet")
async def test_a_suspended_job_loses_its_pods_and_runs_again_once_resumed(
    cluster: Client, namespace: str
) -> None:
    await cluster.create(
        resources.JOBS, job("paused", seconds=float("inf")), namespace=namespace
    )
    await until(cluster, resources.JOBS, "paused", namespace, is_ready)
    [first] = await pods_of(cluster, namespace)

    await cluster.patch(
        resources.JOBS, "paused", {"spec": {"suspend": True}}, namespace=namespace
    )
    await until_gone(cluster, resources.PODS, first["metadata"]["name"], namespace)
    await until(cluster, resources.JOBS, "paused", namespace, lambda it: has("Suspended", it))
    await cluster.patch(
        resources.JOBS, "paused", {"spec": {"suspend": False}}, namespace=namespace
    )

    resumed = await until(cluster, resources.JOBS, "paused", namespace, is_ready)
    assert not has("Suspended", resumed)
    assert resumed["status"].get("failed") is None


@pytest.mark.usefixtures("kubelet")
async def test_the_pods_of_a_deleted_job_go(cluster: Client, namespace: str) -> None:
    await cluster.create(
        resources.JOBS, job("doomed", seconds=float("inf")), namespace=namespace
    )
    await until(cluster, resources.JOBS, "doomed", namespace, is_ready)
    [pod] = await pods_of(cluster, namespace)

    await cluster.delete(resources.JOBS, "doomed", namespace, propagation="Background")

    await until_gone(cluster, resources.PODS, pod["metadata"]["name"], namespace)
    await until_gone(cluster, resources.JOBS, "doomed", namespace)


async def test_another_kubelet_takes_over_where_one_stopped(
    cluster: Client, namespace: str
) -> None:
    async with fake_kubelet(cluster, bind=True, namespace=namespace):
        await cluster.create(resources.JOBS, job("handed", seconds=2), namespace=namespace)
        await until(
            cluster,
            resources.JOBS,
            "handed",
            namespace,
            is_ready,
        )
    async with fake_kubelet(cluster, namespace=namespace):
        done = await until(cluster, resources.JOBS, "handed", namespace, is_over)

    assert has("Complete", done)


async def test_pods_that_others_scheduled_are_run_and_others_left_alone(
    cluster: Client, namespace: str
) -> None:
    main = {"name": "main", "image": "none"}
    for name, node in (("ours", "here"), ("theirs", "elsewhere"), ("nobodys", None)):
        spec = {"containers": [main], "nodeName": node}
        await cluster.create(
            resources.PODS, {"metadata": {"name": name}, "spec": spec}, namespace=namespace
        )

    async with fake_kubelet(cluster, node="here", namespace=namespace):
        await until(
            cluster,
            resources.PODS,
            "ours",
            namespace,
            lambda it: it["status"]["phase"] == "Succeeded",
        )

    phases = {
        it["metadata"]["name"]: it["status"]["phase"]
        for it in await pods_of(cluster, namespace)
    }
    assert phases == {"ours": "Succeeded", "theirs": "Pending", "nobodys": "Pending"}


@pytest.mark.timeout(60)
async def test_pods_come_from_the_real_scheduler_too() -> None:
    async with (
        ControlPlane(controllers=["job-controller"], scheduler=True) as plane,
        connect(plane.access(), name="scheduled", clock=SystemClock()) as cluster,
        fake_kubelet(cluster),
    ):
        done = await finish(cluster, "default", job("scheduled", completions=2))

    assert has("Complete", done)


@pytest.mark.kube("1.29.15")
@pytest.mark.timeout(60)
async def test_jobs_complete_on_the_oldest_worker() -> None:
    async with (
        ControlPlane(version=assets.OLDEST, controllers=["job-controller"]) as plane,
        connect(plane.access(), name="oldest", clock=SystemClock()) as cluster,
        fake_kubelet(cluster, bind=True),
    ):
        done = await finish(cluster, "default", job("old", completions=2))

    assert has("Complete", done)


async def test_the_node_is_ready_and_renews_its_lease(cluster: Client, namespace: str) -> None:
    def renewed_after(first: str) -> Any:
        return lambda it: it["spec"].get("renewTime", "") > first

    async with fake_kubelet(cluster, node="beating", namespace=namespace, heartbeat=0.05):
        node = await cluster.get(resources.NODES, "beating")
        lease = await until(
            cluster, resources.LEASES, "beating", "kube-node-lease", renewed_after("")
        )
        await until(
            cluster,
            resources.LEASES,
            "beating",
            "kube-node-lease",
            renewed_after(lease["spec"]["renewTime"]),
        )

    assert has("Ready", node)
    assert node["status"]["allocatable"]["cpu"] == "1k"
    assert "taints" not in node["spec"]
