"""Both servers beside each other: what admission makes of objects, with all that a fresh cluster has."""

import copy
from secrets import token_hex
from typing import Any

import pytest

from jobferry.objects import Obj
from tests.api import admission_pods
from tests.api.admission_cases import CASES, Case
from tests.api.admission_quota_cases import OTHERS, QUOTA_CASES
from tests.api.test_twins_kinds import without_controllers
from tests.api.twins import Twins

pytestmark = [pytest.mark.kube, pytest.mark.timeout(120)]

GROUPS = {"jobs": "/apis/batch/v1", "priorityclasses": "/apis/scheduling.k8s.io/v1"}
DRY = {"dryRun": "All"}


def path(place: str, resource: str, *parts: str) -> str:
    scope = "" if resource == "priorityclasses" else f"/namespaces/{place}"
    return "/".join((f"{GROUPS.get(resource, '/api/v1')}{scope}/{resource}", *parts))


def without_owners(body: Any) -> None:
    """Leave out who owns fields: localkube does not note that it counts."""
    body["metadata"].pop("managedFields")


async def set_up(twins: Twins, setup: list[tuple[str, Obj]], *, account: bool = True) -> str:
    """Create what a case is about, with statuses, in a namespace of its own."""
    place = await twins.namespace(account=account)
    for resource, obj in setup:
        body = copy.deepcopy(obj)
        body["metadata"].pop("namespace", None)
        made = await twins.ask("POST", path(place, resource), body)
        if "status" in obj and made.code == 201:
            name = made.object["metadata"]["name"]
            where = path(place, resource, name, "status")
            await twins.patch(where, {"status": obj["status"]})
    return place


def in_any_order(body: Any) -> None:
    """Sort what the real server lists in the order of a map."""
    if isinstance(body, dict) and isinstance(body.get("message"), str):
        for mark in ("must specify ", "exceeded quota: "):
            head, found, rest = body["message"].partition(mark)
            if found:
                body["message"] = head + found + ",".join(sorted(rest.split(";")))
        head, found, rest = body["message"].partition(" is forbidden: [")
        if found:
            body["message"] = f"{head}{found}{sorted(rest.rstrip(']').split(', m'))}"
    if isinstance(body, dict) and body.get("kind") == "Service":
        body.clear()  # a stored kind: only whether it is let in counts
    without_controllers(body)


@pytest.mark.parametrize("table", [CASES, QUOTA_CASES], ids=["pods", "quotas"])
async def test_pods_are_admitted_or_not(twins: Twins, table: dict[str, Case]) -> None:
    for title, case in table.items():
        classes = [each for each in case.setup if each[0] == "priorityclasses"]
        place = await set_up(twins, case.setup, account=case.account)
        await twins.soon_same(
            "POST", path(place, "pods"), case.pod, title=title, query=DRY, adapt=in_any_order
        )
        for _, each in classes:
            name = each["metadata"]["name"]
            await twins.ask("DELETE", path(place, "priorityclasses", name))


async def test_other_objects_are_counted(twins: Twins) -> None:
    for title, (resource, obj, setup) in OTHERS.items():
        place = await set_up(twins, setup)
        await twins.soon_same(
            "POST", path(place, resource), obj, title=title, query=DRY, adapt=in_any_order
        )


async def test_pods_of_all_sizes_are_judged(twins: Twins) -> None:
    drawn = admission_pods.drawn(24, 7)
    for index, obj in enumerate((*admission_pods.QUOTAS, *admission_pods.LIMITS)):
        resource = "resourcequotas" if "hard" in obj["spec"] else "limitranges"
        place = await set_up(twins, [(resource, obj)])
        for number, pod in enumerate(drawn[index % 3 :: 3]):
            await twins.soon_same(
                "POST", path(place, "pods"), pod, title=f"{obj['spec']} {number}", query=DRY,
                any_order=True, adapt=in_any_order,
            )  # fmt: skip


async def test_quotas_are_used_up(twins: Twins) -> None:
    hard = {"count/configmaps": "2", "pods": "1", "requests.cpu": "1"}
    quota = {"metadata": {"name": "q"}, "spec": {"hard": hard}}
    place = await set_up(twins, [("resourcequotas", quota)])
    used = dict.fromkeys(hard, "0")
    status = {"status": {"hard": hard, "used": used}}
    await twins.patch(path(place, "resourcequotas", "q", "status"), status)
    for name in "abc":
        await twins.soon_same("POST", path(place, "configmaps"), {"metadata": {"name": name}})
        await twins.get(path(place, "resourcequotas", "q"), adapt=without_owners)
    container = {"name": "a", "image": "a", "resources": {"requests": {"cpu": "600m"}}}
    for name in "ab":
        body = {"metadata": {"name": name}, "spec": {"containers": [container]}}
        await twins.post(path(place, "pods"), body)
    await twins.get(path(place, "resourcequotas", "q"), adapt=without_owners)


async def test_priorities_are_resolved(twins: Twins) -> None:
    place = await twins.namespace()
    name = f"p{token_hex(4)}"
    classes = path(place, "priorityclasses")
    await twins.post(classes, {"metadata": {"name": name}, "value": 77})
    spec: Obj = {"containers": [{"name": "a", "image": "a"}]}
    choices: tuple[Obj, ...] = (
        {},
        {"priorityClassName": name},
        {"priorityClassName": "none"},
        {"priorityClassName": "system-node-critical"},
        {"priorityClassName": name, "priority": 5},
        {"priorityClassName": name, "priority": 77},
        {"priority": 0},
        {"priority": 3},
        {"preemptionPolicy": "Never"},
        {"priorityClassName": name, "preemptionPolicy": "Never"},
    )
    for index, more in enumerate(choices):
        body = {"metadata": {"name": f"p{index}"}, "spec": {**spec, **more}}
        await twins.post(path(place, "pods"), body, title=str(more))
    await twins.same("DELETE", f"{classes}/{name}")
