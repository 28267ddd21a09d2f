import msgspec
import pytest

from jobferry.dispatch.jobs import JobHead, concerned
from jobferry.kube.cache import Change
from jobferry.kube.items import Item


def job(worker: str = "", *, has_ended: bool = False) -> Item[JobHead]:
    placed = {"type": "Placed", "status": "True", "message": f"attempt 1 on {worker} (uid)"}
    listed = [placed] if worker else []
    if has_ended:
        listed.append({"type": "Complete", "status": "True"})
    meta = {"namespace": "ns", "name": "a", "uid": "uid-1", "resourceVersion": "1"}
    body = msgspec.json.encode({"metadata": meta, "status": {"conditions": listed}})
    return Item(msgspec.json.decode(body, type=JobHead), body)


@pytest.mark.parametrize(
    ("before", "after", "workers"),
    [
        (None, job(), []),
        (None, job("east"), ["east"]),
        (job(), job("east"), ["east"]),
        (job("east"), job("east"), []),
        (job("east"), job("west"), ["east", "west"]),
        (job("east"), job("east", has_ended=True), ["east"]),
        (job("east", has_ended=True), None, []),
        (job("east"), None, ["east"]),
    ],
)
def test_a_job_concerns_the_workers_that_it_keeps_busy_and_kept_busy_before(
    before: Item[JobHead] | None, after: Item[JobHead] | None, workers: list[str]
) -> None:
    assert concerned(Change(before, after)) == workers
