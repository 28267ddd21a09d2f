"""What an apply results in, and what it refuses."""

from typing import Any

import orjson
import pytest

from jobferry.localkube.apiserver.managed.conflicts import Conflicts
from jobferry.localkube.apiserver.shapes import ANYTHING, LEAF, Struct
from jobferry.localkube.apiserver.status import StatusError
from tests.unit.localkube.apiserver.managed.managed_object import ManagedObject, endpoint_of


def test_the_first_apply_creates_and_owns_what_it_says() -> None:
    thing = ManagedObject()

    thing.apply("one", {"text": "t", "list": [{"name": "a"}], "map": {"x": "y"}, "nested": {}})

    assert thing.spec == {"text": "t", "list": [{"name": "a"}], "map": {"x": "y"}, "nested": {}}
    assert thing.entries == [
        {
            "manager": "one",
            "operation": "Apply",
            "apiVersion": "v1",
            "time": "2026-01-01T00:00:00Z",
            "fieldsType": "FieldsV1",
            "fieldsV1": {
                "f:spec": {
                    "f:list": {'k:{"name":"a"}': {".": {}, "f:name": {}}},
                    "f:map": {"f:x": {}},
                    "f:nested": {},
                    "f:text": {},
                }
            },
        }
    ]


def test_the_same_apply_again_changes_nothing() -> None:
    thing = ManagedObject()
    thing.apply("one", {"text": "t", "list": [{"name": "a"}]})
    before = thing.stored

    thing.apply("one", {"text": "t", "list": [{"name": "a"}]})

    assert thing.stored == before


def test_what_others_own_and_have_another_value_is_a_conflict() -> None:
    thing = ManagedObject()
    thing.update("updater", {"text": "a"})

    with pytest.raises(Conflicts) as refused:
        thing.apply("one", {"text": "b"})

    message = 'Apply failed with 1 conflict: conflict with "updater" using v1: .spec.text'
    assert refused.value.status() == {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": message,
        "reason": "Conflict",
        "details": {
            "causes": [
                {
                    "reason": "FieldManagerConflict",
                    "message": 'conflict with "updater" using v1',
                    "field": ".spec.text",
                }
            ]
        },
        "code": 409,
    }


def test_several_conflicts_are_told_by_manager() -> None:
    thing = ManagedObject()
    thing.update("updater", {"text": "a", "list": [{"name": "x", "value": "1"}]})
    thing.apply("other", {"number": 1, "set": ["s"]})
    thing.endpoint = endpoint_of(subresource="status")
    thing.update("controller", {**thing.spec, "whole": 1})
    thing.endpoint = endpoint_of()

    with pytest.raises(Conflicts) as refused:
        thing.apply(
            "one",
            {"text": "b", "number": 2, "whole": 2, "list": [{"name": "x", "value": "2"}]},
        )

    assert str(refused.value) == (
        "Apply failed with 4 conflicts: "
        'conflicts with "controller" with subresource "status" using v1:\n'
        "- .spec.whole\n"
        'conflicts with "other":\n'
        "- .spec.number\n"
        'conflicts with "updater" using v1:\n'
        "- .spec.text\n"
        '- .spec.list[name="x"].value'
    )


def test_force_takes_what_others_own() -> None:
    thing = ManagedObject()
    thing.update("updater", {"text": "a", "number": 1})

    thing.apply("one", {"text": "b"}, force=True)

    assert thing.spec == {"text": "b", "number": 1}
    assert thing.owned("updater") == ["", ".number"]
    assert thing.owned("one") == [".text"]


def test_the_same_value_is_owned_together_and_is_no_conflict() -> None:
    thing = ManagedObject()
    thing.update("updater", {"text": "a"})

    thing.apply("one", {"text": "a"})
    thing.apply("two", {"text": "a"})

    assert ["updater", ".text" in thing.owned("updater")] == ["updater", True]
    assert thing.owned("one") == thing.owned("two") == [".text"]


def test_who_comes_to_own_without_a_change_has_no_time() -> None:
    thing = ManagedObject()
    thing.update("updater", {"text": "a"})

    thing.apply("one", {"text": "a"})

    assert "time" not in thing.entries[0]


def test_what_is_applied_no_more_is_removed() -> None:
    thing = ManagedObject()
    thing.apply(
        "one", {"text": "a", "map": {"x": "1", "y": "2"}, "nested": {"inner": {"x": 1}}}
    )

    thing.apply("one", {"map": {"y": "2"}})

    assert thing.spec == {"map": {"y": "2"}}


@pytest.mark.parametrize("operation", ["apply", "update"])
def test_what_others_own_is_not_removed(operation: str) -> None:
    thing = ManagedObject()
    thing.apply("one", {"text": "a", "number": 1})
    if operation == "apply":
        thing.apply("two", {"text": "a"})
    else:
        thing.update("two", {"text": "b", "number": 1})

    thing.apply("one", {})

    assert thing.spec == {"text": "a" if operation == "apply" else "b"}
    assert thing.owned("two") == [".text"]


def test_an_item_stays_as_long_as_somebody_has_something_in_it() -> None:
    thing = ManagedObject()
    thing.apply("one", {"list": [{"name": "a", "value": "1"}, {"name": "b", "value": "1"}]})
    thing.apply("two", {"list": [{"name": "a", "numeric": 1}]})

    thing.apply("one", {})

    assert thing.spec == {"list": [{"name": "a", "numeric": 1}]}
    assert thing.owned("one") == [""]


def test_an_item_goes_with_what_nobody_owns_in_it() -> None:
    thing = ManagedObject()
    thing.apply("one", {"list": [{"name": "a"}, {"name": "b"}], "text": "t"})
    assert thing.stored
    thing.spec["list"][0]["value"] = "a default"

    thing.apply("one", {"list": [{"name": "b"}]})

    assert thing.spec == {"list": [{"name": "b"}]}


def test_what_nobody_owns_stays_beside_what_goes() -> None:
    thing = ManagedObject()
    thing.apply("one", {"nested": {"inner": {"x": 1}}})
    thing.spec["nested"]["inner"]["y"] = "a default"

    thing.apply("one", {"text": "t"})

    assert thing.spec == {"text": "t"}


def test_a_field_that_two_appliers_let_go_of_one_after_the_other_goes_with_the_last() -> None:
    thing = ManagedObject()
    thing.apply("one", {"set": ["a", "b"]})
    thing.apply("two", {"set": ["b", "c"]})

    thing.apply("one", {})
    kept = thing.spec
    thing.apply("two", {"set": ["c"]})

    assert kept == {"set": ["b", "c"]}
    assert thing.spec == {"set": ["c"]}


def test_atomic_values_are_replaced_as_a_whole() -> None:
    thing = ManagedObject()
    thing.apply("one", {"whole": {"a": 1}})

    with pytest.raises(Conflicts):
        thing.apply("two", {"whole": {"b": 2}})
    thing.apply("two", {"whole": {"b": 2}}, force=True)

    assert thing.spec == {"whole": {"b": 2}}
    assert thing.owned("one") == []


@pytest.mark.parametrize(
    ("before", "applied", "after"),
    [
        ("abc", "cb", "acb"),
        ("abc", "c", "abc"),
        ("abc", "d", "abcd"),
        ("abc", "dba", "dbca"),
        ("abcd", "db", "acdb"),
        ("abc", "bxa", "bcxa"),
        ("", "ba", "ba"),
        ("abc", "", "abc"),
        ("abcde", "xcay", "bxcdeay"),
    ],
)
def test_a_list_takes_the_order_of_what_is_applied(
    before: str, applied: str, after: str
) -> None:
    thing = ManagedObject()
    thing.update("one", {"list": [{"name": name} for name in before], "set": list(before)})

    thing.apply("two", {"list": [{"name": name} for name in applied], "set": list(applied)})

    assert "".join(item["name"] for item in thing.spec["list"]) == after
    assert "".join(thing.spec["set"]) == after


@pytest.mark.parametrize(
    ("before", "applied", "after"),
    [
        ({"text": "a"}, {"text": None}, {"text": None}),
        ({"nested": {"inner": {"x": 1}}}, {"nested": None}, {"nested": {"inner": {"x": 1}}}),
        ({"list": [{"name": "a"}]}, {"list": None}, {"list": [{"name": "a"}]}),
        ({"list": [{"name": "a"}]}, {"list": []}, {"list": [{"name": "a"}]}),
        (
            {},
            {"list": None, "nested": {"inner": None}},
            {"list": None, "nested": {"inner": None}},
        ),
        ({"free": {"a": {"b": 1}}}, {"free": {"a": "text"}}, {"free": {"a": "text"}}),
        ({"free": {"a": 1}}, {"free": {"a": {"b": [2]}}}, {"free": {"a": {"b": [2]}}}),
        ({"free": {"a": [1]}}, {"free": {"a": [2]}}, {"free": {"a": [2]}}),
        ({"free": {"a": {"b": 1}}}, {"free": {"a": None}}, {"free": {"a": {"b": 1}}}),
        ({"free": {"a": True}}, {"free": {"a": 1}}, {"free": {"a": 1}}),
    ],
)
def test_what_is_applied_is_put_over_what_is_there(
    before: Any, applied: Any, after: Any
) -> None:
    thing = ManagedObject()
    thing.update("one", before)

    thing.apply("two", applied, force=True)

    assert orjson.dumps(thing.spec) == orjson.dumps(after)


def test_items_that_are_there_twice_give_way_to_the_one_applied() -> None:
    thing = ManagedObject()
    items = [{"name": "a", "value": "1"}, {"name": "a", "value": "2"}, {"name": "b"}]
    thing.update("one", {"list": items})

    thing.apply("two", {"list": [{"name": "a", "numeric": 3}]}, force=True)

    assert thing.spec == {"list": [{"name": "a", "numeric": 3}, {"name": "b"}]}
    assert thing.owned("one") == ["", ".list", '.list[name="b"]', '.list[name="b"].name']


def test_an_object_that_nobody_kept_track_of_is_somebody_s_from_before() -> None:
    thing = ManagedObject()
    thing.update("one", {"text": "a"})
    assert thing.stored
    thing.stored["metadata"]["managedFields"] = None

    with pytest.raises(Conflicts) as refused:
        thing.apply("two", {"text": "b"})
    thing.apply("two", {"text": "b", "number": 1}, force=True)

    assert '"before-first-apply" using v1: .spec.text' in str(refused.value)
    assert thing.owned("before-first-apply") == [""]


def test_fields_that_the_endpoint_resets_are_neither_owned_nor_in_conflict() -> None:
    thing = ManagedObject(endpoint_of())
    thing.update("controller", {"text": "a"}, status={"text": "x"})
    thing.endpoint = endpoint_of(reset=("status",))

    thing.apply("one", {"number": 1}, status={"text": "y"})

    assert thing.owned("one") == [".number"]


def test_an_applier_is_the_same_in_every_version() -> None:
    thing = ManagedObject(endpoint_of(versions=frozenset({"v2"})))
    thing.apply("one", {"text": "a", "number": 1})
    thing.endpoint = endpoint_of(versions=frozenset({"v1"}), api_version="v2")

    thing.apply("one", {"text": "a"})

    assert thing.spec == {"text": "a"}
    assert [entry["apiVersion"] for entry in thing.entries] == ["v2"]


def test_an_entry_of_a_lost_version_of_a_custom_resource_refuses_all() -> None:
    thing = ManagedObject(endpoint_of(api_version="v0"))
    thing.apply("one", {"text": "a"})
    thing.endpoint = endpoint_of(custom=True)

    with pytest.raises(
        StatusError, match=r"^request to convert CR to an invalid group/version: v0$"
    ):
        thing.apply("two", {"number": 1})


def test_what_no_schema_describes_is_merged_by_members() -> None:
    thing = ManagedObject(endpoint_of(ANYTHING))
    thing.apply("one", {"a": {"b": 1, "c": [1]}})
    thing.apply("two", {"a": {"d": {}}})

    thing.apply("one", {"a": {"c": [2]}})

    assert thing.spec == {"a": {"c": [2], "d": {}}}
    assert thing.owned("one") == [".a", ".a.c"]


def test_a_shape_may_leave_scalars_unchecked() -> None:
    thing = ManagedObject(endpoint_of(Struct({"text": LEAF})))

    thing.apply("one", {"text": [1, {"a": None}]})

    assert thing.spec == {"text": [1, {"a": None}]}


def test_nothing_that_is_made_shares_its_parts_with_the_next() -> None:
    endpoint = endpoint_of(zero={"spec": {"nested": {"inner": {}}}})
    first, second = ManagedObject(endpoint), ManagedObject(endpoint)
    first.apply("one", {"text": "a"})
    first.spec["nested"]["inner"]["x"] = 1

    second.apply("one", {"text": "a"})

    assert second.spec == {"text": "a", "nested": {"inner": {}}}
