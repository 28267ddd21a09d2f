"""Times of entries that must not make a new version."""

from typing import Any

from jobferry.localkube.apiserver.managed import timestamps


def thing(time: str, text: Any = "a", fields: str = "f:a", count: int = 1) -> dict[str, Any]:
    entry = {"manager": "m", "time": time, "fieldsV1": {fields: {}}}
    return {
        "metadata": {"name": "it", "managedFields": [entry] * count},
        "spec": {"text": text},
    }


def test_a_time_alone_is_taken_back() -> None:
    old = thing("1")

    assert timestamps.steady(thing("2"), old) == old["metadata"]["managedFields"]


def test_a_time_stays_where_anything_else_changed() -> None:
    for new in (thing("2", text="b"), thing("2", fields="f:b"), thing("2", count=2)):
        assert timestamps.steady(new, thing("1")) == new["metadata"]["managedFields"]


def test_true_is_not_one() -> None:
    new = thing("2", text=True)

    assert timestamps.steady(new, thing("1", text=1)) == new["metadata"]["managedFields"]


def test_an_object_without_entries_has_none() -> None:
    assert timestamps.steady({"metadata": {}}, thing("1")) is None
