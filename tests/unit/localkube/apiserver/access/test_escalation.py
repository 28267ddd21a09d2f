"""Nobody grants what they may not do."""

from typing import Any

import pytest

from jobferry.localkube.apiserver.access import escalation
from jobferry.localkube.apiserver.access.rbac import RoleBook
from jobferry.localkube.apiserver.identity.user import MASTERS, User
from jobferry.localkube.apiserver.status import StatusError
from jobferry.objects import Obj

BOB = User("bob", groups=("makers",))
GET = {"verbs": ["get"], "apiGroups": [""], "resources": ["secrets"]}
ALL = {"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}
URLS = {"verbs": ["*"], "nonResourceURLs": ["*"]}


def role(*rules: Obj, name: str = "new", **more: Any) -> Obj:
    return {"kind": "ClusterRole", "metadata": {"name": name}, "rules": list(rules), **more}


def bound(of: str, kind: str = "ClusterRole") -> Obj:
    reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": of}
    return {"kind": "ClusterRoleBinding", "metadata": {"name": "new"}, "roleRef": reference}


def book(*rules: Obj) -> RoleBook:
    binding = {**bound("held"), "subjects": [{"kind": "User", "name": "bob"}]}
    return RoleBook([role(*rules, name="held"), binding, role(GET, name="secrets")])


def check(book: RoleBook, new: Obj, old: Obj | None = None, user: User = BOB) -> None:
    if "Binding" in new["kind"]:
        escalation.check_binding(book, user, new, old, namespace="")
    else:
        escalation.check_role(book, user, new, old, namespace="", name="new")


def test_a_role_beyond_ones_own_rights_is_refused_with_what_is_missing() -> None:
    with pytest.raises(StatusError) as caught:
        check(book(), role(GET))

    assert caught.value.code == 403
    assert str(caught.value) == (
        'clusterroles.rbac.authorization.k8s.io "new" is forbidden: user "bob" (groups=["makers"]) '
        "is attempting to grant RBAC permissions not currently held:\n"
        '{APIGroups:[""], Resources:["secrets"], Verbs:["get"]}'
    )


@pytest.mark.parametrize("new", [role(GET), bound("secrets")])
def test_what_one_may_do_one_may_grant(new: Obj) -> None:
    check(book(GET), new)


@pytest.mark.parametrize("new", [role(ALL), bound("secrets"), bound("missing")])
def test_masters_may_grant_everything(new: Obj) -> None:
    check(book(), new, user=User("x", groups=(MASTERS,)))


def test_the_verbs_escalate_and_bind_lift_the_limit() -> None:
    api = {"apiGroups": ["rbac.authorization.k8s.io"], "resources": ["clusterroles"]}

    check(book({"verbs": ["escalate"], **api}), role(GET))
    check(book({"verbs": ["bind"], **api}), bound("secrets"))
    check(book({"verbs": ["bind"], **api}), bound("missing"))
    with pytest.raises(StatusError):
        check(book({"verbs": ["bind"], **api}), role(GET))


def test_a_role_that_is_not_there_cannot_be_bound() -> None:
    with pytest.raises(StatusError) as caught:
        check(book(), bound("missing"))

    assert caught.value.code == 404


@pytest.mark.parametrize(
    ("new", "why"),
    [
        (bound("here", "Role"), "Namespace parameter required."),
        (bound(""), "Name parameter required."),
        (bound("a/b"), "Name parameter invalid: \"a/b\": may not contain '/'"),
    ],
)
def test_what_cannot_be_looked_up_cannot_be_bound(new: Obj, why: str) -> None:
    with pytest.raises(StatusError) as caught:
        check(book(), new)

    assert (caught.value.code, str(caught.value)) == (400, why)


def test_aggregation_takes_all_rights() -> None:
    aggregation: Obj = {"clusterRoleSelectors": [{}]}
    with pytest.raises(StatusError, match="must have cluster-admin privileges"):
        check(book(GET), role(GET, aggregationRule=aggregation))
    with pytest.raises(StatusError, match="must have cluster-admin privileges"):
        check(book(GET), role(GET), role(GET, aggregationRule=aggregation))

    check(book(ALL, URLS), role(GET, aggregationRule=aggregation))


def test_the_garbage_collector_needs_no_right_of_the_role() -> None:
    old = role(GET)
    collected = {**old, "metadata": {"name": "new", "finalizers": ["x"], "ownerReferences": []}}

    check(book(), collected, old)
    with pytest.raises(StatusError):
        check(book(), {**old, "metadata": {"name": "new", "labels": {"a": "b"}}}, old)
