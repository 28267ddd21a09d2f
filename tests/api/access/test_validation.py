"""What is wrong with roles, bindings and service accounts, in the words of a real API server."""

import json

import pytest

from jobferry.localkube.apiserver import status
from jobferry.localkube.apiserver.strategies import rbac, service_account
from jobferry.objects import Obj
from tests.api.access_world import ONE, Asker, Reply, binding, outcome, path_of, role, rule

pytestmark = pytest.mark.kube

GROUP = "rbac.authorization.k8s.io"
STRATEGIES = {
    "Role": rbac.ROLE,
    "ClusterRole": rbac.CLUSTER_ROLE,
    "RoleBinding": rbac.ROLE_BINDING,
    "ClusterRoleBinding": rbac.CLUSTER_ROLE_BINDING,
}

RULES: tuple[Obj, ...] = (
    {},
    {"verbs": ["get"]},
    {"verbs": [], "apiGroups": [""], "resources": ["pods"]},
    {"verbs": ["get"], "apiGroups": [""]},
    {"verbs": ["get"], "resources": ["pods"]},
    {"verbs": ["get"], "nonResourceURLs": ["/x", "*"]},
    {"verbs": [], "nonResourceURLs": ["/x"], "resources": ["pods"]},
    {"verbs": ["get"], "nonResourceURLs": ["/x"], "resourceNames": ["a"]},
    rule("get", "core", "pods"),
    rule("", "", "x"),
)
SUBJECTS: tuple[Obj, ...] = (
    {},
    {"kind": "User"},
    {"kind": "User", "name": "a b/c"},
    {"kind": "Group", "name": "x", "apiGroup": "apps"},
    {"kind": "Robot", "name": "x"},
    {"kind": "ServiceAccount", "name": "x"},
    {"kind": "ServiceAccount", "name": "X_y", "namespace": "n"},
    {"kind": "ServiceAccount", "name": "x", "namespace": "n", "apiGroup": GROUP},
    {"kind": "User", "name": "x", "namespace": "n"},
)
REFERENCES: tuple[Obj, ...] = (
    {},
    {"kind": "ClusterRole"},
    {"kind": "Role", "name": "x"},
    {"kind": "Thing", "name": "x"},
    {"kind": "ClusterRole", "name": "a/b%"},
    {"kind": "ClusterRole", "name": ".."},
    {"kind": "ClusterRole", "name": "x", "apiGroup": "apps"},
    {"kind": "ClusterRole", "name": "x"},
)
AGGREGATIONS: tuple[Obj, ...] = (
    {},
    {"clusterRoleSelectors": [{"matchLabels": {"a b": "-"}}]},
    {"clusterRoleSelectors": [{"matchExpressions": [{"key": "a", "operator": "In"}]}]},
    {"clusterRoleSelectors": [{"matchExpressions": [{"key": "a", "operator": "Near"}]}]},
    {"clusterRoleSelectors": [{}]},
)


def cases() -> list[Obj]:
    found = []
    for namespace in ("", ONE):
        found += [role("new", each, namespace=namespace) for each in RULES]
        found.append(role("new", *RULES, namespace=namespace))
        plain = binding("new", "ClusterRole/view", "User/x", namespace=namespace)
        found += [{**plain, "subjects": [each]} for each in SUBJECTS]
        found += [{**plain, "roleRef": each} for each in REFERENCES]
        found.append({**plain, "subjects": list(SUBJECTS), "roleRef": {}})
        found.append({key: part for key, part in plain.items() if key != "subjects"})
    return found + [role("new", aggregationRule=each) for each in AGGREGATIONS]


def ours(obj: Obj, old: Obj | None = None) -> object:
    copy = json.loads(json.dumps(obj))
    strategy = STRATEGIES[obj["kind"]]
    strategy.default(copy)
    problems = (
        strategy.validate_create(copy) if old is None else strategy.validate_update(copy, old)
    )
    if not problems:
        return copy
    error = status.invalid(GROUP, obj["kind"], obj["metadata"]["name"], problems)
    return outcome(Reply(error.code, error.status()))


def theirs(reply: Reply) -> object:
    if reply.code >= 300:
        return outcome(reply)
    kept = ("kind", "rules", "roleRef", "subjects", "aggregationRule")
    return {key: reply.body[key] for key in kept if key in reply.body}


@pytest.mark.parametrize("obj", cases(), ids=json.dumps)
def test_new_objects_are_checked_alike(admin: Asker, obj: Obj) -> None:
    reply = theirs(admin.ask("POST", path_of(obj) + "?dryRun=All", obj))
    mine = ours(obj)

    assert isinstance(mine, dict)
    mine.pop("metadata", None)
    if mine.get("rules") == []:
        mine["rules"] = None  # the codec's business
    assert reply == mine


@pytest.mark.parametrize("namespace", ["", ONE])
def test_a_binding_keeps_its_role(admin: Asker, namespace: str) -> None:
    old = binding("access-kept", "ClusterRole/view", "User/x", namespace=namespace)
    old = admin.ask("POST", path_of(old), old).body
    for reference in (
        {"kind": "ClusterRole", "name": "edit"},
        {"kind": "Role", "name": "view"},
    ):
        new = {**old, "roleRef": reference}

        reply = admin.ask("PUT", path_of(old, "access-kept"), new)

        assert theirs(reply) == ours(new, old)


def test_secrets_of_an_account_are_kept_by_name_only(admin: Asker) -> None:
    secrets = [{"name": "a", "namespace": "x", "kind": "Secret"}, {"uid": "1"}]
    account: Obj = {"metadata": {"name": "keeper"}, "secrets": secrets}
    path = f"/api/v1/namespaces/{ONE}/serviceaccounts?dryRun=All"

    reply = admin.ask("POST", path, account)
    service_account.STRATEGY.prepare_create(account)

    assert reply.body["secrets"] == account["secrets"]


@pytest.mark.parametrize("name", ["a/b", "..", "A_b", "x" * 254, "x:y"])
def test_names_of_roles_may_be_odder_than_those_of_accounts(admin: Asker, name: str) -> None:
    for obj, strategy, path in (
        (role(name), rbac.CLUSTER_ROLE, path_of(role(name))),
        (
            {"kind": "ServiceAccount", "metadata": {"name": name}},
            service_account.STRATEGY,
            f"/api/v1/namespaces/{ONE}/serviceaccounts",
        ),
    ):
        reply = admin.ask("POST", f"{path}?dryRun=All", obj)
        wrong = [
            cause["message"].partition(": ")[2].partition(": ")[2]
            for cause in (reply.body.get("details") or {}).get("causes", ())
        ]
        assert list(strategy.name_problems(name, False)) == wrong
