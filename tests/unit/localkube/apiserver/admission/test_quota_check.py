from datetime import UTC, datetime
from typing import Any

import pytest

from jobferry.localkube.apiserver.admission import quota_check
from jobferry.localkube.apiserver.admission.quota_check import Book
from jobferry.localkube.apiserver.admission.quota_evaluators import evaluator_of
from jobferry.localkube.apiserver.admission.request import UPDATE, Request
from jobferry.localkube.apiserver.status import StatusError
from jobferry.objects import Obj
from tests.unit.localkube.apiserver.admission.admission_world import (
    container,
    pod,
    quota,
    request,
)

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def charged(asked: Request, *quotas: Obj) -> list[Obj]:
    """Return what the quotas say is used after a request."""
    books = [Book.of(each) for each in quotas]
    evaluator = evaluator_of(asked.group, asked.resource)
    after = quota_check.charge(books, asked, evaluator, NOW)
    return [book.written()["status"]["used"] for book in after]


def refusal(asked: Request, *quotas: Obj) -> str:
    with pytest.raises(StatusError) as caught:
        charged(asked, *quotas)
    assert caught.value.code == 403
    return str(caught.value).partition(" is forbidden: ")[2]


def sized(requests: Obj | None = None, limits: Obj | None = None, **spec: Any) -> Obj:
    return pod(containers=[container(requests=requests, limits=limits)], **spec)


def test_a_request_is_added_to_what_is_used() -> None:
    used = {"requests.cpu": "1600m", "limits.memory": "512Mi", "pods": "3", "services": "1"}
    hard = {"requests.cpu": "2", "limits.memory": "1Gi", "pods": "4", "services": "2"}
    body = sized({"cpu": "0.4"}, {"memory": "0.5Gi", "cpu": "1"})

    [after] = charged(request("pods", body), quota(hard, used))

    assert after == {
        "requests.cpu": "2",
        "limits.memory": "1Gi",
        "pods": "4",
        "services": "1",
    }


def test_more_than_is_allowed_is_refused_naming_only_what_is_exceeded() -> None:
    hard = {"requests.cpu": "2", "pods": "9", "memory": "1Gi"}
    used = {"requests.cpu": "1600m", "pods": "3", "memory": "1Gi"}
    body = sized({"cpu": "500m", "memory": "1"})

    said = refusal(request("pods", body), quota(hard, used))

    assert said == (
        "exceeded quota: q, requested: memory=1,requests.cpu=500m, "
        "used: memory=1Gi,requests.cpu=1600m, limited: memory=1Gi,requests.cpu=2"
    )


def test_every_quota_has_to_have_room() -> None:
    roomy, full = quota({"pods": "5"}), quota({"count/pods": "0"}, name="full")

    assert refusal(request("pods", pod()), roomy, full).startswith("exceeded quota: full, ")


def test_every_container_has_to_ask_for_what_is_limited() -> None:
    body = pod(
        containers=[container("b"), container("a", requests={"cpu": "1"})],
        initContainers=[container("i", limits={"memory": "1"})],
    )

    said = refusal(
        request("pods", body), quota({"cpu": "1", "limits.memory": "1", "pods": "1"})
    )

    assert said == "failed quota: q: must specify cpu for: b,i; limits.memory for: a,b"


def test_a_quota_that_was_not_counted_lets_nothing_pass() -> None:
    said = refusal(
        request("pods", pod()), quota({"pods": "2", "count/pods": "1", "services": "1"}, {})
    )

    assert said == "status unknown for quota: q, resources: count/pods,pods"


def test_a_quota_that_limits_nothing_yet_is_no_quota() -> None:
    unseen = quota({"pods": "0"}) | {"status": {}}

    assert charged(request("pods", pod()), unseen) == [{}]


def test_a_scope_that_cannot_be_understood_is_a_failure_of_the_server() -> None:
    odd = {"scopeName": "PriorityClass", "operator": "In", "values": ["a b", "c"]}
    asked = request("pods", pod())

    with pytest.raises(StatusError) as caught:
        charged(asked, quota({"pods": "1"}, scopeSelector={"matchExpressions": [odd]}))

    assert (caught.value.code, caught.value.reason) == (500, "")
    assert str(caught.value).startswith(
        "error matching scopes of quota q, err: error on matching scope "
        "{PriorityClass In [a b c]}: failed to parse and convert selector: "
        'values[0][PriorityClass]: Invalid value: "a b": a valid label must be'
    )


def test_negative_usage_is_refused() -> None:
    body = sized({"cpu": "-1"})

    said = refusal(request("pods", body), quota({"requests.cpu": "5"}))

    assert said == "quota usage is negative for resource(s): cpu,requests.cpu"


def service(kind: str, ports: int) -> Obj:
    metadata = {"name": "s", "namespace": "ns", "resourceVersion": "5"}
    return {"metadata": metadata, "spec": {"type": kind, "ports": [{}] * ports}}


def test_an_update_is_charged_for_what_it_adds() -> None:
    hard = {"services": "1", "services.nodeports": "5", "services.loadbalancers": "1"}
    used = {"services": "1", "services.nodeports": "2", "services.loadbalancers": "0"}
    new, old = service("LoadBalancer", 3), service("NodePort", 2)

    [after] = charged(request("services", new, UPDATE, old=old), quota(hard, used))

    assert after == {"services": "1", "services.nodeports": "3", "services.loadbalancers": "1"}


def test_nothing_is_given_back() -> None:
    used = {"services.nodeports": "3"}
    asked = request("services", service("ClusterIP", 3), UPDATE, old=service("NodePort", 3))

    assert charged(asked, quota({"services.nodeports": "3"}, used)) == [used]


def test_an_update_that_creates_is_charged_whole() -> None:
    asked = request("services", service("NodePort", 3), UPDATE, old={"metadata": {}})

    assert charged(asked, quota({"services": "1"})) == [{"services": "1"}]


def test_an_update_of_nothing_is_refused() -> None:
    asked = request("services", service("NodePort", 3), UPDATE)

    assert "prior version of object was not found" in refusal(asked, quota({"services": "1"}))


def test_a_pod_that_comes_into_a_scope_is_charged_there_only() -> None:
    old = sized({"cpu": "1"}) | {"metadata": {"name": "p", "resourceVersion": "1"}}
    new = sized({"cpu": "1"}, activeDeadlineSeconds=5)
    all_of_them = quota({"requests.cpu": "5"}, {"requests.cpu": "1"})
    ending = quota({"requests.cpu": "5"}, name="e", scopes=["Terminating"])

    after = charged(request("pods", new, UPDATE, old=old), all_of_them, ending)

    assert after == [{"requests.cpu": "1"}, {"requests.cpu": "1"}]


def claim(storage: str, **state: Any) -> Obj:
    metadata = {"name": "v", "namespace": "ns", "resourceVersion": "1"}
    spec = {"resources": {"requests": {"storage": storage}}}
    return {"metadata": metadata, "spec": spec, "status": state}


def test_what_a_controller_reports_is_counted_even_if_it_is_too_much() -> None:
    full = quota({"requests.storage": "1Gi"}, {"requests.storage": "1Gi"})
    new = claim("1Gi", allocatedResources={"storage": "2Gi"})

    status = request(
        "persistentvolumeclaims", new, UPDATE, old=claim("1Gi"), subresource="status"
    )
    spec = request("persistentvolumeclaims", claim("2Gi"), UPDATE, old=claim("1Gi"))

    assert charged(status, full) == [{"requests.storage": "2Gi"}]
    assert "exceeded quota" in refusal(spec, full)
