"""Objects in many states beside a real API server: pods, Jobs and CronJobs look the same."""

from collections.abc import Iterator
from random import Random
from secrets import token_hex

import pytest

from jobferry.localkube.apiserver.printing import catalog
from jobferry.objects import Obj
from jobferry.testing.control_plane import ControlPlane
from tests.api.looks import (
    CONTAINERS,
    OBJECT,
    POD_TEMPLATE,
    ago,
    assert_same,
    moments_around,
)
from tests.api.raw_http import MERGE, TABLE, RawHttp

pytestmark = [pytest.mark.kube, pytest.mark.timeout(120)]


@pytest.fixture(scope="module")
def http(plane: ControlPlane) -> Iterator[RawHttp]:
    with RawHttp(plane.url, plane.folder) as connection:
        yield connection


@pytest.fixture(scope="module")
def space(http: RawHttp) -> Iterator[str]:
    """A namespace with a service account, as pods need it."""
    name = f"printing-{token_hex(4)}"
    http.post("/api/v1/namespaces", {"metadata": {"name": name}})
    path = f"/api/v1/namespaces/{name}"
    http.post(f"{path}/serviceaccounts", {"metadata": {"name": "default"}})
    yield path
    http.ask("DELETE", path)


# -- pods -----------------------------------------------------------------------------------------

REASONS = ["", "", "Completed", "Error", "OOMKilled", "CrashLoopBackOff", "PodInitializing"]


def container_state(rng: Random) -> Obj:
    match rng.randrange(4):
        case 0:
            return {"waiting": {"reason": rng.choice(REASONS), "message": "m"}}
        case 1 | 2:
            codes = {"exitCode": rng.choice((0, 0, 1, 137)), "signal": rng.choice((0, 0, 9))}
            return {"terminated": {**codes, "reason": rng.choice(REASONS)}}
    return rng.choice(({"running": {}}, {"running": {"startedAt": ago(rng)}}, {}))


def container_status(rng: Random, name: str) -> Obj:
    status: Obj = {
        "name": name,
        "image": "a",
        "imageID": "",
        "restartCount": rng.choice((0, 0, 1, 7)),
        "ready": rng.random() < 0.5,
        "state": container_state(rng),
        "started": rng.choice((True, False, None)),
    }
    if rng.random() < 0.4:
        status["lastState"] = {"terminated": {"exitCode": 1, "finishedAt": ago(rng)}}
    return status


def pod_status(rng: Random, pod: Obj) -> Obj:
    spec = pod["spec"]
    types = ["PodScheduled", "Initialized", "Ready", "example.com/a", "example.com/b"]
    found = [
        {"type": type, "status": rng.choice(("True", "True", "False"))}
        for type in types
        if rng.random() < 0.6
    ]
    for condition in found:
        if condition["type"] == "PodScheduled" and rng.random() < 0.2:
            condition["reason"] = "SchedulingGated"
    names = [each["name"] for each in spec.get("initContainers", ())]
    status: Obj = {
        "phase": rng.choice(
            ("Pending", "Running", "Running", "Succeeded", "Failed", "Unknown")
        ),
        "reason": rng.choice(("", "", "", "Evicted", "NodeLost")),
        "conditions": found,
        "initContainerStatuses": [
            container_status(rng, name) for name in names if rng.random() < 0.9
        ],
        "containerStatuses": [
            container_status(rng, each["name"])
            for each in spec["containers"]
            if rng.random() < 0.9
        ],
        "nominatedNodeName": rng.choice(("", "node-a")),
    }
    if rng.random() < 0.3:
        status |= {"podIP": "10.1.2.3", "podIPs": [{"ip": "10.1.2.3"}, {"ip": "fd00::1"}]}
    return status


INIT = [
    {"name": "first", "image": "a"},
    {"name": "mesh", "image": "b", "restartPolicy": "Always"},
    {"name": "last", "image": "c"},
]
GATES = [{"conditionType": "example.com/a"}, {"conditionType": "example.com/b"}]
PODS: list[Obj] = [
    {"containers": CONTAINERS},
    {"containers": CONTAINERS[:1], "initContainers": INIT},
    {"containers": CONTAINERS, "initContainers": INIT[:1], "readinessGates": GATES},
    {"containers": CONTAINERS, "initContainers": INIT[1:2], "nodeName": "node-a"},
]


@pytest.mark.parametrize("deleted", [False, True])
def test_pods_in_many_states_look_the_same(http: RawHttp, space: str, *, deleted: bool) -> None:
    rng, columns, compared = Random(5), catalog.columns_for("", "Pod"), 0
    seen = set()
    for index, spec in enumerate(PODS):
        name = f"pod-{index}-{deleted}".lower()
        metadata = {"name": name, "finalizers": ["example.com/keep"]}
        pod = http.post(f"{space}/pods", {"metadata": metadata, "spec": spec})
        if deleted:
            http.ask("DELETE", f"{space}/pods/{name}")
        for _ in range(75):
            patch = {"status": pod_status(rng, pod)}
            answered, moments = moments_around(
                http,
                *("PATCH", f"{space}/pods/{name}/status", patch),
                accept=TABLE,
                content_type=MERGE,
                query=OBJECT,
            )
            if answered.code == 200:
                assert_same(answered.body, columns, moments)
                seen.add(answered.body["rows"][0]["cells"][2])
                compared += 1
        http.ask(
            *("PATCH", f"{space}/pods/{name}", {"metadata": {"finalizers": None}}),
            content_type=MERGE,
        )
    assert compared >= 200
    assert len(seen) > (10 if not deleted else 3)


# -- Jobs and CronJobs ----------------------------------------------------------------------------

JOBS: list[Obj] = [
    {},
    {"completions": 5, "parallelism": 2},
    {"parallelism": 3, "completions": None},
    {"parallelism": 0, "completions": None},
    {"completions": 3, "parallelism": 3, "completionMode": "Indexed"},
    {"suspend": True},
]


def job_status(rng: Random) -> Obj:
    types = ["Complete", "Failed", "Suspended", "FailureTarget", "SuccessCriteriaMet"]
    status: Obj = {
        "conditions": [
            {"type": type, "status": "True", "lastTransitionTime": ago(rng)}
            for type in rng.choice(
                ([], types[:1] + types[4:], types[1:4:2], *([t] for t in types))
            )
        ],
        "active": 0,
        "ready": 0,
        "succeeded": rng.choice((0, 0, 1, 2, 3, 5)),
        "uncountedTerminatedPods": {},
    }
    if rng.random() < 0.8:
        status["startTime"] = ago(rng)
    if any(each["type"] == "Complete" for each in status["conditions"]):
        status["completionTime"] = ago(rng)
    return status


def test_jobs_in_many_states_look_the_same(http: RawHttp, space: str) -> None:
    jobs = space.replace("/api/v1", "/apis/batch/v1") + "/jobs"
    rng, columns, compared = Random(7), catalog.columns_for("batch", "Job"), 0
    seen = set()
    for number in range(240):
        name = f"job-{number}"
        template = {**POD_TEMPLATE, "metadata": {"labels": {"b": "1", "a-b": "2", "A": "3"}}}
        spec = {**rng.choice(JOBS), "template": template}
        http.post(
            jobs, {"metadata": {"name": name, "finalizers": ["example.com/a"]}, "spec": spec}
        )
        if rng.random() < 0.3:
            http.ask("DELETE", f"{jobs}/{name}", {"propagationPolicy": "Background"})
        for _ in range(3):
            answered, moments = moments_around(
                http,
                *("PATCH", f"{jobs}/{name}/status", {"status": job_status(rng)}),
                accept=TABLE,
                content_type=MERGE,
                query=OBJECT,
            )
            if answered.code == 200:
                assert_same(answered.body, columns, moments)
                seen.add(answered.body["rows"][0]["cells"][1])
                compared += 1
    assert compared >= 100
    assert seen >= {"Complete", "Failed", "Running", "Suspended", "FailureTarget"}


def test_cron_jobs_in_many_states_look_the_same(http: RawHttp, space: str) -> None:
    path = space.replace("/api/v1", "/apis/batch/v1") + "/cronjobs"
    rng, columns = Random(9), catalog.columns_for("batch", "CronJob")
    for number in range(40):
        spec: Obj = {
            "schedule": "*/5 * * * *",
            "jobTemplate": {"spec": {"template": POD_TEMPLATE}},
        }
        spec |= rng.choice(({}, {"timeZone": "Etc/UTC"}))
        spec |= rng.choice(({}, {"suspend": True}))
        http.post(path, {"metadata": {"name": f"cron-{number}"}, "spec": spec})
        status: Obj = {"active": [{"name": "x"}] * rng.randrange(3)}
        if rng.random() < 0.8:
            status["lastScheduleTime"] = ago(rng)
        answered, moments = moments_around(
            http,
            *("PATCH", f"{path}/cron-{number}/status", {"status": status}),
            accept=TABLE,
            content_type=MERGE,
            query=OBJECT,
        )
        assert answered.code == 200
        assert_same(answered.body, columns, moments)
