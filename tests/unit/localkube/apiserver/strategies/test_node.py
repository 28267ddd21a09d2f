"""Nodes."""

import pytest

from jobferry.localkube.apiserver.strategies import node
from jobferry.objects import Obj

META = {"name": "n", "uid": "u", "resourceVersion": "1"}


def made(spec: Obj | None = None, status: Obj | None = None) -> Obj:
    obj: Obj = {"metadata": dict(META), "spec": spec or {}, "status": status or {}}
    node.STRATEGY.default(obj)
    return obj


def fields(obj: Obj) -> list[str]:
    return [each.field for each in node.STRATEGY.validate_create(obj)]


def test_what_can_be_used_is_what_there_is_unless_it_is_said() -> None:
    capacity = {"cpu": "4", "memory": "1500u"}

    assert made(status={"capacity": capacity})["status"]["allocatable"] == {
        "cpu": "4",
        "memory": "2m",
    }
    said = made(status={"capacity": capacity, "allocatable": {"cpu": "3"}})
    assert said["status"]["allocatable"] == {"cpu": "3"}


@pytest.mark.parametrize(
    ("spec", "plural"),
    [
        ({"podCIDR": "10.0.0.0/24"}, ["10.0.0.0/24"]),
        ({"podCIDR": "10.0.0.0/24", "podCIDRs": ["10.1.0.0/24", "fd00::/64"]}, ["10.0.0.0/24"]),
        ({"podCIDR": "10.0.0.0/24", "podCIDRs": ["10.0.0.0/24", "fd00::/64"]}, ["10.0.0.0/24", "fd00::/64"]),
    ],
)  # fmt: skip
def test_the_singular_range_wins_over_the_plural(spec: Obj, plural: list[str]) -> None:
    assert made(spec)["spec"]["podCIDRs"] == plural


def test_the_singular_range_is_filled_in() -> None:
    assert made({"podCIDRs": ["10.0.0.0/24"]})["spec"]["podCIDR"] == "10.0.0.0/24"


def test_taints_are_checked_and_there_once() -> None:
    taint = {"key": "a", "effect": "NoSchedule"}

    assert fields(made({"taints": [taint, {**taint, "effect": "NoExecute"}]})) == []
    assert fields(made({"taints": [taint, {**taint, "value": "-"}]})) == [
        *("metadata.taints[1].value", "metadata.taints[1]")
    ]
    assert fields(made({"taints": [{"key": "a", "effect": "Odd"}]})) == [
        "metadata.taints[0].effect"
    ]


def test_amounts_are_checked() -> None:
    status = {"capacity": {"cpu": "-1"}, "allocatable": {"pods": "1500m"}}

    assert fields(made(status=status)) == ["status.capacity.cpu", "status.allocatable.pods"]


@pytest.mark.parametrize(
    ("ranges", "found"),
    [
        (["10.0.0.0/24", "fd00::/64"], []),
        (["10.0.0.0/24", "10.1.0.0/24"], ["spec.podCIDRs"]),
        (["x"], ["spec.podCIDRs[0]"]),
    ],
)
def test_ranges_are_checked(ranges: list[str], found: list[str]) -> None:
    assert fields(made({"podCIDRs": ranges})) == found


def test_a_status_may_come_with_the_node_but_is_changed_elsewhere() -> None:
    old = made({"unschedulable": True}, {"phase": "Running"})
    new, status = made(None, {"phase": "Odd"}), made(None, {"phase": "Odd"})

    node.STRATEGY.prepare_update(new, old)
    node.STATUS.prepare_update(status, old)

    assert (new["spec"], new["status"]) == ({}, {"phase": "Running"})
    assert (status["spec"], status["status"]) == ({"unschedulable": True}, {"phase": "Odd"})


def test_ranges_and_provider_are_set_once() -> None:
    old = made({"podCIDR": "10.0.0.0/24", "providerID": "p", "externalID": "e"})

    found = node.STRATEGY.validate_update(made({"podCIDR": "10.1.0.0/24"}), old)
    gone = node.STRATEGY.validate_update(made(), old)

    expected = ["spec.podCIDRs", "spec.providerID", "spec.externalID"]
    assert [each.field for each in found] == expected
    assert [each.field for each in gone] == expected
    set_late = made({"podCIDR": "10.0.0.0/24", "providerID": "p"})
    assert not node.STRATEGY.validate_update(set_late, made())


def test_addresses_are_there_once() -> None:
    address = {"type": "InternalIP", "address": "10.0.0.1"}
    new = made(None, {"addresses": [address, address]})

    (found,) = node.STATUS.validate_update(new, made())

    assert found.body == 'Duplicate value: {"Type":"InternalIP","Address":"10.0.0.1"}'


def test_selectors_may_ask_whether_a_node_is_closed() -> None:
    assert node.STRATEGY.fields(made()) == {"spec.unschedulable": "false"}
    assert node.STRATEGY.fields(made({"unschedulable": True}))["spec.unschedulable"] == "true"
