"""Both servers beside each other: who may do what, in whose name, with which token."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from jobferry.objects import Obj
from jobferry.testing.control_plane import ControlPlane
from tests.api.access_world import OBJECTS, ONE, PEOPLE, RBAC, TWO, path_of
from tests.api.twins import APPLY, Twins, joined

pytestmark = [pytest.mark.kube, pytest.mark.timeout(120)]

Planes = tuple[ControlPlane, ControlPlane]
REVIEWS = "/apis/authorization.k8s.io/v1"
FURNISHED: set[int] = set()


@pytest.fixture
async def world(twins: Twins) -> Twins:
    """Both servers with roles and bindings of all sorts."""
    if id(twins.planes) in FURNISHED:
        return twins
    for namespace in (ONE, TWO):
        await twins.ask("POST", "/api/v1/namespaces", {"metadata": {"name": namespace}})
    for obj in OBJECTS:
        await twins.post(path_of(obj), obj)
    # The real server learns of its own roles by watching itself; the last comes last.
    attributes = {"verb": "impersonate", "resource": "serviceaccounts", "namespace": ONE}
    spec = {"user": "actor", "resourceAttributes": attributes}
    for _ in range(100):
        both = await twins.ask("POST", f"{REVIEWS}/subjectaccessreviews", {"spec": spec})
        if both.object["status"]["allowed"]:
            break
        await asyncio.sleep(0.1)
    FURNISHED.add(id(twins.planes))
    return twins


@pytest.fixture
async def ann(world: Twins, twin_planes: Planes) -> AsyncIterator[Twins]:
    async with Twins(twin_planes, user="ann") as both:
        yield both
        both.differing.check()


@pytest.fixture
async def actor(world: Twins, twin_planes: Planes) -> AsyncIterator[Twins]:
    async with Twins(twin_planes, user="actor") as both:
        yield both
        both.differing.check()


REQUESTS = (
    ("GET", "/apis/batch/v1/jobs?labelSelector=none"),
    ("GET", f"/apis/batch/v1/namespaces/{ONE}/jobs/x"),
    ("GET", f"/apis/batch/v1/namespaces/{ONE}/jobs?watch=1"),
    ("POST", f"/apis/batch/v1/namespaces/{ONE}/jobs"),
    ("DELETE", f"/apis/batch/v1/namespaces/{ONE}/jobs"),
    ("DELETE", f"/apis/batch/v1/namespaces/{ONE}/jobs/x"),
    ("PATCH", f"/apis/batch/v1/namespaces/{ONE}/jobs/x/status"),
    ("PUT", f"/api/v1/namespaces/{ONE}/configmaps/a"),
    ("GET", f"/api/v1/namespaces/{ONE}/configmaps?fieldSelector=metadata.name%3Da"),
    ("GET", f"/api/v1/namespaces/{ONE}/secrets"),
    ("GET", f"/api/v1/namespaces/{TWO}/secrets"),
    ("GET", "/api/v1/namespaces?labelSelector=none"),
    ("GET", f"/api/v1/namespaces/{ONE}"),
    ("GET", "/api/v1/nodes/x"),
    ("POST", f"/api/v1/namespaces/{ONE}/pods/x/binding"),
    ("POST", f"/api/v1/namespaces/{ONE}/pods/x/eviction"),
    ("GET", f"/api/v1/namespaces/{ONE}/pods/x/log"),
    ("GET", f"/api/v1/namespaces/{ONE}/pods/x//log"),
    ("GET", f"/api/v1/namespaces/{ONE}//pods"),
    ("GET", f"/api/v1/proxy/namespaces/{ONE}/pods/x"),
    ("GET", "/apis/nowhere/v1/things"),
    ("GET", "/apis/nowhere/v1/namespaces/a/things/b"),
    ("GET", "/apis/batch/v1/bars"),
    ("GET", "/metrics/x"),
    ("GET", "/logs/x"),
    ("GET", "/all"),
    ("POST", "/all"),
    ("GET", "/nothing"),
    ("GET", "/healthz"),
    ("GET", "/readyz"),
    ("GET", "/livez"),
    ("GET", "/api"),
    ("GET", "/apis/batch"),
    ("GET", "/openapi"),
    ("GET", f"{RBAC}/clusterroles?labelSelector=none"),
    ("POST", f"{RBAC}/clusterroles"),
)


@pytest.mark.parametrize("person", PEOPLE, ids=lambda each: f"{each.name} {len(each.groups)}")
async def test_everybody_is_let_in_or_not(world: Twins, person: Any) -> None:
    headers = {"Impersonate-User": person.name}
    groups = [each for each in person.groups if not each.startswith("system:authenticated")]
    if groups:
        headers["Impersonate-Group"] = groups[0]
    for method, path in REQUESTS:
        is_long = "watch" in path
        body: Any = None if method in ("GET", "DELETE") else {"metadata": {}}
        target = f"{path}&timeoutSeconds=1" if is_long else path
        query = {"dryRun": "All"} if method not in ("GET",) else None
        joiner = "&" if "?" in target else "?"
        target += f"{joiner}dryRun=All" if query else ""
        await world.same(method, target, body, headers=headers, adapt=roles_in_order)


def roles_in_order(body: Any) -> None:
    """Sort what the real server says in any order: roles that are not there."""
    if isinstance(body, dict) and "RBAC: [" in body.get("message", ""):
        head, _, rest = body["message"].partition("RBAC: [")
        body["message"] = f"{head}{sorted(rest.rstrip(']').split(', '))}"


async def test_nobody_gets_far(twin_planes: Planes, world: Twins) -> None:
    async with Twins(twin_planes, anonymous=True) as nobody:
        for method, path in REQUESTS:
            if "watch" not in path:
                body: Any = None if method in ("GET", "DELETE") else {"metadata": {}}
                await nobody.same(method, path, body)
        for token in ("x", "a.b.c", "eyJhbGciOiJub25lIn0.e30.", ""):
            bearer = {"Authorization": f"Bearer {token}"}
            await nobody.same("GET", "/api/v1/namespaces", headers=bearer)
            await nobody.same("GET", "/healthz", headers=bearer)
        for path in ("api?", "version?", "none?", "api/v1/namespaces?", "api/v1/pods?watch=1&"):
            await nobody.same("GET", f"/{path}timeout=odd")
        await nobody.same("GET", "/api", headers={"Authorization": "Basic YTpi"})
        await nobody.same("GET", "/api", headers={"Authorization": "Bearer  x"})
        await nobody.same("GET", "/api", headers={"Impersonate-User": "x"})
        nobody.differing.check()


@pytest.mark.parametrize(
    "headers",
    [
        {"Impersonate-User": "ann"},
        {"Impersonate-User": "bob"},
        {"Impersonate-User": "system:anonymous"},
        {"Impersonate-User": "ann", "Impersonate-Group": "devs"},
        {"Impersonate-User": "ann", "Impersonate-Group": "ops"},
        {"Impersonate-Group": "devs"},
        {"Impersonate-User": "ann", "Impersonate-Uid": "u1"},
        {"Impersonate-User": "ann", "Impersonate-Uid": "u2"},
        {"Impersonate-User": "ann", "Impersonate-Extra-Scopes": "view"},
        {"Impersonate-User": "ann", "Impersonate-Extra-Scopes": "edit"},
        {"Impersonate-User": "ann", "Impersonate-Extra-Other": "view"},
        {"Impersonate-User": "ann", "Impersonate-Extra-Sco%70es": "view"},
        {"Impersonate-User": "ann", "Impersonate-Extra-Sco%70es%zz": "view"},
        {"Impersonate-User": "ann "},
        {"Impersonate-Extra-Scopes": "view"},
        {"Impersonate-Uid": "u1"},
        {"Impersonate-User": f"system:serviceaccount:{ONE}:robot"},
        {"Impersonate-User": f"system:serviceaccount:{TWO}:robot"},
        {"Impersonate-User": "system:serviceaccount:odd"},
        {"Impersonate-User": "ann", "Impersonate-Group": "system:masters"},
    ],
    ids=str,
)
async def test_others_are_impersonated(actor: Twins, headers: Obj) -> None:
    who = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
    await actor.post(who, {}, headers=headers, adapt=without_credential)
    await actor.get("/apis/batch/v1/jobs?labelSelector=none", headers=headers)


def without_credential(body: Any) -> None:
    """Take out the hash of the certificate, which each server gave out itself."""
    status = body.get("status") if isinstance(body, dict) else None
    info = status.get("userInfo") if isinstance(status, dict) else None
    if info:
        info.get("extra", {}).pop("authentication.kubernetes.io/credential-id", None)
        if not info.get("extra", True):
            info.pop("extra")


@pytest.mark.parametrize(
    "spec",
    [
        {},
        {"resourceAttributes": {"verb": "get", "group": "batch", "resource": "jobs"}},
        {"resourceAttributes": {"verb": "delete", "group": "batch", "resource": "jobs"}},
        {"resourceAttributes": {"verb": "*", "group": "*", "resource": "*"}},
        {"nonResourceAttributes": {"verb": "get", "path": "/healthz"}},
        {"nonResourceAttributes": {"verb": "get", "path": "/metrics"}},
        {"resourceAttributes": {}, "nonResourceAttributes": {}},
        {"resourceAttributes": {"verb": "get", "resource": "pods", "namespace": ONE}},
    ],
    ids=str,
)
async def test_questions_about_access_are_answered(ann: Twins, world: Twins, spec: Obj) -> None:
    await ann.post(f"{REVIEWS}/selfsubjectaccessreviews", {"spec": spec}, adapt=in_order)
    for user in ("ann", "eve", "bob", ""):
        whole = {"spec": {**spec, "user": user}}
        await world.post(
            f"{REVIEWS}/subjectaccessreviews", whole, any_order=True, adapt=in_order
        )
        local = f"{REVIEWS}/namespaces/{ONE}/localsubjectaccessreviews"
        await world.post(local, whole, adapt=in_order)


@pytest.mark.parametrize(
    "metadata", [{"namespace": ONE}, {"namespace": TWO}, {"uid": "u"}], ids=str
)
async def test_questions_lose_what_only_the_server_sets(world: Twins, metadata: Obj) -> None:
    attributes = {"verb": "get", "resource": "pods", "namespace": ONE}
    spec = {"user": "nobody", "resourceAttributes": attributes}
    for path in ("subjectaccessreviews", f"namespaces/{ONE}/localsubjectaccessreviews"):
        await world.post(f"{REVIEWS}/{path}", {"metadata": metadata, "spec": spec})


def in_order(body: Any) -> None:
    """Sort what the real server says in any order: roles that are not there."""
    status = body.get("status") if isinstance(body, dict) else None
    if not isinstance(status, dict):
        return
    for name in ("evaluationError", "reason"):
        text = status.get(name, "")
        status[name] = sorted(text.removeprefix("RBAC: ").strip("[]").split(", "))
        if "to Group" in text:
            # More than one binding allows it; the real server finds any of them first.
            status[name] = "a group"


async def test_rules_of_somebody_are_listed(ann: Twins, world: Twins) -> None:
    def sorted_rules(body: Any) -> None:
        if isinstance(body.get("status"), dict):
            for name in ("resourceRules", "nonResourceRules"):
                body["status"][name].sort(key=str)

    for namespace in (ONE, TWO, ""):
        body = {"spec": {"namespace": namespace}}
        await ann.post(f"{REVIEWS}/selfsubjectrulesreviews", body, adapt=sorted_rules)


RULE = {"verbs": ["get"], "apiGroups": ["batch"], "resources": ["jobs"]}
BOUND = (
    ("ClusterRole", "access-star"),
    ("ClusterRole", "access-reader"),
    ("ClusterRole", "access-half"),
    ("ClusterRole", "none"),
    ("ClusterRole", ""),
    ("ClusterRole", "a/b"),
    ("Role", "access-local"),
)


@pytest.mark.parametrize("user", ["maker", "escalator", "namer", "binder", "half", "changer"])
async def test_nobody_gives_more_than_they_have(
    twin_planes: Planes, world: Twins, user: str
) -> None:
    groups = ("makers",) if user != "changer" else ()
    async with Twins(twin_planes, user=user, groups=groups) as maker:
        for number, rules in enumerate(
            (
                [RULE],
                [{**RULE, "verbs": ["*"]}],
                [{"verbs": ["get"], "nonResourceURLs": ["/x"]}],
                [{"verbs": []}],
            )
        ):
            name = f"{user}-{number}"
            body: Obj = {"metadata": {"name": name}, "rules": rules}
            await maker.post(f"{RBAC}/clusterroles", body, query={"dryRun": "All"})
            query = {"fieldManager": "m", "dryRun": "All"}
            whole = {
                "apiVersion": "rbac.authorization.k8s.io/v1",
                "kind": "ClusterRole",
                **body,
            }
            path = f"{RBAC}/clusterroles/{name}"
            await maker.same("PATCH", path, whole, content_type=APPLY, query=query)
            await maker.same("PUT", path, whole, query={"dryRun": "All"})
        for kind, role in BOUND:
            reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": role}
            body = {"metadata": {"name": f"{user}-bound"}, "roleRef": reference}
            for path in ("clusterrolebindings", f"namespaces/{ONE}/rolebindings"):
                await maker.post(
                    f"{RBAC}/{path}", body, query={"dryRun": "All"}, any_order=True
                )
        maker.differing.check()


async def test_service_accounts_show_tokens(
    twin_planes: Planes, world: Twins, place: str
) -> None:
    path = f"/api/v1/namespaces/{place}/serviceaccounts/default"
    made = await world.ask("POST", f"{path}/token", {"spec": {}})
    token = made.each("status", "token")
    reviews = "/apis/authentication.k8s.io/v1/tokenreviews"
    adapt = without_audiences
    await world.post(reviews, {"spec": {"token": token}}, adapt=adapt)
    await world.post(reviews, {"spec": {"token": "x"}}, adapt=adapt)
    await world.post(reviews, {"spec": {}}, adapt=adapt)
    await world.post(reviews, {"spec": {"token": token, "audiences": ["odd"]}}, adapt=adapt)
    bearer = {"Authorization": joined("Bearer ", token)}
    async with Twins(twin_planes, anonymous=True) as robot:
        who = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
        await robot.post(who, {}, headers=bearer, adapt=without_ids)
        await robot.get(f"/api/v1/namespaces/{place}/pods", headers=bearer)
        await robot.get("/apis/batch", headers=bearer)
        robot.differing.check()


@pytest.mark.parametrize("path", ["/.well-known/openid-configuration", "/openid/v1/jwks"])
async def test_the_issuer_of_tokens_tells_about_itself(
    world: Twins, ann: Twins, path: str
) -> None:
    for accept in ("*/*", "application/json", "application/jwk-set+json"):
        await world.get(path, accept=accept, adapt=without_issuer)
    await world.get(f"{path}/", accept="*/*", adapt=without_issuer)
    await world.same("POST", path, {})
    await ann.get(path)


def without_issuer(body: Any) -> None:
    """Take out who each server says that it is."""
    for name in ("issuer", "jwks_uri"):
        assert body.pop(name, "https://").startswith("https://")
    for key in body.get("keys", ()):
        assert all(len(key.pop(name)) == 43 for name in ("kid", "x", "y"))


def without_audiences(body: Any) -> None:
    if isinstance(body, dict) and isinstance(body.get("spec"), dict):
        body["spec"].pop("token", None)
        body["status"].pop("audiences", None)
        # Nothing is stored, so localkube notes no owner of fields; and the issuers are not the same.
        body["metadata"].pop("managedFields", None)
        body["spec"].pop("audiences", None)
        if isinstance(body["status"].get("error"), str):
            body["status"]["error"] = body["status"]["error"].partition(": ")[0][:20]
        without_ids(body, "user")


def without_ids(body: Any, member: str = "userInfo") -> None:
    status = body.get("status") if isinstance(body, dict) else None
    info = status.get(member) if isinstance(status, dict) else None
    if info and "extra" in info:
        info["extra"] = sorted(info["extra"])
