"""Stored kinds."""

import pytest

from jobferry.localkube.apiserver.strategies import stored
from jobferry.localkube.apiserver.strategy import Strategy
from jobferry.objects import Obj

META = {"name": "x", "namespace": "n", "uid": "u", "resourceVersion": "1"}
WITH_STATUS = stored.strategy(namespaced=True, has_status=True, has_generation=True)
WITHOUT = stored.strategy(namespaced=False, has_status=False)


def made(**parts: object) -> Obj:
    return {"metadata": dict(META), "spec": {"a": 1}, "status": {"b": 2}, **parts}


def test_a_status_is_neither_created_nor_changed_where_it_has_an_endpoint() -> None:
    new, changed = made(), made(status={"b": 3})

    WITH_STATUS.prepare_create(new)
    WITH_STATUS.prepare_update(changed, made())

    assert "status" not in new
    assert changed["status"] == {"b": 2}


def test_a_status_is_like_any_other_part_where_it_has_none() -> None:
    new, changed = made(), made(status={"b": 3})

    WITHOUT.prepare_create(new)
    WITHOUT.prepare_update(changed, made())

    assert (new["status"], changed["status"]) == ({"b": 2}, {"b": 3})


def test_the_status_endpoint_changes_nothing_else() -> None:
    new = made(status={"b": 3}, spec={}, extra=1)
    old = made(other=2)

    stored.status_strategy().prepare_update(new, old)

    assert new == {**made(status={"b": 3}), "other": 2}


@pytest.mark.parametrize(("strategy", "namespaced"), [(WITH_STATUS, True), (WITHOUT, False)])
def test_metadata_is_checked(strategy: Strategy, *, namespaced: bool) -> None:
    obj = made()
    obj["metadata"]["name"] = "A"
    obj["metadata"]["namespace"] = "" if namespaced else "n"

    found = [each.field for each in strategy.validate_create(obj)]

    assert found == ["metadata.name", "metadata.namespace"]
    assert not strategy.validate_update(made(), made())


def test_generations_count_only_where_they_do_upstream() -> None:
    assert WITH_STATUS.versioned is not None
    assert WITHOUT.versioned is None
