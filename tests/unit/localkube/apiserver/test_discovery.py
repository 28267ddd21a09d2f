"""What a fresh server says it serves; tests/api compares it with a real one."""

from jobferry.localkube.apiserver import built_in, discovery
from jobferry.localkube.apiserver.registry import Registry

REGISTRY = Registry(built_in.resources())


def test_the_versions_of_a_group_come_with_the_preferred_one_first() -> None:
    group = discovery.one_group(REGISTRY, "batch")

    assert group is not None
    assert group["preferredVersion"] == {"groupVersion": "batch/v1", "version": "v1"}
    assert discovery.one_group(REGISTRY, "none.example.com") is None


def test_resources_are_listed_with_their_subresources() -> None:
    listing = discovery.resource_list(REGISTRY, "batch", "v1")

    assert listing is not None
    names = [row["name"] for row in listing["resources"]]
    assert names == ["cronjobs", "cronjobs/status", "jobs", "jobs/status"]
    assert discovery.resource_list(REGISTRY, "batch", "v9") is None


def test_everything_comes_in_two_lists_that_are_whole() -> None:
    core = discovery.aggregated(REGISTRY, core=True, version="v2")
    others = discovery.aggregated(REGISTRY, core=False, version="v2")

    found = {
        (group["metadata"].get("name", ""), version["version"])
        for listing in (core, others)
        for group in listing["items"]
        for version in group["versions"]
    }
    assert found == set(REGISTRY.group_versions())
