"""Kinds that users declare: what is wrong with a table is said, and where."""

import copy
from typing import Any

import pytest

from jobferry.errors import BadInput
from jobferry.kinds import registry
from jobferry.kinds.declared import rows
from jobferry.kinds.table import PodSet, Says
from jobferry.objects.resource import Resource
from tests.workloads.examples import CONTEXT, DECLARED


def table(**changes: Any) -> list[Any]:
    """Return the table of the page with some members changed, or dropped if they are None."""
    entry = copy.deepcopy(DECLARED[0]) | changes
    return [{key: value for key, value in entry.items() if value is not None}]


def test_the_table_of_the_page_is_read() -> None:
    (row,) = rows(DECLARED)

    assert row.name == "Simulation.example.com"
    assert row.resource == Resource("example.com", "v1", "simulations", "Simulation")
    assert row.pods == (PodSet(("spec", "parts", "*"), ("template",), (("copies",),)),)
    assert row.success == Says("Done")
    assert row.suspended == Says(member=("status", "phase"), values=("Paused",))
    assert row.ttl == ("spec", "keepSeconds")
    assert row.strips == (("spec", "notify"), ("spec", "keepSeconds"))


def test_most_of_it_can_be_left_out() -> None:
    least = {
        "apiVersion": "example.com/v1",
        "kind": "Thing",
        "success": {"condition": "Ok", "status": "True"},
        "failure": {"condition": "Ok", "status": "False"},
    }

    (row,) = rows([least])

    assert row.resource.plural == "things"
    assert row.managed_by == ("spec", "managedBy")
    assert (row.suspend, row.suspended, row.ttl, row.pods) == (None, None, (), ())
    assert row.failure == Says("Ok", "False")


WRONG: list[tuple[Any, str]] = [
    ({}, "customKinds: expected a list"),
    (["x"], r"customKinds\[0\]: expected names and values"),
    (
        table(kind=None),
        r"customKinds\[0\].kind: expected a kind, as in Simulation, found nothing",
    ),
    (table(kind="simulation"), r"kind: expected a kind, as in Simulation, found 'simulation'"),
    (table(apiVersion="v1"), "apiVersion: expected a group with a dot and a version"),
    (table(plural="Simulations"), "plural: expected the plural that its CRD names"),
    (table(colour="red"), r"customKinds\[0\].colour: there is no such member"),
    (table(success=None), r"customKinds\[0\].success: expected names and values"),
    (table(success={}), "success: expected either a condition or a member and its values"),
    (table(success={"condition": "a", "member": "b"}), "either a condition or a member"),
    (table(success={"condition": "a", "status": "yes"}), "expected True, False or Unknown"),
    (
        table(success={"member": "status.phase"}),
        "values: expected a list of texts, found nothing",
    ),
    (
        table(success={"member": "spec.phase", "values": ["x"]}),
        "expected a member of the status",
    ),
    (table(failure=None), r"failure: expected names and values"),
    (
        table(suspend="status.paused"),
        "suspend: expected a path below spec, found 'status.paused'",
    ),
    (table(suspend="spec.*.paused"), "expected the path of one member, without *"),
    (table(managedBy="spec"), "managedBy: expected a path below spec"),
    (table(podLabel="-x"), "podLabel: expected the name of a label"),
    (table(podLabel="a/b/c"), "podLabel: expected the name of a label"),
    (table(strip=["spec"]), r"strip\[0\].path: expected a path below spec, found 'spec'"),
    (table(strip="spec.x"), "strip: expected a list"),
    (table(forward=["spec..x"]), "expected a path such as"),
    (table(forward=[{"a": "b"}]), "found something nested"),
    (table(ready=["spec.x"]), "expected a path below status"),
    (
        table(pods=[{"template": "x"}]),
        r"pods\[0\].at: expected a path below spec, found nothing",
    ),
    (table(pods=[{"at": "status.x"}]), "expected a path below spec"),
    (table() * 2, r"customKinds\[1\]: Simulation.example.com is declared twice"),
]


@pytest.mark.parametrize(("data", "message"), WRONG)
def test_what_is_wrong_is_said_and_where(data: Any, message: str) -> None:
    with pytest.raises(BadInput, match=message):
        rows(data)


def test_a_misspelt_member_is_guessed() -> None:
    with pytest.raises(BadInput) as caught:
        rows(table(sucess={"condition": "x"}))

    assert caught.value.hint == "Is success meant?"


@pytest.mark.parametrize(
    ("version", "kind", "message"),
    [
        ("jobset.x-k8s.io/v1alpha2", "JobSet", "it is known already"),
        ("leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet", "it serves, and never ends"),
        ("ray.io/v1", "RayService", "A RayJob does that for Ray"),
    ],
)
def test_what_is_known_or_refused_cannot_be_declared(
    version: str, kind: str, message: str
) -> None:
    read = rows(table(apiVersion=version, kind=kind))

    with pytest.raises(BadInput, match=message):
        registry.make(CONTEXT, read)
