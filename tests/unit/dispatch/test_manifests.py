from collections.abc import Iterator

import pytest

from jobferry.dispatch import manifests
from jobferry.objects import Obj
from jobferry.settings import DEFAULTS

CRDS = {crd["spec"]["names"]["kind"]: crd for crd in manifests.objects("crds")}


def schema(kind: str) -> Obj:
    (version,) = CRDS[kind]["spec"]["versions"]
    found: Obj = version["schema"]["openAPIV3Schema"]
    return found


def nodes(node: Obj, path: str = "") -> Iterator[tuple[str, Obj]]:
    """List each part of a schema with its path."""
    yield path, node
    for name, inner in node.get("properties", {}).items():
        yield from nodes(inner, f"{path}.{name}")
    for name in ("items", "additionalProperties"):
        if name in node:
            yield from nodes(node[name], f"{path}[]")


def rules(name: str) -> Iterator[Obj]:
    for each in manifests.objects(name):
        yield from each.get("rules", ())


def test_there_are_workers_queues_and_placements() -> None:
    assert set(CRDS) == {"Worker", "Queue", "Placement"}


@pytest.mark.parametrize("kind", CRDS)
def test_each_field_is_described_for_kubectl_explain(kind: str) -> None:
    silent = [
        path
        for path, node in nodes(schema(kind))
        if "description" not in node and not path.endswith("[]") and path != ".metadata"
    ]

    assert silent == []


@pytest.mark.parametrize("kind", CRDS)
def test_no_field_takes_just_anything(kind: str) -> None:
    for path, node in nodes(schema(kind)):
        assert not node.get("x-kubernetes-preserve-unknown-fields"), path
        assert "type" in node or node.get("x-kubernetes-int-or-string"), path


def test_rights_are_named_one_by_one() -> None:
    for rule in [*rules("hub"), *rules("worker")]:
        assert "*" not in [*rule["verbs"], *rule["resources"], *rule["apiGroups"]]
        assert "nonResourceURLs" not in rule


def test_the_namespace_of_the_manifests_is_the_one_of_the_lease() -> None:
    for name in ("hub", "worker"):
        spaces = {each["metadata"].get("namespace") for each in manifests.objects(name)}
        assert spaces == {None, DEFAULTS.lease.namespace}


def test_manifests_are_printed_with_their_reasons() -> None:
    assert "a finalizer guards a Worker" in manifests.text("hub")


def test_rights_in_some_namespaces_are_none_elsewhere() -> None:
    jobs: dict[str | None, list[str]] = {}
    for each in manifests.objects("worker", ["ml", "vision"]):
        for rule in each.get("rules", ()):
            jobs.setdefault(each["metadata"].get("namespace"), []).extend(rule["resources"])

    assert jobs == {None: ["namespaces"], "ml": ["jobs"], "vision": ["jobs"]}


def test_rights_in_some_namespaces_take_the_place_of_those_in_all() -> None:
    def cluster_wide(objects: list[Obj]) -> set[tuple[str, str]]:
        return {(each["kind"], each["metadata"]["name"]) for each in objects}

    everywhere = cluster_wide(manifests.objects("worker"))

    # Applied over the others, they leave no right behind that these do not give.
    assert ("ClusterRole", "jobferry-worker") in everywhere
    assert ("ClusterRole", "jobferry-worker") in cluster_wide(
        manifests.objects("worker", ["ml"])
    )
