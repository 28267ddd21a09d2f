"""The fleet that tests of users get."""

import pytest

from jobferry.clock import sleep
from jobferry.kube import errors
from jobferry.kube.client import Client
from jobferry.kube.resources import CONFIG_MAPS, JOBS, NODES, PODS
from jobferry.localkube.runner.simulated import RUN_SECONDS
from jobferry.objects import Obj, conditions
from jobferry.settings import Settings
from jobferry.testing.kit import Cluster, Fleet, NotReached


def job(name: str, seconds: float) -> Obj:
    pod = {
        "metadata": {"annotations": {RUN_SECONDS: str(seconds)}},
        "spec": {"restartPolicy": "Never", "containers": [{"name": "main", "image": "any"}]},
    }
    spec = {"managedBy": "jobferry.io/dispatcher", "template": pod}
    return {"metadata": {"name": name}, "spec": spec}


def is_complete(job: Obj) -> bool:
    return conditions.is_true(job.get("status", {}).get("conditions"), "Complete")


def test_a_job_travels_and_its_end_comes_back(fleet: Fleet, hub: Cluster) -> None:
    hub.create(JOBS, job("pi", 200))

    fleet.run_until(lambda: is_complete(hub.get(JOBS, "pi")))

    assert [each["metadata"]["name"] for each in mirrors(fleet)] == ["pi"]


def test_what_is_not_found_is_waited_for(fleet: Fleet, hub: Cluster, worker: Cluster) -> None:
    hub.create(JOBS, job("pi", 1))

    found = fleet.run_until(lambda: worker.get(JOBS, "pi"))

    assert found["metadata"]["labels"]["jobferry.io/worker"] == "w1"


def test_who_waits_in_vain_is_told_what_there_is(fleet: Fleet, hub: Cluster) -> None:
    hub.create(JOBS, job("pi", 100))

    with pytest.raises(NotReached) as raised:
        fleet.run_until(lambda: is_complete(hub.get(JOBS, "pi")), within=5)

    assert isinstance(raised.value, AssertionError)
    assert "hub: Job default/pi: Placed, 1 active; attempt 1 on w1" in str(raised.value)
    assert "w2: no Job" in str(raised.value)


def test_who_waits_for_pods_that_cannot_run_is_told_why(fleet: Fleet, worker: Cluster) -> None:
    pod = job("pi", 1)["spec"]["template"]
    far = {**pod["spec"], "nodeSelector": {"on": "the-moon"}}
    worker.create(PODS, {"metadata": {"name": "far"}, "spec": far})
    pod["metadata"] = {"name": "odd", "annotations": {RUN_SECONDS: "long"}}
    worker.create(PODS, pod)

    with pytest.raises(NotReached) as raised:
        fleet.run_until(lambda: False, within=5)

    assert "w1: Pod default/far: Unschedulable: 0/" in str(raised.value)
    assert "w1: Pod default/odd: CreateContainerConfigError: cannot be run" in str(raised.value)


@pytest.mark.jobferry(workers=3, settings=Settings(worker_lost_after=30))
def test_work_moves_from_a_frozen_worker(fleet: Fleet, hub: Cluster, worker: Cluster) -> None:
    hub.create(JOBS, job("pi", 200))
    fleet.run_until(lambda: worker.list(JOBS))

    fleet.freeze(worker)
    others = fleet.workers[1:]
    fleet.run_until(lambda: any(each.list(JOBS) for each in others), within=60)
    fleet.thaw(worker)

    fleet.run_until(lambda: not worker.list(JOBS))
    assert len(mirrors(fleet)) == 1


def test_a_dispatcher_that_is_killed_goes_on_where_it_was(fleet: Fleet, hub: Cluster) -> None:
    hub.create(JOBS, job("pi", 20))
    fleet.run_until(lambda: mirrors(fleet))

    fleet.kill_dispatcher()
    fleet.run_for(60)
    assert not is_complete(hub.get(JOBS, "pi"))
    fleet.start_dispatcher()

    fleet.run_until(lambda: is_complete(hub.get(JOBS, "pi")))


def test_a_server_that_is_shut_down_refuses(fleet: Fleet, worker: Cluster) -> None:
    fleet.shut_down(worker)

    with pytest.raises(errors.Unreachable):
        worker.list(JOBS)
    fleet.bring_up(worker)

    assert worker.list(NODES)


def test_objects_are_changed_and_deleted(hub: Cluster) -> None:
    hub.create(CONFIG_MAPS, {"metadata": {"name": "a"}, "data": {"x": "1"}})

    patched = hub.patch(CONFIG_MAPS, "a", {"data": {"y": "2"}})
    hub.delete(CONFIG_MAPS, "a")

    assert patched["data"] == {"x": "1", "y": "2"}
    with pytest.raises(errors.NotFound):
        hub.get(CONFIG_MAPS, "a")


def test_what_a_controller_fails_with_is_raised_in_the_test(fleet: Fleet) -> None:
    async def run(client: Client) -> None:
        await sleep(client.clock, 60)
        raise LookupError("a bug of its own")

    fleet.start(run)

    with pytest.raises(LookupError, match="a bug of its own"):
        fleet.run_for(100)


def test_nothing_of_a_killed_controller_arrives(fleet: Fleet, hub: Cluster) -> None:
    async def run(client: Client) -> None:
        try:
            await sleep(client.clock, 1000)
        finally:
            await client.create(CONFIG_MAPS, note)

    note = {"metadata": {"name": "last-words", "namespace": "default"}}
    controller = fleet.start(run)
    fleet.run_for(1)

    controller.kill()
    fleet.run_for(10)

    assert "last-words" not in [each["metadata"]["name"] for each in hub.list(CONFIG_MAPS)]


def test_the_same_happens_each_time_unless_the_seed_is_another() -> None:
    def happens(seed: int) -> list[str]:
        with Fleet(seed=seed) as fleet:
            fleet.hub.create(JOBS, job("pi", 5))
            fleet.run_until(lambda: is_complete(fleet.hub.get(JOBS, "pi")))
            return [*fleet.timeline()]

    assert happens(1) == happens(1) != happens(2)


def mirrors(fleet: Fleet) -> list[Obj]:
    return [job for worker in fleet.workers for job in worker.list(JOBS)]
