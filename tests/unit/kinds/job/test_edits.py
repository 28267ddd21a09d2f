"""Rule 19: only what changed on the hub is forwarded; what others change on the worker stays."""

from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jobferry.core import marks
from jobferry.kinds.forwarding import NOTHING, Edits
from jobferry.kinds.job.base import Base
from jobferry.kinds.job.draft import draft
from jobferry.kinds.job.edits import edits, note, resume
from jobferry.objects import Obj, merge_patch
from tests.unit.kinds.job.jobs import ELASTIC, INDEXED, NOW, at, condition, hub_job

BASE = Base()
NODE = {"nodeSelector": {"disk": "fast"}}


def mirror_of(hub: Obj, base: Base = BASE, status: Obj | None = None) -> Obj:
    """The mirror as a worker's API server holds it."""
    made = draft(hub, base)
    mirror = note(made, hub, made)
    metadata = {**mirror["metadata"], "resourceVersion": "7"}
    return {**mirror, "metadata": metadata, "status": status or {}}


def edited(hub: Obj, change: Obj) -> Obj:
    """The hub Job after a user's merge patch."""
    after: Obj = merge_patch.apply(hub, change)
    if "spec" in change:
        after["metadata"] = {**after["metadata"], "generation": 2}
    return after


def template(pod: Obj | None = None, **metadata: Any) -> Obj:
    return {"spec": {"template": {"spec": pod or {}, "metadata": metadata}}}


def forwarded(result: Edits) -> Obj:
    """What the patch changes, apart from what it notes."""
    assert result.patch is not None
    metadata = {
        key: value
        for key, value in result.patch["metadata"].items()
        if key != "resourceVersion"
    }
    noted = {marks.FORWARDED, marks.HUB_GENERATION}
    annotations = {k: v for k, v in metadata.pop("annotations").items() if k not in noted}
    if annotations:
        metadata["annotations"] = annotations
    rest = {key: value for key, value in result.patch.items() if key != "metadata"}
    return rest | ({"metadata": metadata} if metadata else {})


def after(mirror: Obj, result: Edits) -> Obj:
    """The mirror after the patch was written."""
    changed: Obj = merge_patch.apply(mirror, result.patch or {})
    return changed


def test_nothing_is_forwarded_while_nothing_changes() -> None:
    hub = hub_job(activeDeadlineSeconds=60)

    assert edits(hub, mirror_of(hub), BASE) == Edits(None)


@pytest.mark.parametrize(
    "change",
    [
        {"spec": {"suspend": True}},
        {"spec": {"parallelism": 0}},
        {"spec": {"backoffLimit": 9}},
        {"spec": {"activeDeadlineSeconds": 60}},
        {"spec": {"activeDeadlineSeconds": None}},
        {"spec": {"podReplacementPolicy": "Failed", "maxFailedIndexes": 1}},
        {"metadata": {"labels": {"team": "b"}}},
        {"metadata": {"labels": {"team": None, "tier/x~y": "c"}}},
        {"metadata": {"annotations": {"note": "n" * 500}}},
    ],
)
def test_rule_19_what_a_user_changes_on_the_hub_is_forwarded_once(change: Obj) -> None:
    hub = hub_job(activeDeadlineSeconds=30)
    hub["metadata"]["labels"] = {"team": "a"}
    mirror = mirror_of(hub)
    hub = edited(hub, change)

    result = edits(hub, mirror, BASE)

    assert forwarded(result) == change
    assert (result.refusals, result.drift) == ((), ())
    assert edits(hub, after(mirror, result), BASE) == Edits(None)


def test_a_patch_is_for_the_mirror_as_it_was_compared_and_notes_the_generation() -> None:
    hub = hub_job()
    patch = edits(edited(hub, {"spec": {"suspend": True}}), mirror_of(hub), BASE).patch

    assert patch is not None
    assert patch["metadata"]["resourceVersion"] == "7"
    assert patch["metadata"]["annotations"][marks.HUB_GENERATION] == "2"


@pytest.mark.parametrize(
    "change",
    [
        {"spec": {"ttlSecondsAfterFinished": 5}},
        {"metadata": {"labels": {"argocd.argoproj.io/instance": "x"}}},
        {"metadata": {"annotations": {"jobferry.io/placement": "{}"}}},
    ],
)
def test_what_is_of_the_hub_is_not_forwarded(change: Obj) -> None:
    hub = hub_job()

    assert edits(edited(hub, change), mirror_of(hub), BASE) == Edits(None)


def test_elastic_completions_go_with_an_equal_parallelism() -> None:
    hub = hub_job(**ELASTIC)
    mirror = mirror_of(hub)
    mirror["spec"] = {**mirror["spec"], "parallelism": 3}
    shrunk = edited(hub, {"spec": {"completions": 2, "parallelism": 2}})
    grown = edited(hub_job(**INDEXED), {"spec": {"completions": 2}})

    for scaled, before in ((shrunk, mirror), (grown, mirror_of(hub_job(**INDEXED)))):
        result = edits(scaled, before, BASE)
        assert forwarded(result) == {"spec": {"completions": 2, "parallelism": 2}}


def test_rule_7_a_raised_limit_is_forwarded_less_what_earlier_attempts_used() -> None:
    base = Base(succeeded=1, failed=2, seconds=20)
    hub = hub_job(activeDeadlineSeconds=60)
    mirror = mirror_of(hub, base)

    assert edits(hub, mirror, base) == Edits(None)
    raised = edited(hub, {"spec": {"backoffLimit": 8, "activeDeadlineSeconds": 90}})
    assert forwarded(edits(raised, mirror, base)) == {
        "spec": {"backoffLimit": 6, "activeDeadlineSeconds": 70}
    }


# -- scheduling directives -------------------------------------------------------------------------

AFFINITY = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"x": [1]}}}
DIRECTIVES = [
    template(NODE),
    template({"tolerations": [{"key": "gpu"}], "schedulingGates": [{"name": "a"}]}),
    template({"affinity": AFFINITY}),
    template(labels={"tier": "x"}, annotations={"note": "y"}),
]
SUSPENDED = {"conditions": [condition("Suspended")]}


def lean(change: Any) -> Any:
    """Leave out what is empty."""
    if not isinstance(change, dict):
        return change
    return {key: lean(value) for key, value in change.items() if value != {}}


@pytest.mark.parametrize("change", DIRECTIVES)
def test_scheduling_directives_are_forwarded_while_the_mirror_waits(change: Obj) -> None:
    hub = hub_job(suspend=True)
    mirror = mirror_of(hub, status=SUSPENDED)
    resumed = edited(hub, merge_patch.apply(change, {"spec": {"suspend": False}}))

    result = edits(resumed, mirror, BASE)

    assert forwarded(result) == lean(merge_patch.apply(change, {"spec": {"suspend": False}}))
    assert result.refusals == ()


@pytest.mark.parametrize(
    ("suspend", "status", "reason"),
    [
        (False, {}, "the mirror is not suspended"),
        (True, {"startTime": at(-9)}, "the mirror has started"),
        (True, {"active": 1}, "the mirror has started"),
    ],
)
def test_scheduling_directives_are_refused_with_the_reason_once_the_mirror_may_run(
    suspend: bool, status: Obj, reason: str
) -> None:
    hub = hub_job(suspend=suspend)
    changed = edited(hub, template(NODE))
    mirror = mirror_of(hub, status=status)

    result = edits(changed, mirror, BASE)

    refusal = f"/spec/template/spec/nodeSelector/disk: {reason}"
    assert result == Edits(None, refusals=(refusal,))


def test_what_is_refused_now_is_forwarded_when_it_can_be() -> None:
    hub = hub_job()
    changed = edited(hub, merge_patch.apply(template(NODE), {"spec": {"suspend": True}}))
    mirror = mirror_of(hub)

    first = edits(changed, mirror, BASE)
    assert forwarded(first) == {"spec": {"suspend": True}}
    assert len(first.refusals) == 1

    changed["metadata"]["generation"] = 3
    second = edits(changed, after(mirror, first), BASE)
    assert forwarded(second) == lean(template(NODE))


def test_other_changes_of_the_pod_template_are_refused() -> None:
    hub = hub_job(suspend=True)
    resources = [{"name": "main", "image": "train:1", "resources": {"limits": {"cpu": "1"}}}]

    result = edits(edited(hub, template({"containers": resources})), mirror_of(hub), BASE)

    why = "only its scheduling directives can be forwarded"
    assert result == Edits(None, refusals=(f"/spec/template: {why}",))


def test_defaults_of_a_newer_hub_are_no_edit() -> None:
    hub = hub_job()
    upgraded = merge_patch.apply(hub, template({"newDefault": True}))

    assert edits(upgraded, mirror_of(hub), BASE) == Edits(None)


# -- what others do on the worker --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "drift"),
    [
        ({"spec": {"suspend": True}}, ["/spec/suspend: false became true"]),
        ({"spec": {"backoffLimit": None}}, ["/spec/backoffLimit: 6 became nothing"]),
        (
            {"spec": {"activeDeadlineSeconds": 5}},
            ["/spec/activeDeadlineSeconds: nothing became 5"],
        ),
        (
            {"metadata": {"labels": {"team": "b"}}},
            ['/metadata/labels/team: "a" became "b"'],
        ),
        ({"metadata": {"labels": {"added": "b"}, "annotations": {"added": "c"}}}, []),
        (template(NODE), []),
        (template({"containers": [{"name": "sidecar"}]}, labels={"job-name": "train"}), []),
    ],
)
def test_rule_19_what_somebody_changes_on_the_worker_stays_and_is_reported(
    change: Obj, drift: list[str]
) -> None:
    hub = hub_job()
    hub["metadata"]["labels"] = {"team": "a"}
    mirror = merge_patch.apply(mirror_of(hub), change)

    assert edits(hub, mirror, BASE) == Edits(None, drift=tuple(drift))


def test_rule_19_the_last_word_is_that_of_the_hub_if_it_changes_too() -> None:
    hub = hub_job(parallelism=2)
    mirror = merge_patch.apply(mirror_of(hub), {"spec": {"parallelism": 9, "suspend": True}})

    result = edits(edited(hub, {"spec": {"parallelism": 3}}), mirror, BASE)

    assert forwarded(result) == {"spec": {"parallelism": 3}}
    assert result.drift == ("/spec/suspend: false became true",)


@pytest.mark.parametrize("text", [None, "", "no JSON", "[]", '{"spec": 1}'])
def test_without_its_note_nothing_is_forwarded_but_all_is_noted_anew(text: str | None) -> None:
    hub = hub_job()
    gone = {"metadata": {"annotations": {marks.FORWARDED: text}}}
    mirror = merge_patch.apply(mirror_of(hub), gone)
    hub = edited(hub, {"spec": {"parallelism": 3}})

    result = edits(hub, mirror, BASE)

    assert forwarded(result) == {}
    assert result.drift == ("/spec/parallelism: 3 became 2",)
    assert edits(hub, after(mirror, result), BASE) == Edits(None, drift=result.drift)


def test_the_note_stays_small_however_large_the_job_is() -> None:
    hub = hub_job()
    hub["metadata"]["annotations"] = {"large": "x" * 200_000}

    text = mirror_of(hub)["metadata"]["annotations"][marks.FORWARDED]

    assert len(text) < 1000
    assert "/metadata/annotations/large" in orjson.loads(text)


changes = st.fixed_dictionaries(
    {},
    optional={
        "suspend": st.booleans(),
        "parallelism": st.integers(0, 3),
        "backoffLimit": st.integers(0, 9),
        "activeDeadlineSeconds": st.none() | st.integers(1, 99),
    },
)


@settings(deadline=None)
@given(changes, changes)
def test_after_the_patch_the_mirror_is_as_the_hub_says_where_the_hub_changed(
    on_hub: Obj, on_worker: Obj
) -> None:
    hub = hub_job()
    mirror = merge_patch.apply(mirror_of(hub), {"spec": on_worker})
    changed = edited(hub, {"spec": on_hub})

    result = edits(changed, mirror, BASE)
    end = after(mirror, result)["spec"]

    for key in on_hub.keys() | on_worker.keys():
        is_changed = changed["spec"].get(key) != hub["spec"].get(key)
        source = changed["spec"] if is_changed else mirror["spec"]
        assert end.get(key) == source.get(key)
    assert edits(changed, after(mirror, result), BASE).patch is None


TOUCHES: dict[str, tuple[Obj, Obj]] = {
    "the hub's spec": ({"metadata": {"generation": 2}, "spec": {"parallelism": 9}}, {}),
    "a label on the hub": ({"metadata": {"labels": {"team": "b"}}}, {}),
    "a label that is gone from the hub": ({"metadata": {"labels": {"team": None}}}, {}),
    "an annotation on the hub": ({"metadata": {"annotations": {"note": "x"}}}, {}),
    "the mirror's spec": ({}, {"metadata": {"generation": 2}, "spec": {"parallelism": 9}}),
    "a label on the mirror": ({}, {"metadata": {"labels": {"team": "b"}}}),
}


@pytest.mark.parametrize(("on_hub", "on_worker"), TOUCHES.values(), ids=TOUCHES)
def test_what_was_touched_is_looked_at_closely(on_hub: Obj, on_worker: Obj) -> None:
    hub = merge_patch.apply(hub_job(), {"metadata": {"labels": {"team": "a"}}})
    mirror = merge_patch.apply(mirror_of(hub), {"metadata": {"generation": 1}})
    assert edits(hub, mirror, Base()) == Edits(None)

    result = edits(merge_patch.apply(hub, on_hub), merge_patch.apply(mirror, on_worker), Base())

    assert result != Edits(None)


STOPPED: Obj = {"startTime": at(-900), "conditions": [condition("Suspended")]}


class TestResuming:
    """A mirror that we suspended ourselves."""

    @pytest.mark.parametrize(
        ("spec", "status"),
        [
            ({}, STOPPED),
            ({"activeDeadlineSeconds": 600}, {}),
            ({"activeDeadlineSeconds": 600, "suspend": True}, STOPPED),
        ],
    )
    def test_a_deadline_that_does_not_matter_stays(self, spec: Obj, status: Obj) -> None:
        hub = hub_job(**spec)

        patch = resume(hub, mirror_of(hub, status=status), BASE, NOW)

        assert patch == {"spec": {"suspend": spec.get("suspend", False)}}

    @pytest.mark.parametrize("is_noted", [True, False])
    def test_one_that_has_passed_is_raised_until_there_is_a_new_start(
        self, is_noted: bool
    ) -> None:
        hub = hub_job(activeDeadlineSeconds=600)
        mirror = mirror_of(hub, Base(seconds=100), STOPPED)
        mirror["spec"]["suspend"] = True
        if not is_noted:
            del mirror["metadata"]["annotations"][marks.FORWARDED]

        patch = resume(hub, mirror, Base(seconds=100), NOW)
        assert patch["spec"]["activeDeadlineSeconds"] > 900 + 500
        raised: Obj = merge_patch.apply(mirror, patch)
        assert edits(hub, raised, Base(seconds=100)) == NOTHING

        begun = {**raised, "status": {"startTime": at(0)}}
        result = edits(hub, begun, Base(seconds=100))
        assert forwarded(result) == {"spec": {"activeDeadlineSeconds": 500}}
        assert edits(hub, after(begun, result), Base(seconds=100)) == NOTHING

    def test_what_else_has_changed_on_the_hub_is_still_forwarded(self) -> None:
        hub = hub_job(activeDeadlineSeconds=600)
        mirror = mirror_of(hub, status=STOPPED)
        hub = edited(hub, {"spec": {"parallelism": 7, "activeDeadlineSeconds": 700}})

        raised: Obj = merge_patch.apply(mirror, resume(hub, mirror, BASE, NOW))

        result = edits(hub, raised, BASE)
        assert forwarded(result) == {"spec": {"parallelism": 7}}
        begun = {**after(raised, result), "status": {"startTime": at(0)}}
        assert forwarded(edits(hub, begun, BASE)) == {"spec": {"activeDeadlineSeconds": 700}}
