from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from jobferry.localkube.apiserver.admission.quota_evaluators import evaluator_of
from jobferry.localkube.apiserver.admission.request import CREATE, DELETE, UPDATE, Topic
from jobferry.objects import Obj
from tests.unit.localkube.apiserver.admission.admission_world import container, pod, request

NOW = datetime(2026, 1, 1, tzinfo=UTC)
PODS = evaluator_of("", "pods")
CLAIMS = evaluator_of("", "persistentvolumeclaims")


def usage(resource: str, obj: Obj, group: str = "") -> dict[str, str]:
    measured = evaluator_of(group, resource).measure.usage(obj, NOW)
    return {name: str(amount) for name, amount in measured.items()}


def test_most_kinds_are_just_counted() -> None:
    jobs, secrets = evaluator_of("batch", "jobs"), evaluator_of("", "secrets")

    assert usage("jobs", {}, "batch") == {"count/jobs.batch": "1"}
    assert usage("secrets", {}) == {"count/secrets": "1", "secrets": "1"}
    assert jobs.measure.tracks("count/jobs.batch")
    assert not jobs.measure.tracks("jobs")
    assert secrets.measure.tracks("secrets")
    assert jobs.handles(Topic("batch", "jobs", "", CREATE))
    assert not jobs.handles(Topic("batch", "jobs", "", UPDATE))
    assert not jobs.handles(Topic("batch", "jobs", "status", CREATE))
    assert not jobs.measure.in_scope({"scopeName": "BestEffort"}, {})


def test_a_kind_of_another_group_is_not_the_core_one() -> None:
    assert usage("pods", pod(), "example.com") == {"count/pods.example.com": "1"}


def test_requests_limits_and_extended_resources_of_a_pod_are_named_as_quotas_name_them() -> (
    None
):
    requests = {"cpu": "1", "memory": "2Gi", "example.com/gpu": "2", "hugepages-2Mi": "4Mi"}
    body = pod(containers=[container(requests=requests, limits={"cpu": "2"})])

    assert usage("pods", body) == {
        "count/pods": "1",
        "pods": "1",
        "cpu": "1",
        "requests.cpu": "1",
        "limits.cpu": "2",
        "memory": "2Gi",
        "requests.memory": "2Gi",
        "requests.example.com/gpu": "2",
        "hugepages-2Mi": "4Mi",
        "requests.hugepages-2Mi": "4Mi",
    }


@pytest.mark.parametrize(
    ("name", "is_tracked"),
    [
        ("pods", True),
        ("limits.ephemeral-storage", True),
        ("requests.example.com/gpu", True),
        ("requests.kubernetes.io/x", False),
        ("requests.deviceclass.resource.kubernetes.io/x", True),
        ("example.com/gpu", False),
        ("requests.storage", False),
        ("requests.hugepages-1Gi", True),
        ("services", False),
    ],
)
def test_pods_are_measured_by_what_they_use(name: str, is_tracked: bool) -> None:
    assert PODS.measure.tracks(name) is is_tracked


def test_overhead_counts_and_pod_level_resources_replace_those_of_containers() -> None:
    body = pod(
        containers=[container(requests={"cpu": "1"}, limits={"cpu": "2", "memory": "1Gi"})],
        resources={"requests": {"cpu": "5"}},
        overhead={"cpu": "100m", "memory": "1Mi", "x": "1"},
    )

    found = usage("pods", body)

    assert found["requests.cpu"] == "5100m"
    assert (found["limits.cpu"], found["limits.memory"]) == ("2100m", "1025Mi")
    assert found["requests.memory"] == "1Mi"


@pytest.mark.parametrize(
    ("metadata", "state", "lives"),
    [
        ({}, {}, True),
        ({}, {"phase": "Running"}, True),
        ({}, {"phase": "Succeeded"}, False),
        ({}, {"phase": "Failed"}, False),
        ({"deletionTimestamp": -40, "deletionGracePeriodSeconds": 30}, {}, False),
        ({"deletionTimestamp": -30, "deletionGracePeriodSeconds": 30}, {}, True),
        ({"deletionTimestamp": -40}, {}, True),
    ],
)
def test_a_pod_that_ended_is_only_counted(metadata: Obj, state: Obj, lives: bool) -> None:
    if "deletionTimestamp" in metadata:
        deleted = NOW + timedelta(seconds=metadata["deletionTimestamp"])
        metadata = metadata | {"deletionTimestamp": deleted.strftime("%Y-%m-%dT%H:%M:%SZ")}
    body = pod() | {"metadata": metadata, "status": state}

    found = usage("pods", body)

    assert ("pods" in found) is lives
    assert found["count/pods"] == "1"


def resized(reason: str = "", **status: Obj) -> Obj:
    body = pod(containers=[container(requests={"cpu": "1"}, limits={"cpu": "2"})])
    conditions = [{"type": "PodResizePending", "status": "True", "reason": reason}]
    state = {"name": "c"} | status
    return body | {"status": {"containerStatuses": [state], "conditions": conditions}}


def test_while_a_container_is_resized_the_larger_counts() -> None:
    has = {"requests": {"cpu": "3"}, "limits": {"cpu": "4"}}

    found = usage("pods", resized(resources=has, allocatedResources={"cpu": "3500m"}))
    refused = usage("pods", resized("Infeasible", resources={"requests": {"cpu": "500m"}}))

    assert (found["requests.cpu"], found["limits.cpu"]) == ("3500m", "4")
    assert refused["requests.cpu"] == "500m"
    assert "limits.cpu" not in refused


def scope(name: str, operator: str = "Exists", *values: str) -> Obj:
    return {"scopeName": name, "operator": operator, "values": list(values)}


BUSY: Obj = {"containers": [container(requests={"cpu": "1"})]}
ACROSS: Obj = {"namespaceSelector": {}}
NEAR = {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [ACROSS]}}


@pytest.mark.parametrize(
    ("spec", "inside", "outside"),
    [
        ({}, scope("NotTerminating"), scope("Terminating")),
        ({"activeDeadlineSeconds": 0}, scope("Terminating"), scope("NotTerminating")),
        ({}, scope("BestEffort"), scope("NotBestEffort")),
        (BUSY, scope("NotBestEffort"), scope("BestEffort")),
        (
            {"resources": {"limits": {"memory": "1"}}},
            scope("NotBestEffort"),
            scope("BestEffort"),
        ),
        (BUSY | {"resources": {}}, scope("BestEffort"), scope("NotBestEffort")),
        ({}, scope("PriorityClass", "DoesNotExist"), scope("PriorityClass")),
        ({}, scope("PriorityClass", "NotIn", "a"), scope("PriorityClass", "In", "a")),
        (
            {"priorityClassName": "a"},
            scope("PriorityClass"),
            scope("PriorityClass", "NotIn", "a"),
        ),
        (
            {"priorityClassName": "a"},
            scope("PriorityClass", "In", "a", "b"),
            scope("PriorityClass", "DoesNotExist"),
        ),
        ({"affinity": NEAR}, scope("CrossNamespacePodAffinity"), scope("What")),
        ({}, scope("NotTerminating"), scope("CrossNamespacePodAffinity")),
    ],
)
def test_scopes_tell_pods_apart(spec: Obj, inside: Obj, outside: Obj) -> None:
    assert PODS.measure.in_scope(inside, pod(**spec))
    assert not PODS.measure.in_scope(outside, pod(**spec))


def test_the_class_of_service_that_was_recorded_counts() -> None:
    body = pod(**BUSY) | {"status": {"qosClass": "BestEffort"}}

    assert PODS.measure.in_scope(scope("BestEffort"), body)


@pytest.mark.parametrize(
    ("before", "after", "matters"),
    [({}, {}, False), ({}, {"activeDeadlineSeconds": 1}, True)],
)
def test_an_update_of_a_pod_matters_only_to_its_scope(
    before: Obj, after: Obj, matters: bool
) -> None:
    asked = request("pods", pod(**after), UPDATE, old=pod(**before))

    assert PODS.concerns(asked) is matters
    assert PODS.concerns(request("pods", pod(), UPDATE, old=pod(), subresource="resize"))


def service(kind: str, **spec: Any) -> Obj:
    return {"spec": {"type": kind, "ports": [{}, {"nodePort": 3}]} | spec}


@pytest.mark.parametrize(
    ("body", "node_ports", "balancers"),
    [
        (service("ClusterIP"), "0", "0"),
        (service("NodePort"), "2", "0"),
        (service("LoadBalancer"), "2", "1"),
        (service("LoadBalancer", allocateLoadBalancerNodePorts=False), "1", "1"),
        (service("LoadBalancer", allocateLoadBalancerNodePorts=True), "2", "1"),
        ({"spec": {"type": "ExternalName"}}, "0", "0"),
    ],
)
def test_services_use_node_ports_and_balancers(
    body: Obj, node_ports: str, balancers: str
) -> None:
    assert usage("services", body) == {
        "count/services": "1",
        "services": "1",
        "services.nodeports": node_ports,
        "services.loadbalancers": balancers,
    }


def claim(storage: str | None, annotation: str | None = None, **more: Any) -> Obj:
    asked = {"resources": {"requests": {"storage": storage}}} if storage else {}
    key = "volume.beta.kubernetes.io/storage-class"
    annotations = {} if annotation is None else {key: annotation}
    spec = asked | more.pop("spec", {})
    return {"metadata": {"annotations": annotations}, "spec": spec} | more


def test_claims_use_storage_also_of_their_class_in_whole_bytes() -> None:
    gold = claim("1.5", spec={"storageClassName": "gold"})

    assert usage("persistentvolumeclaims", gold) == {
        "persistentvolumeclaims": "1",
        "count/persistentvolumeclaims": "1",
        "gold.storageclass.storage.k8s.io/persistentvolumeclaims": "1",
        "requests.storage": "2",
        "gold.storageclass.storage.k8s.io/requests.storage": "2",
    }
    old = claim("1Gi", "silver", spec={"storageClassName": "gold"})
    assert "silver.storageclass.storage.k8s.io/requests.storage" in usage(
        "persistentvolumeclaims", old
    )
    grown = claim("1Gi", status={"allocatedResources": {"storage": "2Gi"}})
    assert usage("persistentvolumeclaims", grown)["requests.storage"] == "2Gi"
    assert "requests.storage" not in usage("persistentvolumeclaims", claim(None))


@pytest.mark.parametrize(
    "name",
    [
        "requests.storage",
        "count/persistentvolumeclaims",
        "x.storageclass.storage.k8s.io/requests.storage",
    ],
)
def test_claims_are_measured_by_class_too(name: str) -> None:
    assert CLAIMS.measure.tracks(name)
    assert not CLAIMS.measure.tracks("x.storageclass.storage.k8s.io/what")


def test_claims_are_told_apart_by_their_attributes() -> None:
    attributes = "VolumeAttributesClass"
    fast = claim("1", spec={"volumeAttributesClassName": "fast"})
    becoming = claim(
        "1", status={"modifyVolumeStatus": {"targetVolumeAttributesClassName": "slow"}}
    )

    assert CLAIMS.measure.in_scope(scope(attributes), fast)
    assert CLAIMS.measure.in_scope(scope(attributes, "In", "fast"), fast)
    assert CLAIMS.measure.in_scope(scope(attributes, "In", "slow"), becoming)
    assert not CLAIMS.measure.in_scope(scope(attributes, "In", "slow"), fast)
    assert not CLAIMS.measure.in_scope(scope(attributes), claim("1"))
    assert CLAIMS.measure.in_scope(scope(attributes, "DoesNotExist"), claim("1"))
    assert not CLAIMS.measure.in_scope(scope("Terminating"), fast)


@pytest.mark.parametrize(
    ("resource", "subresource", "operation", "handles"),
    [
        ("pods", "", CREATE, True),
        ("pods", "status", UPDATE, False),
        ("pods", "resize", UPDATE, True),
        ("services", "", UPDATE, True),
        ("services", "status", UPDATE, False),
        ("persistentvolumeclaims", "status", UPDATE, True),
        ("configmaps", "", UPDATE, False),
        ("configmaps", "", DELETE, False),
    ],
)
def test_only_what_can_change_usage_is_looked_at(
    resource: str, subresource: str, operation: str, handles: bool
) -> None:
    topic = Topic("", resource, subresource, operation)

    assert evaluator_of("", resource).handles(topic) is handles
