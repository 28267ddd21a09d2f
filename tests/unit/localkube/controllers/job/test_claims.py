"""Whose the pods are."""

from typing import Any

import pytest
from msgspec.structs import replace

from jobferry.localkube.controllers.heads import Pod
from jobferry.localkube.controllers.job import claims
from tests.unit.localkube.controllers.job.passes import job, names, pod

SELECTOR = {"matchLabels": {"job": "work"}}
BY_EXPRESSION = {"matchExpressions": [{"key": "job", "operator": "In", "values": ["work"]}]}


def labelled(name: str, value: str, **more: Any) -> Pod:
    found = pod(name, **more)
    return replace(found, metadata=replace(found.metadata, labels={"job": value, "x": "y"}))


MANAGED = [labelled("ours", "work"), labelled("strayed", "play")]
UNMANAGED = [
    labelled("lost", "work"),
    labelled("other", "play"),
    labelled("ending", "work", deleted=30),
]


@pytest.mark.parametrize("selector", [SELECTOR, BY_EXPRESSION])
def test_pods_are_adopted_and_released_as_the_selector_says(selector: dict[str, Any]) -> None:
    found = claims.claims(job(selector=selector), MANAGED, UNMANAGED)

    assert names(found.ours) == ["ours"]
    assert names(found.adopt) == ["lost"]
    assert names(found.release) == ["strayed"]


def test_a_deleted_job_neither_adopts_nor_releases() -> None:
    found = claims.claims(job(selector=SELECTOR, deleted=True), MANAGED, UNMANAGED)

    assert names(found.ours) == ["ours"]
    assert found.adopt == found.release == ()


@pytest.mark.parametrize(
    ("selector", "matches"),
    [(None, False), ({}, True), (SELECTOR, True), ({"matchLabels": {"job": "play"}}, False)],
)
def test_a_selector_matches_as_api_servers_read_it(
    selector: dict[str, Any] | None, matches: bool
) -> None:
    assert claims.matcher(selector)({"job": "work"}) is matches
