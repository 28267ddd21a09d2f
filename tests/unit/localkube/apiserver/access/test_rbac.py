"""Decisions from roles and bindings, and that the book keeps up with changes."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobferry.localkube.apiserver.access import rbac
from jobferry.localkube.apiserver.access.attributes import Attributes, forbidden, path_access
from jobferry.localkube.apiserver.access.rbac import RoleBook
from jobferry.localkube.apiserver.identity import user as users
from jobferry.localkube.apiserver.identity.user import User
from jobferry.objects import Obj

ANN = users.authenticated(User("ann", groups=("devs",)))
PODS = {"verbs": ["get"], "apiGroups": [""], "resources": ["pods"]}


def obj(kind: str, name: str, namespace: str = "", **more: Any) -> Obj:
    return {"kind": kind, "metadata": {"name": name, "namespace": namespace}, **more}


def bind(name: str, role: str, *subjects: Obj, namespace: str = "", kind: str = "") -> Obj:
    own = "RoleBinding" if namespace else "ClusterRoleBinding"
    reference = {"kind": kind or "ClusterRole", "name": role}
    return obj(own, name, namespace, roleRef=reference, subjects=list(subjects))


def subject(kind: str, name: str, **more: str) -> Obj:
    return {"kind": kind, "name": name, **more}


def get_pods(user: User = ANN, namespace: str = "", name: str = "") -> Attributes:
    return Attributes(user, "get", resource="pods", namespace=namespace, name=name)


def test_a_decision_names_the_first_subject_through_which_it_was_made() -> None:
    book = RoleBook(
        [
            obj("ClusterRole", "reader", rules=[PODS]),
            bind("b", "reader", subject("Group", "devs"), subject("User", "ann")),
        ]
    )

    decision = book.decide(get_pods())

    assert decision.allowed
    assert decision.reason == (
        'RBAC: allowed by ClusterRoleBinding "b" of ClusterRole "reader" to Group "devs"'
    )


def test_a_binding_in_a_namespace_counts_there_only_and_names_local_accounts_by_themselves() -> (
    None
):
    robot = users.authenticated(users.service_account("one", "robot", "1"))
    book = RoleBook(
        [
            obj("Role", "reader", "one", rules=[PODS]),
            bind(
                "b", "reader", subject("ServiceAccount", "robot"), namespace="one", kind="Role"
            ),
        ]
    )

    assert book.decide(get_pods(robot, "one")).reason == (
        'RBAC: allowed by RoleBinding "b/one" of Role "reader" to ServiceAccount "robot/one"'
    )
    assert not book.decide(get_pods(robot, "two")).allowed
    assert not book.decide(get_pods(robot)).allowed


def test_masters_may_do_everything_without_a_role() -> None:
    assert RoleBook().decide(get_pods(User("x", groups=(users.MASTERS,)))) == (True, "")


def test_roles_that_are_not_there_are_named_in_the_refusal() -> None:
    book = RoleBook(
        [
            bind("a", "gone", subject("User", "ann")),
            bind("b", "lost", subject("User", "ann"), namespace="one", kind="Role"),
            bind("c", "odd", subject("User", "ann"), kind="Thing"),
        ]
    )

    assert book.decide(get_pods()).reason == (
        'RBAC: [clusterrole.rbac.authorization.k8s.io "gone" not found, '
        'unsupported role reference kind: "Thing"]'
    )
    assert 'role.rbac.authorization.k8s.io "lost" not found' in (
        book.decide(get_pods(namespace="one")).reason
    )


def test_names_limit_a_rule_and_need_a_name() -> None:
    rule = {**PODS, "resourceNames": ["a"]}
    book = RoleBook(
        [obj("ClusterRole", "r", rules=[rule]), bind("b", "r", subject("User", "ann"))]
    )

    assert book.decide(get_pods(name="a")).allowed
    assert not book.decide(get_pods(name="b")).allowed
    assert not book.decide(get_pods()).allowed


def test_changes_count_at_once() -> None:
    role, binding = (
        obj("ClusterRole", "r", rules=[PODS]),
        bind("b", "r", subject("User", "ann")),
    )
    book = RoleBook([role, binding])
    assert book.decide(get_pods()).allowed

    book.put({**role, "rules": []})
    assert not book.decide(get_pods()).allowed
    book.put(role)
    assert book.decide(get_pods()).allowed
    book.put(bind("b", "r", subject("User", "bob")))
    assert not book.decide(get_pods()).allowed
    book.put(binding)
    book.remove(binding)
    book.remove(binding)
    assert not book.decide(get_pods()).allowed


SUBJECTS = st.sampled_from(
    [
        subject("User", "ann"),
        subject("Group", "devs"),
        subject("ServiceAccount", "robot"),
        subject("ServiceAccount", "robot", namespace="one"),
    ]
)
PLACES = st.sampled_from(["", "one", "two"])


@st.composite
def objects(draw: st.DrawFn) -> Obj:
    namespace = draw(PLACES)
    name = draw(st.sampled_from(["x", "y"]))
    if draw(st.booleans()):
        verbs = draw(st.lists(st.sampled_from(["get", "list", "*"]), max_size=2))
        kind = "Role" if namespace else "ClusterRole"
        return obj(kind, name, namespace, rules=[{**PODS, "verbs": verbs}])
    kind = "ClusterRole" if not namespace or draw(st.booleans()) else "Role"
    subjects = draw(st.lists(SUBJECTS, max_size=2))
    role = draw(st.sampled_from(["x", "y"]))
    return bind(name, role, *subjects, namespace=namespace, kind=kind)


@given(st.lists(st.tuples(st.booleans(), objects()), max_size=20))
def test_a_book_that_saw_changes_decides_as_one_that_reads_what_is_left(
    changes: list[tuple[bool, Obj]],
) -> None:
    book, left = RoleBook(), {}
    askers = [ANN, users.authenticated(users.service_account("one", "robot", "1"))]
    questions = [
        Attributes(user, verb, resource="pods", namespace=namespace)
        for user in askers
        for verb in ("get", "list")
        for namespace in ("", "one", "two")
    ]
    for is_there, each in changes:
        key = (each["kind"], each["metadata"]["namespace"], each["metadata"]["name"])
        if is_there:
            book.put(each)
            left[key] = each
        else:
            book.remove(each)
            left.pop(key, None)
        fresh = RoleBook(left.values())
        assert [book.decide(asked) for asked in questions] == [
            fresh.decide(asked) for asked in questions
        ]


def test_what_is_remembered_has_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rbac, "KEPT_GRANTS", 3)
    monkeypatch.setattr(rbac, "KEPT_ANSWERS", 3)
    book = RoleBook()

    for number in range(20):
        book.decide(get_pods(User(f"u{number}")))
        book.decide(Attributes(ANN, f"v{number}", resource="pods"))

    assert len(book._grants) <= 3
    assert len(book.grants(ANN, "")._answers) <= 3


def test_refusals_are_worded_by_scope_and_cannot_carry_html() -> None:
    bob = User("<bob>")

    assert str(forbidden(Attributes(bob, "list", "batch", "v1", "jobs", "", "default"))) == (
        'jobs.batch is forbidden: User "&lt;bob&gt;" cannot list resource "jobs" '
        'in API group "batch" in the namespace "default"'
    )
    assert str(
        forbidden(Attributes(bob, "get", "", "v1", "nodes", "status", "", "n"), "RBAC: x")
    ) == (
        'nodes "n" is forbidden: User "&lt;bob&gt;" cannot get resource "nodes/status" '
        'in API group "" at the cluster scope: RBAC: x'
    )
    assert str(forbidden(path_access(bob, "get", "/y"))) == (
        'forbidden: User "&lt;bob&gt;" cannot get path "/y"'
    )
