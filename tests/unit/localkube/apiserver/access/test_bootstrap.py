"""What a fresh server makes, and what later starts add."""

from typing import Any

from jobferry.localkube.apiserver.access import aggregation, bootstrap
from jobferry.objects import Obj

GET = {"verbs": ["get"], "apiGroups": [""], "resources": ["pods"]}
LIST = {"verbs": ["list"], "apiGroups": [""], "resources": ["pods"]}


def role(name: str, *rules: Obj, labels: dict[str, str] | None = None, **more: Any) -> Obj:
    metadata = {"name": name, "labels": labels or {}}
    return {"kind": "ClusterRole", "metadata": metadata, "rules": list(rules), **more}


def bound(*subjects: str, of: str = "r") -> Obj:
    return {
        "kind": "ClusterRoleBinding",
        "metadata": {"name": "b"},
        "roleRef": {"kind": "ClusterRole", "name": of},
        "subjects": [{"kind": "User", "name": name} for name in subjects],
    }


def test_a_fresh_server_makes_everything_with_its_aggregated_roles_filled() -> None:
    writes = bootstrap.plan([], bootstrap.objects())

    made = {(each.obj["kind"], each.obj["metadata"]["name"]): each.obj for each in writes}
    assert {each.operation for each in writes} == {"create"}
    assert len(writes) == len(bootstrap.objects())
    for name in ("admin", "edit", "view"):
        assert len(made["ClusterRole", name]["rules"]) > 5
    assert made["ClusterRole", "cluster-admin"]["rules"]


def test_a_second_start_writes_nothing() -> None:
    made = [each.obj for each in bootstrap.plan([], bootstrap.objects())]

    assert bootstrap.plan(made, bootstrap.objects()) == []


def test_missing_rules_and_subjects_are_added_and_what_people_added_stays() -> None:
    write = bootstrap.reconcile(role("r", LIST), role("r", GET))
    assert write is not None
    assert write.operation == "update"
    assert write.obj["rules"] == [LIST, GET]

    write = bootstrap.reconcile(bound("ann"), bound("bob"))
    assert write is not None
    assert [each["name"] for each in write.obj["subjects"]] == ["ann", "bob"]


def test_labels_of_people_win_over_ours() -> None:
    mine, wanted = role("r", labels={"a": "mine"}), role("r", labels={"a": "ours", "b": "ours"})

    write = bootstrap.reconcile(mine, wanted)

    assert write is not None
    assert write.obj["metadata"]["labels"] == {"a": "mine", "b": "ours"}


def test_an_object_that_asks_to_be_left_alone_is() -> None:
    mine = role("r")
    mine["metadata"]["annotations"] = {bootstrap.AUTO_UPDATE: "false"}

    assert bootstrap.reconcile(mine, role("r", GET)) is None


def test_a_binding_to_another_role_is_made_anew() -> None:
    wanted = bound("ann")

    assert bootstrap.reconcile(bound("ann", of="other"), wanted) == ("recreate", wanted)


def test_an_aggregation_is_completed_or_dropped() -> None:
    one, two = {"matchLabels": {"a": "1"}}, {"matchLabels": {"a": "2"}}
    mine = role("r", aggregationRule={"clusterRoleSelectors": [one]})

    write = bootstrap.reconcile(
        mine, role("r", aggregationRule={"clusterRoleSelectors": [two]})
    )
    assert write is not None
    assert write.obj["aggregationRule"] == {"clusterRoleSelectors": [one, two]}
    write = bootstrap.reconcile(mine, role("r"))
    assert write is not None
    assert "aggregationRule" not in write.obj


def test_aggregated_roles_are_made_of_aggregated_roles() -> None:
    def gathers(label: str) -> Obj:
        return {"clusterRoleSelectors": [{"matchLabels": {"to": label}}]}

    roles = [
        role("a-top", aggregationRule=gathers("top")),
        role("middle", labels={"to": "top"}, aggregationRule=gathers("middle")),
        role("z-leaf", GET, LIST, GET, labels={"to": "middle"}),
    ]

    found = aggregation.outdated(roles)

    assert found == {"a-top": [GET, LIST], "middle": [GET, LIST]}


def test_an_aggregation_of_nothing_takes_away_only_what_it_gave() -> None:
    nothing = {"clusterRoleSelectors": [{"matchLabels": {"x": "y"}}]}
    mine = role("r", GET, aggregationRule=nothing)
    assert aggregation.outdated([mine]) == {}

    entry = {"manager": aggregation.CONTROLLER, "fieldsV1": {"f:rules": {}}}
    mine["metadata"]["managedFields"] = [entry]
    assert aggregation.outdated([mine]) == {"r": []}
