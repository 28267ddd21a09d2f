"""Who owns what after creates, updates and patches."""

from typing import Any

import pytest

from jobferry.localkube.apiserver.managed import updating
from jobferry.localkube.apiserver.shapes import LEAF, ListMap, SetOf, Struct
from tests.unit.localkube.apiserver.managed.managed_object import (
    ITEM,
    START,
    ManagedObject,
    endpoint_of,
)


def test_who_creates_an_object_owns_all_of_it() -> None:
    thing = ManagedObject()

    thing.update("maker", {"text": "t", "list": [{"name": "a", "value": "1"}], "set": ["x"]})

    assert thing.entries == [
        {
            "manager": "maker",
            "operation": "Update",
            "apiVersion": "v1",
            "time": "2026-01-01T00:00:00Z",
            "fieldsType": "FieldsV1",
            "fieldsV1": {
                "f:spec": {
                    ".": {},
                    "f:list": {
                        ".": {},
                        'k:{"name":"a"}': {".": {}, "f:name": {}, "f:value": {}},
                    },
                    "f:set": {".": {}, 'v:"x"': {}},
                    "f:text": {},
                }
            },
        }
    ]


def test_what_an_empty_object_has_already_is_not_owned() -> None:
    thing = ManagedObject(
        endpoint_of(zero={"metadata": {}, "spec": {"list": None}, "status": {}})
    )

    thing.update("maker", {"list": [{"name": "a"}]}, status={})

    fields = thing.entries[0]["fieldsV1"]
    assert fields == {"f:spec": {"f:list": {'k:{"name":"a"}': {".": {}, "f:name": {}}}}}


def test_who_changes_a_field_takes_it() -> None:
    thing = ManagedObject()
    thing.update("one", {"text": "a", "number": 1})

    thing.update("two", {"text": "b", "number": 1})

    assert thing.owned("one") == ["", ".number"]
    assert thing.owned("two") == [".text"]


def test_a_field_that_goes_is_owned_by_nobody() -> None:
    thing = ManagedObject()
    thing.update("one", {"text": "a", "number": 1, "list": [{"name": "a"}, {"name": "b"}]})

    thing.update("two", {"text": "a", "list": [{"name": "b"}]})

    assert thing.owned("one") == [
        "",
        ".list",
        '.list[name="b"]',
        '.list[name="b"].name',
        ".text",
    ]
    assert thing.owned("two") == []


def test_who_is_left_with_nothing_has_no_entry() -> None:
    thing = ManagedObject()
    thing.update("one", {"text": "a"})
    thing.update("two", {"text": "a", "number": 1})

    thing.update("three", {"text": "a", "number": 2})

    assert [entry["manager"] for entry in thing.entries] == ["one", "three"]


def test_an_update_that_changes_nothing_leaves_all_entries_as_they_are() -> None:
    thing = ManagedObject()
    thing.update("one", {"text": "a"})
    before = thing.entries

    thing.update("two", {"text": "a"})

    assert thing.entries == before


def test_the_order_of_a_list_with_keys_or_of_a_set_is_not_owned() -> None:
    thing = ManagedObject()
    thing.update("one", {"list": [{"name": "a"}, {"name": "b"}], "set": ["x", "y"]})

    thing.update("two", {"list": [{"name": "b"}, {"name": "a"}], "set": ["y", "x"]})

    assert thing.owned("two") == []


def test_a_list_without_keys_is_owned_as_a_whole() -> None:
    thing = ManagedObject()
    thing.update("one", {"whole": [{"name": "a"}]})

    thing.update("two", {"whole": [{"name": "a"}, {"name": "b"}]})

    assert thing.owned("one") == [""]
    assert thing.owned("two") == [".whole"]


def test_items_that_are_there_twice_are_owned_as_one() -> None:
    thing = ManagedObject()
    once = {"name": "a", "value": "1"}
    thing.update("one", {"list": [once, {"name": "b"}]})

    thing.update("two", {"list": [once, once, {"name": "b"}]})
    twice = thing.owned("two")
    thing.update("three", {"list": [once, {**once, "value": "2"}, {"name": "b"}]})
    changed = thing.owned("three")
    thing.update("four", {"list": [once, {"name": "b"}]})

    assert twice == ['.list[name="a"]']
    assert changed == ['.list[name="a"]']
    assert thing.owned("four") == [
        f'.list[name="a"]{field}' for field in ("", ".name", ".value")
    ]


@pytest.mark.parametrize(
    ("before", "after", "owned"),
    [
        ({"a": 1}, {"a": {"b": 1}}, [".free.a", ".free.a.b"]),
        ({"a": {"b": 1}}, {"a": 1}, [".free.a"]),
        ({"a": {"b": 1}}, {"a": None}, []),
        ({"a": None}, {"a": {"b": 1}}, [".free.a.b"]),
        ({"a": {}}, {"a": {"b": 1}}, [".free.a.b"]),
        ({"a": {}}, {"a": None}, [".free.a"]),
        ({"a": [1]}, {"a": [2]}, [".free.a"]),
        ({"a": [1]}, {"a": {"b": [{}]}}, [".free.a", ".free.a.b"]),
        ({"a": "x"}, {"a": None}, [".free.a"]),
    ],
)
def test_values_that_become_values_of_another_kind(before: Any, after: Any, owned: Any) -> None:
    thing = ManagedObject()
    thing.update("one", {"free": before})

    thing.update("two", {"free": after})

    assert thing.owned("two") == owned


def test_a_list_that_becomes_null_is_taken() -> None:
    thing = ManagedObject()
    thing.update("one", {"set": [], "list": [{"name": "a"}]})

    thing.update("two", {"set": None, "list": None})

    assert thing.owned("two") == [".set"]
    assert thing.owned("one") == ["", ".list"]


def test_fields_that_the_endpoint_resets_are_not_owned() -> None:
    thing = ManagedObject(endpoint_of(reset=("status", "metadata.labels")))

    thing.update(
        "one", {"text": "a"}, status={"text": "x"}, metadata={"name": "it", "labels": {}}
    )

    assert thing.owned("one") == ["", ".text"]


def test_nobody_owns_what_makes_the_object_itself() -> None:
    thing = ManagedObject()
    metadata = {"name": "it", "generation": 5, "resourceVersion": "7", "labels": {"a": "b"}}

    thing.update("one", {"text": "a"}, metadata=metadata)

    assert thing.entries[0]["fieldsV1"]["f:metadata"] == {"f:labels": {".": {}, "f:a": {}}}


def test_the_same_manager_has_an_entry_for_each_endpoint_and_version() -> None:
    thing = ManagedObject(endpoint_of(versions=frozenset({"v2"})))
    thing.update("one", {"text": "a"})
    thing.endpoint = endpoint_of(versions=frozenset({"v1"}), api_version="v2")
    thing.update("one", {"text": "b"})
    thing.endpoint = endpoint_of(versions=frozenset({"v1", "v2"}), subresource="status")

    thing.update("one", {"text": "b"}, status={"text": "c"})

    told = [(entry["apiVersion"], entry.get("subresource")) for entry in thing.entries]
    assert told == [("v1", None), ("v2", None), ("v1", "status")]


def test_entries_of_a_version_that_is_no_more_are_dropped() -> None:
    thing = ManagedObject(endpoint_of(api_version="v0"))
    thing.update("one", {"text": "a"})
    thing.endpoint = endpoint_of()

    thing.update("two", {"text": "b"})

    assert [entry["manager"] for entry in thing.entries] == ["two"]


def test_an_entry_of_a_lost_version_is_the_end_of_all_entries_of_a_custom_resource() -> None:
    thing = ManagedObject(endpoint_of(api_version="v0"))
    thing.update("one", {"text": "a"})
    thing.endpoint = endpoint_of(custom=True)

    thing.update("two", {"text": "b"})

    assert thing.entries == []


def test_a_value_that_fits_no_shape_is_the_end_of_all_entries() -> None:
    thing = ManagedObject()
    thing.update("one", {"text": "a"})

    thing.update("two", {"set": [{"a": "b"}]})

    assert thing.entries == []


def test_what_became_atomic_is_owned_as_a_whole() -> None:
    thing = ManagedObject()
    thing.update("one", {"list": [{"name": "a"}], "map": {"a": "b"}, "set": ["x"]})
    thing.endpoint = endpoint_of(
        Struct({"list": LEAF, "map": LEAF, "set": SetOf(), "text": LEAF})
    )

    thing.update("two", {**thing.spec, "text": "a"})

    assert thing.owned("one") == ["", ".list", ".map", ".set", '.set[="x"]']


def test_an_entry_is_older_the_further_up_it_is_and_appliers_come_first() -> None:
    thing = ManagedObject()
    thing.update("b", {"text": "a"})
    thing.update("a", {"text": "a", "number": 1})
    thing.apply("z", {"map": {"a": "b"}})
    thing.update("b", {**thing.spec, "whole": 1})

    told = [(entry["manager"], entry["time"][-3:-1]) for entry in thing.entries]
    assert told == [("z", "02"), ("a", "01"), ("b", "03")]


def test_the_oldest_of_more_than_ten_updaters_are_put_together() -> None:
    thing = ManagedObject()
    for number in range(12):
        thing.update(f"m{number:02}", {"map": {f"k{each}": "v" for each in range(number + 1)}})

    names = [entry["manager"] for entry in thing.entries]
    assert names == ["ancient-changes", *(f"m{number:02}" for number in range(3, 12))]
    assert thing.owned("ancient-changes") == ["", ".map", ".map.k0", ".map.k1", ".map.k2"]
    assert thing.entries[0]["time"] == "2026-01-01T00:00:02Z"


def entry(manager: str = "sent", **more: Any) -> dict[str, Any]:
    return {
        "manager": manager,
        "operation": "Update",
        "apiVersion": "v1",
        "fieldsType": "FieldsV1",
        "fieldsV1": {"f:spec": {"f:text": {}}},
        **more,
    }


def send(thing: ManagedObject, managed: Any) -> None:
    metadata = {"name": "it", "uid": "1", "managedFields": managed}
    thing.update("sender", {**thing.spec}, metadata=metadata)


@pytest.mark.parametrize("managed", [[], [{}]])
def test_a_client_may_have_all_managers_forgotten(managed: Any) -> None:
    thing = ManagedObject()
    thing.update("one", {"text": "a"})

    send(thing, managed)
    forgotten = thing.entries
    thing.update("two", {"text": "b"})

    assert forgotten == []
    assert thing.entries == []


def test_a_list_that_the_codec_dropped_still_makes_forget() -> None:
    live = {"metadata": {"uid": "1", "managedFields": [entry()]}}
    body = {"metadata": {"uid": "1", "managedFields": []}}

    told = updating.updated(
        live, {}, endpoint_of(), manager="x", now=START, forget=updating.forgets(body)
    )

    assert told is None


def test_entries_that_a_client_sends_are_taken_in_our_form() -> None:
    thing = ManagedObject()
    thing.update("one", {"text": "a"})
    odd: Any = {"f:spec": {"x:y": {}, "f:text": {}, "f:list": {'k:{ "name" : "b"}': {".": {}}}}}

    send(thing, [entry(fieldsV1=odd)])

    assert thing.entries == [
        entry(fieldsV1={"f:spec": {"f:list": {'k:{"name":"b"}': {}}, "f:text": {}}})
    ]


@pytest.mark.parametrize(
    "managed",
    [
        [{"manager": "only"}],
        [entry(operation="Guess")],
        [entry(apiVersion="")],
        [entry(fieldsType="FieldsV2")],
        [entry(fieldsV1={"nonsense": {}})],
        [entry(fieldsV1={"k:{": {}})],
        [entry(fieldsV1={"k:1": {}})],
        [entry(fieldsV1={"i:x": {}})],
        [entry(fieldsV1={"f": {}})],
        [entry(fieldsV1=["f:spec"])],
        ["text"],
        None,
    ],
)
def test_entries_that_make_no_sense_change_nothing(managed: Any) -> None:
    thing = ManagedObject()
    thing.update("one", {"text": "a"})
    before = thing.entries

    send(thing, managed)

    assert thing.entries == before


def test_a_subresource_does_not_change_entries_as_a_client_likes() -> None:
    thing = ManagedObject()
    thing.update("one", {"text": "a"})
    before = thing.entries
    thing.endpoint = endpoint_of(subresource="status")

    send(thing, [])

    assert thing.entries == before


def test_a_manager_without_a_name_is_unknown() -> None:
    thing = ManagedObject()

    thing.update("", {"text": "a"})

    assert thing.entries[0]["manager"] == "unknown"


def test_keys_that_may_be_left_out_have_their_default() -> None:
    thing = ManagedObject()

    thing.update("one", {"ports": [{"port": 80}, {"port": 9, "protocol": "UDP"}]})

    steps = list(thing.entries[0]["fieldsV1"]["f:spec"]["f:ports"])
    assert steps == [
        ".",
        'k:{"port":9,"protocol":"UDP"}',
        'k:{"port":80,"protocol":"TCP"}',
    ]


def test_a_list_of_lists_with_keys_is_followed_down() -> None:
    endpoint = endpoint_of(
        Struct(
            {
                "outer": ListMap(
                    ("name",), Struct({"name": LEAF, "inner": ListMap(("name",), ITEM)})
                )
            }
        )
    )
    thing = ManagedObject(endpoint)
    thing.update("one", {"outer": [{"name": "a", "inner": [{"name": "b", "value": "1"}]}]})

    thing.update("two", {"outer": [{"name": "a", "inner": [{"name": "b", "value": "2"}]}]})

    assert thing.owned("two") == ['.outer[name="a"].inner[name="b"].value']
