from datetime import UTC, datetime
from typing import Any

import pytest

from jobferry.objects import Obj, quotas
from tests.unit.localkube.apiserver.admission.admission_world import container, pod

NOW = datetime(2026, 1, 1, tzinfo=UTC)
CLAIMS = quotas.measure_of("", "persistentvolumeclaims")


def usage(resource: str, obj: Obj, group: str = "") -> dict[str, str]:
    measured = quotas.measure_of(group, resource).usage(obj, NOW)
    return {name: str(amount) for name, amount in measured.items()}


def scope(name: str, operator: str = "Exists", *values: str) -> Obj:
    return {"scopeName": name, "operator": operator, "values": list(values)}


# -- counts ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("group", "resource", "names"),
    [
        ("batch", "jobs", {"count/jobs.batch"}),
        ("example.com", "pods", {"count/pods.example.com"}),
        ("example.com", "secrets", {"count/secrets.example.com"}),
        ("", "serviceaccounts", {"count/serviceaccounts"}),
        ("", "secrets", {"count/secrets", "secrets"}),
        ("", "configmaps", {"count/configmaps", "configmaps"}),
        ("", "resourcequotas", {"count/resourcequotas", "resourcequotas"}),
        (
            "",
            "replicationcontrollers",
            {"count/replicationcontrollers", "replicationcontrollers"},
        ),
    ],
)
def test_most_kinds_are_just_counted(group: str, resource: str, names: set[str]) -> None:
    measure = quotas.measure_of(group, resource)

    assert usage(resource, {}, group) == dict.fromkeys(names, "1")
    assert all(map(measure.tracks, names))
    assert not any(map(measure.tracks, {resource, f"count/{resource}", "pods"} - names))
    assert not measure.in_scope(scope("BestEffort"), {})
    assert measure.missing(["cpu", *names], {}) == ""


def test_pods_are_measured_by_more_than_their_number() -> None:
    measure = quotas.measure_of("", "pods")
    body = pod(containers=[container(requests={"cpu": "1"})])

    assert usage("pods", body)["requests.cpu"] == "1"
    assert measure.tracks("limits.memory")
    assert measure.in_scope(scope("NotBestEffort"), body)
    assert measure.missing(["memory"], body) == "must specify memory for: c"


# -- services ----------------------------------------------------------------------------------


def service(kind: str, **spec: Any) -> Obj:
    return {"spec": {"type": kind, "ports": [{}, {"nodePort": 3}]} | spec}


@pytest.mark.parametrize(
    ("body", "node_ports", "balancers"),
    [
        (service("ClusterIP"), "0", "0"),
        (service("ClusterIP", allocateLoadBalancerNodePorts=False), "0", "0"),
        (service("NodePort"), "2", "0"),
        (service("NodePort", allocateLoadBalancerNodePorts=False), "2", "0"),
        (service("LoadBalancer"), "2", "1"),
        (service("LoadBalancer", allocateLoadBalancerNodePorts=False), "1", "1"),
        (service("LoadBalancer", allocateLoadBalancerNodePorts=True), "2", "1"),
        (service("LoadBalancer", ports=None), "0", "1"),
        ({"spec": {"type": "ExternalName"}}, "0", "0"),
        ({}, "0", "0"),
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


def test_services_are_in_no_scope() -> None:
    measure = quotas.measure_of("", "services")

    assert measure.tracks("services.nodeports")
    assert not measure.tracks("pods")
    assert not measure.in_scope(scope("NotTerminating"), service("NodePort"))


# -- claims for volumes ------------------------------------------------------------------------


def claim(storage: str | None, annotation: str | None = None, **more: Any) -> Obj:
    asked = {"resources": {"requests": {"storage": storage}}} if storage else {}
    key = "volume.beta.kubernetes.io/storage-class"
    annotations = {} if annotation is None else {key: annotation}
    spec = asked | more.pop("spec", {})
    return {"metadata": {"annotations": annotations}, "spec": spec} | more


GOLD = {"storageClassName": "gold"}


def test_claims_use_storage_also_of_their_class() -> None:
    assert usage("persistentvolumeclaims", claim("1Gi", spec=GOLD)) == {
        "persistentvolumeclaims": "1",
        "count/persistentvolumeclaims": "1",
        "gold.storageclass.storage.k8s.io/persistentvolumeclaims": "1",
        "requests.storage": "1Gi",
        "gold.storageclass.storage.k8s.io/requests.storage": "1Gi",
    }


@pytest.mark.parametrize(
    ("body", "storage_class"),
    [
        (claim("1", spec=GOLD), "gold"),
        (claim(None, spec=GOLD), "gold"),
        (claim("1", "silver", spec=GOLD), "silver"),
        (claim("1", "", spec=GOLD), None),
        (claim("1", "silver"), "silver"),
        (claim("1", spec={"storageClassName": ""}), None),
        (claim("1"), None),
        ({}, None),
        ({"metadata": None, "spec": None, "status": None}, None),
    ],
)
def test_the_class_of_a_claim_is_first_that_of_its_annotation(
    body: Obj, storage_class: str | None
) -> None:
    suffix = ".storageclass.storage.k8s.io/persistentvolumeclaims"
    found = [name for name in usage("persistentvolumeclaims", body) if name.endswith(suffix)]

    assert found == ([] if storage_class is None else [storage_class + suffix])


def got(storage: str) -> Obj:
    return {"allocatedResources": {"storage": storage}}


@pytest.mark.parametrize(
    ("body", "storage"),
    [
        (claim("1Gi"), "1Gi"),
        (claim("1.5"), "2"),
        (claim("100m"), "1"),
        (claim("1Gi", status=got("2Gi")), "2Gi"),
        (claim("2Gi", status=got("1Gi")), "2Gi"),
        (claim("1", status=got("1500m")), "2"),
        (claim("1200m", status=got("1500m")), "2"),
        (claim("1Gi", status={"allocatedResources": {}}), "1Gi"),
        (claim(None, status=got("1Gi")), None),
        (claim(None), None),
    ],
)
def test_claims_use_what_they_ask_for_or_got_in_whole_bytes(
    body: Obj, storage: str | None
) -> None:
    assert usage("persistentvolumeclaims", body).get("requests.storage") == storage


@pytest.mark.parametrize(
    ("name", "is_tracked"),
    [
        ("persistentvolumeclaims", True),
        ("requests.storage", True),
        ("count/persistentvolumeclaims", True),
        ("x.storageclass.storage.k8s.io/requests.storage", True),
        ("x.storageclass.storage.k8s.io/persistentvolumeclaims", True),
        ("x.storageclass.storage.k8s.io/what", False),
        ("limits.storage", False),
        ("requests.ephemeral-storage", False),
    ],
)
def test_claims_are_measured_by_class_too(name: str, is_tracked: bool) -> None:
    assert CLAIMS.tracks(name) is is_tracked


ATTRIBUTES = "VolumeAttributesClass"
FAST = {"volumeAttributesClassName": "fast"}
PLAIN = claim("1")
CHANGING = claim(
    "1",
    spec=FAST,
    status={
        "currentVolumeAttributesClassName": "slow",
        "modifyVolumeStatus": {"targetVolumeAttributesClassName": "medium"},
    },
)


@pytest.mark.parametrize(
    ("body", "requirement", "is_inside"),
    [
        (claim("1", spec=FAST), scope(ATTRIBUTES), True),
        (claim("1", spec=FAST), scope(ATTRIBUTES, "DoesNotExist"), False),
        (claim("1", spec=FAST), scope(ATTRIBUTES, "In", "fast"), True),
        (claim("1", spec=FAST), scope(ATTRIBUTES, "In", "slow"), False),
        (claim("1", spec=FAST), scope(ATTRIBUTES, "NotIn", "fast"), False),
        (claim("1", spec=FAST), scope("Terminating"), False),
        (claim("1", spec=FAST), scope("NotTerminating"), False),
        (CHANGING, scope(ATTRIBUTES, "In", "fast"), True),
        (CHANGING, scope(ATTRIBUTES, "In", "slow"), True),
        (CHANGING, scope(ATTRIBUTES, "In", "medium"), True),
        (CHANGING, scope(ATTRIBUTES, "In", "other"), False),
        (CHANGING, scope(ATTRIBUTES, "NotIn", "fast"), True),
        (CHANGING, scope(ATTRIBUTES, "NotIn", "fast", "medium", "slow"), False),
        (PLAIN, scope(ATTRIBUTES), False),
        (PLAIN, scope(ATTRIBUTES, "DoesNotExist"), True),
        (PLAIN, scope(ATTRIBUTES, "In", "fast"), False),
        (PLAIN, scope(ATTRIBUTES, "NotIn", "fast"), True),
    ],
)
def test_claims_are_told_apart_by_their_attributes(
    body: Obj, requirement: Obj, is_inside: bool
) -> None:
    assert CLAIMS.in_scope(requirement, body) is is_inside


# -- quotas ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("hard", "kinds"),
    [
        ((), set()),
        (("count/jobs.batch",), {("batch", "jobs")}),
        (("count/boats.example.com",), {("example.com", "boats")}),
        (("count/pods", "pods", "requests.cpu"), {("", "pods")}),
        (("requests.example.com/gpu",), {("", "pods")}),
        (("secrets", "count/configmaps"), {("", "secrets"), ("", "configmaps")}),
        (("services.nodeports",), {("", "services")}),
        (
            ("requests.storage", "gold.storageclass.storage.k8s.io/requests.storage"),
            {("", "persistentvolumeclaims")},
        ),
        (("jobs", "what"), set()),
    ],
)
def test_a_quota_says_of_which_kinds_something_counts(
    hard: tuple[str, ...], kinds: set[tuple[str, str]]
) -> None:
    assert quotas.kinds(hard) == kinds


PRIORITY = scope("PriorityClass", "In", "a")


@pytest.mark.parametrize(
    ("spec", "found"),
    [
        ({"scopes": ["BestEffort"]}, [{"scopeName": "BestEffort", "operator": "Exists"}]),
        ({"scopeSelector": {"matchExpressions": [PRIORITY]}}, [PRIORITY]),
        (
            {"scopes": ["Terminating"], "scopeSelector": {"matchExpressions": [PRIORITY]}},
            [{"scopeName": "Terminating", "operator": "Exists"}, PRIORITY],
        ),
        ({"scopes": None, "scopeSelector": {"matchExpressions": None}}, []),
        ({"scopeSelector": None}, []),
        (None, []),
    ],
)
def test_scopes_are_written_in_two_ways(spec: Obj | None, found: list[Obj]) -> None:
    assert quotas.scopes({"spec": spec}) == found


def used(resource: str, objs: list[Obj], hard: list[str], **spec: Any) -> dict[str, str]:
    quota = {"spec": {"hard": dict.fromkeys(hard, "9")} | spec}
    found = quotas.used(quota, quotas.measure_of("", resource), objs, NOW)
    return {name: str(amount) for name, amount in found.items()}


def sized(cpu: str, **spec: Any) -> Obj:
    return pod(containers=[container(requests={"cpu": cpu})], **spec)


ENDED = sized("1") | {"status": {"phase": "Succeeded"}}
PODS = [sized("250m"), sized("1"), ENDED, pod(priorityClassName="a")]
NAMES = ["pods", "count/pods", "requests.cpu", "limits.cpu", "services"]


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({}, ("3", "4", "1250m", "0")),
        ({"scopes": ["NotBestEffort"]}, ("2", "3", "1250m", "0")),
        ({"scopes": ["BestEffort"]}, ("1", "1", "0", "0")),
        ({"scopes": ["BestEffort", "Terminating"]}, ("0", "0", "0", "0")),
        ({"scopeSelector": {"matchExpressions": [PRIORITY]}}, ("1", "1", "0", "0")),
    ],
)
def test_what_objects_in_all_scopes_use_is_added_up(
    spec: Obj, expected: tuple[str, ...]
) -> None:
    assert used("pods", PODS, NAMES, **spec) == dict(zip(NAMES[:-1], expected, strict=True))


def test_only_what_the_quota_names_is_added_up() -> None:
    balancer = service("LoadBalancer")

    assert used("services", [balancer, balancer], ["services.nodeports", "pods"]) == {
        "services.nodeports": "4"
    }
    assert used("services", [balancer], ["services"], scopes=["NotTerminating"]) == {
        "services": "0"
    }
    assert used("secrets", [{}, {}], ["secrets", "count/secrets"]) == {
        "secrets": "2",
        "count/secrets": "2",
    }
    assert quotas.used({}, CLAIMS, [claim("1")], NOW) == {}


@pytest.mark.parametrize("scopes", [[], ["Terminating"]])
def test_counting_ends_at_a_scope_that_cannot_be_understood(scopes: list[str]) -> None:
    odd = {"matchExpressions": [scope("PriorityClass", "In", "a b")]}

    found = used("pods", PODS, ["pods"], scopes=scopes, scopeSelector=odd)

    assert found == {"pods": "0"}
