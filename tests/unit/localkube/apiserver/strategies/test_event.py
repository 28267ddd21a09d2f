"""Events: one stored object, two forms, two sets of rules."""

import pytest

from jobferry.localkube.apiserver.strategies import event
from jobferry.localkube.apiserver.types import event_forms
from jobferry.objects import Obj

META = {"name": "e", "namespace": "n", "uid": "u", "resourceVersion": "1"}
TIME = "2026-01-01T00:00:00.123456Z"
CORE: Obj = {
    "kind": "Event",
    "apiVersion": "v1",
    "metadata": META,
    "involvedObject": {"kind": "Pod", "namespace": "n", "name": "p"},
    "source": {},
    "firstTimestamp": None,
    "lastTimestamp": None,
    "eventTime": TIME,
    "reportingComponent": "a.b/c",
    "reportingInstance": "i",
    "action": "Act",
    "reason": "Why",
    "type": "Normal",
}
OLD = {**CORE, "eventTime": None, "reportingComponent": "", "reportingInstance": ""}


def core_fields(**parts: object) -> list[str]:
    return [each.field for each in event.STRATEGY.validate_create({**CORE, **parts})]


def new_fields(**parts: object) -> list[str]:
    new = event_forms.to_new({**CORE, **parts})
    return [each.field for each in event.NEW_STRATEGY.validate_create(new)]


@pytest.mark.parametrize("obj", [CORE, OLD, {**CORE, "series": {"lastObservedTime": None}}])
def test_the_forms_turn_into_each_other_without_loss(obj: Obj) -> None:
    assert event_forms.to_core(event_forms.to_new(obj)) == obj


def test_the_new_form_has_the_new_names() -> None:
    parts = {"message": "m", "count": 2, "source": {"host": "h"}, "related": {"kind": "K"}}

    new = event_forms.to_new({**CORE, **parts})

    assert new["apiVersion"] == "events.k8s.io/v1"
    assert new["regarding"] == CORE["involvedObject"]
    assert (new["note"], new["deprecatedCount"]) == ("m", 2)
    assert (new["deprecatedSource"], new["related"]) == ({"host": "h"}, {"kind": "K"})
    assert new["reportingController"] == "a.b/c"
    assert "reportingController" not in event_forms.to_new(OLD)


@pytest.mark.parametrize(
    ("namespace", "involved", "is_fine"),
    [
        *(("n", "n", True), ("n", "", False), ("default", "", True), ("n", "m", False)),
        *(("kube-system", "", False), ("default", "n", False)),
    ],
)
def test_old_events_are_in_the_namespace_of_their_object(
    namespace: str, involved: str, *, is_fine: bool
) -> None:
    obj = {
        **OLD,
        "metadata": {**META, "namespace": namespace},
        "involvedObject": {"namespace": involved},
    }

    assert (not event.STRATEGY.validate_create(obj)) is is_fine


def test_new_events_may_be_about_other_namespaces_but_not_about_none() -> None:
    assert core_fields(involvedObject={"namespace": "m"}) == []
    assert core_fields(involvedObject={}) == ["involvedObject.namespace"]
    assert core_fields(involvedObject={}, metadata={**META, "namespace": "kube-system"}) == []


def test_new_events_say_who_reports_what() -> None:
    nothing = dict.fromkeys(("reportingComponent", "reportingInstance", "action", "reason"), "")

    found = core_fields(**nothing)

    # An empty name is missing, and is no qualified name either, in two ways.
    assert list(dict.fromkeys(found)) == list(nothing)
    assert core_fields(action="x" * 129, message="x" * 1025) == ["action", "message"]


def test_the_core_group_lets_through_what_events_k8s_io_refuses() -> None:
    odd = {"type": "Odd", "count": 1, "source": {"host": "h"}, "firstTimestamp": TIME}
    odd["series"] = {"count": 1, "lastObservedTime": None}

    assert core_fields(**odd) == []
    assert new_fields(**odd) == [
        *("series.count", "series.lastObservedTime", "type", "firstTimestamp", "count"),
        "source",
    ]
    assert new_fields(eventTime=None) == ["eventTime"]


def test_only_the_series_of_an_event_may_change() -> None:
    old, new = event_forms.to_new(CORE), event_forms.to_new(CORE)
    new["series"] = {"count": 2, "lastObservedTime": TIME}

    assert not event.NEW_STRATEGY.validate_update(new, old)

    new |= {"note": "n", "regarding": {"name": "other", "namespace": "n"}}
    found = event.NEW_STRATEGY.validate_update(new, old)

    assert [each.field for each in found] == ["involvedObject", "message"]
    assert found[0].body == (
        'Invalid value: {"Kind":"","Namespace":"n","Name":"other","UID":"","APIVersion":"",'
        '"ResourceVersion":"","FieldPath":""}: field is immutable'
    )


def test_the_core_group_lets_everything_change() -> None:
    assert not event.STRATEGY.validate_update({**CORE, "reason": "Other"}, CORE)


def test_selectors_ask_for_the_names_of_each_form() -> None:
    core = event.STRATEGY.fields(CORE)
    new = event.NEW_STRATEGY.fields(event_forms.to_new(CORE))

    assert core["involvedObject.name"] == new["regarding.name"] == "p"
    assert core["source"] == core["reportingComponent"] == new["reportingController"] == "a.b/c"
    assert event.STRATEGY.fields({**CORE, "source": {"component": "k"}})["source"] == "k"
    assert set(core) == event.STRATEGY.field_names
    assert set(new) == event.NEW_STRATEGY.field_names
