"""Whatever two dispatchers know late, and whatever a tenant writes, one record counts and none goes back."""

from dataclasses import dataclass, field, replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobferry.core import placement, records
from jobferry.core.kind import Earned, Kind
from jobferry.core.placement import Placement, Shard
from jobferry.core.steps import Into, Record, Store
from jobferry.core.view import View
from jobferry.kinds.job.adapter import JOB
from jobferry.objects import Obj, merge_patch
from tests.unit.core.toys import TOY, toy
from tests.unit.core.worlds import World, hub_job

KINDS: dict[str, tuple[Kind, Obj]] = {"job": (JOB, hub_job()), "toy": (TOY, toy())}

BASES: dict[str, Earned] = {
    "none": "",
    "small": '{"succeeded":3}',
    "large": f'{{"completedIndexes":"{"0," * 150_000}1"}}',
    "as large": f'{{"completedIndexes":"{"2," * 150_000}3"}}',
}
FORGED = Placement("uid-1", 9, (Shard("evil", "evil-uid", BASES["small"]),))


class Conflict(Exception):
    """Somebody else was quicker."""


@dataclass
class Hub:
    """What the API server has: it takes guarded writes, and no others."""

    workload: Obj
    record: Obj | None = None
    version: int = 1
    made: list[Placement] = field(default_factory=list)

    def take(self, step: Record | Store) -> None:
        match step.into:
            case Into.NEW if self.record is None:
                self.record = self._newer(step.body)
            case Into.OBJECT if self.record is not None:
                self.record = self._patched(self.record, step.body)
            case Into.STATUS:
                self.workload = self._patched(self.workload, step.body)
            case _:
                raise Conflict

    def edit(self, patch: Obj) -> None:
        """Change the workload as its author may: not its status."""
        self.workload = self._newer(merge_patch.apply(self.workload, patch))

    def _patched(self, obj: Obj, patch: Obj) -> Obj:
        if obj["metadata"]["resourceVersion"] != patch["metadata"]["resourceVersion"]:
            raise Conflict
        return self._newer(merge_patch.apply(obj, patch))

    def _newer(self, obj: Obj) -> Obj:
        self.version += 1
        newer: Obj = merge_patch.apply(
            obj, {"metadata": {"resourceVersion": str(self.version)}}
        )
        return newer


@dataclass
class Dispatcher:
    """Knows the hub as it was once, each of the two objects by itself."""

    workload: Obj
    record: Obj | None = None

    def view(self, kind: Kind) -> View:
        return World(self.workload, kind=kind, record=self.record).view()

    def step(self, kind: Kind, worker: str, base: Earned) -> Record | Store | None:
        """Place it once more; or mend what it sees of the record first."""
        view, hub = self.view(kind), self.workload
        if kind.carries_record and records.read(kind, hub, self.record) is None:
            repair = records.repair(view, hub)
            if repair is not None:
                return repair
        attempt = records.last_attempt(kind, hub, self.record) + 1
        decision = Placement("uid-1", attempt, (Shard(worker, f"{worker}-uid", base),))
        return records.write(view, kind, hub, decision, is_new=attempt == 1)


@dataclass(frozen=True)
class Act:
    who: int
    worker: str
    base: str


@dataclass(frozen=True)
class Learn:
    who: int
    what: str


@dataclass(frozen=True)
class Forge:
    note: str | None


def note(placed: Placement) -> str:
    """The annotation that somebody may copy or make up."""
    annotations = placement.patch(hub_job(), placed, World().view().now)["metadata"][
        "annotations"
    ]
    return str(annotations[placement.ANNOTATION])


EVENTS = st.lists(
    st.builds(
        Act,
        st.integers(0, 1),
        st.sampled_from(["east", "west"]),
        st.sampled_from([*BASES]),
    )
    | st.builds(Learn, st.integers(0, 1), st.sampled_from(["workload", "record", "both"]))
    | st.builds(Forge, st.sampled_from([None, "", "{", note(FORGED)])),
    max_size=30,
)


def bare(placed: Placement) -> Placement:
    return replace(placed, shards=tuple(replace(each, base="") for each in placed.shards))


def play(kind: Kind, workload: Obj, events: list[Any]) -> Hub:
    """Let two dispatchers and a tenant do things; check after each what must always hold."""
    hub = Hub(workload)
    dispatchers = [Dispatcher(workload), Dispatcher(workload)]
    for event in events:
        before = records.last_attempt(kind, hub.workload, hub.record)
        match event:
            case Forge(note):
                hub.edit({"metadata": {"annotations": {placement.ANNOTATION: note}}})
            case Learn(who, what):
                learn(dispatchers[who], hub, what)
            case Act(who, worker, base):
                act(dispatchers[who], hub, kind, worker, BASES[base])
        known = records.vouched(kind, hub.workload, hub.record)
        last = hub.made[-1] if hub.made else None
        assert (bare(known) if known else None) == (bare(last) if last else None)
        assert records.last_attempt(kind, hub.workload, hub.record) >= before
    return hub


def learn(dispatcher: Dispatcher, hub: Hub, what: str) -> None:
    if what != "record":
        dispatcher.workload = hub.workload
    if what != "workload":
        dispatcher.record = hub.record


def act(dispatcher: Dispatcher, hub: Hub, kind: Kind, worker: str, base: Earned) -> None:
    step = dispatcher.step(kind, worker, base)
    assert step is not None
    try:
        hub.take(step)
    except Conflict:
        return
    if step.into is Into.STATUS:
        dispatcher.workload = hub.workload
    else:
        dispatcher.record = hub.record
    last = hub.made[-1] if hub.made else None
    if isinstance(step, Record) and (last is None or bare(step.placement) != bare(last)):
        hub.made.append(step.placement)


@pytest.mark.parametrize("kind", KINDS)
@given(events=EVENTS)
def test_no_attempt_is_placed_twice_and_none_goes_back(kind: str, events: list[Any]) -> None:
    hub = play(*KINDS[kind], events)

    attempts = [placed.attempt for placed in hub.made]
    assert attempts == sorted(set(attempts))
    assert "evil" not in {shard.worker for placed in hub.made for shard in placed.shards}


@pytest.mark.parametrize("kind", KINDS)
@given(events=EVENTS)
def test_all_is_known_of_the_last_one_unless_somebody_meddled(
    kind: str, events: list[Any]
) -> None:
    alone = [replace(event, who=0) for event in events if isinstance(event, Act | Learn)]
    adapter, workload = KINDS[kind]

    hub = play(adapter, workload, alone)

    last = hub.made[-1] if hub.made else None
    assert records.read(adapter, hub.workload, hub.record) == last


def test_what_is_played_does_place_and_does_conflict() -> None:
    """Else the properties above would hold of nothing."""
    events = [
        Act(0, "east", "none"),
        Act(1, "west", "none"),
        Learn(1, "both"),
        *[Act(1, "west", "large")] * 2,
        Act(0, "east", "small"),
    ]

    for kind, workload in KINDS.values():
        hub = play(kind, workload, events)

        assert [(each.attempt, each.shards[0].worker) for each in hub.made] == (
            [(1, "east"), (2, "west")]
            if kind is JOB
            else [(1, "east"), (2, "west"), (3, "west")]
        )
