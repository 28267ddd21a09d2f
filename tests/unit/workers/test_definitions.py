"""Kinds of a worker, which come and go."""

from collections.abc import AsyncIterator

import pytest

from jobferry.kube import optional
from jobferry.runtime import supervise
from jobferry.workers import cluster
from jobferry.workers.definitions import Lookout
from tests.unit.dispatch.hubs import JOB, JOB_SET, Hub, adapters, hub

JOBSETS = "jobsets.jobset.x-k8s.io"
KINDS = [each.resource for each in adapters(JOB, JOB_SET)]
JOBS_ALONE = ("Job.batch/v1",)


@pytest.fixture
async def there() -> AsyncIterator[Hub]:
    async with hub() as found:
        yield found


async def test_only_kinds_that_are_served_are_named(there: Hub) -> None:
    found = await cluster.introduce(there.admin, KINDS)
    assert found.kinds == JOBS_ALONE
    assert [found.serves(each) for each in KINDS] == [True, False]

    await there.define(JOBSETS)
    found = await cluster.introduce(there.admin, KINDS)
    assert found.kinds == (*JOBS_ALONE, "JobSet.jobset.x-k8s.io/v1alpha2")
    assert [found.serves(each) for each in KINDS] == [True, True]


async def test_a_kind_that_comes_is_noticed_by_its_crd(there: Hub) -> None:
    client = there.server.client()
    async with client, supervise.tasks("test", clock=there.clock) as tasks:
        looking = tasks.start("lookout", Lookout(client, KINDS, JOBS_ALONE).until_others)
        await there.define(JOBSETS)
        at = there.clock.monotonic()

        await there.until(lambda: not looking.is_running)

        assert there.clock.monotonic() - at < optional.ASK_AGAIN_AFTER


async def test_so_is_one_that_went_before_it_was_looked(there: Hub) -> None:
    async with there.server.client() as client:
        known = (*JOBS_ALONE, "JobSet.jobset.x-k8s.io/v1alpha2")

        await Lookout(client, KINDS, known).until_others()


async def test_without_the_right_to_see_crds_it_is_looked_every_few_minutes(there: Hub) -> None:
    client, at = there.client("us"), there.clock.monotonic()
    async with client, supervise.tasks("test", clock=there.clock) as tasks:
        looking = tasks.start("lookout", Lookout(client, KINDS, JOBS_ALONE).until_others)
        await there.until(lambda: there.clock.monotonic() - at > 5.0)
        await there.define(JOBSETS)

        await there.until(lambda: not looking.is_running)

        assert there.clock.monotonic() - at >= optional.ASK_AGAIN_AFTER


async def test_a_hint_is_a_reason_to_look_at_once(there: Hub) -> None:
    client, at = there.client("us"), there.clock.monotonic()
    lookout = Lookout(client, KINDS, JOBS_ALONE)
    async with client, supervise.tasks("test", clock=there.clock) as tasks:
        looking = tasks.start("lookout", lookout.until_others)
        await there.until(lambda: there.clock.monotonic() - at > 5.0)
        await there.define(JOBSETS)
        lookout.look()

        await there.until(lambda: not looking.is_running)

        assert there.clock.monotonic() - at < optional.ASK_AGAIN_AFTER
