"""Both servers beside each other: small things in which they once differed."""

from typing import Any

import pytest

from jobferry.objects import Obj
from tests.api.crd_definition_cases import crd, of_spec, version
from tests.api.test_twins_crds import established, moved
from tests.api.twins import MERGE, Twins

pytestmark = [pytest.mark.kube, pytest.mark.timeout(120)]

CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
HUGE = ("1e1000", "1e999", "1e1001", "-1e1000", "1e2000", "1e19", "1e-1000", "1000000e995")


async def test_whoever_uses_a_deprecated_version_is_warned(twins: Twins) -> None:
    texts = of_spec(a={"type": "string"})
    old = {"storage": False, "deprecated": True}
    versions = [
        version(texts, "v2beta1") | {"storage": True},
        version(texts, "v1alpha1") | old,
        version(texts, "v1") | old | {"deprecationWarning": "this is old"},
        version(texts, "v3") | old,
        version(texts, "other") | old,
        version(texts, "v1beta1", subresources={"status": {}}) | old,
    ]
    group = "deprecated.example.com"
    await established(twins, moved(crd(versions=versions), group))
    for each in versions:
        path = f"/apis/{group}/{each['name']}/namespaces/default/widgets"
        body = {
            "apiVersion": f"{group}/{each['name']}",
            "kind": "Widget",
            "metadata": {"name": f"w{each['name']}"},
        }
        here = f"{path}/w{each['name']}"
        await twins.post(path, body)
        await twins.get(path)
        await twins.get(here)
        if "subresources" in each:
            await twins.get(f"{here}/status")
        await twins.get(f"{path}/none")
        await twins.patch(here, {"spec": {"a": "b"}})
        await twins.post(path, body)
        await twins.get(path, watch="true", timeoutSeconds="1")
        await twins.same("DELETE", here)
    await twins.ask("DELETE", f"{CRDS}/widgets.{group}")


def pod(amount: str) -> Obj:
    demand = {"requests": {"cpu": amount}, "limits": {"cpu": amount, "memory": amount}}
    return {"containers": [{"name": "c", "image": "i", "resources": demand}]}


@pytest.mark.parametrize("amount", HUGE)
async def test_huge_amounts_are_stored_or_refused(
    twins: Twins, place: str, amount: str
) -> None:
    core, head = f"/api/v1/namespaces/{place}", {"metadata": {"name": "a"}}
    await twins.post(f"{core}/pods", {**head, "spec": pod(amount)}, any_order=True)
    template = {"spec": {**pod(amount), "restartPolicy": "Never"}}
    jobs = f"/apis/batch/v1/namespaces/{place}/jobs"
    await twins.post(jobs, {**head, "spec": {"template": template}}, any_order=True)
    empty = {"name": "v", "emptyDir": {"sizeLimit": amount}}
    await twins.post(
        f"{core}/pods", {"metadata": {"name": "b"}, "spec": {**pod("1"), "volumes": [empty]}}
    )
    await twins.post(f"{core}/resourcequotas", {**head, "spec": {"hard": {"cpu": amount}}})
    limit = {"type": "Container", "max": {"cpu": amount}, "default": {"cpu": "1"}}
    await twins.post(f"{core}/limitranges", {**head, "spec": {"limits": [limit]}})
    claim = {
        "accessModes": ["ReadWriteOnce"],
        "resources": {"requests": {"storage": amount}},
    }
    claims = f"{core}/persistentvolumeclaims"
    await twins.post(claims, {**head, "spec": claim}, adapt=unprotected)


def unprotected(body: Any) -> None:
    """Take out a known difference: no controller here would take the finalizer off a claim."""
    body["metadata"].pop("finalizers", None)


async def test_bytes_that_are_null_are_empty(twins: Twins, place: str) -> None:
    core = f"/api/v1/namespaces/{place}"
    secrets, maps = f"{core}/secrets", f"{core}/configmaps"
    bodies: dict[str, Obj] = {
        secrets: {"data": {"a": None, "b": "eA==", "c": ""}, "stringData": {"d": None}},
        maps: {"binaryData": {"a": None, "b": "eA=="}, "data": {"c": None}},
    }
    for path, members in bodies.items():
        await twins.post(path, {"metadata": {"name": "a"}, **members})
        await twins.get(f"{path}/a")
        await twins.patch(f"{path}/a", members, MERGE)
        await twins.same("PUT", f"{path}/a", {"metadata": {"name": "a"}, **members})
        kind = "Secret" if path == secrets else "ConfigMap"
        head = {"apiVersion": "v1", "kind": kind, "metadata": {"name": "b"}}
        await twins.apply(f"{path}/b", {**head, **members})
        await twins.apply(f"{path}/b", {**head, **members})
        member = "data" if path == secrets else "binaryData"
        value = [{"op": "add", "path": f"/{member}/z", "value": None}]
        await twins.patch(f"{path}/a", value, "application/json-patch+json")
        await twins.get(f"{path}/a")
    immutable = {"metadata": {"name": "i"}, "immutable": True, "data": {"a": None}}
    await twins.post(secrets, immutable)
    await twins.same("PUT", f"{secrets}/i", {**immutable, "data": {"a": ""}})


async def test_times_of_a_job_are_compared_before_they_are_cut(
    twins: Twins, place: str
) -> None:
    jobs = f"/apis/batch/v1/namespaces/{place}/jobs"
    template = {"spec": {**pod("1"), "restartPolicy": "Never"}}

    async def changes(name: str, *statuses: Any, kind: str = MERGE) -> None:
        await twins.post(jobs, {"metadata": {"name": name}, "spec": {"template": template}})
        for status in statuses:
            await twins.patch(f"{jobs}/{name}/status", {"status": status}, kind)

    met = {"type": "SuccessCriteriaMet", "status": "True"}
    complete = [met, {"type": "Complete", "status": "True"}]
    start = "2024-01-01T00:00:00"
    await changes("a", {"startTime": f"{start}Z"}, {"startTime": f"{start}.5Z"})
    await changes("b", {"startTime": f"{start}.5Z"}, {"startTime": f"{start}.5Z"})
    await changes("c", {"startTime": f"{start}.5Z"}, {"startTime": f"{start}Z"})
    await changes("d", {"startTime": f"{start}Z"}, {"startTime": f"{start}.000Z"})
    await changes("e", {"startTime": f"{start}Z"}, {"startTime": "2024-01-01T01:00:00+01:00"})
    for index, (begin, end) in enumerate(
        [
            (".5", ".4"),
            (".5", ""),
            (".5", ".5"),
            ("", ".000000001"),
            (".0000000019", ".0000000011"),
        ]
    ):
        status = {
            "startTime": f"{start}{begin}Z",
            "completionTime": f"{start}{end}Z",
            "conditions": complete,
        }
        again = {"completionTime": f"{start}.7Z"}
        await changes(f"f{index}", status, status, again, {"completionTime": f"{start}Z"})


async def test_the_priority_classes_of_the_system_stay(twins: Twins) -> None:
    classes = "/apis/scheduling.k8s.io/v1/priorityclasses"
    for name in ("system-node-critical", "system-cluster-critical", "system-other"):
        await twins.same("DELETE", f"{classes}/{name}")
        await twins.same("DELETE", f"{classes}/{name}", query={"dryRun": "All"})
        await twins.get(f"{classes}/{name}", adapt=lambda body: body.pop("description", None))
