"""Kinds of the hub, which come and go."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from jobferry.clock import sleep
from jobferry.core.key import WorkloadKey
from jobferry.dispatch.following import NOT_THERE, Following
from jobferry.dispatch.rivals import RUNS
from jobferry.dispatch.workloads import Workloads
from jobferry.kinds.adapter import MULTIKUEUE, Adapter
from jobferry.kube import optional
from jobferry.kube.client import Client
from jobferry.kube.definitions import SERVED_WITHIN
from jobferry.kube.resources import CRDS
from jobferry.objects import Obj
from jobferry.objects.resource import Resource
from jobferry.runtime import supervise
from tests.unit.dispatch.hubs import (
    JOB,
    JOB_SET,
    OURS,
    RAY_JOB,
    Hub,
    adapters,
    definition,
    hub,
)
from tests.workloads import crds

JOBSETS = "jobsets.jobset.x-k8s.io"
RAYJOBS = "rayjobs.ray.io"
CLUSTERS = Resource(
    "kueue.x-k8s.io", "v1beta2", "multikueueclusters", "MultiKueueCluster", namespaced=False
)


@pytest.fixture
async def there() -> AsyncIterator[Hub]:
    async with hub() as found:
        yield found


class Watched:
    """What is followed, and what was told of it."""

    def __init__(self, client: Client, kinds: list[Adapter]) -> None:
        self.workloads = Workloads(client, kinds)
        self.whole: list[str] = []
        self.told: list[tuple[str, str]] = []
        self.following = Following(client, self.workloads, self.whole.append)
        self.workloads.listen(
            lambda key, change: self.told.append(
                (key.name, "gone" if change.after is None else "there")
            )
        )


@asynccontextmanager
async def watched(found: Hub, client: Client, *kinds: Adapter) -> AsyncIterator[Watched]:
    seen = Watched(client, list(kinds))
    async with client, supervise.tasks("test", clock=found.clock) as tasks:
        tasks.start("following", seen.following.run)
        await seen.following.settled.wait()
        yield seen


def job_set(name: str, manager: str = OURS) -> Obj:
    meta = {"name": name, "namespace": "default"}
    return {"metadata": meta, "spec": {"managedBy": manager, "replicatedJobs": []}}


async def make(found: Hub, kind: str, obj: Obj) -> None:
    (adapter,) = adapters(kind)
    await found.admin.create(adapter.resource, obj)


async def test_a_kind_is_followed_from_when_its_crd_comes_until_it_goes(there: Hub) -> None:
    async with watched(there, there.server.client(), *adapters(JOB, JOB_SET)) as seen:
        assert set(seen.workloads.followed) == {JOB}
        assert seen.following.objections == {JOB_SET: NOT_THERE}

        await there.define(JOBSETS)
        await make(there, JOB_SET, job_set("a"))
        key = WorkloadKey(JOB_SET, "default", "a")
        await there.until(lambda: seen.workloads.get(key) is not None)
        assert seen.whole == [JOB, JOB_SET]

        await there.undefine(JOBSETS)
        await there.until(lambda: set(seen.workloads.followed) == {JOB})
        assert seen.told == [("a", "there"), ("a", "gone")]

        await there.define(JOBSETS)
        await there.until(lambda: seen.whole == [JOB, JOB_SET, JOB_SET])


async def test_what_is_there_from_the_beginning_is_waited_for(there: Hub) -> None:
    await there.define(JOBSETS)
    await make(there, JOB_SET, job_set("ours"))
    await make(there, JOB_SET, job_set("others", "example.com/other"))
    async with watched(there, there.server.client(), *adapters(JOB, JOB_SET)) as seen:
        assert [key.name for key, _ in seen.workloads] == ["ours"]


async def test_a_version_that_is_not_served_is_not_followed_nor_asked_for_again_and_again(
    there: Hub,
) -> None:
    other = definition(JOBSETS)
    (version,) = other["spec"]["versions"]
    spec = {**other["spec"], "versions": [{**version, "name": "v1"}]}
    await there.install({**other, "spec": spec})
    client = there.server.client()
    async with watched(there, client, *adapters(JOB_SET)) as seen:
        assert seen.following.objections == {JOB_SET: NOT_THERE}
        await sleep(there.clock, 2 * SERVED_WITHIN)

        assert seen.workloads.followed == set()


async def test_a_kind_that_we_may_not_read_keeps_none_waiting(there: Hub) -> None:
    await there.define(JOBSETS)
    await there.allow("us", "batch", "jobs", "list", "watch")
    await there.allow("us", CRDS.group, CRDS.plural, "list", "watch")
    async with watched(there, there.client("us"), *adapters(JOB, JOB_SET)) as seen:
        assert seen.whole == [JOB]
        assert "is forbidden" in seen.following.objections[JOB_SET]

        await there.allow("us", "jobset.x-k8s.io", "jobsets", "list", "watch")
        await there.until(lambda: seen.whole == [JOB, JOB_SET])
        assert seen.following.objections == {}


async def test_so_it_is_with_pods_which_every_hub_has(there: Hub) -> None:
    await there.allow("us", "batch", "jobs", "list", "watch")
    async with watched(there, there.client("us"), *adapters(JOB, "Pod")) as seen:
        assert seen.whole == [JOB]
        assert "is forbidden" in seen.following.objections["Pod"]


async def test_without_the_right_to_see_crds_a_kind_is_found_after_minutes(there: Hub) -> None:
    await there.allow("us", "batch", "jobs", "list", "watch")
    await there.allow("us", "jobset.x-k8s.io", "jobsets", "list", "watch")
    began = there.clock.monotonic()
    async with watched(there, there.client("us"), *adapters(JOB, JOB_SET)) as seen:
        await there.define(JOBSETS)

        await there.until(lambda: set(seen.workloads.followed) == {JOB, JOB_SET})
        assert there.clock.monotonic() - began >= optional.ASK_AGAIN_AFTER


# A name that is MultiKueue's


async def test_kinds_that_take_no_name_of_ours_are_followed_if_we_claim_multikueues(
    there: Hub,
) -> None:
    await there.define(RAYJOBS)
    async with watched(there, there.server.client(), *adapters(RAY_JOB, borrows=True)) as seen:
        await make(
            there,
            RAY_JOB,
            {
                "metadata": {"name": "a", "namespace": "default"},
                "spec": {"managedBy": MULTIKUEUE},
            },
        )

        await there.until(lambda: [key.name for key, _ in seen.workloads] == ["a"])


async def test_they_are_not_where_multikueue_runs_itself(there: Hub) -> None:
    await there.define(RAYJOBS, JOBSETS)
    kueue = crds.small("kueue.x-k8s.io", "v1beta2", "MultiKueueCluster", crds.ANYTHING, None)
    kueue["spec"]["scope"] = "Cluster"
    await there.install(kueue)
    kinds = adapters(RAY_JOB, JOB_SET, borrows=True)
    async with watched(there, there.server.client(), *kinds) as seen:
        await there.until(lambda: set(seen.workloads.followed) == {RAY_JOB, JOB_SET})

        await there.admin.create(CLUSTERS, {"metadata": {"name": "theirs"}})
        await there.until(lambda: set(seen.workloads.followed) == {JOB_SET})
        assert seen.following.objections == {RAY_JOB: RUNS}

        await there.admin.delete(CLUSTERS, "theirs")
        await there.until(lambda: set(seen.workloads.followed) == {RAY_JOB, JOB_SET})


async def test_nor_where_its_kinds_are_of_several_versions(there: Hub) -> None:
    await there.define(RAYJOBS)
    newer = crds.small("kueue.x-k8s.io", "v1", "Workload", crds.ANYTHING, None)
    kueue = crds.small("kueue.x-k8s.io", "v1beta2", "MultiKueueCluster", crds.ANYTHING, None)
    kueue["spec"]["scope"] = "Cluster"
    await there.install(newer, kueue)
    await there.admin.create(CLUSTERS, {"metadata": {"name": "theirs"}})
    async with watched(there, there.server.client(), *adapters(RAY_JOB, borrows=True)) as seen:
        await there.until(lambda: seen.following.objections == {RAY_JOB: RUNS})
        assert seen.workloads.followed == set()


async def test_nor_where_we_may_not_see_whether_it_does(there: Hub) -> None:
    await there.define(RAYJOBS)
    kueue = crds.small("kueue.x-k8s.io", "v1beta2", "MultiKueueCluster", crds.ANYTHING, None)
    kueue["spec"]["scope"] = "Cluster"
    await there.install(kueue)
    await there.allow("us", "ray.io", "rayjobs", "list", "watch")
    await there.allow("us", CRDS.group, CRDS.plural, "list", "watch")
    async with watched(there, there.client("us"), *adapters(RAY_JOB, borrows=True)) as seen:
        await there.until(lambda: "not ours to see" in seen.following.objections[RAY_JOB])
        assert seen.workloads.followed == set()
