"""Looks at mirrors that nobody edited are cheap, also where a worker labels all of them; and miss nothing."""

from typing import Any

import pytest

from jobferry.kinds.forwarding import NOTHING
from jobferry.kinds.job.base import Base
from jobferry.kinds.job.edits import edits
from jobferry.objects import Obj, merge_patch
from tests.unit.kinds.job.jobs import hub_job
from tests.unit.kinds.job.test_edits import BASE, mirror_of

HUB = {
    **hub_job(parallelism=2, activeDeadlineSeconds=600),
    "metadata": {**hub_job()["metadata"], "labels": {"team": "red"}},
}
LABELLED = {"metadata": {"labels": {"kueue.x-k8s.io/managed": "true"}}}


def first(mirror: Obj, *changes: Obj) -> Obj:
    """A mirror as a worker made it, in its first generation."""
    for change in ({"metadata": {"generation": 1}}, *changes):
        mirror = merge_patch.apply(mirror, change)
    return mirror


@pytest.mark.parametrize("change", [{}, LABELLED], ids=["as sent", "labelled"])
def test_of_a_mirror_that_nobody_edited_no_draft_is_made(
    monkeypatch: pytest.MonkeyPatch, change: Obj
) -> None:
    mirror = first(mirror_of(HUB), change)

    def refuse(*_: Any) -> Obj:
        raise AssertionError("a draft costs more than all else of a look")

    monkeypatch.setattr("jobferry.kinds.job.edits.draft", refuse)
    assert edits(HUB, mirror, BASE) == NOTHING


ON_WORKER = {
    "a label changed": {"metadata": {"labels": {"team": "blue"}}},
    "a label removed": {"metadata": {"labels": {"team": None}}},
    "suspended by a webhook": {"spec": {"suspend": True}},
    "a limit added": {"spec": {"maxFailedIndexes": 3}},
    "a deadline removed": {"spec": {"activeDeadlineSeconds": None}},
    "a node selector": {"spec": {"template": {"spec": {"nodeSelector": {"disk": "fast"}}}}},
    "the note": {"metadata": {"annotations": {"jobferry.io/forwarded": None}}},
}
ON_HUB = {
    "a label changed": {"metadata": {"labels": {"team": "blue"}}},
    "a label added": {"metadata": {"labels": {"tier": "gold"}}},
    "a label removed": {"metadata": {"labels": {"team": None}}},
    "an annotation added": {"metadata": {"annotations": {"example.com/a": "b"}}},
    "the spec": {"metadata": {"generation": 2}, "spec": {"parallelism": 5}},
}


@pytest.mark.parametrize(
    ("on_hub", "on_worker"),
    [*(({}, each) for each in ON_WORKER.values()), *((each, {}) for each in ON_HUB.values())],
    ids=[*(f"worker: {each}" for each in ON_WORKER), *(f"hub: {each}" for each in ON_HUB)],
)
@pytest.mark.parametrize("base", [BASE, Base(failed=1, seconds=60)], ids=["first", "moved"])
def test_of_a_labelled_mirror_as_much_is_seen_as_if_all_was_compared(
    on_hub: Obj, on_worker: Obj, base: Base
) -> None:
    hub: Obj = merge_patch.apply(HUB, on_hub)
    mirror = first(mirror_of(HUB, base), LABELLED, on_worker)
    # Of a later generation everything is compared.
    later = merge_patch.apply(mirror, {"metadata": {"generation": 2}})

    assert edits(hub, mirror, base) == edits(hub, later, base)
