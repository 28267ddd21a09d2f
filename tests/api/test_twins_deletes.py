"""Both servers beside each other: how things go, and what has to happen before."""

import pytest

from jobferry.objects import Obj
from tests.api.job_bodies import job
from tests.api.twins import JSON_PATCH, PARTIAL, Twins

pytestmark = [pytest.mark.kube, pytest.mark.timeout(60)]

NAMESPACES = "/api/v1/namespaces"
POLICIES = ("Foreground", "Background", "Orphan")
TEMPLATE = {
    "metadata": {"labels": {"a": "b"}},
    "spec": {"containers": [{"name": "a", "image": "a"}]},
}


def maps(place: str, *parts: str) -> str:
    return "/".join((f"{NAMESPACES}/{place}/configmaps", *parts))


def jobs_in(place: str, *parts: str) -> str:
    return "/".join((f"/apis/batch/v1/namespaces/{place}/jobs", *parts))


def pods_in(place: str, *parts: str) -> str:
    return "/".join((f"{NAMESPACES}/{place}/pods", *parts))


async def make_map(twins: Twins, place: str, name: str = "a", **metadata: object) -> str:
    await twins.ask("POST", maps(place), {"metadata": {"name": name, **metadata}})
    return maps(place, name)


async def make_pod(twins: Twins, place: str, name: str = "p", **spec: object) -> str:
    whole = {"containers": [{"name": "a", "image": "a"}], **spec}
    await twins.post(pods_in(place), {"metadata": {"name": name}, "spec": whole})
    return pods_in(place, name)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"kind": "DeleteOptions", "apiVersion": "v1"},
        {"kind": "DeleteOptions", "apiVersion": "batch/v1"},
        {"kind": "Odd", "apiVersion": "v1"},
        {"kind": "ConfigMap", "apiVersion": "v1"},
        {"kind": "DeleteOptions", "apiVersion": "odd/v7"},
        {"apiVersion": "v1"},
        {"preconditions": {"uid": "x"}},
        {"preconditions": {"uid": ""}},
        {"preconditions": {"resourceVersion": "1"}},
        {"preconditions": {"resourceVersion": "x"}},
        {"preconditions": {}},
        {"preconditions": {"uid": 1}},
        {"propagationPolicy": "Odd"},
        {"propagationPolicy": ""},
        {"propagationPolicy": "Orphan", "orphanDependents": True},
        {"orphanDependents": True},
        {"orphanDependents": False},
        {"gracePeriodSeconds": 0},
        {"gracePeriodSeconds": -1},
        {"gracePeriodSeconds": 30},
        {"gracePeriodSeconds": "x"},
        {"dryRun": ["All"]},
        {"dryRun": ["Odd"]},
        {"dryRun": "All"},
        {"unknown": 1},
        {"ignoreStoreReadErrorWithClusterBreakingPotential": True},
        *({"propagationPolicy": each} for each in POLICIES),
    ],
    ids=str,
)
async def test_options_in_bodies_are_read_alike(twins: Twins, place: str, options: Obj) -> None:
    path = await make_map(twins, place)
    await twins.same("DELETE", path, options)
    await twins.get(path)
    path = await make_map(twins, place, "f", finalizers=["a.b/c"])
    await twins.same("DELETE", path, options)
    await twins.get(path)
    await twins.same("DELETE", path, options)


@pytest.mark.parametrize(
    "query",
    [
        {"propagationPolicy": "Odd"},
        {"propagationPolicy": ""},
        {"propagationPolicy": "Orphan", "orphanDependents": "true"},
        {"orphanDependents": "true"},
        {"orphanDependents": "x"},
        {"gracePeriodSeconds": "0"},
        {"gracePeriodSeconds": "x"},
        {"dryRun": "All"},
        {"dryRun": "Odd"},
        {"preconditions": "x"},
        {"uid": "x"},
        {"uid": ""},
        {"resourceVersion": "1"},
        *({"propagationPolicy": each} for each in POLICIES),
    ],
    ids=str,
)
async def test_options_in_queries_are_read_alike(twins: Twins, place: str, query: Obj) -> None:
    path = await make_map(twins, place)
    await twins.same("DELETE", path, query=query)
    await twins.get(path)


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b"null", b'"x"', b"x: y", b"{}{}", b"\x00"])
@pytest.mark.parametrize("content_type", ["application/json", "application/yaml", "text/plain"])
async def test_bodies_that_are_no_options_are_refused_alike(
    twins: Twins, place: str, body: bytes, content_type: str
) -> None:
    path = await make_map(twins, place)
    await twins.same("DELETE", path, body, content_type=content_type)
    await twins.get(path)


async def test_what_is_gone_cannot_be_deleted_again(twins: Twins, place: str) -> None:
    path = await make_map(twins, place)
    await twins.same("DELETE", path)
    await twins.same("DELETE", path)
    await twins.same("DELETE", maps("nowhere", "a"))
    await twins.same("DELETE", maps(place, "none"), {"preconditions": {"uid": "x"}})


async def test_preconditions_that_hold_are_no_hindrance(twins: Twins, place: str) -> None:
    made = await twins.post(maps(place), {"metadata": {"name": "a"}})
    uid = made.each("metadata", "uid")
    version = made.each("metadata", "resourceVersion")
    await twins.patch(maps(place, "a"), {"data": {"a": "b"}})
    both = {"uid": uid, "resourceVersion": version}
    await twins.same("DELETE", maps(place, "a"), {"preconditions": both})
    await twins.same("DELETE", maps(place, "a"), {"preconditions": {"uid": uid}})


@pytest.mark.parametrize("policy", [*POLICIES, None])
async def test_jobs_wait_for_what_is_theirs(
    twins: Twins, place: str, policy: str | None
) -> None:
    path = jobs_in(place, "j")
    await twins.ask("POST", jobs_in(place), {**job(), "metadata": {"name": "j"}})
    options = {"propagationPolicy": policy} if policy else None
    await twins.same("DELETE", path, options)
    await twins.get(path)
    for other in POLICIES:
        await twins.same("DELETE", path, {"propagationPolicy": other})
    await twins.post(jobs_in(place), {**job(), "metadata": {"name": "j"}})
    await twins.patch(path, {"metadata": {"labels": {"a": "b"}}})
    await twins.patch(path, {"metadata": {"finalizers": ["x.y/z", "foregroundDeletion"]}})
    await twins.patch(path, {"spec": {"parallelism": 3}})
    await twins.patch(path, {"metadata": {"finalizers": None}})
    await twins.get(path)


@pytest.mark.parametrize("policy", [*POLICIES, None])
@pytest.mark.parametrize("kind", ["events", "replicationcontrollers"])
async def test_some_kinds_have_no_dependents_and_some_leave_them(
    twins: Twins, place: str, kind: str, policy: str | None
) -> None:
    bodies: dict[str, Obj] = {
        "events": {"involvedObject": {"namespace": place}},
        "replicationcontrollers": {"spec": {"selector": {"a": "b"}, "template": TEMPLATE}},
    }
    collection = f"{NAMESPACES}/{place}/{kind}"
    await twins.ask("POST", collection, {"metadata": {"name": "x"}, **bodies[kind]})
    options = {"propagationPolicy": policy} if policy else None
    adapt = without_defaults if kind == "replicationcontrollers" else None
    await twins.same("DELETE", f"{collection}/x", options, adapt=adapt)
    await twins.get(f"{collection}/x", accept=PARTIAL, adapt=adapt)


def without_defaults(body: Obj) -> None:
    """Leave of an object only what holds it: a kind that is merely stored here gets no defaults."""
    if body["kind"] != "Status":
        body["metadata"] = {"finalizers": body["metadata"].get("finalizers")}
        body.pop("spec", None)
        body.pop("status", None)


async def test_objects_go_with_their_last_finalizer(twins: Twins, place: str) -> None:
    path = await make_map(twins, place, finalizers=["a.b/c", "a.b/d"])
    await twins.same("DELETE", path)
    deleted = await twins.get(path)
    assert deleted.object["metadata"]["deletionGracePeriodSeconds"] == 0
    await twins.patch(path, {"metadata": {"deletionTimestamp": None}})
    await twins.patch(path, {"metadata": {"finalizers": ["a.b/c", "a.b/e"]}})
    await twins.patch(path, [{"op": "remove", "path": "/metadata/finalizers/0"}], JSON_PATCH)
    await twins.post(maps(place), {"metadata": {"name": "a"}})
    last = [{"op": "remove", "path": "/metadata/finalizers/0"}]
    await twins.patch(path, last, JSON_PATCH, query={"dryRun": "All"})
    await twins.get(path)
    await twins.patch(path, last, JSON_PATCH)
    await twins.get(path)


async def test_a_deleted_object_that_nothing_holds_is_gone_on_its_next_write(
    twins: Twins, place: str
) -> None:
    path = await make_map(twins, place, finalizers=["a.b/c"])
    await twins.same("DELETE", path)
    body = {"metadata": {"name": "a"}, "data": {"x": "y"}}
    await twins.same("PUT", path, body)
    await twins.get(path)


# -- pods -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("grace", [None, 0, 1, 30, -5])
@pytest.mark.parametrize("node", ["", "n"])
async def test_pods_go_gracefully(
    twins: Twins, place: str, grace: int | None, node: str
) -> None:
    more = {"nodeName": node} if node else {}
    path = await make_pod(twins, place, **more)
    options = {} if grace is None else {"gracePeriodSeconds": grace}
    await twins.same("DELETE", path, options)
    await twins.get(path)
    await twins.same("DELETE", path, options)
    await twins.same("DELETE", path, {"gracePeriodSeconds": 60})
    await twins.same("DELETE", path, {"gracePeriodSeconds": 2})
    await twins.get(path)
    await twins.patch(path, {"metadata": {"labels": {"a": "b"}}})
    await twins.same("DELETE", path, {"gracePeriodSeconds": 0})
    await twins.get(path)


async def test_pods_with_finalizers_stay_when_their_time_is_over(
    twins: Twins, place: str
) -> None:
    path = await make_pod(twins, place, nodeName="n", terminationGracePeriodSeconds=7)
    await twins.patch(path, {"metadata": {"finalizers": ["a.b/c"]}})
    await twins.same("DELETE", path)
    await twins.same("DELETE", path, {"gracePeriodSeconds": 0})
    await twins.get(path)
    await twins.patch(path, {"metadata": {"finalizers": []}})
    await twins.get(path)


@pytest.mark.parametrize("phase", ["Succeeded", "Failed", "Running"])
async def test_pods_that_have_ended_go_at_once(twins: Twins, place: str, phase: str) -> None:
    path = await make_pod(twins, place, nodeName="n")
    await twins.patch(f"{path}/status", {"status": {"phase": phase}})
    await twins.same("DELETE", path)
    await twins.get(path)


# -- collections ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "query",
    [
        {},
        {"labelSelector": "app=x"},
        {"labelSelector": "app in ("},
        {"fieldSelector": "metadata.name=b"},
        {"fieldSelector": "x=y"},
        {"limit": "1"},
        {"dryRun": "All"},
        {"resourceVersion": "x"},
        {"continue": "x"},
        {"propagationPolicy": "Foreground"},
        {"propagationPolicy": "Odd"},
        {"watch": "true"},
        {"timeoutSeconds": "5"},
    ],
    ids=str,
)
async def test_collections_are_deleted_alike(twins: Twins, place: str, query: Obj) -> None:
    await make_map(twins, place, "a", labels={"app": "x"})
    await make_map(twins, place, "b", labels={"app": "y"})
    await make_map(twins, place, "c", labels={"app": "x"}, finalizers=["a.b/c"])
    await twins.same("DELETE", maps(place), query=query)
    await twins.get(maps(place))
    await twins.same("DELETE", maps(place), {"propagationPolicy": "Orphan"}, query=query)
    await twins.get(maps(place))


async def test_collections_of_pods_and_jobs_are_deleted(twins: Twins, place: str) -> None:
    await make_pod(twins, place, "a")
    await make_pod(twins, place, "b", nodeName="n")
    await twins.same("DELETE", pods_in(place))
    await twins.get(pods_in(place))
    await twins.same("DELETE", pods_in(place), {"gracePeriodSeconds": 0})
    await twins.get(pods_in(place))
    for name in ("a", "b"):
        await twins.ask("POST", jobs_in(place), {**job(), "metadata": {"name": name}})
    await twins.same("DELETE", jobs_in(place))
    await twins.same("DELETE", jobs_in(place), {"propagationPolicy": "Background"})
    await twins.get(jobs_in(place))
    await twins.same("DELETE", maps("nowhere"))


# -- namespaces -------------------------------------------------------------------------------------


async def test_namespaces_end_in_two_steps(twins: Twins) -> None:
    place = await twins.namespace()
    path = f"{NAMESPACES}/{place}"
    await make_map(twins, place)
    await twins.same("DELETE", path)
    await twins.get(path)
    await twins.post(maps(place), {"metadata": {"name": "late"}})
    await twins.patch(maps(place, "a"), {"data": {"a": "b"}})
    await twins.same("DELETE", path)
    await twins.post(NAMESPACES, {"metadata": {"name": place}})
    await twins.same("DELETE", maps(place, "a"))
    about = {"metadata": {"name": place}, "spec": {"finalizers": []}}
    await twins.same("PUT", f"{path}/finalize", about)
    await twins.get(path)


async def test_namespaces_with_finalizers_of_their_own_stay(twins: Twins) -> None:
    place = await twins.namespace(finalizers=["a.b/c"])
    path = f"{NAMESPACES}/{place}"
    await twins.same("DELETE", path)
    await twins.same("PUT", f"{path}/finalize", {"metadata": {"name": place}, "spec": {}})
    await twins.get(path)
    await twins.patch(path, {"metadata": {"finalizers": None}})
    await twins.get(path)


@pytest.mark.parametrize("name", ["default", "kube-system", "kube-public"])
async def test_some_namespaces_cannot_be_deleted(twins: Twins, name: str) -> None:
    await twins.same("DELETE", f"{NAMESPACES}/{name}", query={"dryRun": "All"})
