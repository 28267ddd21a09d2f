"""The columns of all built-in kinds."""

from datetime import UTC, datetime

import pytest

from jobferry.localkube.apiserver.printing import catalog
from jobferry.objects import Obj

NOW = datetime(2026, 11, 16, 12, tzinfo=UTC)
KINDS = [
    *(("", kind) for kind in ("ConfigMap", "Event", "LimitRange", "Namespace", "Node", "Pod")),
    *(("", kind) for kind in ("PersistentVolume", "PersistentVolumeClaim", "ResourceQuota")),
    *(("", kind) for kind in ("Secret", "Service", "ServiceAccount")),
    *(("batch", "Job"), ("batch", "CronJob"), ("coordination.k8s.io", "Lease")),
    *(("events.k8s.io", "Event"), ("scheduling.k8s.io", "PriorityClass")),
    *(
        ("rbac.authorization.k8s.io", kind)
        for kind in ("Role", "RoleBinding", "ClusterRole", "ClusterRoleBinding")
    ),
    *(("apiextensions.k8s.io", "CustomResourceDefinition"), ("apps", "ReplicaSet")),
]
BOOKMARKS: list[Obj] = [
    {"metadata": {"resourceVersion": "7", "creationTimestamp": None}},
    {"metadata": {}, "spec": None, "status": None},
    {"metadata": {}, "spec": {"containers": None, "ports": None}, "status": {}},
]


@pytest.mark.parametrize(("group", "kind"), KINDS)
@pytest.mark.parametrize("bookmark", BOOKMARKS)
def test_bookmarks_have_a_cell_for_every_column(group: str, kind: str, bookmark: Obj) -> None:
    columns = catalog.columns_for(group, kind)

    assert len(columns.cells(bookmark, NOW)) == len(columns.definitions)


@pytest.mark.parametrize(("group", "kind"), KINDS)
def test_every_column_says_what_it_is(group: str, kind: str) -> None:
    for definition in catalog.columns_for(group, kind).definitions:
        assert list(definition) == ["name", "type", "format", "description", "priority"]
        assert definition["description"].endswith(".")


def test_exactly_one_column_is_the_name() -> None:
    for group, kind in KINDS:
        definitions = catalog.columns_for(group, kind).definitions
        assert [each["format"] for each in definitions].count("name") == 1
