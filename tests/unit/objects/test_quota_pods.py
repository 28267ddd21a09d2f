from datetime import UTC, datetime, timedelta

import pytest

from jobferry.objects import Obj, labels, quota_pods
from tests.unit.localkube.apiserver.admission.admission_world import container, pod

NOW = datetime(2026, 1, 1, tzinfo=UTC)
GPU, DEVICES = "example.com/gpu", "deviceclass.resource.kubernetes.io"


def usage(body: Obj) -> dict[str, str]:
    return {name: str(amount) for name, amount in quota_pods.usage(body, NOW).items()}


def asking(requests: Obj | None = None, limits: Obj | None = None) -> Obj:
    return pod(containers=[container(requests=requests, limits=limits)])


@pytest.mark.parametrize(
    ("name", "is_tracked"),
    [
        ("pods", True),
        ("count/pods", True),
        ("cpu", True),
        ("requests.memory", True),
        ("limits.ephemeral-storage", True),
        ("hugepages-2Mi", True),
        ("requests.hugepages-1Gi", True),
        ("limits.hugepages-1Gi", False),
        ("requests.example.com/gpu", True),
        ("limits.example.com/gpu", False),
        (GPU, False),
        ("requests.kubernetes.io/x", False),
        (f"requests.{DEVICES}/x", True),
        (f"{DEVICES}/x", False),
        ("requests.storage", False),
        ("count/pods.example.com", False),
        ("services", False),
    ],
)
def test_pods_are_measured_by_what_they_use(name: str, is_tracked: bool) -> None:
    assert quota_pods.tracks(name) is is_tracked


# -- amounts -----------------------------------------------------------------------------------


def test_what_a_pod_requests_and_is_limited_to_is_named_as_quotas_name_it() -> None:
    requests = {"cpu": "1", "memory": "2Gi", "example.com/gpu": "2", "hugepages-2Mi": "4Mi"}

    assert usage(asking(requests, {"cpu": "2"})) == {
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
    ("name", "counted"),
    [
        ("ephemeral-storage", {"ephemeral-storage", "requests.ephemeral-storage"}),
        ("hugepages-1Gi", {"hugepages-1Gi", "requests.hugepages-1Gi"}),
        (GPU, {"requests.example.com/gpu"}),
        (f"{DEVICES}/gpu", {f"requests.{DEVICES}/gpu"}),
        ("storage", set()),
        ("kubernetes.io/x", set()),
        ("requests.example.com/gpu", set()),
        ("example.com/a b", set()),
        (f"{'a' * 253}/b", set()),  # too long once `requests.` comes before it
    ],
)
def test_only_what_a_quota_can_name_is_counted(name: str, counted: set[str]) -> None:
    assert set(usage(asking({name: "1"}))) == {"count/pods", "pods"} | counted


@pytest.mark.parametrize(
    ("name", "counted"),
    [
        ("memory", {"limits.memory"}),
        ("ephemeral-storage", {"limits.ephemeral-storage"}),
        (GPU, set()),
        ("hugepages-2Mi", set()),
    ],
)
def test_few_limits_are_counted(name: str, counted: set[str]) -> None:
    assert set(usage(asking(limits={name: "1"}))) == {"count/pods", "pods"} | counted


def test_containers_add_up_and_init_containers_only_count_if_they_are_larger() -> None:
    body = pod(
        containers=[container("a", requests={"cpu": "1"}), container("b", limits={"cpu": "2"})],
        initContainers=[
            container("side", requests={"cpu": "500m"}, restartPolicy="Always"),
            container("init", requests={"cpu": "1"}, limits={"cpu": "3"}),
        ],
    )

    found = usage(body)

    assert (found["requests.cpu"], found["limits.cpu"]) == ("1500m", "3")


def test_overhead_counts_and_pod_level_resources_replace_those_of_containers() -> None:
    body = pod(
        containers=[container(requests={"cpu": "1"}, limits={"cpu": "2", "memory": "1Gi"})],
        resources={"requests": {"cpu": "5"}},
        overhead={"cpu": "100m", "memory": "1Mi", "x": "1"},
    )

    found = usage(body)

    assert found["requests.cpu"] == "5100m"
    assert (found["limits.cpu"], found["limits.memory"]) == ("2100m", "1025Mi")
    assert found["requests.memory"] == "1Mi"


@pytest.mark.parametrize(
    ("name", "counted"),
    [("memory", "9"), ("hugepages-2Mi", "9"), ("ephemeral-storage", "1"), (GPU, "1")],
)
def test_few_resources_can_be_asked_for_by_a_pod_as_a_whole(name: str, counted: str) -> None:
    body = asking({name: "1"})
    body["spec"]["resources"] = {"requests": {name: "9"}}

    assert usage(body)[f"requests.{name}"] == counted


def test_overhead_adds_to_no_limit_that_is_zero_or_not_there() -> None:
    body = asking(limits={"cpu": "0"})
    body["spec"]["overhead"] = {"cpu": "1", "memory": "1"}

    found = usage(body)

    assert found["limits.cpu"] == "0"
    assert "limits.memory" not in found


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"metadata": None, "spec": None, "status": None},
        {"spec": {"containers": None, "initContainers": None, "overhead": None}},
        {"spec": {"containers": [{"name": "c", "resources": None}], "resources": None}},
        {"spec": {"containers": [{"name": "c"}]}, "status": {"containerStatuses": None}},
    ],
)
def test_a_pod_that_says_nothing_is_one_pod(body: Obj) -> None:
    assert usage(body) == {"count/pods": "1", "pods": "1"}


@pytest.mark.parametrize(
    ("metadata", "state", "lives"),
    [
        ({}, {}, True),
        ({}, {"phase": "Running"}, True),
        ({}, {"phase": "Unknown"}, True),
        ({}, {"phase": "Succeeded"}, False),
        ({}, {"phase": "Failed"}, False),
        ({"deletionTimestamp": -31, "deletionGracePeriodSeconds": 30}, {}, False),
        ({"deletionTimestamp": -30, "deletionGracePeriodSeconds": 30}, {}, True),
        ({"deletionTimestamp": -1, "deletionGracePeriodSeconds": 0}, {}, False),
        ({"deletionTimestamp": -40, "deletionGracePeriodSeconds": 2**63 - 1}, {}, True),
        ({"deletionTimestamp": -40}, {}, True),
        ({"deletionGracePeriodSeconds": 30}, {}, True),
    ],
)
def test_a_pod_that_ended_is_only_counted(metadata: Obj, state: Obj, lives: bool) -> None:
    if "deletionTimestamp" in metadata:
        deleted = NOW + timedelta(seconds=metadata["deletionTimestamp"])
        metadata = metadata | {"deletionTimestamp": deleted.strftime("%Y-%m-%dT%H:%M:%SZ")}
    body = asking({"cpu": "1"}) | {"metadata": metadata, "status": state}

    found = usage(body)

    assert set(found) == {"count/pods"} | ({"pods", "cpu", "requests.cpu"} if lives else set())
    assert found["count/pods"] == "1"


# -- resizing ----------------------------------------------------------------------------------


def resized(reason: str = "", **status: Obj) -> Obj:
    body = asking({"cpu": "1"}, {"cpu": "2"})
    conditions = [{"type": "PodResizePending", "status": "True", "reason": reason}]
    state = {"name": "c"} | status
    return body | {"status": {"containerStatuses": [state], "conditions": conditions}}


HAS = {"requests": {"cpu": "3"}, "limits": {"cpu": "4"}}
REFUSED = "Infeasible"
LITTLE = {"requests": {"cpu": "500m"}, "limits": {"cpu": "600m"}}


@pytest.mark.parametrize(
    ("body", "requests", "limits"),
    [
        (resized(), "1", "2"),
        (resized(resources=HAS), "3", "4"),
        (resized(resources=LITTLE), "1", "2"),
        (resized(resources=HAS, allocatedResources={"cpu": "3500m"}), "3500m", "4"),
        (resized(resources={}, allocatedResources={"cpu": "5"}), "5", "2"),
        (resized(allocatedResources={"cpu": "5"}), "1", "2"),  # the node has not said
        (resized("Deferred", resources=LITTLE), "1", "2"),
        (resized(REFUSED, resources=LITTLE), "500m", "600m"),
        (resized(REFUSED, resources=LITTLE, allocatedResources={"cpu": "2"}), "2", "600m"),
        (resized(REFUSED, resources={"requests": {"cpu": "500m"}}), "500m", None),
        (resized(REFUSED), "1", "2"),
    ],
)
def test_while_a_container_is_resized_the_larger_counts_unless_it_is_refused(
    body: Obj, requests: str, limits: str | None
) -> None:
    found = usage(body)

    assert (found["requests.cpu"], found.get("limits.cpu")) == (requests, limits)


@pytest.mark.parametrize(
    ("policy", "counted"), [({"restartPolicy": "Always"}, "4"), ({}, "2"), (None, "1")]
)
def test_of_init_containers_only_sidecars_are_resized(policy: Obj | None, counted: str) -> None:
    body = asking({"cpu": "1"})
    if policy is not None:
        body["spec"]["initContainers"] = [container("i", requests={"cpu": "2"}) | policy]
    states = [{"name": "i", "resources": {"requests": {"cpu": "3"}}}]

    found = usage(body | {"status": {"initContainerStatuses": states}})

    assert found["requests.cpu"] == counted


# -- what containers have to say ---------------------------------------------------------------


@pytest.mark.parametrize(
    ("required", "said"),
    [
        (["cpu"], "must specify cpu for: b,i"),
        (["requests.cpu"], "must specify requests.cpu for: b,i"),
        (["limits.memory", "cpu"], "must specify cpu for: b,i; limits.memory for: a,b"),
        (["memory"], "must specify memory for: a,b,i"),
        (["pods", "count/pods"], ""),
        (["requests.ephemeral-storage", "hugepages-2Mi", "requests.example.com/gpu"], ""),
        ([], ""),
    ],
)
def test_every_container_has_to_ask_for_what_is_limited(required: list[str], said: str) -> None:
    body = pod(
        containers=[container("b"), container("a", requests={"cpu": "1"})],
        initContainers=[container("i", limits={"memory": "1"})],
    )

    assert quota_pods.missing(required, body) == said


ALL = ("cpu", "memory", "requests.cpu", "requests.memory", "limits.cpu", "limits.memory")


def test_nothing_is_missing_where_all_is_said() -> None:
    amounts = {"cpu": "0", "memory": "0"}

    assert quota_pods.missing(ALL, asking(amounts, amounts)) == ""


@pytest.mark.parametrize(
    ("resources", "is_enough"),
    [
        ({"requests": {"cpu": "1"}}, True),
        ({"limits": {"memory": "1"}}, True),
        ({"limits": {"hugepages-2Mi": "2Mi"}}, True),
        ({"requests": {"ephemeral-storage": "1"}}, False),
        ({"requests": None, "limits": {}}, False),
        ({}, False),
        (None, False),
    ],
)
def test_containers_of_a_pod_that_asks_as_a_whole_need_not_ask(
    resources: Obj | None, is_enough: bool
) -> None:
    assert (not quota_pods.missing(ALL, pod(resources=resources))) is is_enough


@pytest.mark.parametrize(
    "body", [{}, {"spec": None}, {"spec": {"containers": None, "initContainers": None}}]
)
def test_who_is_not_there_need_not_ask(body: Obj) -> None:
    assert quota_pods.missing(ALL, body) == ""


# -- scopes ------------------------------------------------------------------------------------


def scope(name: str, operator: str = "Exists", *values: str) -> Obj:
    return {"scopeName": name, "operator": operator, "values": list(values)}


BUSY: Obj = {"containers": [container(requests={"cpu": "1"})]}
FREE: Obj = {"containers": [container(requests={"cpu": "0"}, limits={"example.com/gpu": "1"})]}
INIT: Obj = {"initContainers": [container(limits={"memory": "1"})]}
ENDS, STAYS = scope("Terminating"), scope("NotTerminating")
BEST, NOT_BEST = scope("BestEffort"), scope("NotBestEffort")
PRIORITY = "PriorityClass"
ANY, NONE = scope(PRIORITY), scope(PRIORITY, "DoesNotExist")
AMONG, BESIDE = scope(PRIORITY, "In", "a", "b"), scope(PRIORITY, "NotIn", "a", "b")


@pytest.mark.parametrize(
    ("spec", "inside", "outside"),
    [
        ({}, STAYS, ENDS),
        ({"activeDeadlineSeconds": 0}, ENDS, STAYS),
        ({"activeDeadlineSeconds": None}, STAYS, ENDS),
        ({}, BEST, NOT_BEST),
        (BUSY, NOT_BEST, BEST),
        (INIT, NOT_BEST, BEST),
        (FREE, BEST, NOT_BEST),
        ({"resources": {"limits": {"memory": "1"}}}, NOT_BEST, BEST),
        (BUSY | {"resources": {}}, BEST, NOT_BEST),
        ({}, NONE, ANY),
        ({"priorityClassName": ""}, NONE, ANY),
        ({"priorityClassName": "a"}, ANY, NONE),
        ({}, BESIDE, AMONG),
        ({"priorityClassName": "a"}, AMONG, BESIDE),
        ({"priorityClassName": "c"}, BESIDE, AMONG),
        ({}, STAYS, scope("VolumeAttributesClass")),
        ({}, STAYS, {}),
    ],
)
def test_scopes_tell_pods_apart(spec: Obj, inside: Obj, outside: Obj) -> None:
    assert quota_pods.in_scope(inside, pod(**spec))
    assert not quota_pods.in_scope(outside, pod(**spec))


@pytest.mark.parametrize(
    ("recorded", "inside", "outside"),
    [("BestEffort", BEST, NOT_BEST), ("Guaranteed", NOT_BEST, BEST)],
)
@pytest.mark.parametrize("spec", [BUSY, {}])
def test_the_class_of_service_that_was_recorded_counts(
    spec: Obj, recorded: str, inside: Obj, outside: Obj
) -> None:
    body = pod(**spec) | {"status": {"qosClass": recorded}}

    assert quota_pods.in_scope(inside, body)
    assert not quota_pods.in_scope(outside, body)


def test_a_scope_that_cannot_be_understood_is_told() -> None:
    with pytest.raises(labels.BadSelector, match="a valid label must be"):
        quota_pods.in_scope(scope(PRIORITY, "In", "a b"), pod())


@pytest.mark.parametrize("which", ["podAffinity", "podAntiAffinity"])
@pytest.mark.parametrize(
    ("term", "is_across"),
    [
        ({"namespaces": ["other"]}, True),
        ({"namespaceSelector": {}}, True),
        ({"namespaces": [], "namespaceSelector": None}, False),
        ({"topologyKey": "zone"}, False),
    ],
)
def test_pods_may_look_across_namespaces(which: str, term: Obj, is_across: bool) -> None:
    required = {"requiredDuringSchedulingIgnoredDuringExecution": [{}, term]}
    weighted = [{"weight": 1}, {"weight": 2, "podAffinityTerm": term}]
    preferred = {"preferredDuringSchedulingIgnoredDuringExecution": weighted}

    for rules in (required, preferred):
        body = pod(affinity={which: rules})
        assert quota_pods.in_scope(scope("CrossNamespacePodAffinity"), body) is is_across


@pytest.mark.parametrize("spec", [{}, {"affinity": None}, {"affinity": {"nodeAffinity": {}}}])
def test_pods_without_affinity_do_not_look_across_namespaces(spec: Obj) -> None:
    assert not quota_pods.in_scope(scope("CrossNamespacePodAffinity"), pod(**spec))


@pytest.mark.parametrize(
    ("body", "ends"),
    [
        (pod(activeDeadlineSeconds=1), True),
        (pod(activeDeadlineSeconds=0), True),
        (pod(activeDeadlineSeconds=-1), False),
        (pod(), False),
        ({}, False),
    ],
)
def test_a_pod_with_a_deadline_is_sure_to_end(body: Obj, ends: bool) -> None:
    assert quota_pods.is_terminating(body) is ends
