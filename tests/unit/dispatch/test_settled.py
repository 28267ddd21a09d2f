"""Which mirrors need no look, whatever becomes of their worker: nothing that may have to go is among them."""

from types import SimpleNamespace
from typing import Any

import msgspec
import pytest

from jobferry.core import marks, placement
from jobferry.core.key import WorkloadKey
from jobferry.core.placement import Placement, Shard
from jobferry.core.view import Policy, Worker
from jobferry.dispatch.claims import Claims
from jobferry.dispatch.views import Holders, Views
from jobferry.dispatch.workloads import Workloads
from jobferry.kinds.adapter import Context
from jobferry.kinds.job.delegated import DelegatedJob
from jobferry.kube.cache import Change
from jobferry.kube.items import Item
from jobferry.objects import Obj, merge_patch
from jobferry.workers.mirrors import JobMirrorHead
from tests.unit.kube.wires import Wire, client_over

OURS = "jobferry.io/dispatcher"
KEY = WorkloadKey("Job.batch", "ns", "a")
COMPLETE = {"type": "Complete", "status": "True"}
GOING = {"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}}


def condition(worker: str, attempt: int) -> Obj:
    placed = Placement("uid-1", attempt, (Shard(worker, "east-uid"),))
    return {"type": placement.CONDITION, "status": "True", "message": str(placed)}


HUB: Obj = {
    "metadata": {"namespace": "ns", "name": "a", "resourceVersion": "1", "uid": "uid-1"},
    "spec": {"managedBy": OURS},
    "status": {"conditions": [COMPLETE, condition("east", 2)]},
}
MIRROR: Obj = {
    "metadata": {
        "namespace": "ns",
        "name": "a",
        "resourceVersion": "1",
        "labels": {marks.HUB_UID: "uid-1", marks.ATTEMPT: "2"},
    },
    "status": {"conditions": [COMPLETE]},
}


def item(body: Obj, head: type) -> Item[Any]:
    encoded = msgspec.json.encode(body)
    return Item(msgspec.json.decode(encoded, type=head), encoded)


def is_settled(
    hub: Obj | None = None,
    mirror: Obj | None = None,
    *,
    is_there: bool = True,
    also_on: str = "",
    keep: float | None = None,
    **worker: Any,
) -> bool:
    workloads = Workloads(client_over(Wire()), [DelegatedJob(Context(frozenset({OURS})))])
    workloads.follow(KEY.kind)
    if is_there:
        workloads.absorb(KEY.kind, merge_patch.apply(HUB, hub or {}))
    copy = item(merge_patch.apply(MIRROR, mirror or {}), JobMirrorHead)
    holders = Holders()
    for name in filter(None, ("east", also_on)):
        holders.note(name, KEY, Change(None, copy))
    seen = Worker(name="east", cluster="east-uid", is_up=True, **worker)
    rest: Any = None
    workers: Any = SimpleNamespace(views=lambda: {"east": seen})
    queues: Any = SimpleNamespace(policy=lambda _: Policy(workers=(), keep_finished=keep))
    views = Views(
        origin="hub-uid",
        dispatcher=OURS,
        claims=Claims(frozenset({OURS}), "jobferry-system"),
        clock=rest,
        hub=rest,
        workloads=workloads,
        queues=queues,
        workers=workers,
        holders=holders,
        admitting=rest,
        priorities=rest,
        memory=rest,
        decoded=rest,
    )
    return views.is_settled("east", KEY, copy.head)


def test_a_mirror_that_has_ended_with_its_job_is_settled() -> None:
    assert is_settled()
    assert is_settled(silent_since=None, max_load=1)


UNSETTLED: dict[str, dict[str, Any]] = {
    "its Job is gone": {"is_there": False},
    "its Job is not ours": {"hub": {"spec": {"managedBy": "jobferry.io/other"}}},
    "its Job runs": {"hub": {"status": {"conditions": [condition("east", 2)]}}},
    "its Job is going": {"hub": GOING},
    "its Job was placed nowhere": {"hub": {"status": {"conditions": [COMPLETE]}}},
    "its Job was placed elsewhere": {
        "hub": {"status": {"conditions": [COMPLETE, condition("west", 2)]}}
    },
    "it is of another Job": {"mirror": {"metadata": {"labels": {marks.HUB_UID: "uid-0"}}}},
    "it is of another attempt": {"mirror": {"metadata": {"labels": {marks.ATTEMPT: "1"}}}},
    "it runs": {"mirror": {"status": {"conditions": []}}},
    "it is going": {"mirror": GOING},
    "there is another": {"also_on": "west"},
    "it stays for a while": {"keep": 60.0},
    "it is to go at once": {"keep": 0.0},
    "its worker is being removed": {"is_being_removed": True},
}


@pytest.mark.parametrize("case", UNSETTLED.values(), ids=UNSETTLED)
def test_all_others_are_looked_at(case: dict[str, Any]) -> None:
    assert not is_settled(**case)
