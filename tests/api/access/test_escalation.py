"""Who may grant what, and act as whom: localkube beside a real API server."""

import pytest

from jobferry.localkube.apiserver.access import escalation
from jobferry.localkube.apiserver.access.attributes import Attributes, forbidden
from jobferry.localkube.apiserver.access.impersonation import impersonated
from jobferry.localkube.apiserver.access.rbac import RoleBook
from jobferry.localkube.apiserver.identity.user import User
from jobferry.objects import Obj
from jobferry.testing.control_plane import ControlPlane
from tests.api.access_world import (
    ONE,
    TWO,
    Asker,
    answer,
    asker,
    binding,
    member,
    outcome,
    path_of,
    role,
    rule,
    words,
)

pytestmark = [pytest.mark.kube, pytest.mark.timeout(90)]

DRY = "?dryRun=All"

SECRETS = rule("get,list,delete", "core", "secrets")
AGGREGATION = {"clusterRoleSelectors": [{"matchLabels": {"x": "y"}}]}
ROLES = (
    role("new", SECRETS),
    role("new", rule("get", "core", "secrets")),
    role("new", rule("get", "core,batch", "secrets,jobs")),
    role("new", rule("get", "core", "secrets", resourceNames=["a", "b"]), SECRETS),
    role("new", rule("get", nonResourceURLs=["/metrics", "/healthz/*"])),
    role("new", rule("get", nonResourceURLs=["*"])),
    role("new", rule("update", "core", "pods/status")),
    role("new", rule("update", "core", "*/status")),
    role("new", rule("*", "*", "*")),
    role("new", SECRETS, rule("get", "core", "pods"), rule("list", "core", "pods")),
    role("new"),
    role("new", aggregationRule=AGGREGATION),
    role("new", SECRETS, aggregationRule=AGGREGATION),
    role("new", rule("get", "core", "secrets"), namespace=ONE),
    role("new", rule("*", "core", "secrets"), namespace=ONE),
    role("new", rule("*", "core", "secrets"), namespace=TWO),
    role("new", rule("create", "apps", "deployments"), namespace=ONE),
)
BINDINGS = (
    binding("new", "ClusterRole/access-half", "User/x"),
    binding("new", "ClusterRole/access-star", "User/x"),
    binding("new", "ClusterRole/access-sub", "User/x"),
    binding("new", "ClusterRole/access-urls", "User/x"),
    binding("new", "ClusterRole/not-there", "User/x"),
    binding("new", "ClusterRole/access-half", "User/x", namespace=TWO),
    binding("new", "ClusterRole/access-star", "User/x", namespace=ONE),
    binding("new", "Role/access-local", "User/x", namespace=ONE),
    binding("new", "Role/access-local", "User/x", namespace=TWO),
    binding("new", "Thing/odd", "User/x", namespace=ONE),
)
MAKERS = tuple(
    member(name, "makers", *groups)
    for name, *groups in (
        ["ann"], ["bob"], ["half"], ["ben"], ["dan", "devs"], ["cid"], ["escalator"], ["binder"], ["root"],
    )
)  # fmt: skip


def check(book: RoleBook, user: User, new: Obj, old: Obj | None, name: str) -> object:
    namespace = new["metadata"].get("namespace", "")
    if "Binding" in new["kind"]:
        return answer(
            lambda: escalation.check_binding(book, user, new, old, namespace=namespace)
        )
    return answer(
        lambda: escalation.check_role(book, user, new, old, namespace=namespace, name=name)
    )


@pytest.mark.parametrize("user", MAKERS, ids=lambda user: user.name)
def test_what_one_may_not_do_one_may_not_grant(
    admin: Asker, book: RoleBook, user: User
) -> None:
    for obj in (*ROLES, *BINDINGS):
        reply = admin.ask("POST", path_of(obj) + DRY, obj, as_user=user)
        theirs = outcome(reply)
        if reply.code == 422:
            theirs = "accepted"  # that is for validation to say, which comes after
        assert theirs == check(book, user, obj, None, ""), obj


def test_what_one_may_not_do_one_may_not_leave_in_a_changed_role(
    admin: Asker, book: RoleBook
) -> None:
    compared = 0
    for obj in (*ROLES[:3], *ROLES[10:13], ROLES[14], BINDINGS[0], BINDINGS[5]):
        name = f"access-old-{compared}"
        old = admin.ask(
            "POST", path_of(obj), {**obj, "metadata": {**obj["metadata"], "name": name}}
        ).body
        for user in MAKERS:
            for change in ({"labels": {"a": "b"}}, {"finalizers": ["x.io/y"]}, {}):
                new = {**old, "metadata": {**old["metadata"], **change}}
                reply = admin.ask("PUT", path_of(obj, name) + DRY, new, as_user=user)
                assert outcome(reply) == check(book, user, new, old, name), (user, change)
                compared += 1
    assert compared > 200


ACTING = (
    [("Impersonate-User", "ann")],
    [("Impersonate-User", "bob")],
    [("Impersonate-User", "system:anonymous")],
    [("Impersonate-User", f"system:serviceaccount:{ONE}:robot")],
    [("Impersonate-User", f"system:serviceaccount:{TWO}:robot")],
    [("Impersonate-User", "system:serviceaccount:Odd:robot")],
    [("Impersonate-User", "ann"), ("Impersonate-Group", "devs")],
    [("Impersonate-User", "ann"), ("Impersonate-Group", "devs"), ("Impersonate-Group", "ops")],
    [("Impersonate-User", "ann"), ("Impersonate-Group", "system:authenticated")],
    [("Impersonate-User", "ann"), ("Impersonate-Extra-scopes", "view")],
    [("Impersonate-User", "ann"), ("Impersonate-Extra-scopes", "edit")],
    [("Impersonate-User", "ann"), ("Impersonate-Extra-acme.com%2Fproject", "x")],
    [("Impersonate-User", "ann"), ("Impersonate-Uid", "u1")],
    [("Impersonate-User", "ann"), ("Impersonate-Uid", "u2")],
    [("Impersonate-Group", "devs")],
    [("Impersonate-Group", "devs"), ("Impersonate-Group", "ops")],
    [("Impersonate-Uid", "u1")],
    [("Impersonate-Extra-scopes", "view")],
    [("Impersonate-User", "")],
)


def acting(headers: list[tuple[bytes, bytes]], caller: User, book: RoleBook) -> User:
    """Become somebody else, who then asks who they are."""
    user = impersonated(headers, caller, book.decide)
    group = "authentication.k8s.io"
    wanted = Attributes(user, "create", group, "v1", "selfsubjectreviews")
    decision = book.decide(wanted)
    if not decision.allowed:
        raise forbidden(wanted, decision.reason)
    return user


@pytest.mark.parametrize("name", ["actor", "root", "nobody", "eve"])
def test_acting_as_others_is_allowed_and_refused_alike(
    access_plane: ControlPlane, admin: Asker, book: RoleBook, name: str
) -> None:
    where = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
    body = {"kind": "SelfSubjectReview", "apiVersion": "authentication.k8s.io/v1"}
    caller = member(name)
    with asker(access_plane, name) as theirs:
        for headers in ACTING:
            raw = [(key.lower().encode(), value.encode()) for key, value in headers]
            found: list[User] = []
            ours = answer(lambda: found.append(acting(raw, caller, book)))  # noqa: B023
            reply = theirs.ask("POST", where, body, headers=headers)

            if reply.code == 201 and headers != [("Impersonate-User", "")]:
                assert reply.body["status"]["userInfo"] == found[0].info(), headers
            elif "[clusterrole" in str(ours):
                assert isinstance(ours, dict)
                assert words(reply.body["message"]) == words(ours["message"])
            else:
                assert outcome(reply) == ours, headers
