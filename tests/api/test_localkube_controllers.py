"""Real controllers take localkube for Kubernetes: they run Jobs, bind pods, count quotas, clean up."""

import json
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import pytest

from jobferry.clock import SystemClock
from jobferry.kube import errors
from jobferry.kube.calls import PatchKind, Scope
from jobferry.kube.client import Client, connect
from jobferry.kube.resources import CRDS, JOBS, NAMESPACES
from jobferry.objects import Obj, conditions
from jobferry.objects.resource import Resource
from jobferry.testing import assets
from jobferry.testing.component import free_port
from jobferry.testing.control_plane import JOB_CONTROLLERS, ControlPlane
from jobferry.testing.fake_kubelet import fake_kubelet
from jobferry.testing.programs import ADDRESS
from jobferry.testing.wait import until, until_gone

pytestmark = [pytest.mark.kube, pytest.mark.timeout(60)]

PODS = Resource("", "v1", "pods", "Pod")
CRON_JOBS = Resource("batch", "v1", "cronjobs", "CronJob")
QUOTAS = Resource("", "v1", "resourcequotas", "ResourceQuota")
ACCOUNTS = Resource("", "v1", "serviceaccounts", "ServiceAccount")
EVENTS = Resource("events.k8s.io", "v1", "events", "Event")
JOB_SETS = Resource("jobset.x-k8s.io", "v1alpha2", "jobsets", "JobSet")

CONTROLLERS = (
    *JOB_CONTROLLERS,
    "cronjob-controller",
    "resourcequota-controller",
    "serviceaccount-controller",
    "root-ca-certificate-publisher-controller",
)
POD = {"restartPolicy": "Never", "containers": [{"name": "main", "image": "busybox"}]}


@pytest.fixture(scope="module")
def local() -> Iterator[ControlPlane]:
    """localkube with the real controller manager and the real scheduler."""
    plane = ControlPlane(
        version=assets.LOCALKUBE,
        controllers=CONTROLLERS,
        kube_controllers=True,
        scheduler=True,
        # All of admission, now that a controller makes service accounts.
        api_server_flags=("--disable-admission-plugins=",),
        controller_manager_flags=("--resource-quota-sync-period=2s",),
    ).start()
    yield plane
    plane.stop()


@pytest.fixture
async def client(local: ControlPlane) -> AsyncIterator[Client]:
    """Somebody who may do everything, beside a kubelet."""
    async with (
        connect(local.access(), name="localkube", clock=SystemClock()) as client,
        fake_kubelet(client),
    ):
        yield client


@pytest.fixture
async def place(client: Client, request: pytest.FixtureRequest) -> str:
    """A new namespace, with the account that its pods run as."""
    name = str(request.node.name).replace("_", "-")[-50:].strip("-")
    await client.create(NAMESPACES, {"metadata": {"name": name}})
    await until(client, ACCOUNTS, "default", name, is_there)
    return name


def job(name: str, place: str, **spec: Any) -> Obj:
    return {
        "metadata": {"name": name, "namespace": place},
        "spec": {"template": {"spec": POD}, **spec},
    }


def is_there(_obj: Obj) -> bool:
    return True


def has(type: str) -> Callable[[Obj], bool]:
    """Return what tells whether a condition is true."""
    return lambda obj: conditions.is_true(obj.get("status", {}).get("conditions"), type)


is_complete, is_completed, is_established = (
    has("Complete"),
    has("Completed"),
    has("Established"),
)


async def test_a_job_runs_to_completion_on_pods_that_the_scheduler_bound(
    client: Client, place: str
) -> None:
    await client.create(JOBS, job("j", place, completions=3, parallelism=2))

    done = await until(client, JOBS, "j", place, is_complete)

    assert done["status"]["succeeded"] == 3
    pods = (await client.list(Scope(resource=PODS, namespace=place))).items
    assert {pod["spec"]["nodeName"] for pod in pods} == {"fake"}
    assert {pod["status"]["phase"] for pod in pods} == {"Succeeded"}
    assert all(pod["spec"]["volumes"][0]["projected"] for pod in pods)


async def test_an_indexed_job_counts_its_indexes(client: Client, place: str) -> None:
    await client.create(
        JOBS, job("i", place, completions=4, parallelism=4, completionMode="Indexed")
    )

    done = await until(client, JOBS, "i", place, is_complete)

    assert done["status"]["completedIndexes"] == "0-3"


async def test_deleting_a_job_takes_its_pods_with_it(client: Client, place: str) -> None:
    await client.create(JOBS, job("d", place))
    await until(client, JOBS, "d", place, is_complete)

    await client.delete(JOBS, "d", place, propagation="Foreground")

    await until_gone(client, JOBS, "d", place)
    assert not (await client.list(Scope(resource=PODS, namespace=place))).items


async def test_a_finished_job_goes_when_its_time_is_over(client: Client, place: str) -> None:
    await client.create(JOBS, job("t", place, ttlSecondsAfterFinished=1))

    await until_gone(client, JOBS, "t", place)


async def test_a_cronjob_makes_jobs(client: Client, place: str) -> None:
    long_ago = "2026-01-01T00:00:00Z"
    template = {"spec": {"template": {"spec": POD}}}
    made = await client.create(
        CRON_JOBS,
        {
            "metadata": {"name": "c", "namespace": place},
            "spec": {"schedule": "* * * * *", "jobTemplate": template},
        },
    )
    # So that it is due now, and not at the next full minute.
    status = {"status": {"lastScheduleTime": long_ago}}
    await client.patch(
        CRON_JOBS, "c", status, namespace=place, kind=PatchKind.MERGE, subresource="status"
    )

    counted = await until(
        client, CRON_JOBS, "c", place, lambda found: bool(found["status"].get("active"))
    )

    active = counted["status"]["active"][0]["name"]
    owners = (await client.get(JOBS, active, place))["metadata"]["ownerReferences"]
    assert owners[0]["uid"] == made["metadata"]["uid"]


async def test_a_quota_is_counted_and_enforced(client: Client, place: str) -> None:
    quota = {"metadata": {"name": "q", "namespace": place}, "spec": {"hard": {"pods": "1"}}}
    await client.create(QUOTAS, quota)
    await until(
        client, QUOTAS, "q", place, lambda found: bool(found.get("status", {}).get("used"))
    )
    pod = {"metadata": {"name": "p", "namespace": place}, "spec": POD}
    await client.create(PODS, pod)

    with pytest.raises(errors.Forbidden, match="exceeded quota: q"):
        await client.create(PODS, {**pod, "metadata": {"name": "p2", "namespace": place}})

    await client.delete(PODS, "p", place)
    await until(
        client, QUOTAS, "q", place, lambda found: found["status"]["used"] == {"pods": "0"}
    )


async def test_a_deleted_namespace_is_emptied_and_goes(client: Client, place: str) -> None:
    await client.create(JOBS, job("n", place))

    await client.delete(NAMESPACES, place)

    await until_gone(client, NAMESPACES, place)


JOB_SET = {
    "metadata": {"name": "set"},
    "spec": {
        # What the webhook of JobSet would fill in.
        "network": {"enableDNSHostnames": True, "publishNotReadyAddresses": True},
        "successPolicy": {"operator": "All"},
        "startupPolicy": {"startupPolicyOrder": "AnyOrder"},
        "replicatedJobs": [
            {
                "name": "workers",
                "replicas": 2,
                "template": {
                    "spec": {
                        "parallelism": 1,
                        "completions": 1,
                        "completionMode": "Indexed",
                        "template": {"spec": POD},
                    }
                },
            }
        ],
    },
}


@pytest.mark.skipif(
    assets.operator("jobset") is None, reason="`tools/kube/get.py --operator jobset`"
)
async def test_the_real_jobset_controller_runs_a_jobset(
    local: ControlPlane, client: Client, place: str
) -> None:
    for crd in assets.crds("jobset"):
        await client.create(CRDS, crd)
    _start_jobset_controller(local)
    job_set = {**JOB_SET, "metadata": {"name": "set", "namespace": place}}
    for crd in assets.crds("jobset"):
        await until(client, CRDS, crd["metadata"]["name"], None, is_established)

    await client.create(JOB_SETS, job_set)

    done = await until(client, JOB_SETS, "set", place, is_completed)
    assert done["status"]["replicatedJobsStatus"][0]["succeeded"] == 2


def _start_jobset_controller(local: ControlPlane) -> None:
    """Start it without its own certificates: those of webhooks that nobody calls come from us."""
    certificates = local.folder / "jobset-certificates"
    certificates.mkdir()
    pair = local.certificate("jobset")
    (certificates / "tls.crt").write_bytes(pair.certificate)
    (certificates / "tls.key").write_bytes(pair.key)
    config = local.folder / "jobset.json"
    config.write_text(
        json.dumps(
            {
                "apiVersion": "config.jobset.x-k8s.io/v1alpha1",
                "kind": "Configuration",
                "internalCertManagement": {"enable": False},
                "leaderElection": {"leaderElect": False},
                "webhook": {
                    "host": ADDRESS,
                    "port": free_port(ADDRESS),
                    "certDir": str(certificates),
                },
            }
        )
    )
    local.run(
        "jobset",
        [
            "env",
            f"KUBECONFIG={local.kubeconfig_file}",
            str(assets.operator("jobset")),
            f"--config={config}",
            "--metrics-bind-address=0",
            f"--health-probe-bind-address={ADDRESS}:{free_port(ADDRESS)}",
        ],
    )
