"""What holds for workloads of every kind, whatever their users, operators and workers write."""

import copy
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jobferry.core import marks
from jobferry.core.kind import Stillness
from jobferry.kinds.forwarding import NOTHING
from jobferry.objects import Obj, merge_patch
from jobferry.objects.quantities import ZERO
from tests import needs
from tests.workloads.examples import (
    ADAPTERS,
    CONTEXT,
    NAMES,
    NOW,
    example,
    marks_of,
    mirror_of,
    shown,
)
from tests.workloads.lives import LIVES

WORDS = ["", "a", "name", "True", "Failed", "jobferry.io/dispatcher", "2026-11-17", "1"]
LABELS = [
    "team",
    "job-name",
    "argocd.argoproj.io/x",
    "chains.tekton.dev/y",
    "jobferry.io/origin",
]
KINDS = pytest.mark.parametrize("name", NAMES)
SETTINGS = settings(max_examples=500 if needs.SOAK else 20)  # of each, for each of many kinds


class Draw:
    """Draws workloads and statuses with anything in them; a strategy for each member would take minutes."""

    def __init__(self, seed: int) -> None:
        self._random = Random(seed)

    def json(self, depth: int = 2) -> Any:
        """Draw anything that JSON can hold."""
        random = self._random
        match random.randrange(7 if depth else 4):
            case 0:
                return None
            case 1:
                return random.random() < 0.5
            case 2:
                return random.randint(-3, 9)
            case 3:
                return random.choice(WORDS)
            case 4:
                return [self.json(depth - 1) for _ in range(random.randrange(3))]
            case _:
                return {
                    random.choice(WORDS): self.json(depth - 1)
                    for _ in range(random.randrange(3))
                }

    def altered(self, value: Obj, changes: int = 4) -> Obj:
        """Draw a value of which somebody changed some members to anything."""
        value = copy.deepcopy(value)
        for _ in range(self._random.randrange(changes)):
            *before, last = self._random.choice(places(value) or [("added",)])
            inner: Any = value
            for step in before:
                inner = inner[step]
            inner[last] = self.json()
        return value

    def hub(self, name: str) -> Obj:
        """Draw a workload that is ours, with whatever a server that checks little lets people write."""
        hub = example(name, labels=self._labels(), annotations=self._labels())
        hub["metadata"] |= {"ownerReferences": [{"uid": "x"}], "finalizers": ["example.com/x"]}
        hub["spec"] = self.altered(hub["spec"])
        *before, last = ADAPTERS[name].managed_by_path[1:]
        spec, wanted = hub["spec"], example(name)["spec"]
        for step in before:
            if not isinstance(spec.get(step), dict):
                spec[step] = {}
            spec, wanted = spec[step], wanted[step]
        spec[last] = wanted[last]
        return hub

    def status(self, name: str) -> Obj:
        """Draw a status: of the life of a mirror, with anything changed."""
        return self.altered(self._random.choice(LIVES[name]))

    def _labels(self) -> dict[str, str]:
        return {self._random.choice(LABELS): self._random.choice(WORDS) for _ in range(2)}


def places(value: Any, at: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """List where there is something in a value."""
    members = value.items() if isinstance(value, dict) else ()
    inner = enumerate(value) if isinstance(value, list) else members
    own = [at] if at else []
    return [*own, *(each for key, member in inner for each in places(member, (*at, key)))]


DRAWS = st.builds(Draw, st.integers(0, 2**64))


@KINDS
@SETTINGS
@given(draw=DRAWS)
def test_a_mirror_names_nobody_of_the_hub_and_is_made_the_same_each_time(
    name: str, draw: Draw
) -> None:
    adapter, hub = ADAPTERS[name], draw.hub(name)
    before = copy.deepcopy(hub)

    mirror = adapter.mirror(hub, marks_of(hub), "")

    assert adapter.mirror(hub, marks_of(hub), "") == mirror
    assert hub == before
    assert adapter.managed_by(mirror) not in CONTEXT.names
    assert mirror.keys() == {"apiVersion", "kind", "metadata", "spec"}
    assert mirror["metadata"].keys() == {"name", "namespace", "labels", "annotations"}
    assert marks_of(hub).judge(mirror).standing is marks.Standing.CURRENT


@KINDS
@SETTINGS
@given(draw=DRAWS)
def test_the_mirror_of_a_mirror_is_the_same_again(name: str, draw: Draw) -> None:
    adapter, hub = ADAPTERS[name], draw.hub(name)
    mirror = adapter.mirror(hub, marks_of(hub), "")
    again = {**mirror, "metadata": {**hub["metadata"], "labels": mirror["metadata"]["labels"]}}

    assert adapter.mirror(again, marks_of(hub), "")["spec"] == mirror["spec"]


@KINDS
@SETTINGS
@given(draw=DRAWS)
def test_whatever_a_workload_holds_there_is_an_answer(name: str, draw: Draw) -> None:
    adapter, hub = ADAPTERS[name], draw.hub(name)
    hub["status"] = draw.status(name)
    mirror = mirror_of(hub, draw.status(name), generation=2)

    assert all(amount >= ZERO for amount in adapter.demand(hub).values())
    assert len(set(adapter.references(hub))) == len(adapter.references(hub))
    assert isinstance(adapter.priority_class(hub), str)
    assert adapter.unknown_demand(hub) != ""
    assert adapter.finish(hub) in (None, "Complete", "Failed")
    assert isinstance(adapter.stillness(mirror), Stillness)
    for moment in (
        adapter.finished_at(hub),
        adapter.resumed_at(hub),
        adapter.waits_since(mirror),
    ):
        assert moment is None or moment.tzinfo is not None
    assert adapter.ttl(hub) is None or (adapter.ttl(hub) or 0) >= 0
    adapter.refusal(hub)
    adapter.stop(mirror)
    adapter.edits(hub, mirror, "")
    base = adapter.carried(hub, mirror, "", NOW)
    assert not adapter.has_run_since(hub, base)


@KINDS
@SETTINGS
@given(draw=DRAWS)
def test_a_status_is_told_in_one_write_or_two_which_touch_nothing_else(
    name: str, draw: Draw
) -> None:
    adapter, hub = ADAPTERS[name], example(name)
    hub["status"] = draw.status(name)
    mirror = mirror_of(hub, draw.status(name))

    for _ in range(2):
        report = adapter.report(hub, mirror, "", NOW)
        if report is None:
            break
        hub = shown(hub, report.patch)
        assert adapter.finish(hub) == report.end
    assert adapter.report(hub, mirror, "", NOW) is None
    assert hub["spec"] == example(name)["spec"]


@KINDS
@SETTINGS
@given(draw=DRAWS)
def test_an_end_is_the_last_that_is_ever_told(name: str, draw: Draw) -> None:
    adapter, hub = ADAPTERS[name], example(name)
    ended = None
    for status in (draw.status(name) for _ in range(5)):
        report = adapter.report(hub, mirror_of(hub, status), "", NOW)
        if ended:
            assert report is None
        elif report:
            hub, ended = shown(hub, report.patch), report.end
    for report in (adapter.fail(hub, "NoWorker", "None", NOW), adapter.waiting(hub, NOW)):
        assert ended is None or report is None


@KINDS
@SETTINGS
@given(draw=DRAWS)
def test_giving_it_up_ends_it_whatever_its_status_is(name: str, draw: Draw) -> None:
    adapter, hub = ADAPTERS[name], example(name)
    hub["status"] = draw.status(name)

    report = adapter.fail(hub, "NoWorker", "None", NOW)

    assert (report is None) == (adapter.finish(hub) is not None)
    if report:
        assert report.end == "Failed"
        assert adapter.finish(shown(hub, report.patch)) == "Failed"


@KINDS
@SETTINGS
@given(draw=DRAWS)
def test_edits_are_forwarded_at_once_and_only_once(name: str, draw: Draw) -> None:
    adapter, hub = ADAPTERS[name], draw.hub(name)
    mirror = mirror_of(hub)
    assert adapter.edits(hub, mirror, "") == NOTHING
    edited = draw.hub(name)
    edited["metadata"]["generation"] = 2

    found = adapter.edits(edited, mirror, "")
    if found.patch:
        mirror = merge_patch.apply(mirror, found.patch)
        mirror["metadata"] |= {"generation": 2, "resourceVersion": "6"}
        assert marks_of(hub).judge(mirror).standing is marks.Standing.CURRENT
        again = adapter.edits(edited, mirror, "")
        assert (again.patch, again.refusals) == (None, found.refusals)
