"""Both servers beside each other: status, binding, eviction, finalize and token endpoints."""

from typing import Any

import pytest

from jobferry.objects import Obj
from tests.api.job_bodies import job
from tests.api.twins import APPLY, JSON_PATCH, STRATEGIC, TABLE, Twins

pytestmark = [pytest.mark.kube, pytest.mark.timeout(60)]

NAMESPACES = "/api/v1/namespaces"
CONTAINER = {"name": "a", "image": "a"}


def pods_in(place: str, *parts: str) -> str:
    return "/".join((f"{NAMESPACES}/{place}/pods", *parts))


def jobs_in(place: str, *parts: str) -> str:
    return "/".join((f"/apis/batch/v1/namespaces/{place}/jobs", *parts))


async def make_pod(twins: Twins, place: str, name: str = "p", **more: Any) -> str:
    labels = more.pop("labels", {})
    spec = {"containers": [CONTAINER], **more}
    body = {"metadata": {"name": name, "labels": labels}, "spec": spec}
    await twins.post(pods_in(place), body)
    return pods_in(place, name)


# -- status -----------------------------------------------------------------------------------------


async def test_the_status_of_a_job_has_its_own_endpoint(twins: Twins, place: str) -> None:
    path = jobs_in(place, "j")
    await twins.post(
        jobs_in(place), {**job(), "metadata": {"name": "j"}, "status": {"active": 1}}
    )
    await twins.get(f"{path}/status")
    await twins.get(f"{path}/status", accept=TABLE)
    await twins.get(jobs_in(place, "none", "status"))
    await twins.patch(path, {"status": {"active": 1}})
    await twins.patch(
        f"{path}/status", {"status": {"active": 1}, "metadata": {"labels": {"a": "b"}}}
    )
    await twins.patch(f"{path}/status", {"spec": {"parallelism": 7}})
    await twins.patch(f"{path}/status", {"metadata": {"finalizers": ["a.b/c"]}})
    await twins.patch(f"{path}/status", {"status": {"unknown": 1}})
    await twins.patch(f"{path}/status", {"status": {"active": "x"}})
    await twins.patch(f"{path}/status", {"status": None})
    add = [{"op": "add", "path": "/status/active", "value": 2}]
    await twins.patch(f"{path}/status", add, JSON_PATCH)
    await twins.patch(f"{path}/status", {"status": {"active": 3}}, STRATEGIC)
    await twins.patch(jobs_in(place, "none", "status"), {"status": {}})
    await twins.same("PUT", f"{path}/status", {**job(), "metadata": {"name": "j"}})
    await twins.same("PUT", f"{path}/status", {**job(), "metadata": {"name": "k"}})
    await twins.same("PUT", jobs_in(place, "k", "status"), {**job(), "metadata": {"name": "k"}})
    await twins.same("POST", f"{path}/status", {})
    await twins.same("DELETE", f"{path}/status")
    await twins.get(path)


async def test_conditions_of_pods_are_merged_by_type(twins: Twins, place: str) -> None:
    path = f"{await make_pod(twins, place, nodeName='n')}/status"
    ready = {"type": "Ready", "status": "True"}
    for kind in (STRATEGIC, "application/merge-patch+json"):
        await twins.patch(path, {"status": {"conditions": [ready]}}, kind)
        other = {"type": "Other.io/x", "status": "Unknown", "reason": "R"}
        await twins.patch(path, {"status": {"conditions": [other]}}, kind)
        gone = {"$patch": "delete", "type": "Ready"}
        await twins.patch(path, {"status": {"conditions": [gone]}}, kind)
    statuses = [{"name": "a", "image": "a", "imageID": "", "ready": True, "restartCount": 0}]
    await twins.patch(path, {"status": {"containerStatuses": statuses}}, STRATEGIC)
    await twins.patch(path, {"status": {"phase": "Odd", "podIP": "1.2.3.4"}}, STRATEGIC)
    body = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}}
    query = {"fieldManager": "kubelet"}
    whole = {**body, "status": {"conditions": [ready]}}
    await twins.same("PATCH", path, whole, content_type=APPLY, query=query)


async def test_nodes_have_statuses(twins: Twins, place: str) -> None:
    name = place.replace("twin", "node")
    path = f"/api/v1/nodes/{name}"
    await twins.post("/api/v1/nodes", {"metadata": {"name": name}})
    ready = {"type": "Ready", "status": "True"}
    amounts = {"cpu": "4", "memory": "8Gi", "pods": "110", "a.b/gpu": "2"}
    status = {"conditions": [ready], "capacity": amounts, "allocatable": amounts}
    await twins.patch(f"{path}/status", {"status": status}, STRATEGIC)
    await twins.patch(f"{path}/status", {"status": {"capacity": {"cpu": "x"}}})
    await twins.patch(f"{path}/status", {"status": {"capacity": {"x": "1"}}})
    await twins.patch(path, {"spec": {"unschedulable": True}})
    await twins.patch(path, {"spec": {"taints": [{"key": "a", "effect": "Odd"}]}})
    await twins.get(path)
    await twins.get(path, accept=TABLE)
    await twins.same("DELETE", path)


# -- binding ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "binding",
    [
        {"target": {"kind": "Node", "name": "n"}},
        {"target": {"name": "n"}},
        {"target": {"kind": "Odd", "name": "n"}},
        {"target": {"kind": "Node"}},
        {},
        {"metadata": {"name": "q"}, "target": {"name": "n"}},
        {"metadata": {"name": "p", "uid": "x"}, "target": {"name": "n"}},
        {"metadata": {"name": "p", "resourceVersion": "1"}, "target": {"name": "n"}},
        {"metadata": {"name": "p", "labels": {"a": "b"}}, "target": {"name": "n"}},
        {"metadata": {"name": "p", "annotations": {"a": "b"}}, "target": {"name": "n"}},
        {"metadata": {"name": "p"}, "target": {"name": "n"}, "unknown": 1},
        {"metadata": {"name": "p"}, "target": []},
        {"kind": "Pod", "metadata": {"name": "p"}},
    ],
    ids=str,
)
async def test_pods_are_bound_alike(twins: Twins, place: str, binding: Obj) -> None:
    path = await make_pod(twins, place)
    body = {"metadata": {"name": "p"}, **binding}
    await twins.post(f"{path}/binding", body, query={"dryRun": "All"})
    await twins.post(f"{path}/binding", body)
    await twins.get(path)
    await twins.post(f"{path}/binding", body)


async def test_bindings_may_be_refused(twins: Twins, place: str) -> None:
    target = {"target": {"kind": "Node", "name": "n"}}
    await twins.post(
        pods_in(place, "none", "binding"), {"metadata": {"name": "none"}, **target}
    )
    gated = await make_pod(twins, place, "gated", schedulingGates=[{"name": "a.b/c"}])
    await twins.post(f"{gated}/binding", {"metadata": {"name": "gated"}, **target})
    late = await make_pod(twins, place, "late")
    await twins.patch(late, {"metadata": {"finalizers": ["a.b/c"]}})
    await twins.same("DELETE", late)
    await twins.post(f"{late}/binding", {"metadata": {"name": "late"}, **target})
    await make_pod(twins, place, "old")
    bindings = f"{NAMESPACES}/{place}/bindings"
    await twins.post(bindings, {"metadata": {"name": "old"}, **target})
    await twins.get(pods_in(place, "old"))


# -- eviction ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"metadata": {"name": "p"}},
        {"metadata": {"name": "q"}},
        {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "p"}},
        {"apiVersion": "policy/v1beta1", "kind": "Eviction", "metadata": {"name": "p"}},
        {"metadata": {"name": "p"}, "deleteOptions": {"gracePeriodSeconds": 0}},
        {"metadata": {"name": "p"}, "deleteOptions": {"dryRun": ["All"]}},
        {"metadata": {"name": "p"}, "deleteOptions": {"propagationPolicy": "Odd"}},
        {"metadata": {"name": "p"}, "unknown": 1},
        {"kind": "Pod", "apiVersion": "v1"},
    ],
    ids=str,
)
@pytest.mark.parametrize("node", ["", "n"])
async def test_pods_are_evicted_alike(twins: Twins, place: str, body: Obj, node: str) -> None:
    path = await make_pod(twins, place, **({"nodeName": node} if node else {}))
    await twins.post(f"{path}/eviction", body, query={"dryRun": "All"})
    await twins.post(f"{path}/eviction", body)
    await twins.get(path)
    await twins.post(pods_in(place, "none", "eviction"), body)


# -- namespaces and accounts ------------------------------------------------------------------------


@pytest.mark.parametrize("finalizers", [[], ["a.b/c"], ["kubernetes"], ["x"], ["a b"], None])
async def test_namespaces_are_finalized_alike(twins: Twins, finalizers: Any) -> None:
    place = await twins.namespace()
    path = f"{NAMESPACES}/{place}"
    body = {"metadata": {"name": place}, "spec": {"finalizers": finalizers}}
    await twins.same("PUT", f"{path}/finalize", body)
    await twins.get(path)
    await twins.same("PUT", path, body)
    await twins.patch(f"{path}/finalize", body)
    await twins.same("PUT", f"{path}/finalize", {"metadata": {"name": "other"}})
    await twins.patch(f"{path}/status", {"status": {"phase": "Odd"}})
    await twins.patch(f"{path}/status", {"status": {"phase": "Terminating"}})
    condition = {"type": "A", "status": "True", "lastTransitionTime": None}
    await twins.patch(f"{path}/status", {"status": {"conditions": [condition]}})


def without_token(body: Any) -> None:
    """Replace what is different of every token."""
    if isinstance(body, dict) and isinstance(body.get("status"), dict):
        assert body["status"].pop("token").count(".") == 2
        # Nothing is stored, so localkube notes no owner of fields; and the issuers are not the same.
        body["metadata"].pop("managedFields", None)
        given = body["spec"]["audiences"]
        body["spec"]["audiences"] = [
            each.replace(".svc.cluster.local", ".svc") for each in given
        ]


@pytest.mark.parametrize(
    "spec",
    [
        {},
        {"audiences": ["a"]},
        {"audiences": ["a", ""]},
        {"expirationSeconds": 600},
        {"expirationSeconds": 599},
        {"expirationSeconds": 1 << 33},
        {"expirationSeconds": 4_294_967_296},
        {"boundObjectRef": {"kind": "Pod", "apiVersion": "v1", "name": "p"}},
        {"boundObjectRef": {"kind": "Pod", "apiVersion": "v1", "name": "none"}},
        {"boundObjectRef": {"kind": "Pod", "apiVersion": "v1", "name": "p", "uid": "x"}},
        {"boundObjectRef": {"kind": "Secret", "apiVersion": "v1", "name": "none"}},
        {"boundObjectRef": {"kind": "Node", "apiVersion": "v1", "name": "none"}},
        {"boundObjectRef": {"kind": "Job", "apiVersion": "batch/v1", "name": "x"}},
        {"boundObjectRef": {"kind": "Pod", "apiVersion": "a/b/c", "name": "x"}},
        {"boundObjectRef": {"kind": "Pod", "apiVersion": "v1", "name": "a/b"}},
        {"boundObjectRef": {"kind": "Pod", "apiVersion": "v1"}},
        {"unknown": 1},
        {"audiences": "x"},
    ],
    ids=str,
)
async def test_tokens_are_given_alike(twins: Twins, place: str, spec: Obj) -> None:
    await make_pod(twins, place)
    path = f"{NAMESPACES}/{place}/serviceaccounts/default/token"
    await twins.post(path, {"spec": spec}, adapt=without_token)
    await twins.post(path, {"spec": spec}, adapt=without_token, query={"dryRun": "All"})
    await twins.post(path.replace("default", "none"), {"spec": spec})
    await twins.post(f"{path}/more", {"spec": spec})


async def test_what_is_posted_to_a_subresource_belongs_to_a_namespace_that_stays(
    twins: Twins, place: str
) -> None:
    await make_pod(twins, place)
    target = {"kind": "Node", "name": "n"}
    posts: tuple[tuple[str, Obj], ...] = (
        ("pods/p/binding", {"metadata": {"name": "p"}, "target": target}),
        ("bindings", {"metadata": {"name": "p"}, "target": target}),
        ("bindings", {"target": target}),
        ("pods/p/eviction", {"metadata": {"name": "p"}}),
        ("pods/none/eviction", {"metadata": {"name": "p"}}),
        ("serviceaccounts/default/token", {"spec": {"expirationSeconds": 1}}),
    )
    for path, body in posts:
        whole = {**body, "metadata": {**body.get("metadata", {}), "namespace": "elsewhere"}}
        await twins.post(f"{NAMESPACES}/{place}/{path}", whole)
        await twins.post(f"{NAMESPACES}/none/{path}", body)
    await twins.post(f"{NAMESPACES}/{place}/bindings", {"target": target})
    await twins.ask("DELETE", f"{NAMESPACES}/{place}")
    for path, body in posts:
        await twins.post(f"{NAMESPACES}/{place}/{path}", body)


async def test_only_a_binding_of_the_pod_itself_takes_the_zone_of_the_node(
    twins: Twins, place: str
) -> None:
    node = {"name": f"zoned-{place}", "labels": {"topology.kubernetes.io/zone": "z"}}
    await twins.ask("POST", "/api/v1/nodes", {"metadata": node})
    path = await make_pod(twins, place)
    body = {"metadata": {"name": "p"}, "target": {"kind": "Node", "name": node["name"]}}
    await twins.post(f"{NAMESPACES}/{place}/bindings", body)
    await twins.get(path)


# -- scale ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("where", "selector"),
    [
        ("/apis/apps/v1/namespaces/{}/replicasets", {"matchLabels": {"a": "b"}}),
        ("/apis/apps/v1/namespaces/{}/statefulsets", {"matchLabels": {"a": "b"}}),
        ("/api/v1/namespaces/{}/replicationcontrollers", {"a": "b"}),
    ],
)
async def test_stored_kinds_are_scaled_alike(
    twins: Twins, place: str, where: str, selector: Obj
) -> None:
    pods = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [CONTAINER]}}
    spec = {"replicas": 2, "selector": selector, "template": pods}
    await twins.ask("POST", where.format(place), {"metadata": {"name": "r"}, "spec": spec})
    path = f"{where.format(place)}/r/scale"
    await twins.get(path)
    scale = {"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {"name": "r"}}
    for count in (3, -3, 0):
        await twins.patch(path, {"spec": {"replicas": count}})
        await twins.apply(path, {**scale, "spec": {"replicas": count + 1}})
        await twins.same("PUT", path, {**scale, "spec": {"replicas": count + 2}})
        await twins.apply(path, {**scale, "spec": {"replicas": count + 3}}, force="true")
    await twins.same("PUT", path, {**scale, "metadata": {"name": "r", "resourceVersion": "1"}})
    await twins.same("PUT", path, {**scale, "metadata": {"name": "other"}})
    await twins.same("DELETE", path)
    await twins.get(path.replace("/r/", "/none/"))
