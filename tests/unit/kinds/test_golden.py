"""The mirror of every kind is, field by field, what it must be."""

import pytest

from jobferry.core import marks
from tests.workloads.examples import ADAPTERS, EXAMPLES, NAMES, golden, marks_of

OURS = [name for name in NAMES if not name.endswith("example.com")]


@pytest.mark.parametrize("name", OURS)
def test_a_mirror_is_its_golden_one(name: str) -> None:
    hub, wanted = golden(name)
    mine = marks_of(hub)

    mirror = ADAPTERS[name].mirror(hub, mine, "")

    metadata = mirror["metadata"]
    annotations = dict(metadata["annotations"])
    assert annotations.pop(marks.FORWARDED)
    assert annotations.pop(marks.HUB_GENERATION) == str(hub["metadata"]["generation"])
    ours = wanted["metadata"]
    assert metadata["labels"] == {**ours["labels"], **mine.labels()}
    assert annotations == {**ours["annotations"], **mine.annotations()}
    assert metadata.keys() == {"name", "namespace", "labels", "annotations"}
    assert {**mirror, "metadata": {**metadata, "labels": {}, "annotations": {}}} == {
        **wanted,
        "metadata": {**ours, "labels": {}, "annotations": {}},
    }


@pytest.mark.parametrize("name", OURS)
def test_making_a_mirror_leaves_the_hub_object_alone(name: str) -> None:
    hub = golden(name).hub

    ADAPTERS[name].mirror(hub, marks_of(hub), "")

    assert hub == golden(name).hub


@pytest.mark.parametrize("name", OURS)
def test_the_golden_hub_object_is_ours(name: str) -> None:
    adapter = ADAPTERS[name]

    assert adapter.managed_by(golden(name).hub) in adapter.claims


def test_every_kind_has_an_example_on_the_page_which_is_ours() -> None:
    assert set(EXAMPLES) == set(ADAPTERS)
    for name, adapter in ADAPTERS.items():
        assert adapter.managed_by(EXAMPLES[name]) in adapter.claims
