"""What Pods say of their groups: in our words or Kueue's, and in words that mean nothing."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobferry.core.kind import Gang
from jobferry.kinds import pod_groups
from tests.workloads.examples import ADAPTERS, POD_GROUP, example

OURS = ("jobferry.io/pod-group", "jobferry.io/pod-group-total-count")
KUEUE = ("kueue.x-k8s.io/pod-group-name", "kueue.x-k8s.io/pod-group-total-count")
POD = ADAPTERS["Pod"]


def pod(labels: Any = None, annotations: Any = None) -> dict[str, Any]:
    return example("Pod", labels=labels, annotations=annotations)


@pytest.mark.parametrize("words", [OURS, KUEUE])
def test_name_and_total_may_be_labels_or_annotations(words: tuple[str, str]) -> None:
    name, total = words
    expected = Gang("team", "g", 3)

    assert POD.gang(pod({name: "g"}, {total: "3"})) == expected
    assert POD.gang(pod({name: "g", total: "3"})) == expected
    assert POD.gang(pod(None, {name: "g", total: "3"})) == expected


def test_our_words_come_before_those_of_kueue() -> None:
    both = dict(zip((*OURS, *KUEUE), ("ours", "2", "theirs", "5"), strict=True))

    assert POD.gang(pod({}, both)) == Gang("team", "ours", 2)


def test_most_pods_are_of_no_group() -> None:
    assert POD.gang(pod()) is None
    assert POD.refusal(pod()) is None
    assert POD.gang(pod({OURS[1]: "3"})) is None
    assert POD.refusal(pod({OURS[1]: "3"})) is None


def test_of_a_total_that_is_none_it_is_told_where_it_stands_and_what_it_must_be() -> None:
    must = "must be the number of pods in the group, from 1 to 1000"

    for labels, annotations, where in (
        ({OURS[0]: "g"}, {OURS[1]: "two"}, f"annotation {OURS[1]}"),
        ({KUEUE[0]: "g", KUEUE[1]: "two"}, None, f"label {KUEUE[1]}"),
    ):
        said = POD.refusal(pod(labels, annotations))
        assert said == f'It is of pod group g, but its {where} says "two", and {must}'


@pytest.mark.parametrize("total", ["", "0", "-1", "3.0", "many", " 3", "٣", "1001", "9" * 5000])
def test_a_total_that_is_none_is_refused_in_a_short_sentence(total: str) -> None:
    found = pod({OURS[0]: "g"}, {OURS[1]: total})

    assert POD.gang(found) is None
    said = POD.refusal(found)
    assert said is not None
    assert OURS[1] in said
    assert len(said) < 200


def test_those_of_the_page_go_together() -> None:
    groups = {
        pod_groups.read({**each, "metadata": {**each["metadata"], "namespace": "n"}})
        for each in POD_GROUP
    }

    assert groups == {Gang("n", "pair", len(POD_GROUP))}


@given(st.text(), st.text())
def test_whatever_is_said_it_is_a_group_or_refused_or_none(name: str, total: str) -> None:
    found = pod({OURS[0]: name}, {OURS[1]: total})

    gang, refusal = POD.gang(found), POD.refusal(found)

    assert (gang is None) == (refusal is not None or not name)
    assert gang is None or 1 <= gang.size <= pod_groups.MOST


def test_other_kinds_go_alone() -> None:
    for name, kind in ADAPTERS.items():
        if name != "Pod":
            words = {OURS[0]: "g", OURS[1]: "2"}
            assert kind.gang(example(name, labels=words)) is None
