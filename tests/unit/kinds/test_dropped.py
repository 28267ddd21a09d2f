from typing import Any

import orjson
import pytest

from jobferry.kinds.dropped import dropped_fields
from jobferry.objects import Obj
from tests.workloads.examples import ADAPTERS


def dropped(sent: Any, kept: Any) -> list[str]:
    return dropped_fields({"spec": sent}, {"spec": kept})


@pytest.mark.parametrize(
    ("sent", "kept", "fields"),
    [
        ({"successPolicy": {"rules": []}}, {}, ["spec.successPolicy"]),
        ({"backoffLimitPerIndex": 0}, {"backoffLimit": 6}, ["spec.backoffLimitPerIndex"]),
        ({"template": {"a": False, "b": 1}}, {"template": {"b": 1}}, ["spec.template.a"]),
        ({"a": [{"name": "x", "new": 1}]}, {"a": [{"name": "x"}]}, ["spec.a[].new"]),
        ({"a": [{"name": "x"}, {"name": "y"}]}, {"a": [{"name": "y"}]}, ["spec.a[]"]),
        (
            {"a": [{"key": "x", "new": 1}]},
            {"a": [{"key": "y"}, {"key": "x"}]},
            ["spec.a[].new"],
        ),
        ({"a": [{"key": "x"}]}, {"a": ["x"]}, ["spec.a[]"]),
        ({"a": 1}, None, ["spec"]),
    ],
)
def test_rule_17_what_was_sent_and_is_not_in_the_answer_was_dropped(
    sent: Any, kept: Any, fields: list[str]
) -> None:
    assert dropped(sent, kept) == fields


@pytest.mark.parametrize(
    ("sent", "kept"),
    [
        ({"a": 1}, {"a": 1, "default": 2}),
        ({"suspend": False}, {"suspend": True}),
        ({"creationTimestamp": None, "resources": {}, "volumes": []}, {}),
        (
            {"a": [{"name": "x", "image": "b"}]},
            {"a": [{"name": "injected"}, {"name": "x", "image": "b", "added": 1}]},
        ),
        ({"a": [{"key": "x", "more": 1}]}, {"a": [{"key": "y"}, {"key": "x", "more": 1}]}),
        ({"args": ["a", "b"]}, {"args": ["a"]}),
        ({"a": {"b": 1}}, {"a": "text"}),
    ],
)
def test_what_was_added_or_changed_or_empty_was_not_dropped(sent: Any, kept: Any) -> None:
    assert dropped(sent, kept) == []


ZEROS: Obj = {"name": "x", "optional": False, "retries": 0, "text": "", "inner": {"list": []}}


@pytest.mark.parametrize("name", ["PipelineRun.tekton.dev", "TaskRun.tekton.dev"])
def test_what_is_zero_is_no_loss_where_a_webhook_leaves_it_out(name: str) -> None:
    """Tekton's does, which writes what it was given as Go does; a hub without it still has all of it."""
    sent, kept = {"spec": {"a": [ZEROS]}}, {"spec": {"a": [{"name": "x"}]}}
    more = {"spec": {"a": [{**ZEROS, "more": 1}]}}

    assert ADAPTERS[name].dropped_fields(sent, kept) == []
    assert ADAPTERS[name].dropped_fields(more, kept) == ["spec.a[].more"]


MANY = [{"key": str(number), "operator": "Exists"} for number in range(20_000)]
"""As many as a tenant may write: compared with one another they would take minutes, in which nobody else is served."""


def test_of_many_entries_each_is_looked_for_in_its_place() -> None:
    added = {"key": "added"}

    assert dropped({"a": MANY}, {"a": [*MANY, added]}) == []
    assert dropped({"a": MANY}, {"a": [added, *MANY]}) == []
    assert dropped({"a": MANY}, {"a": [{"key": each["key"]} for each in MANY]}) == [
        "spec.a[].operator"
    ]


def test_many_entries_of_one_name_within_many_are_no_more_than_they_are() -> None:
    inner: Any = 1
    for _ in range(5):
        inner = [{"in": inner, "new": 1} for _ in range(8)]
    kept = orjson.loads(orjson.dumps(inner))
    kept[0]["added"] = True

    assert dropped({"a": inner}, {"a": kept}) == []
