import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager

import pytest

from jobferry.clock import Seconds, SystemClock
from jobferry.kube import errors
from jobferry.kube.client import Client, connect
from jobferry.kube.items import Key
from jobferry.kube.leadership import Terms
from jobferry.kube.lease import Candidate, LeadershipLost
from jobferry.kube.resources import LEASES
from jobferry.kube.transport import HttpTransport
from jobferry.kube.wire import Answer, Request, Stream
from jobferry.objects.resource import Resource
from jobferry.testing.control_plane import ControlPlane

pytestmark = pytest.mark.api

TERMS = Terms(duration=1, deadline=0.6, retry=0.1)
ROLES = Resource("rbac.authorization.k8s.io", "v1", "roles", "Role")
BINDINGS = Resource("rbac.authorization.k8s.io", "v1", "rolebindings", "RoleBinding")


class Line:
    """A real transport that can be cut: nothing fails, nothing comes back."""

    def __init__(self, inner: HttpTransport) -> None:
        self._inner = inner
        self._is_up = asyncio.Event()
        self._is_up.set()

    def cut(self) -> None:
        self._is_up.clear()

    async def send(self, request: Request, *, within: Seconds) -> Answer:
        await self._is_up.wait()
        answer = await self._inner.send(request, within=within)
        await self._is_up.wait()
        return answer

    def stream(
        self, request: Request, *, within: Seconds
    ) -> AbstractAsyncContextManager[Stream]:
        return self._inner.stream(request, within=within)

    async def close(self) -> None:
        await self._inner.close()


class Member:
    """One candidate, and when it began and ended to work."""

    def __init__(self, client: Client, namespace: str, name: str, terms: Terms = TERMS) -> None:
        self.candidate = Candidate(client, Key(namespace, "dispatcher"), me=name, terms=terms)
        self.began = asyncio.Event()
        self.times: list[float] = []
        self.task = asyncio.create_task(self.candidate.lead(self.work))

    async def work(self) -> None:
        self.times.append(time.monotonic())
        self.began.set()
        try:
            await asyncio.Event().wait()
        finally:
            self.times.append(time.monotonic())

    async def stop(self) -> None:
        self.task.cancel()
        await asyncio.wait([self.task])


@asynccontextmanager
async def leader_and_standby(
    leader: Client, standby: Client, namespace: str, terms: Terms = TERMS
) -> AsyncIterator[tuple[Member, Member]]:
    async with AsyncExitStack() as stack:
        ann = Member(leader, namespace, "ann", terms)
        stack.push_async_callback(ann.stop)
        await ann.began.wait()
        bob = Member(standby, namespace, "bob", terms)
        stack.push_async_callback(bob.stop)
        while bob.candidate.holder != "ann":  # noqa: ASYNC110 - it tells nobody
            await asyncio.sleep(0.01)
        yield ann, bob


@pytest.fixture
async def other(plane: ControlPlane) -> AsyncIterator[Client]:
    async with connect(plane.access(), name="other", clock=SystemClock()) as client:
        yield client


async def test_a_released_lease_is_taken_in_the_same_moment(
    cluster: Client, other: Client, namespace: str
) -> None:
    terms = Terms()  # by which it would be 15 s until the lease is over
    async with leader_and_standby(cluster, other, namespace, terms) as (ann, bob):
        await ann.stop()
        await bob.began.wait()

        assert ann.times[1] <= bob.times[0] < ann.times[1] + 1


async def test_a_lease_that_is_renewed_stays_where_it_is(
    cluster: Client, other: Client, namespace: str
) -> None:
    async with leader_and_standby(cluster, other, namespace) as (ann, bob):
        await asyncio.sleep(2 * TERMS.duration)

        assert ann.candidate.is_leading
        assert not bob.began.is_set()


async def test_what_is_written_is_what_kubernetes_writes(
    cluster: Client, other: Client, namespace: str
) -> None:
    async with leader_and_standby(cluster, other, namespace) as (ann, bob):
        first = (await cluster.get(LEASES, "dispatcher", namespace))["spec"]
        await ann.stop()
        await bob.began.wait()
        second = (await cluster.get(LEASES, "dispatcher", namespace))["spec"]
    released = (await cluster.get(LEASES, "dispatcher", namespace))["spec"]

    assert first["holderIdentity"] == "ann"
    assert first["leaseDurationSeconds"] == 1
    assert first["leaseTransitions"] == 0
    assert first["acquireTime"] <= first["renewTime"]
    assert (second["holderIdentity"], second["leaseTransitions"]) == ("bob", 1)
    assert second["acquireTime"] > first["acquireTime"]
    assert released["holderIdentity"] == ""
    assert released["leaseTransitions"] == 1


async def test_a_leader_that_is_cut_off_stops_before_the_standby_takes_over(
    plane: ControlPlane, other: Client, namespace: str
) -> None:
    clock = SystemClock()
    access = plane.access()
    line = Line(HttpTransport(access.server, clock))
    mine = Client(line, name="cut", clock=clock, credentials=access.credentials)
    async with mine, leader_and_standby(mine, other, namespace) as (ann, bob):
        line.cut()
        cut = time.monotonic()
        with pytest.raises(LeadershipLost, match="could not be renewed within"):
            await ann.task
        await bob.began.wait()

    assert ann.times[1] - cut < TERMS.duration
    assert bob.times[0] > ann.times[1]


async def test_a_leader_whose_loop_is_blocked_knows_on_waking_that_it_must_not_act(
    cluster: Client, namespace: str
) -> None:
    ann = Member(cluster, namespace, "ann")
    await ann.began.wait()

    time.sleep(TERMS.deadline)  # noqa: ASYNC251 - that is the point

    assert not ann.candidate.is_leading
    with pytest.raises(LeadershipLost):
        await ann.task


async def test_a_frozen_server_makes_the_leader_stop_and_the_first_to_reach_it_leads_again(
    plane: ControlPlane, cluster: Client, other: Client, namespace: str
) -> None:
    async with leader_and_standby(cluster, other, namespace) as (ann, bob):
        plane.freeze()
        frozen = time.monotonic()
        try:
            with pytest.raises(LeadershipLost):
                await ann.task
            stopped = time.monotonic()
            assert not bob.began.is_set()
        finally:
            plane.thaw()
        await bob.began.wait()

    assert stopped - frozen < TERMS.duration


async def test_few_rights_are_enough_and_without_them_it_says_so(
    plane: ControlPlane, cluster: Client, namespace: str
) -> None:
    async with connect(plane.access("ann"), name="ann", clock=SystemClock()) as mine:
        with pytest.raises(errors.Forbidden, match="cannot get resource"):
            await Member(mine, namespace, "ann").task
        await grant(cluster, namespace, "ann")
        await until_allowed(mine, namespace)

        ann = Member(mine, namespace, "ann")
        await ann.began.wait()
        await ann.stop()

    assert len(ann.times) == 2


async def grant(cluster: Client, namespace: str, user: str) -> None:
    """Allow what the docstring of Candidate asks for, on this one Lease."""
    here = {"name": "lease", "namespace": namespace}
    leases = {"apiGroups": ["coordination.k8s.io"], "resources": ["leases"]}
    on_it = {"verbs": ["get", "list", "watch", "patch"], "resourceNames": ["dispatcher"]}
    rules = [{**leases, "verbs": ["create"]}, {**leases, **on_it}]
    await cluster.create(ROLES, {"metadata": here, "rules": rules})
    group = "rbac.authorization.k8s.io"
    role = {"apiGroup": group, "kind": "Role", "name": "lease"}
    subjects = [{"apiGroup": group, "kind": "User", "name": user}]
    await cluster.create(BINDINGS, {"metadata": here, "roleRef": role, "subjects": subjects})


async def until_allowed(client: Client, namespace: str) -> None:
    """Wait until the API server has heard of the rights that it was given."""
    while True:
        try:
            await client.get(LEASES, "dispatcher", namespace)
        except errors.NotFound:
            return
        except errors.Forbidden:
            await asyncio.sleep(0.02)
