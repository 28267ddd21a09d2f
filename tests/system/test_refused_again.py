"""Workers that go on refusing: they are asked less and less, and again as soon as something has changed."""

from collections import Counter

import pytest

from jobferry.clock import sleep
from jobferry.dispatch.refusals import FIRST
from jobferry.kube.calls import Scope
from jobferry.kube.resources import EVENTS, NAMESPACES
from jobferry.objects.resource import Resource
from jobferry.workers.resource import WORKERS
from tests.system.fleet import IS_CHOSEN, IS_REAL
from tests.system.jobs import complete, job
from tests.system.lab import Lab
from tests.system.refusing import creates, missing_there, submit_in_vain
from tests.system.world import named, until_none

pytestmark = pytest.mark.fleet

QUOTAS = Resource("", "v1", "resourcequotas", "ResourceQuota")


async def test_a_worker_is_asked_once_for_all_jobs_of_a_namespace_that_it_lacks(
    lab: Lab,
) -> None:
    await lab.add_worker("south")
    names = [f"job-{number}" for number in range(10)]
    async with missing_there(lab) as home, lab.dispatcher():
        await submit_in_vain(home, "first", names)
        assert creates(lab, "south", home.namespace) == 1

        await home.workers["south"].create(NAMESPACES, {"metadata": {"name": home.namespace}})
        await home.hub.patch(WORKERS, "south", {"metadata": {"labels": {"mended": "true"}}})
        for name in ("first", *names):
            await home.until(name, complete)
        await home.workers["south"].delete(NAMESPACES, home.namespace)


async def test_a_job_that_is_edited_is_offered_again_at_once(lab: Lab) -> None:
    world = lab.world
    await lab.add_worker("south")
    south, none = world.workers["south"], {"count/jobs.batch": "0"}
    quota = {"metadata": {"name": "none"}, "spec": {"hard": none}}
    await south.create(QUOTAS, quota, namespace=world.namespace)
    status = {"status": {"hard": none, "used": none}}
    await south.patch(QUOTAS, "none", status, namespace=world.namespace, subresource="status")
    async with lab.dispatcher():
        await world.submit(job("a"))
        await world.event("a", "Refused")
        await south.delete(QUOTAS, "none", world.namespace)
        await until_none(south, named(QUOTAS, "none", world.namespace))

        edited = world.hub.clock.monotonic()
        await world.edit("a", {"spec": {"parallelism": 2}})

        await world.until("a", complete)
        assert world.hub.clock.monotonic() - edited < FIRST / 2


@pytest.mark.skipif(IS_REAL or IS_CHOSEN, reason="takes minutes, unless time is ours")
async def test_a_worker_that_goes_on_refusing_is_asked_less_and_less(lab: Lab) -> None:
    await lab.add_workers()
    async with missing_there(lab) as home, lab.dispatcher():
        for name in ("a", "b", "c"):
            await home.submit(job(name))
        await sleep(home.hub.clock, 500)

        asked = {worker: creates(lab, worker, home.namespace) for worker in lab.clusters}
        told = (await home.hub.list(Scope(resource=EVENTS, namespace=home.namespace))).items

    # At first perhaps all at once; then one for all, after 1, 3 and 7 minutes.
    assert all(1 <= count <= 3 + 3 for count in asked.values()), asked
    refused = Counter(
        (event["involvedObject"]["name"], event["message"])
        for event in told
        if event["reason"] == "Refused"
    )
    assert refused
    assert set(refused.values()) == {1}
