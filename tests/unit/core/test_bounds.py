from dataclasses import replace
from fnmatch import fnmatchcase
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobferry.core.bounds import NO_BOUNDS, Bounds, matches
from jobferry.core.decide import decide
from jobferry.core.steps import Record, Rest
from jobferry.kinds.job.adapter import JOB
from tests.unit.core.worlds import World, lost, up


@given(st.text("ab-*", max_size=8), st.text("ab-", max_size=8))
def test_a_star_stands_for_any_text(pattern: str, name: str) -> None:
    assert matches(pattern, name) == fnmatchcase(name, pattern)


def test_a_pattern_takes_no_longer_than_it_is() -> None:
    assert not matches("*a" * 31 + "*b", "a" * 63)


@pytest.mark.parametrize(
    ("bounds", "let"),
    [
        (Bounds(), {"ml", "ml-prod", "kube-system"}),
        (Bounds(deny=("kube-*",)), {"ml", "ml-prod"}),
        (Bounds(allow=("ml",)), {"ml"}),
        (Bounds(allow=("ml*",), deny=("*-prod",)), {"ml"}),
        (Bounds(allow=("kube-*",), deny=("kube-*",)), set()),
    ],
)
def test_what_is_denied_counts_more_than_what_is_allowed(bounds: Bounds, let: set[str]) -> None:
    assert {each for each in ("ml", "ml-prod", "kube-system") if bounds.let(each)} == let


def noticed(world: World, bounds: Bounds = NO_BOUNDS) -> tuple[str, str]:
    """Return of what people are told while the workload waits."""
    step = replace(world, bounds=bounds).next()
    assert isinstance(step, Rest), step
    [notice] = step.notices
    return notice.reason, notice.message


def test_a_namespace_that_may_not_leave_the_hub_waits_there() -> None:
    reason, message = noticed(World(), Bounds(deny=("n*",)))

    assert reason == "NamespaceNotAllowed"
    assert "the setting namespaces does not let namespace ns leave the hub" in message


@pytest.mark.parametrize(
    ("closed", "why"),
    [
        ({"bounds": Bounds(allow=("ml",))}, "namespace ns may not go there"),
        ({"watched": frozenset({"ml"})}, "namespace ns is not watched there"),
    ],
)
def test_a_worker_that_is_closed_to_a_namespace_is_passed_over(
    closed: dict[str, Any], why: str
) -> None:
    world = World(workers=[up("east", **closed), up("west")])

    step = world.next()
    assert isinstance(step, Record)
    assert step.placement.shards[0].worker == "west"
    world.workers = [up("east", **closed)]
    assert noticed(world) == ("NamespaceNotAllowed", f"No worker can take it: east: {why}")
    world.workers = [up("east", **closed), lost("west", minutes=1)]
    assert noticed(world)[0] == "NoWorker"


@pytest.mark.parametrize("is_lost", [True, False])
def test_what_was_placed_before_is_followed_to_its_end(is_lost: bool) -> None:
    closed = Bounds(deny=("ns",))
    east = lost("east", minutes=60) if is_lost else up("east", bounds=closed)
    world = World(workers=[east, up("west")])
    world.place()
    world.mirror(active=1)
    world.write({"status": {"active": 1}})

    step = decide(replace(world.view(), bounds=closed), JOB)

    # Nor is it placed again: it waits for its worker.
    assert isinstance(step, Rest)
    assert ("no worker can take it" in step.why) is is_lost


@pytest.mark.parametrize("ready", [0, 1])
def test_what_is_out_of_sight_is_neither_created_nor_placed_again(ready: int) -> None:
    world = World(workers=[up("east", watched=frozenset({"ml"})), up("west")])
    world.place()
    world.write({"status": {"active": 1, "ready": ready}})

    assert noticed(world)[0] == "NamespaceNotWatched"
