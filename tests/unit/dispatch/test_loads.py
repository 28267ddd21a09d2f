from typing import Any

import msgspec

from jobferry.core import placement
from jobferry.core.placement import Placement, Shard
from jobferry.dispatch.jobs import NOWHERE, JobHead, workers_of
from jobferry.dispatch.loads import Loads, Used
from jobferry.kube.cache import Change
from jobferry.kube.items import Item
from jobferry.objects import merge_patch, quantities
from tests.unit.core.worlds import NOW, condition, hub_job


def item(
    worker: str = "", *, cpu: str = "2", generation: int = 1, **status: Any
) -> Item[JobHead]:
    container = {"name": "c", "resources": {"requests": {"cpu": cpu}}}
    job = hub_job(template={"spec": {"containers": [container]}})
    if worker:
        decision = Placement("uid-1", 1, (Shard(worker, "uid"),))
        job = merge_patch.apply(job, placement.patch(job, decision, NOW))
    job = merge_patch.apply(job, {"metadata": {"generation": generation}, "status": status})
    body = msgspec.json.encode(job)
    return Item(msgspec.json.decode(body, type=JobHead), body)


def cpu(used: Used, worker: str) -> str:
    return str(used[worker].get("cpu", 0))


def test_a_worker_is_expected_to_do_what_is_being_placed_there() -> None:
    loads = Loads({"east": 2, "west": 0}.__getitem__)

    with loads.expecting(["east"]), loads.expecting(["east"]):
        assert (loads["east"], loads["west"]) == (4, 0)
    assert loads["east"] == 2


def test_what_a_job_needs_is_used_from_its_placement_to_its_end() -> None:
    used = Used()
    used.note(Change(None, item()))
    assert cpu(used, "east") == "0"

    used.note(Change(item(), item("east")))
    used.note(Change(item("east"), item("east", active=1)))
    assert cpu(used, "east") == "2"

    used.note(Change(item("east"), item("west")))
    assert (cpu(used, "east"), cpu(used, "west")) == ("0", "2")

    used.note(Change(item("west"), item("west", conditions=[condition("Complete")])))
    assert cpu(used, "west") == "0"


def test_a_job_that_is_edited_or_deleted_is_counted_anew() -> None:
    used = Used()
    used.note(Change(None, item("east")))
    used.note(Change(item("east"), item("east", cpu="500m", generation=2)))
    assert cpu(used, "east") == "500m"

    used.note(Change(item("east"), None))
    assert cpu(used, "east") == "0"


def test_what_is_being_placed_is_used_already() -> None:
    used = Used()
    used.note(Change(None, item("east")))
    need = used["east"]

    with used.expecting(["east", "west"], need):
        assert (cpu(used, "east"), cpu(used, "west")) == ("4", "2")
    assert (cpu(used, "east"), cpu(used, "west")) == ("2", "0")


def forged(worker: str, cpu: str) -> Item[JobHead]:
    """A Job whose author says that it was placed."""
    claim = item(worker, cpu=cpu).object()["metadata"]["annotations"]
    job = merge_patch.apply(item(cpu=cpu).object(), {"metadata": {"annotations": claim}})
    body = msgspec.json.encode(job)
    return Item(msgspec.json.decode(body, type=JobHead), body)


def test_a_forged_placement_keeps_no_worker_busy() -> None:
    used = Used()

    used.note(Change(None, forged("east", cpu="1e1500")))

    assert cpu(used, "east") == "0"
    assert list(workers_of(forged("east", cpu="1"))) == [NOWHERE]
    assert list(workers_of(item("east"))) == ["east"]


def test_beside_a_job_that_asks_for_absurdly_much_others_are_counted_as_ever() -> None:
    used = Used()
    used.note(Change(None, item("east", cpu="1e1500")))

    with used.expecting(["east"], need := {"cpu": quantities.parse("2")}):
        used.note(Change(item("east", cpu="1e1500"), None))
        assert used["east"] == need
    assert cpu(used, "east") == "0"
