"""The account of one dispatcher: what it hears, and whom it has looked at."""

import asyncio
from dataclasses import replace
from typing import Any

import msgspec
import pytest

from jobferry.core import placement
from jobferry.core.key import WorkloadKey
from jobferry.core.placement import Placement, Shard
from jobferry.core.steps import Want
from jobferry.core.view import View
from jobferry.dispatch import heads
from jobferry.dispatch.admitting import SETTLE_WITHIN, Admitting
from jobferry.dispatch.heads import JobHead, WorkloadHead
from jobferry.dispatch.workloads import NOWHERE, Workloads
from jobferry.kinds import registry
from jobferry.kinds.adapter import Context
from jobferry.kinds.job.delegated import DelegatedJob
from jobferry.kube.decoded import Decoded
from jobferry.kube.items import Item
from jobferry.objects import merge_patch, quantities
from jobferry.testing.clock import ManualClock, settle
from tests.unit.core.worlds import NOW, World, condition, hub_job, lost, up
from tests.unit.kube.wires import Wire, client_over

BOTH = Want(("east", "west"))
JOB = DelegatedJob(Context(frozenset({"jobferry.io/dispatcher"})))


def job(
    name: str = "a", *, cpu: str = "2", made: str = "2026-01-02T11:00:00Z"
) -> dict[str, Any]:
    container = {"name": "c", "resources": {"requests": {"cpu": cpu}}}
    found = hub_job(f"uid-{name}", template={"spec": {"containers": [container]}})
    named: dict[str, Any] = {"metadata": {"name": name, "creationTimestamp": made}}
    return dict(merge_patch.apply(found, named))


def item(
    worker: str = "", *, name: str = "a", cpu: str = "2", generation: int = 1, **status: Any
) -> Item[WorkloadHead]:
    found = job(name, cpu=cpu)
    if worker:
        decision = Placement(f"uid-{name}", 1, (Shard(worker, "uid"),))
        found = merge_patch.apply(found, placement.patch(found, decision, NOW))
    found = merge_patch.apply(found, {"metadata": {"generation": generation}, "status": status})
    body = msgspec.json.encode(found)
    return Item(msgspec.json.decode(body, type=JobHead), body)


def key(name: str) -> WorkloadKey:
    return WorkloadKey(JOB.name, "ns", name)


def seen(hub: dict[str, Any]) -> View:
    return World(hub).view()


POD = registry.make(Context(frozenset({"jobferry.io/dispatcher"})))["Pod"]


def read_pod(body: bytes) -> WorkloadHead:
    read = heads.reading(POD)
    assert not isinstance(read, type)
    return read(body)


def pod_key(name: str) -> WorkloadKey:
    return WorkloadKey(POD.name, "ns", name)


def pod(name: str, **changes: Any) -> dict[str, Any]:
    """A Pod of a group of two."""
    said = {"jobferry.io/pod-group": "g", "jobferry.io/pod-group-total-count": "2"}
    meta = {
        "name": name,
        "namespace": "ns",
        "uid": f"uid-{name}",
        "resourceVersion": "1",
        "generation": 1,
        "creationTimestamp": "2026-01-02T11:00:00Z",
        "annotations": said,
    }
    container = {"name": "c", "resources": {"requests": {"cpu": "2"}}}
    gates = [{"name": "jobferry.io/dispatcher"}]
    obj = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": meta,
        "spec": {"schedulingGates": gates, "containers": [container]},
    }
    return dict(merge_patch.apply(obj, changes))


class Account:
    """An account on a clock that stands, and whom it had looked at."""

    def __init__(self) -> None:
        self.clock = ManualClock()
        self.looked_at: list[str] = []
        self.of = Admitting(self.clock, lambda key: self.looked_at.append(key.name), Decoded())
        self.of.begin()

    def has(self, worker: str, cpu: str) -> None:
        self.of.note_worker(worker, up(worker, capacity={"cpu": quantities.parse(cpu)}))

    def wants(self, *hubs: dict[str, Any]) -> None:
        for hub in hubs:
            self.of.note_wish(key(hub["metadata"]["name"]), seen(hub), BOTH, JOB)

    def hears_of_pod(self, obj: dict[str, Any] | None, name: str, worker: str = "") -> None:
        """Take note of what became of a Pod."""
        now = (
            Item(read_pod(msgspec.json.encode(obj)), msgspec.json.encode(obj)) if obj else None
        )
        self.of.note_workload(pod_key(name), now, worker or None, POD)

    def pod_wants(self, *pods: dict[str, Any]) -> None:
        for each in pods:
            name = each["metadata"]["name"]
            self.hears_of_pod(each, name)
            self.of.note_wish(pod_key(name), seen(each), BOTH, POD)

    def hears(self, now: Item[WorkloadHead] | None, name: str = "a") -> None:
        """Take note of what became of a Job."""
        placed = now.head.told if now else None
        worker = placed.shards[0].worker if placed else None
        self.of.note_workload(key(name), now, worker, JOB)

    async def told(self) -> list[str]:
        """Return whom a pass had looked at since the last time."""
        await asyncio.sleep(0)
        found, self.looked_at = self.looked_at, []
        return found


@pytest.fixture
async def account() -> Account:
    return Account()


async def test_who_wants_a_worker_is_looked_at_once_there_is_room(account: Account) -> None:
    account.has("east", "2")
    account.wants(job("young", made="2026-01-02T11:30:00Z"), job("old"))

    assert account.of.lacks(key("old")) is None  # no pass has come to it yet
    assert await account.told() == ["old", "young"]
    assert account.of.reserved(key("old")) == "east"
    assert account.of.reserved(key("young")) is None
    assert account.of.lacks(key("young")) is not None
    assert await account.told() == []

    account.hears(item("east", name="old"), "old")
    assert await account.told() == []
    done = item("east", name="old", conditions=[condition("Complete")])
    account.hears(done, "old")
    assert await account.told() == ["young"]


async def test_who_wants_no_worker_any_more_leaves_its_place_to_others(
    account: Account,
) -> None:
    account.has("east", "2")
    account.wants(job("first"), job("second"))
    await account.told()

    account.of.note_wish(key("first"), seen(job("first")), None, JOB)

    assert await account.told() == ["second"]


async def test_a_job_that_is_edited_or_goes_is_counted_anew(account: Account) -> None:
    account.has("east", "4")
    account.hears(item("east", cpu="4"))
    account.wants(job("next", cpu="3"))
    assert await account.told() == ["next"]
    assert account.of.reserved(key("next")) is None

    account.hears(item("east", cpu="1", generation=2))
    assert await account.told() == ["next"]
    assert account.of.reserved(key("next")) == "east"

    account.wants(job("last", cpu="1"))
    assert await account.told() == ["last"]
    account.hears(None)
    assert await account.told() == ["last"]


async def test_a_job_that_says_of_itself_that_it_was_placed_takes_no_room() -> None:
    claim = item("east").object()["metadata"]["annotations"]
    obj = merge_patch.apply(job(), {"metadata": {"annotations": claim}})
    body = msgspec.json.encode(obj)
    forged: Item[WorkloadHead] = Item(msgspec.json.decode(body, type=JobHead), body)
    workloads = Workloads(client_over(Wire()), [JOB])
    workloads.follow(JOB.name)
    workloads.absorb(JOB.name, obj)
    assert workloads.workers(key("a")) == (NOWHERE,)

    account = Account()
    account.has("east", "2")
    account.hears(forged)
    account.wants(job("next"))
    await account.told()

    assert account.of.reserved(key("next")) == "east"


async def test_a_worker_that_goes_takes_no_more(account: Account) -> None:
    account.has("east", "2")
    account.wants(job())
    await account.told()

    account.of.note_worker("east", None)

    assert account.of.reserved(key("a")) is None


# Groups of Pods


async def test_pods_of_a_group_are_looked_at_once_there_is_room_for_all(
    account: Account,
) -> None:
    account.has("east", "3")
    account.pod_wants(pod("a"))
    assert await account.told() == ["a"]
    held = account.of.held(pod_key("a"))
    assert held is not None
    assert "1 of 2 are there" in held.now

    account.pod_wants(pod("b"))
    assert sorted(await account.told()) == ["a", "b"]
    assert account.of.reserved(pod_key("a")) is None
    assert account.of.held(pod_key("a")) is None

    account.has("east", "4")
    assert sorted(await account.told()) == ["a", "b"]
    assert account.of.reserved(pod_key("a")) == account.of.reserved(pod_key("b")) == "east"


@pytest.mark.parametrize(
    ("changes", "counts"),
    [
        ({"status": {"phase": "Succeeded"}}, True),
        ({"status": {"phase": "Failed"}}, False),
        ({"metadata": {"deletionTimestamp": "2026-01-02T11:30:00Z"}}, False),
        ({"spec": {"schedulingGates": [{"name": "jobferry.io/another"}]}}, False),
    ],
)
async def test_who_counts_as_one_of_a_group(
    account: Account, changes: dict[str, Any], counts: bool
) -> None:
    account.has("east", "9")
    account.hears_of_pod(pod("a", **changes), "a")
    account.pod_wants(pod("b"))

    await account.told()

    assert (account.of.reserved(pod_key("b")) == "east") is counts


async def test_a_pod_goes_where_the_others_of_its_group_are(account: Account) -> None:
    account.has("east", "9")
    account.has("west", "9")
    account.hears_of_pod(pod("a"), "a", "west")
    account.pod_wants(pod("b"))

    assert await account.told() == ["b"]
    assert account.of.reserved(pod_key("b")) == "west"


async def test_one_of_a_group_that_goes_leaves_the_others_without_a_place(
    account: Account,
) -> None:
    account.has("east", "9")
    account.pod_wants(pod("a"), pod("b"))
    await account.told()
    assert account.of.reserved(pod_key("b")) == "east"

    account.hears_of_pod(None, "a")

    assert account.of.reserved(pod_key("b")) is None
    assert await account.told() == ["b"]


# A bounded moment for the others


async def test_the_first_worker_waits_for_the_others_a_moment(account: Account) -> None:
    """All that waited went to the first, once."""
    account.of.note_worker("west", replace(up("west"), is_up=False))
    account.has("east", "100")
    account.wants(*(job(f"job-{n}") for n in range(4)))
    assert await account.told() == []

    account.has("west", "100")

    assert len(await account.told()) == 4
    assert {account.of.reserved(key(f"job-{n}")) for n in range(4)} == {"east", "west"}


async def test_that_moment_ends_even_if_they_do_not_come(account: Account) -> None:
    account.of.note_worker("west", replace(up("west"), is_up=False))
    account.has("east", "100")
    account.wants(job())
    assert await account.told() == []

    account.clock.advance(SETTLE_WITHIN)
    await settle()

    assert await account.told() == ["a"]


async def test_that_moment_ends_once_all_have_come_whoever_is_added_then(
    account: Account,
) -> None:
    account.has("east", "100")
    account.of.note_worker("west", replace(up("west"), is_up=False))

    account.wants(job())

    assert await account.told() == ["a"]


async def test_so_it_is_when_most_workers_come_back(account: Account) -> None:
    account.clock.advance(SETTLE_WITHIN)
    names = ("east", "north", "west")
    for name in names:
        account.of.note_worker(name, lost(name, minutes=1))
    account.has("east", "100")
    account.wants(job())
    assert await account.told() == []

    for name in names:
        account.has(name, "100")
    assert await account.told() == ["a"]


async def test_who_does_not_act_has_nobody_looked_at(account: Account) -> None:
    account.has("east", "2")
    account.wants(job())
    account.of.end()

    assert await account.told() == []
    assert account.of.reserved(key("a")) is None


async def test_who_is_in_line_can_be_looked_at_again(account: Account) -> None:
    account.has("east", "2")
    account.wants(job("first"), job("second"))
    await account.told()

    account.of.wake_all()

    assert sorted(await account.told()) == ["first", "second"]


async def test_another_priority_changes_the_turn(account: Account) -> None:
    account.has("east", "2")
    account.hears(item("east", name="runs"), "runs")
    young = job("young", made="2026-01-02T11:30:00Z")
    account.wants(job("old"), young)
    await account.told()

    account.of.note_wish(key("young"), replace(seen(young), priority=1), BOTH, JOB)
    account.hears(None, "runs")
    await account.told()

    assert account.of.reserved(key("young")) == "east"
    assert account.of.reserved(key("old")) is None


async def test_what_a_placed_workload_needs_is_worked_out_anew_when_that_is_asked_for() -> None:
    account = Account()
    account.has("east", "4")
    account.hears(item("east", cpu="4"))
    account.wants(job("b", cpu="2"))
    await settle()
    assert account.of.reserved(key("b")) is None

    # As if it had become less by what it refers to: its generation is the same.
    account.hears(item("east", cpu="1"))
    await settle()
    assert account.of.reserved(key("b")) is None
    account.of.reweigh(key("a"), item("east", cpu="1"), "east", JOB)
    await settle()

    assert account.of.reserved(key("b")) == "east"


def test_one_that_waits_is_not_weighed_before_it_says_what_it_wishes() -> None:
    account = Account()

    account.of.reweigh(key("a"), item(), None, JOB)

    assert not account.of.waits(key("a"))
