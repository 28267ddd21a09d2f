"""Workloads of several kinds: whose they are, and which workers they keep busy."""

from typing import Any

import pytest

from jobferry.core import placement, placement_object
from jobferry.core.key import WorkloadKey
from jobferry.core.placement import Placement, Shard
from jobferry.core.placement_object import Content
from jobferry.dispatch.workloads import NOWHERE, Workloads
from jobferry.kube.cache import Change
from jobferry.objects import Obj, merge_patch
from tests.unit.core.worlds import NOW
from tests.unit.dispatch.hubs import JOB, JOB_SET, OURS, adapters
from tests.unit.kube.wires import Wire, client_over
from tests.workloads.lives import condition

KEY = WorkloadKey(JOB_SET, "ns", "a")


class Seen:
    """What is followed, filled by hand."""

    def __init__(self) -> None:
        self.of = Workloads(client_over(Wire()), adapters(JOB, JOB_SET))
        self.told: list[tuple[WorkloadKey, bool]] = []
        for kind in (JOB, JOB_SET):
            self.of.follow(kind)
        self.of.listen(self._hear)
        self._version = 0

    def _hear(self, key: WorkloadKey, change: Change[Any]) -> None:
        self.told.append((key, change.after is not None))

    def has(self, kind: str, name: str = "a", *, owner: Obj | None = None, **obj: Any) -> Obj:
        self._version += 1
        meta = {
            "namespace": "ns",
            "name": name,
            "uid": f"uid-{kind}-{name}",
            "resourceVersion": str(self._version),
            **({"ownerReferences": [owner]} if owner else {}),
        }
        found = merge_patch.apply({"metadata": meta, "spec": {"managedBy": OURS}}, obj)
        self.of.absorb(kind, found)
        return dict(found)

    def record(self, hub: Obj, worker: str, **changes: Any) -> None:
        self._version += 1
        placed = Placement(hub["metadata"]["uid"], 1, (Shard(worker, "uid"),))
        (job_set,) = adapters(JOB_SET)
        made = placement_object.new(job_set, hub, Content(placed))
        meta = {"uid": f"record-{self._version}", "resourceVersion": str(self._version)}
        self.of.placements.absorb(merge_patch.apply(made, {"metadata": meta} | changes))


@pytest.fixture
def seen() -> Seen:
    return Seen()


def test_kinds_have_names_of_their_own(seen: Seen) -> None:
    seen.has(JOB)
    seen.has(JOB_SET)

    assert {key for key, _ in seen.of} == {KEY, KEY._replace(kind=JOB)}
    assert seen.of.on(NOWHERE) == [KEY._replace(kind=JOB), KEY]
    assert seen.of.get(KEY._replace(kind="RayJob.ray.io")) is None


def test_a_record_beside_the_workload_tells_which_worker_it_keeps_busy(seen: Seen) -> None:
    hub = seen.has(JOB_SET)
    assert (seen.of.workers(KEY), seen.of.count(NOWHERE)) == ((NOWHERE,), 1)

    seen.record(hub, "east")

    assert (seen.of.on("east"), seen.of.count(NOWHERE)) == ([KEY], 0)
    assert seen.told == [(KEY, True), (KEY, True)]
    ended = [condition("Completed")]
    seen.has(JOB_SET, status={"conditions": ended})
    assert seen.of.count("east") == 0


def test_a_record_that_comes_first_waits_for_its_workload(seen: Seen) -> None:
    hub: Obj = {"metadata": {"namespace": "ns", "name": "a", "uid": f"uid-{JOB_SET}-a"}}

    seen.record(hub, "east")
    seen.has(JOB_SET)

    assert seen.of.on("east") == [KEY]


@pytest.mark.parametrize(
    "forgery",
    [
        {"metadata": {"namespace": "other"}},
        {"metadata": {"name": "another-uid"}},
        {"spec": {"workload": {"uid": "another-uid"}}},
        {"spec": {"shards": []}},
        {"spec": {"shards": "nonsense"}},
    ],
)
def test_a_forged_record_changes_nothing(seen: Seen, forgery: Obj) -> None:
    hub = seen.has(JOB_SET)

    seen.record(hub, "east", **_nested(forgery, seen))

    assert seen.of.workers(KEY) == (NOWHERE,)


def _nested(forgery: Obj, seen: Seen) -> Obj:
    """Keep what makes an object one, whatever else is forged."""
    meta = {"uid": "record", "resourceVersion": "99", **forgery.get("metadata", {})}
    return {**forgery, "metadata": meta}


def test_the_record_that_a_job_carries_counts_and_no_other(seen: Seen) -> None:
    hub = seen.has(JOB)
    seen.record(hub, "east")
    assert seen.of.count("east") == 0

    placed = Placement(hub["metadata"]["uid"], 1, (Shard("west", "uid"),))
    seen.has(
        JOB, **merge_patch.apply(hub, placement.patch(hub, placed, NOW)) | {"metadata": {}}
    )
    assert seen.of.on("west") == [KEY._replace(kind=JOB)]


def test_what_is_not_ours_keeps_nobody_busy(seen: Seen) -> None:
    seen.has(JOB_SET, spec={"managedBy": "jobferry.io/other"})
    seen.has(JOB_SET, "b", spec={"managedBy": "example.com/other"})

    assert [key.name for key, _ in seen.of] == ["a"]  # it may be meant for us
    assert seen.of.workers(KEY) == ()


def owner_of(hub: Obj, kind: str = "JobSet", *, controller: bool = True) -> Obj:
    meta = hub["metadata"]
    named = {"kind": kind, "name": meta["name"], "uid": meta["uid"], "controller": controller}
    return {"apiVersion": "jobset.x-k8s.io/v1alpha2", **named}


def test_a_part_of_a_workload_of_ours_is_not_ours_by_itself(seen: Seen) -> None:
    hub = seen.has(JOB_SET)
    other = seen.has(JOB_SET, "other", spec={"managedBy": "jobferry.io/other"})

    owners = {
        "part": owner_of(hub),
        "of-other": owner_of(other),
        "of-an-earlier-one": owner_of({"metadata": {"name": "a", "uid": "earlier"}}),
        "owned": owner_of(hub, controller=False),
        "of-a-kind-that-is-not-followed": owner_of(hub, "CronJobSet"),
    }
    for name, owner in owners.items():
        seen.has(JOB, name, owner=owner)

    ours = {key.name for key, item in seen.of if seen.of.has(key.kind, item.head)}
    assert ours == {"a", *owners} - {"part"}


def test_a_part_of_a_part_is_not_ours_by_itself_either(seen: Seen) -> None:
    whole = seen.has(JOB_SET)
    part = seen.has(JOB_SET, "part", owner=owner_of(whole))

    seen.has(JOB, "part-of-it", owner=owner_of(part))

    ours = {key.name for key, item in seen.of if seen.of.has(key.kind, item.head)}
    assert ours == {"a"}


def test_owners_in_a_circle_lead_nowhere(seen: Seen) -> None:
    itself: Obj = {"metadata": {"name": "a", "uid": f"uid-{JOB_SET}-a"}}
    one, two = (
        {"metadata": {"name": name, "uid": f"uid-{JOB_SET}-{name}"}} for name in ("one", "two")
    )

    seen.has(JOB_SET, owner=owner_of(itself))
    seen.has(JOB_SET, "one", owner=owner_of(two))
    seen.has(JOB_SET, "two", owner=owner_of(one))

    assert [seen.of.has(key.kind, item.head) for key, item in seen.of] == [False] * 3
    assert [key.name for key, _ in seen.told] == ["a", "one", "two"]


def test_a_record_that_names_a_worker_twice_counts_once(seen: Seen) -> None:
    hub = seen.has(JOB_SET)
    twice = [{"worker": "east", "cluster": "uid"}] * 2

    seen.record(hub, "east", spec={"shards": twice})
    assert (seen.of.on("east"), seen.of.workers(KEY)) == ([KEY], ("east",))

    seen.has(JOB_SET, status={"conditions": [condition("Completed")]})
    assert seen.of.count("east") == 0


def test_workloads_of_a_kind_that_is_dropped_are_forgotten(seen: Seen) -> None:
    seen.has(JOB_SET)
    seen.told.clear()

    seen.of.drop(JOB_SET, are_gone=False)

    assert (list(seen.of), seen.of.count(NOWHERE), seen.told) == ([], 0, [])


def test_of_those_that_are_gone_with_it_it_is_told(seen: Seen) -> None:
    seen.has(JOB_SET)
    seen.told.clear()

    seen.of.drop(JOB_SET, are_gone=True)

    assert (list(seen.of), seen.of.count(NOWHERE)) == ([], 0)
    assert seen.told == [(KEY, False)]
