from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from jobferry.dispatch import manifests
from jobferry.objects import Obj
from jobferry.objects.resource import Resource
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


# Further kinds

JOB_SETS = Resource("jobset.x-k8s.io", "v1alpha2", "jobsets", "JobSet")
RAY = [Resource("ray.io", "v1", f"{each}s", "") for each in ("rayjob", "raycluster")]


def rights(name: str, **options: Any) -> set[tuple[str, str, str]]:
    """Return what a set of manifests gives besides what it gives for Jobs, and to whom it gives nothing."""
    known, found = (
        {
            (each["metadata"]["name"], f"{resource}.{group}", verb)
            for each in objects
            for rule in each.get("rules", ())
            for group in rule["apiGroups"]
            for resource in rule["resources"]
            for verb in rule["verbs"]
        }
        for objects in (manifests.objects(name), manifests.objects(name, **options))
    )
    assert known <= found or options.get("namespaces")
    return found - known


def test_a_hub_gives_rights_to_read_further_kinds_and_to_write_their_status() -> None:
    added = rights("hub", kinds=[JOB_SETS, *RAY])

    of_job_sets = {(right, verb) for _, right, verb in added if "jobset" in right}
    read = {("jobsets.jobset.x-k8s.io", verb) for verb in ("get", "list", "watch")}
    assert of_job_sets == {*read, ("jobsets/status.jobset.x-k8s.io", "patch")}
    assert (
        "jobferry-dispatcher-kind-rayclusters.ray.io",
        "rayclusters.ray.io",
        "list",
    ) in added


def test_the_right_to_delete_what_has_ended_is_given_to_nobody() -> None:
    objects = manifests.objects("hub", kinds=[JOB_SETS], expiring=[JOB_SETS])

    name = f"jobferry-dispatcher-ttl-{JOB_SETS}"
    (role,) = [each for each in objects if each["metadata"]["name"] == name]
    assert role["kind"] == "ClusterRole"
    assert [rule["verbs"] for rule in role["rules"]] == [["delete"]]
    bound = {each["roleRef"]["name"] for each in objects if "roleRef" in each}
    assert name not in bound


def test_a_worker_gives_the_rights_on_mirrors_of_further_kinds() -> None:
    added = rights("worker", kinds=[JOB_SETS])

    verbs = {verb for _, right, verb in added if right == "jobsets.jobset.x-k8s.io"}
    assert verbs == {"get", "list", "watch", "create", "patch", "delete"}


def test_so_it_does_in_some_namespaces_alone() -> None:
    objects = manifests.objects("worker", ["ml", "vision"], [JOB_SETS])

    spaces = {
        each["metadata"].get("namespace")
        for each in objects
        for rule in each.get("rules", ())
        if "jobsets" in rule["resources"]
    }
    assert spaces == {"ml", "vision"}


@pytest.mark.parametrize(
    ("name", "namespaces"), [("hub", ()), ("worker", ()), ("worker", ("ml", "vision"))]
)
def test_what_is_applied_for_one_kind_takes_nothing_from_another(
    name: str, namespaces: tuple[str, ...]
) -> None:
    first, then = (
        {
            (each["kind"], each["metadata"].get("namespace"), each["metadata"]["name"]): each
            for each in manifests.objects(
                name, namespaces, [kind], [kind], referred=[refers_to]
            )
        }
        for kind, refers_to in zip((JOB_SETS, RAY[0]), REFERRED, strict=True)
    )

    assert first.keys() - then.keys()
    assert all(first[each] == then[each] for each in first.keys() & then.keys())


def test_a_kind_in_two_versions_is_one_right() -> None:
    older = replace(JOB_SETS, version="v1alpha1")

    assert manifests.text("worker", (), [older, JOB_SETS]) == manifests.text(
        "worker", (), [JOB_SETS]
    )


@pytest.mark.parametrize("namespaces", [(), ("ml", "vision")])
def test_rights_that_not_every_worker_has_are_found_by_a_label(
    namespaces: tuple[str, ...],
) -> None:
    usual = {
        (kind, name)
        for kind in ("ClusterRole", "ClusterRoleBinding")
        for name in ("jobferry-worker", "jobferry-worker-namespaces")
    }

    unlabelled = {
        (each["kind"], each["metadata"]["name"])
        for each in manifests.objects("worker", namespaces, [JOB_SETS], referred=REFERRED)
        if "Role" in each["kind"]
        and manifests.ON_WORKERS
        not in ("=".join(pair) for pair in each["metadata"].get("labels", {}).items())
    }

    assert unlabelled <= usual


def test_whoever_may_see_a_namespace_sees_its_placements_and_writes_none() -> None:
    (role,) = [
        each
        for each in manifests.objects("hub")
        if "rbac.authorization.k8s.io/aggregate-to-view" in each["metadata"].get("labels", {})
    ]

    assert role["rules"] == [
        {
            "apiGroups": ["jobferry.io"],
            "resources": ["placements"],
            "verbs": ["get", "list", "watch"],
        }
    ]


# What workloads refer to

REFERRED = [
    Resource("", "v1", "configmaps", "ConfigMap"),
    Resource("scheduling.k8s.io", "v1", "priorityclasses", "PriorityClass", namespaced=False),
]


def test_nobody_may_look_for_what_workloads_refer_to_unless_it_is_asked_for() -> None:
    for name in ("hub", "worker"):
        for rule in rules(name):
            assert not {"configmaps", "serviceaccounts"} & {*rule["resources"]}
    assert not any("secrets" in rule["resources"] for rule in rules("worker"))


def test_a_worker_lets_us_look_for_what_was_chosen() -> None:
    added = rights("worker", referred=REFERRED)

    assert added == {
        ("jobferry-worker-reference-configmaps", "configmaps.", "get"),
        (f"jobferry-worker-reference-{REFERRED[1]}", str(REFERRED[1]), "get"),
    }


def test_in_some_namespaces_alone_it_lets_us_look_there_and_at_what_is_in_none() -> None:
    found = {
        (each["metadata"].get("namespace"), resource)
        for each in manifests.objects("worker", ["ml", "vision"], referred=REFERRED)
        if each["metadata"]["name"].startswith("jobferry-worker-reference-")
        for rule in each.get("rules", ())
        for resource in rule["resources"]
    }

    assert found == {(None, "priorityclasses"), ("ml", "configmaps"), ("vision", "configmaps")}


def test_a_hub_lets_us_follow_what_tells_what_workloads_need() -> None:
    pipelines = Resource("tekton.dev", "v1", "pipelines", "Pipeline")

    added = rights("hub", kinds=[JOB_SETS], referred=[pipelines])

    verbs = {verb for _, right, verb in added if right == "pipelines.tekton.dev"}
    assert verbs == {"list", "watch"}
