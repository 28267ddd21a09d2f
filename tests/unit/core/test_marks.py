from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jobferry.core import marks
from jobferry.core.marks import Marks, Standing
from jobferry.objects import Obj, labels

MARKS = Marks(
    origin="5f0c",
    dispatcher="jobferry.io/dispatcher",
    worker="east",
    hub_uid="0f8e",
    attempt=2,
    namespace="ml",
    name="train",
    hub_name="train",
)
MIRROR = MARKS.stamp({"kind": "Job", "metadata": {"labels": {"team": "a"}}})


def test_marks_are_read_as_they_were_stamped() -> None:
    assert marks.read(MIRROR) == MARKS


def test_stamping_names_the_mirror_and_keeps_its_own_labels() -> None:
    metadata = MIRROR["metadata"]

    assert (metadata["namespace"], metadata["name"]) == ("ml", "train")
    assert metadata["labels"]["team"] == "a"


def test_marks_are_labels_that_an_api_server_takes() -> None:
    for key, value in MIRROR["metadata"]["labels"].items():
        assert not labels.key_problems(key) + labels.value_problems(value)


@pytest.mark.parametrize("key", [marks.ORIGIN, marks.DISPATCHER, marks.HUB_UID, marks.WORKER])
def test_an_object_that_lacks_a_mark_of_whose_it_is_has_none(key: str) -> None:
    kept = {each: text for each, text in MIRROR["metadata"]["labels"].items() if each != key}

    assert marks.read({"metadata": {**MIRROR["metadata"], "labels": kept}}) is None


@pytest.mark.parametrize(
    "metadata",
    [
        {},
        {"labels": MARKS.labels()},
        {"labels": MARKS.labels(), "annotations": {**MARKS.annotations(), marks.MIRROR: "x"}},
        {"labels": {**MARKS.labels(), marks.ATTEMPT: "b"}, "annotations": MARKS.annotations()},
    ],
)
def test_an_object_with_unreadable_marks_has_none(metadata: Obj) -> None:
    assert marks.read({"metadata": metadata}) is None


RULE_14 = [
    (MARKS, Standing.CURRENT, "it is the mirror of attempt 2"),
    (replace(MARKS, origin="b"), Standing.FOREIGN, "it belongs to another hub, b"),
    (replace(MARKS, dispatcher="x.io/b"), Standing.FOREIGN, "another dispatcher, x.io/b"),
    (
        replace(MARKS, worker="west"),
        Standing.FOREIGN,
        "another Worker of the same cluster, west",
    ),
    (
        replace(MARKS, hub_uid="a"),
        Standing.STALE,
        "it was made for another object of this name, a",
    ),
    (
        replace(MARKS, attempt=1),
        Standing.STALE,
        "it is of attempt 1, and the one that counts is 2",
    ),
    (replace(MARKS, name="train-x"), Standing.STALE, "it should have the name ml/train"),
]


@pytest.mark.parametrize(("found", "standing", "reason"), RULE_14)
def test_rule_14_only_a_mirror_on_which_all_marks_match_is_current(
    found: Marks, standing: Standing, reason: str
) -> None:
    verdict = MARKS.judge(found.stamp({}))

    assert verdict.standing is standing
    assert reason in verdict.reason


def test_rule_14_a_mirror_that_lost_its_attempt_is_ours_and_never_the_one_that_counts() -> None:
    kept = {each: MIRROR["metadata"]["labels"][each] for each in MARKS.labels()}
    del kept[marks.ATTEMPT]
    stripped = {"metadata": {**MIRROR["metadata"], "labels": kept}}

    verdict = MARKS.judge(stripped)

    assert verdict.standing is Standing.STALE
    assert verdict.reason == "it has lost the mark jobferry.io/attempt"


def test_rule_14_an_object_without_marks_is_foreign() -> None:
    verdict = MARKS.judge({"metadata": {"namespace": "ml", "name": "train"}})

    assert verdict.standing is Standing.FOREIGN


@pytest.mark.parametrize("copy", [{"name": "train-2"}, {"namespace": "other"}])
def test_rule_14_a_copy_that_somebody_made_of_a_mirror_is_foreign(copy: dict[str, str]) -> None:
    clone = {"metadata": {**MIRROR["metadata"], **copy}}

    assert MARKS.judge(clone).standing is Standing.FOREIGN
    assert MARKS.judge(clone).reason == "it is a copy that somebody made of ml/train"


def test_a_mirror_can_be_told_from_a_copy_without_knowing_its_workload() -> None:
    clone = {"metadata": {**MIRROR["metadata"], "name": "train-2"}}
    found = marks.read(clone)

    assert found is not None
    assert found.judge(MIRROR).standing is Standing.CURRENT
    assert found.judge(clone).standing is Standing.FOREIGN


def test_the_selector_selects_the_mirrors_of_one_dispatcher_of_one_hub_on_one_worker() -> None:
    selector = labels.parse(marks.selector("5f0c", "jobferry.io/dispatcher", MARKS.worker))

    assert selector.matches(MIRROR["metadata"]["labels"])
    for other in (
        replace(MARKS, origin="b"),
        replace(MARKS, dispatcher="jobferry.io/other"),
        replace(MARKS, worker="b"),
    ):
        assert not selector.matches(other.labels())


def test_the_name_of_a_dispatcher_stays_readable() -> None:
    assert marks.label_value("jobferry.io/dispatcher") == "jobferry.io_dispatcher"


dns = st.builds("{}{}{}".format, st.just("a"), st.text("a1-.", max_size=70), st.just("z"))
paths = st.text("aZ1/-._~%!$&'()*+,;=:", min_size=1, max_size=20)
dispatchers = st.builds("{}/{}".format, dns, paths)


@settings(deadline=None)
@given(st.tuples(dispatchers, dispatchers) | st.tuples(dns, dns))
def test_different_names_give_different_labels(names: tuple[str, str]) -> None:
    one, other = map(marks.label_value, names)

    assert (one == other) == (names[0] == names[1])
    assert not labels.value_problems(one) + labels.value_problems(other)


@settings(deadline=None)
@given(dispatchers, dns)
def test_marks_with_any_names_are_recognised(dispatcher: str, worker: str) -> None:
    mine = replace(MARKS, dispatcher=dispatcher, worker=worker)
    mirror = mine.stamp({})
    found = marks.read(mirror)

    assert found is not None
    assert mine.judge(mirror).standing is Standing.CURRENT
    assert found.judge(mirror).standing is Standing.CURRENT


def test_our_labels_and_annotations_that_were_removed_or_changed_are_told() -> None:
    kept = {"labels": {"team": "b"}, "annotations": {marks.HUB_NAME: "another"}}
    of_ours = sorted([*MARKS.labels(), *MARKS.annotations()])

    assert marks.altered(MIRROR, MIRROR) == []
    assert marks.altered(MIRROR, {"metadata": kept}) == of_ours
    assert marks.altered(MIRROR, {"metadata": {}}) == of_ours
