"""The rules about Jobs, CronJobs and pods, beside a real API server: same verdicts, same words."""

import itertools
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings

from jobferry.objects import Obj, merge_patch
from jobferry.testing.control_plane import ControlPlane
from tests.api import job_judge
from tests.api.cronjob_bodies import CRON, CRON_UPDATES, cronjobs
from tests.api.job_bodies import UPDATES, job, jobs
from tests.api.job_draws import changes, specs, statuses
from tests.api.job_judge import CRON_JOB, JOB, POD, Kind
from tests.api.job_status_bodies import STATUSES
from tests.api.pod_bodies import PODS
from tests.api.pod_change_bodies import MAIN, POD_STATUSES, POD_UPDATES
from tests.api.raw_http import MERGE, Answered, RawHttp

pytestmark = [pytest.mark.kube, pytest.mark.timeout(120)]

DRY = {"dryRun": "All"}
SPACE = "rules"
NUMBERS = itertools.count()
ADMITTED_FIRST = {"names bad", "preemption"}
"""Pods that admission refuses before the rules are asked."""

fuzz = settings(
    max_examples=200,
    derandomize=True,
    database=None,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


@pytest.fixture(scope="module")
def server() -> Iterator[RawHttp]:
    """A real API server that, like most, lets pods be privileged."""
    plane = ControlPlane(api_server_flags=("--allow-privileged=true",)).start()
    try:
        with RawHttp(plane.url, plane.folder) as http:
            http.post("/api/v1/namespaces", {"metadata": {"name": SPACE}})
            yield http
    finally:
        plane.stop()


def named(body: Obj) -> Obj:
    return body | {"metadata": {"name": f"case-{next(NUMBERS)}"} | body["metadata"]}


def assert_created_alike(server: RawHttp, kind: Kind, body: Obj) -> None:
    theirs = server.ask("POST", kind.path(SPACE), body, query=DRY)
    ours = job_judge.create(kind, body, SPACE)
    assert seen(ours, kind) == seen(theirs, kind)


def assert_changed_alike(
    server: RawHttp, kind: Kind, old: Obj, patch: Obj, *parts: str
) -> None:
    path = kind.path(SPACE, old["metadata"]["name"], *parts)
    theirs = server.ask("PATCH", path, patch, query=DRY, content_type=MERGE)
    ours = job_judge.update(kind, old, patch, of_status=bool(parts))
    assert seen(ours, kind) == seen(theirs, kind)


def seen(answered: Answered, kind: Kind) -> Obj:
    """Return what is compared; what admission adds to pods is not ours."""
    if kind is POD and answered.code < 400:
        for member in ("tolerations", "priority", "preemptionPolicy"):
            answered.body["spec"].pop(member, None)
        for condition in answered.body["status"].get("conditions") or ():
            condition.pop("lastTransitionTime", None)
    return job_judge.essence(answered)


def with_status(server: RawHttp, kind: Kind, body: Obj, status: Obj) -> Obj:
    made: Obj = server.post(kind.path(SPACE), named(body))
    if status:
        path = kind.path(SPACE, made["metadata"]["name"], "status")
        made = server.put(path, made | {"status": made["status"] | status})
    return made


def over(status: Obj, new: Obj) -> Obj:
    """Return the patch that makes a new status of one."""
    return {"status": dict.fromkeys(status) | new}


def plain_pod(**members: Any) -> Obj:
    return {"metadata": {}, "spec": {"containers": [MAIN], **members}}


@pytest.mark.parametrize("name", [name for name, _ in jobs()])
def test_a_job_is_created_or_refused_alike(server: RawHttp, name: str) -> None:
    assert_created_alike(server, JOB, named(dict(jobs())[name]))


@pytest.mark.parametrize("name", PODS)
def test_a_template_is_accepted_or_refused_alike(server: RawHttp, name: str) -> None:
    assert_created_alike(server, JOB, named(job(PODS[name])))


@pytest.mark.parametrize("name", [name for name in PODS if name not in ADMITTED_FIRST])
def test_a_pod_is_created_or_refused_alike(server: RawHttp, name: str) -> None:
    spec = job(PODS[name])["spec"]["template"]["spec"]
    assert_created_alike(server, POD, named({"metadata": {}, "spec": spec}))


@pytest.mark.parametrize("name", [name for name, _ in cronjobs()])
def test_a_cronjob_is_created_or_refused_alike(server: RawHttp, name: str) -> None:
    assert_created_alike(server, CRON_JOB, named(dict(cronjobs())[name]))


@pytest.mark.parametrize("name", CRON_UPDATES)
def test_a_cronjob_is_changed_alike(server: RawHttp, name: str) -> None:
    spec, patch = CRON_UPDATES[name]
    body = {"metadata": {}, "spec": merge_patch.apply(CRON, spec)}
    old = server.post(CRON_JOB.path(SPACE), named(body))
    assert_changed_alike(server, CRON_JOB, old, patch)


@pytest.mark.parametrize("name", UPDATES)
def test_a_job_is_changed_alike(server: RawHttp, name: str) -> None:
    spec, patch = UPDATES[name]
    old = server.post(JOB.path(SPACE), named(job(spec)))
    assert_changed_alike(server, JOB, old, patch)


@pytest.mark.parametrize("name", STATUSES)
def test_the_status_of_a_job_is_changed_alike(server: RawHttp, name: str) -> None:
    spec, status, new = STATUSES[name]
    old = with_status(server, JOB, job(spec), status)
    assert_changed_alike(server, JOB, old, over(status, new), "status")


@pytest.mark.parametrize("name", POD_UPDATES)
def test_a_pod_is_changed_alike(server: RawHttp, name: str) -> None:
    spec, patch = POD_UPDATES[name]
    old = server.post(POD.path(SPACE), named(plain_pod(**spec)))
    assert_changed_alike(server, POD, old, patch)


@pytest.mark.parametrize("name", POD_STATUSES)
def test_the_status_of_a_pod_is_changed_alike(server: RawHttp, name: str) -> None:
    spec, status, new = POD_STATUSES[name]
    old = with_status(server, POD, plain_pod(**spec), status)
    assert_changed_alike(server, POD, old, over(status, new), "status")


@fuzz
@given(specs())
def test_any_job_is_created_or_refused_alike(server: RawHttp, spec: Obj) -> None:
    assert_created_alike(server, JOB, named(job(spec)))


@fuzz
@given(specs(valid=True), changes())
def test_any_change_of_a_job_is_judged_alike(server: RawHttp, spec: Obj, change: Obj) -> None:
    answered = server.ask("POST", JOB.path(SPACE), named(job(spec)))
    if answered.code == 201:
        assert_changed_alike(server, JOB, answered.body, {"spec": change})


@fuzz
@given(specs(valid=True), statuses(), statuses())
def test_any_status_of_a_job_is_judged_alike(
    server: RawHttp, spec: Obj, status: Obj, new: Obj
) -> None:
    answered = server.ask("POST", JOB.path(SPACE), named(job(spec)))
    if answered.code != 201:
        return
    old = answered.body
    path = JOB.path(SPACE, old["metadata"]["name"], "status")
    first = server.ask("PATCH", path, {"status": status}, content_type=MERGE)
    if first.code == 200:
        old = first.body
    else:
        ours = job_judge.update(JOB, old, {"status": status}, of_status=True)
        assert seen(ours, JOB) == seen(first, JOB)
        status = {}
    assert_changed_alike(server, JOB, old, over(status, new), "status")
