"""Both servers beside each other: what each verb does, and how it refuses what it cannot do."""

import pytest

from jobferry.objects import Obj
from tests.api.conftest import Planes
from tests.api.raw_http import RawHttp
from tests.api.twins import MERGE, Each, Twins, changed

pytestmark = [pytest.mark.kube, pytest.mark.timeout(60)]

NAMESPACES = "/api/v1/namespaces"
OTHER_UID = "11111111-1111-1111-1111-111111111111"


def maps(place: str, *parts: str) -> str:
    return "/".join((f"{NAMESPACES}/{place}/configmaps", *parts))


def titled(name: str = "a", **members: object) -> Obj:
    return {"metadata": {"name": name}, **members}


# -- creating ---------------------------------------------------------------------------------------


async def test_an_object_is_created_read_and_listed(twins: Twins, place: str) -> None:
    path = maps(place)
    body = {"metadata": {"name": "a", "labels": {"x": "y"}}, "data": {"k": "v"}}
    await twins.post(path, body)
    await twins.post(path, body)
    await twins.get(f"{path}/a")
    await twins.get(f"{path}/none")
    await twins.get(path)
    await twins.get(maps("nowhere"))
    await twins.get(maps("nowhere", "a"))
    await twins.post(maps("nowhere"), body)


@pytest.mark.parametrize(
    "metadata",
    [
        {},
        {"name": ""},
        {"name": "b", "namespace": "other"},
        {"name": "b", "namespace": ""},
        {"generateName": "g-"},
        {"generateName": "x" * 70},
        {"generateName": "g-", "name": "h"},
        {"name": "c", "resourceVersion": "5"},
        {"name": "c", "resourceVersion": "x"},
        {"name": "d", "uid": OTHER_UID, "selfLink": "/x", "generation": 7},
        {"name": "e", "creationTimestamp": "2020-01-01T00:00:00Z"},
        {"name": "f", "deletionTimestamp": "2020-01-01T00:00:00Z"},
        {"name": "f", "deletionGracePeriodSeconds": 30},
        {"name": "g", "creationTimestamp": "yesterday"},
        {"name": "h", "labels": {"a": "b", "c": None}},
        {"name": "h2", "labels": {"a": 1}},
        {"name": "h3", "labels": []},
        {"name": "i", "labels": {"a b": "-", "-": "x" * 64}},
        {"name": "j", "annotations": {"A/b": "c", "é": "x", "": ""}},
        {"name": "j2", "annotations": {"a": "x" * 263_000}},
        {"name": "k", "finalizers": ["a.b/c"]},
        {"name": "k2", "finalizers": ["c"]},
        {"name": "k3", "finalizers": ["orphan", "foregroundDeletion"]},
        {"name": "k4", "finalizers": ["kubernetes", ""]},
        {"name": "l", "ownerReferences": [{}]},
        {"name": "l2", "ownerReferences": [{"apiVersion": "v1", "kind": "Event", "name": "x"}]},
        {"name": "A"},
        {"name": "a/b"},
        {"name": ".."},
        {"name": "a%b"},
        {"name": "x" * 254},
        {"name": "m", "managedFields": [{"manager": "x"}]},
        {"name": "m2", "managedFields": []},
        {"name": "m3", "managedFields": [{}]},
        {"name": "m4", "clusterName": "c", "zz": 1},
        [],
        "x",
        None,
    ],
    ids=repr,
)
async def test_metadata_are_judged_alike(twins: Twins, place: str, metadata: object) -> None:
    both = await twins.post(maps(place), {"metadata": metadata}, any_order=True)
    if both.code == 201 and isinstance(metadata, dict) and metadata.get("name"):
        await twins.get(maps(place, metadata["name"]))
    dry = {"dryRun": "All"}
    await twins.post(maps(place), {"metadata": metadata}, query=dry, any_order=True)


LIMITS = {"limits": [{"type": "Pod", "max": {"cpu": "1"}}]}
OWNER = {"apiVersion": "v1", "kind": "ConfigMap", "name": "o", "uid": "u"}


@pytest.mark.parametrize(
    "owners",
    [
        [OWNER],
        [OWNER, OWNER],
        [OWNER, {**OWNER, "controller": True}],
        [{**OWNER, "controller": True}, {**OWNER, "uid": "v", "controller": True}],
        [{**OWNER, "uid": ""}],
        [{**OWNER, "name": ""}],
        [{**OWNER, "apiVersion": "a/b/c"}],
        [{**OWNER, "apiVersion": "", "kind": ""}],
        [{**OWNER, "blockOwnerDeletion": True}],
    ],
    ids=repr,
)
async def test_owners_are_judged_alike(twins: Twins, place: str, owners: list[Obj]) -> None:
    await twins.post(maps(place), {"metadata": {"name": "a", "ownerReferences": owners}})


@pytest.mark.parametrize("validation", ["", "Ignore", "Warn", "Strict", "Odd"])
async def test_unknown_and_repeated_fields_are_reported_alike(
    twins: Twins, place: str, validation: str
) -> None:
    path, query = maps(place), {"fieldValidation": validation}
    unknown = {"metadata": {"name": "u", "x": 1}, "foo": 1, "data": {"a": "b"}}
    await twins.post(path, unknown, query=query)
    repeated = b'{"metadata":{"name":"r"},"data":{"a":"1","a":"2"},"data":{"b":"1"}}'
    await twins.post(path, repeated, query=query)
    other_case = b'{"metadata":{"Name":"r2","name":"r3"},"Data":{"a":"1"}}'
    await twins.post(path, other_case, query=query)
    await twins.same("PUT", f"{path}/u", unknown, query=query)
    await twins.patch(f"{path}/u", {"foo": {"m": 1}}, MERGE, query=query)
    await twins.same(
        "POST", path, "metadata: {name: y, name: z}\nfoo: 1\n",
        content_type="application/yaml", query=query,
    )  # fmt: skip


@pytest.mark.parametrize(
    "query",
    [
        {"dryRun": "All"},
        {"dryRun": ["All", "All"]},
        {"dryRun": ["All", "Odd"]},
        {"dryRun": ""},
        {"dryRun": "Odd"},
        {"fieldManager": "me"},
        {"fieldManager": "x" * 129},
        {"fieldManager": "a\x01b\n"},
        {"fieldManager": "é ü"},
        {"pretty": "true"},
        {"pretty": "x"},
        {"unknown": "x"},
        {"timeout": "5s"},
        {"timeout": "x"},
        {"force": "true"},
        {"fieldValidation": ["Strict", "Ignore"]},
    ],
    ids=repr,
)
async def test_options_of_writes_are_read_alike(twins: Twins, place: str, query: Obj) -> None:
    path = maps(place)
    await twins.post(path, titled(), query=query)
    await twins.get(f"{path}/a")
    await twins.ask("POST", path, titled())
    await twins.same("PUT", f"{path}/a", titled(data={"a": "b"}), query=query)
    await twins.patch(f"{path}/a", {"data": {"c": "d"}}, query=query)
    await twins.same("DELETE", f"{path}/a", query=query)
    await twins.get(f"{path}/a")


# -- replacing --------------------------------------------------------------------------------------


async def test_an_object_is_replaced(twins: Twins, place: str) -> None:
    path = maps(place)
    made = await twins.post(path, titled(data={"k": "v"}))
    first = await twins.same("PUT", f"{path}/a", titled(data={"k": "w"}))
    same = await twins.same("PUT", f"{path}/a", titled(data={"k": "w"}))
    for side in ("theirs", "mine"):
        versions = [
            getattr(each.each("metadata", "resourceVersion"), side)
            for each in (made, first, same)
        ]
        assert versions[0] != versions[1] == versions[2]
    await twins.same("PUT", f"{path}/a", changed(made, data={"k": "x"}))
    await twins.same("PUT", f"{path}/a", changed(same, data={"k": "x"}))
    await twins.same("PUT", f"{path}/a", titled(kind="ConfigMap", apiVersion="v1"))
    await twins.get(f"{path}/a")


@pytest.mark.parametrize(
    "body",
    [
        titled("b"),
        {"metadata": {}},
        {},
        {"metadata": {"name": "a", "resourceVersion": "1"}},
        {"metadata": {"name": "a", "resourceVersion": "0"}},
        {"metadata": {"name": "a", "resourceVersion": "x"}},
        {"metadata": {"name": "a", "resourceVersion": "99999999"}},
        {"metadata": {"name": "a", "uid": OTHER_UID}},
        {"metadata": {"name": "a", "namespace": "other"}},
        {"metadata": {"name": "a", "generateName": "b"}},
        {"metadata": {"name": "a", "generation": 9, "creationTimestamp": None}},
        {"metadata": {"name": "a", "creationTimestamp": "2020-01-01T00:00:00Z"}},
        {"metadata": {"name": "a", "deletionTimestamp": "2020-01-01T00:00:00Z"}},
        {"metadata": {"name": "a", "deletionGracePeriodSeconds": 3}},
        {"metadata": {"name": "a", "selfLink": "/x", "labels": {"a": "b"}}},
        titled("a", kind="Secret"),
        titled("a", kind="ConfigMap", apiVersion="v2"),
        titled("a", kind="Odd", apiVersion="v1"),
        titled("a", apiVersion="batch/v1"),
        titled("a", kind="Job", apiVersion="batch/v1"),
        titled("a", kind="ConfigMapList", apiVersion="v1"),
        titled("a", kind=1),
        titled("a", apiVersion="a/b/c"),
    ],
    ids=repr,
)
async def test_replacements_are_judged_alike(twins: Twins, place: str, body: Obj) -> None:
    await twins.ask("POST", maps(place), titled(data={"k": "v"}))
    await twins.same("PUT", maps(place, "a"), body)
    await twins.get(maps(place, "a"))
    await twins.post(maps(place), body, query={"dryRun": "All"})


async def test_what_is_not_there_cannot_be_replaced(twins: Twins, place: str) -> None:
    path = maps(place, "zz")
    await twins.same("PUT", path, titled("zz"))
    await twins.same("PUT", path, {"metadata": {"name": "zz", "uid": OTHER_UID}})
    await twins.same("PUT", path, {"metadata": {"name": "zz", "resourceVersion": "4"}})
    await twins.same("PUT", maps("nowhere", "zz"), titled("zz"))


async def test_some_kinds_may_be_created_by_replacing(twins: Twins, place: str) -> None:
    leases = f"/apis/coordination.k8s.io/v1/namespaces/{place}/leases"
    await twins.same("PUT", f"{leases}/a", {"metadata": {"name": "a"}, "spec": {}})
    await twins.same("PUT", f"{leases}/a", {"metadata": {"name": "a"}, "spec": {}})
    for number, version in enumerate(("5", "0", "odd")):
        based = {"metadata": {"name": f"v{number}", "resourceVersion": version}}
        await twins.same("PUT", f"{leases}/v{number}", based, query={"dryRun": "All"})
        await twins.same("PUT", f"{leases}/v{number}", based)
    events = f"{NAMESPACES}/{place}/events"
    body = {"metadata": {"name": "a"}, "involvedObject": {"namespace": place}}
    await twins.same("PUT", f"{events}/a", body)
    await twins.same(
        "PUT", f"{events}/b", {**body, "metadata": {"name": "b", "uid": OTHER_UID}}
    )
    roles = f"/apis/rbac.authorization.k8s.io/v1/namespaces/{place}/roles"
    await twins.same("PUT", f"{roles}/a", {"metadata": {"name": "a"}})
    ranges = f"{NAMESPACES}/{place}/limitranges"
    await twins.same("PUT", f"{ranges}/a", {"metadata": {"name": "a"}, "spec": LIMITS})


# -- where there is nothing -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/foo"),
        ("GET", "/api/v2"),
        ("GET", "/api/v1/foos"),
        ("GET", "/apis/foo"),
        ("GET", "/apis/foo/v1"),
        ("GET", "/apis/foo/v1/bars"),
        ("GET", "/apis/batch/v9"),
        ("GET", "/apis/batch/v2/jobs"),
        ("GET", "/apis/batch/v1/bars"),
        ("GET", "/apis/batch/v1/namespaces/default/bars"),
        ("POST", "/apis/batch/v1/namespaces/default/bars"),
        ("DELETE", "/apis/batch/v1/namespaces/default/bars/x"),
        ("GET", "/api/v1/namespaces/default/configmaps/a/status"),
        ("GET", "/apis/batch/v1/namespaces/default/jobs/j/foo"),
        ("GET", "/apis/batch/v1/namespaces/default/jobs/j/scale"),
        ("GET", "/apis/batch/v1/namespaces/default/jobs/j/status/x"),
        ("GET", "/api/v1/namespaces/default/nodes"),
        ("GET", "/api/v1/namespaces/default/namespaces"),
        ("GET", "/apis/batch/v1/jobs/j"),
        ("DELETE", "/apis/batch/v1"),
        ("POST", "/version"),
        ("DELETE", "/healthz"),
        ("PATCH", "/api/v1/namespaces/default/configmaps"),
        ("PUT", "/api/v1/namespaces/default/configmaps"),
        ("POST", "/api/v1/namespaces/default/configmaps/a"),
        ("POST", "/api/v1/configmaps"),
        ("DELETE", "/api/v1/configmaps"),
        ("DELETE", "/api/v1/namespaces"),
        ("OPTIONS", "/api/v1/namespaces/default/configmaps"),
        ("TRACE", "/api/v1/namespaces/default/configmaps"),
        ("OPTIONS", "/apis/batch"),
        ("OPTIONS", "/apis/batch/v1"),
        ("GET", "/api/v1/namespaces/default/pods/x/binding"),
        ("GET", "/api/v1/namespaces/default/pods/x/eviction"),
        ("GET", "/api/v1/namespaces/x/finalize"),
        ("GET", "/api/v1/namespaces/default/serviceaccounts/x/token"),
        ("GET", "/apis/authorization.k8s.io/v1/subjectaccessreviews"),
        ("GET", "/apis/authentication.k8s.io/v1/tokenreviews/x"),
        ("GET", "/api/v1/bindings"),
        ("GET", "/api/"),
        ("GET", "/apis/batch/"),
        ("GET", "/apis/batch/v1/"),
        ("GET", "/api/v1/namespaces/"),
        ("GET", "/api/v1/namespaces/default/"),
        ("GET", "//api/v1/namespaces/default"),
        ("GET", "/api/v1//namespaces/default"),
        ("GET", "/api/v1/namespaces/default/../kube-system"),
        ("GET", "/api/v1/namespaces/%64efault"),
        ("GET", "/api/v1/namespaces/default%2Fpods"),
        ("GET", "/api/v1/namespaces/a%20b"),
        ("GET", "/api/v1/namespaces/a%00b"),
        ("GET", "/api/v1/namespaces/a%25b"),
        ("GET", "/api/v1/namespaces/%2e%2e"),
        ("DELETE", "/api/v1/namespaces/default/configmaps/%2e"),
        ("GET", "/api/v1/namespaces/default/configmaps?labelSelector=%zz&limit=x;y"),
        ("GET", "/api/v1/namespaces/default/configmaps/a%2fb"),
        ("GET", "/api/v1/watch/namespaces/default/configmaps/zz?timeoutSeconds=1"),
        ("GET", "/api/v1/watch/namespaces/default/configmaps?timeoutSeconds=1"),
        ("GET", "/api/v1/watch/pods?timeoutSeconds=1"),
    ],
    ids=str,
)
async def test_where_there_is_nothing_that_is_said_alike(
    twins: Twins, method: str, path: str
) -> None:
    await twins.same(method, path, {} if method in ("POST", "PUT", "PATCH") else None)


def test_few_paths_have_a_head_alone(twin_planes: Planes) -> None:
    paths = ("/api", "/apis/batch/v1", "/version", "/healthz", "/none", "/api/v1/namespaces")
    codes = []
    for plane in twin_planes:
        with RawHttp(plane.url, plane.folder) as server:
            codes.append([server.ask("HEAD", path).code for path in (*paths, paths[-1] + "/x")])
    real, ours = codes
    assert ours == real
    assert set(real) == {200, 404, 405}


async def test_two_writers_may_not_both_win(twins: Twins, place: str) -> None:
    made = await twins.post(maps(place), titled())
    version = made.each("metadata", "resourceVersion")
    about = {"name": "a", "resourceVersion": version}
    await twins.same("PUT", maps(place, "a"), {"metadata": about, "data": {"a": "1"}})
    await twins.same("PUT", maps(place, "a"), {"metadata": about, "data": {"a": "2"}})
    await twins.patch(maps(place, "a"), {"metadata": about, "data": {"a": "3"}})
    wrong = Each("7", "7")
    await twins.patch(maps(place, "a"), {"metadata": {"resourceVersion": wrong}})
    await twins.patch(maps(place, "a"), {"metadata": {"uid": OTHER_UID}})
