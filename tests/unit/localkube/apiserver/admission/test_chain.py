from collections.abc import Iterator

import pytest

from jobferry.localkube.apiserver.admission.chain import Chain, chain
from jobferry.localkube.apiserver.admission.plugin import Plugin, Step
from jobferry.localkube.apiserver.admission.request import CREATE, UPDATE, Request, Topic
from jobferry.localkube.apiserver.status import StatusError
from jobferry.testing.clock import ManualClock
from tests.unit.localkube.apiserver.admission.admission_world import (
    World,
    admission,
    pod,
    quota,
    request,
    world,
)

ORDER = [
    "NamespaceLifecycle",
    "LimitRanger",
    "ServiceAccount",
    "TaintNodesByCondition",
    "Priority",
    "DefaultTolerationSeconds",
    "RuntimeClass",
    "PodTopologyLabels",
]


def recording(name: str, calls: list[str], resource: str = "pods") -> Plugin:
    def step(pass_: str) -> Step:
        async def run(_request: Request) -> None:
            calls.append(f"{pass_} {name}")

        return run

    def handles(topic: Topic) -> bool:
        calls.append(f"ask {name}")
        return topic.resource == resource

    return Plugin(name=name, handles=handles, admit=step("admit"), validate=step("validate"))


def test_plugins_come_in_upstreams_order_with_what_is_always_there_before_quota() -> None:
    check = recording("always", [])

    made = chain(World(), ManualClock(), suffix=str, always=[check])

    assert [each.name for each in made.plugins] == [*ORDER, "always", "ResourceQuota"]


async def test_all_plugins_that_a_request_concerns_run_in_order_pass_by_pass() -> None:
    calls: list[str] = []
    made = Chain([recording("a", calls), recording("b", calls, "nodes"), recording("c", calls)])
    asked = request("pods", pod())

    await made.admit(asked)
    await made.validate(asked)

    assert calls[-4:] == ["admit a", "admit c", "validate a", "validate c"]


async def test_a_plugin_is_asked_once_for_each_sort_of_request() -> None:
    calls: list[str] = []
    made = Chain([recording("a", calls)])

    for _ in range(3):
        await made.admit(request("pods", pod()))
    await made.admit(request("pods", pod(), UPDATE))

    assert calls.count("ask a") == 2


async def test_the_first_refusal_is_the_last_word() -> None:
    async def refuse(_request: Request) -> None:
        raise StatusError(403, "Forbidden", "no")

    calls: list[str] = []
    refusing = Plugin(name="no", handles=lambda _topic: True, admit=refuse)
    made = Chain([refusing, recording("a", calls)])

    with pytest.raises(StatusError, match=r"^no$"):
        await made.admit(request("pods", pod()))
    assert "admit a" not in calls


async def test_a_bare_pod_is_completed() -> None:
    body = pod()

    await admission(world()).admit(request("pods", body))

    spec = body["spec"]
    assert spec["serviceAccountName"] == spec["serviceAccount"] == "default"
    assert spec["priority"] == 0
    assert spec["preemptionPolicy"] == "PreemptLowerPriority"
    assert len(spec["tolerations"]) == 2
    assert [volume["name"] for volume in spec["volumes"]] == ["kube-api-access-zzzzz"]


SHARED = [
    ("pods", CREATE),
    ("pods", UPDATE),
    ("configmaps", CREATE),
    ("jobs", CREATE),
    ("services", UPDATE),
    ("persistentvolumeclaims", CREATE),
]


@pytest.mark.parametrize(("resource", "operation"), SHARED)
async def test_what_is_stored_is_never_changed(resource: str, operation: str) -> None:
    old = pod() | {"metadata": {"name": "p", "namespace": "ns", "resourceVersion": "1"}}
    cluster = world(quota({"pods": "5", "services": "5", "count/jobs.batch": "5"}))
    before = list(_values(cluster.objects)), repr(old)
    made = admission(cluster)
    asked = request(resource, pod(), operation, old=old if operation == UPDATE else None)
    asked.dry_run = True

    await made.admit(asked)
    await made.validate(asked)

    assert (list(_values(cluster.objects)), repr(old)) == before


def _values(objects: object) -> Iterator[str]:
    yield repr(objects)
