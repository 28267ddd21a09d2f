"""Which workers the workloads of the hub keep busy."""

from itertools import count

from jobferry.clock import SystemClock
from jobferry.dispatch.workloads import Workloads
from jobferry.kube.client import Client
from jobferry.objects import Obj
from tests.unit.dispatch.hubs import JOB, OURS, adapters
from tests.unit.kube.wires import Wire

_VERSIONS = count(1)


def job(worker: str = "", *, has_ended: bool = False) -> Obj:
    placed = {"type": "Placed", "status": "True", "message": f"attempt 1 on {worker} (uid)"}
    listed = [placed] if worker else []
    if has_ended:
        listed.append({"type": "Complete", "status": "True"})
    version = str(next(_VERSIONS))
    return {
        "metadata": {"namespace": "ns", "name": "a", "uid": "u", "resourceVersion": version},
        "spec": {"managedBy": OURS},
        "status": {"conditions": listed},
    }


def test_it_is_told_which_workers_have_more_to_do_or_less() -> None:
    workloads = Workloads(Client(Wire(), name="hub", clock=SystemClock()), adapters(JOB))
    jobs = workloads.follow(JOB)
    told: list[str] = []
    workloads.listen_to_load(told.append)

    def changes(now: Obj) -> list[str]:
        told.clear()
        jobs.absorb(now)
        return told.copy()

    assert changes(job()) == []
    assert changes(job("east")) == ["east"]
    assert changes(job("east")) == []
    assert changes(job("west")) == ["east", "west"]
    assert changes(job("west", has_ended=True)) == ["west"]
    assert workloads.count("west") == 0
