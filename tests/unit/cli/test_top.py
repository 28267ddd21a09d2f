from jobferry.cli import top
from jobferry.cli.picture import Objects, Picture
from jobferry.objects import Obj
from jobferry.settings import DEFAULTS
from tests.unit.cli.hub_objects import NOW, client, job, placed, worker


def loads(jobs: list[Obj], workers: list[Obj]) -> list[Obj]:
    objects = Objects(jobs=jobs, workers=workers, queues=[])
    return top.loads(objects, Picture(client(), DEFAULTS, objects, NOW))


def test_one_job_waits_and_two_wait() -> None:
    assert top.wait_text(1) == "1 workload waits for a worker."
    assert top.wait_text(2) == "2 workloads wait for a worker."


def test_used_is_what_unfinished_jobs_request() -> None:
    ended = {"conditions": [{"type": "Complete", "status": "True"}]}
    jobs = [
        placed(job("a", cpu="500m", completions=4, parallelism=2), "west"),
        placed(job("b", cpu="1"), "west"),
        placed(job("c", cpu="8", status=ended), "west"),
        job("d", cpu="9"),
    ]
    limited = worker("west", maxMirrors=4, capacity={"cpu": "16", "example.com/gpu": 2})

    west, east = sorted(
        loads(jobs, [worker("east"), limited]), key=lambda each: -each["active"]
    )

    assert (west["active"], west["maxActive"], west["used"]) == (2, 4, {"cpu": "2"})
    assert (east["active"], east["maxActive"], east["used"]) == (0, None, {})
    assert top.text([east, west]).splitlines() == [
        "NAME   READY   MIRRORS   ACTIVE   CPU       MEMORY   EXAMPLE.COM/GPU",
        "east   True    0         0        0         0        0",
        "west   True    0         2 of 4   2 of 16   0        0 of 2",
    ]
