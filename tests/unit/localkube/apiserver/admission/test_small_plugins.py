"""Priority, DefaultTolerationSeconds, TaintNodesByCondition, RuntimeClass, PodTopologyLabels."""

from typing import Any

import pytest

from jobferry.localkube.apiserver.admission.request import UPDATE
from jobferry.localkube.apiserver.status import StatusError
from jobferry.objects import Obj
from tests.unit.localkube.apiserver.admission.admission_world import (
    World,
    admission,
    pod,
    request,
    world,
)


async def admitted(body: Obj, cluster: World | None = None) -> Obj:
    await admission(cluster or world()).admit(request("pods", body))
    spec: Obj = body["spec"]
    return spec


def with_class(name: str = "high", **more: Any) -> World:
    made = world()
    made.put("priorityclasses", {"metadata": {"name": name}, "value": 7} | more)
    return made


async def test_a_pod_gets_the_priority_of_its_class() -> None:
    cluster = with_class(preemptionPolicy="Never")

    spec = await admitted(pod(priorityClassName="high"), cluster)

    assert (spec["priority"], spec["preemptionPolicy"]) == (7, "Never")


async def test_the_lowest_default_class_is_for_all_that_name_none() -> None:
    cluster = with_class(globalDefault=True)
    lower = {"metadata": {"name": "low"}, "value": 3, "globalDefault": True}
    cluster.put("priorityclasses", lower)

    spec = await admitted(pod(), cluster)

    assert (spec["priorityClassName"], spec["priority"]) == ("low", 3)
    assert "preemptionPolicy" not in spec


COMPUTED = "priority admission controller computed"


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ({"priorityClassName": "x"}, "no PriorityClass with name x was found"),
        (
            {"priority": 5},
            (
                f"the integer value of priority (5) must not be provided in pod spec; {COMPUTED} 0 "
                "from the given PriorityClass name"
            ),
        ),
        (
            {"preemptionPolicy": "Never"},
            (
                "the string value of PreemptionPolicy (Never) must not be provided in pod spec; "
                f"{COMPUTED} PreemptLowerPriority from the given PriorityClass name"
            ),
        ),
    ],
)
async def test_a_priority_that_no_class_gives_is_refused(spec: Obj, said: str) -> None:
    with pytest.raises(StatusError) as caught:
        await admitted(pod(**spec))

    assert str(caught.value) == f'pods "p" is forbidden: {said}'


async def test_an_update_that_forgets_the_priority_keeps_it() -> None:
    old, body = pod(priority=7, preemptionPolicy="Never"), pod()

    await admission(world()).admit(request("pods", body, UPDATE, old=old))

    assert (body["spec"]["priority"], body["spec"]["preemptionPolicy"]) == (7, "Never")


async def test_there_is_only_one_default_class() -> None:
    made = admission(with_class(globalDefault=True))
    other = {"metadata": {"name": "other"}, "value": 1, "globalDefault": True}

    for operation in ("CREATE", UPDATE):
        with pytest.raises(StatusError) as caught:
            await made.validate(request("priorityclasses", other, operation, namespace=""))
        assert str(caught.value) == (
            'priorityclasses.scheduling.k8s.io "other" is forbidden: '
            "PriorityClass high is already marked as default. Only one default can exist"
        )
    same = {"metadata": {"name": "high"}, "value": 7, "globalDefault": True}
    await made.validate(request("priorityclasses", same, UPDATE, namespace=""))
    plain = {"metadata": {"name": "plain"}, "value": 1}
    await made.admit(request("priorityclasses", plain, namespace=""))
    await made.validate(request("priorityclasses", plain, namespace=""))
    assert plain == {"metadata": {"name": "plain"}, "value": 1}


async def test_without_a_default_any_class_may_become_it() -> None:
    first = {"metadata": {"name": "first"}, "value": 1, "globalDefault": True}

    await admission(with_class()).validate(request("priorityclasses", first, namespace=""))


NOT_READY, UNREACHABLE = "node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"


@pytest.mark.parametrize(
    ("given", "added"),
    [
        ([], [NOT_READY, UNREACHABLE]),
        ([{"key": NOT_READY, "operator": "Exists"}], [UNREACHABLE]),
        ([{"key": NOT_READY, "effect": "NoSchedule"}], [NOT_READY, UNREACHABLE]),
        ([{"operator": "Exists"}], []),
        ([{"operator": "Exists", "effect": "NoExecute"}], []),
    ],
)
async def test_pods_stay_a_while_on_a_failed_node(given: list[Obj], added: list[str]) -> None:
    spec = await admitted(pod(tolerations=given))

    assert [each["key"] for each in spec["tolerations"][len(given) :]] == added
    assert all(each["tolerationSeconds"] == 300 for each in spec["tolerations"][len(given) :])


async def test_a_new_node_takes_no_pods_yet() -> None:
    node: Obj = {"metadata": {"name": "n"}}
    taint = {"key": NOT_READY, "effect": "NoSchedule"}

    for _ in range(2):
        await admission(World()).admit(request("nodes", node, namespace=""))
        assert node["spec"]["taints"] == [taint]


async def test_a_runtime_class_is_never_there() -> None:
    with pytest.raises(StatusError, match=r'pod rejected: RuntimeClass "x" not found$'):
        await admitted(pod(runtimeClassName="x"))
    body = pod(overhead={"cpu": "1"}, serviceAccountName="default")
    with pytest.raises(StatusError, match="pod rejected: Pod Overhead set without"):
        await admission(world()).validate(request("pods", body))


ZONE = "topology.kubernetes.io/zone"


async def test_bound_pods_carry_the_zone_of_their_node() -> None:
    cluster = world()
    cluster.put("nodes", {"metadata": {"name": "n", "labels": {ZONE: "z", "x": "y"}}})
    binding: Obj = {"metadata": {"name": "p"}, "target": {"kind": "Node", "name": "n"}}
    body = pod(nodeName="n")
    body["metadata"]["labels"] = {"a": "b"}

    await admission(cluster).admit(request("pods", binding, subresource="binding"))
    await admission(cluster).admit(request("pods", body))

    assert binding["metadata"]["labels"] == {ZONE: "z"}
    assert body["metadata"]["labels"] == {"a": "b", ZONE: "z"}
