"""A link to a worker that falls silent, or refuses us."""

import asyncio
import base64
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import datetime, timedelta

import orjson
import pytest

from jobferry.clock import Seconds, timeout
from jobferry.kinds.adapter import Context
from jobferry.kinds.job.delegated import DelegatedJob
from jobferry.kube import errors
from jobferry.kube.hearing import Unheard
from jobferry.kube.resources import JOBS
from jobferry.kube.wire import Answer, Request, Stream
from jobferry.runtime import supervise
from jobferry.testing.clock import ManualClock, settle
from jobferry.workers.link import Common, Link
from jobferry.workers.resource import Kubeconfig, SecretKey, Spec
from jobferry.workers.source import STRICT
from tests.unit.kube.wires import Wire, client_over, status

CONFIG = {
    "clusters": [{"name": "x", "cluster": {"server": "https://east.test"}}],
    "users": [{"name": "x", "user": {"token": "t"}}],
    "contexts": [{"name": "x", "context": {"cluster": "x", "user": "x"}}],
    "current-context": "x",
}
SECRET = {"data": {"kubeconfig": base64.b64encode(orjson.dumps(CONFIG)).decode()}}
FOUND = {
    "/api/v1/namespaces/kube-system": {"metadata": {"uid": "east-uid"}},
    "/version": {"gitVersion": "v1.35.8"},
    "/apis/batch/v1": {"resources": [{"name": "jobs"}]},
    "/apis/batch/v1/jobs": {"metadata": {"resourceVersion": "7"}, "items": []},
}
SYNCED = {
    "type": "BOOKMARK",
    "object": {
        "metadata": {
            "resourceVersion": "7",
            "annotations": {"k8s.io/initial-events-end": "true"},
        }
    },
}


class Hub(Wire):
    """Has the kubeconfig."""

    async def send(self, request: Request, *, within: Seconds) -> Answer:
        return Answer(200, {}, orjson.dumps(SECRET))


class Watch:
    """Says that there is nothing, and then nothing."""

    code = 200

    def __init__(self) -> None:
        self.headers: dict[str, str] = {}
        self._parts: asyncio.Queue[bytes | errors.Unreachable] = asyncio.Queue()
        self._parts.put_nowait(orjson.dumps(SYNCED) + b"\n")

    async def read(self) -> bytes:
        part = await self._parts.get()
        if isinstance(part, errors.Unreachable):
            raise part
        return part

    def fail(self, error: errors.Unreachable) -> None:
        self._parts.put_nowait(error)


class Server:
    """A worker with nothing on it, that can be frozen."""

    def __init__(self, clock: ManualClock) -> None:
        self.clock = clock
        self.flows = asyncio.Event()
        self.flows.set()
        self.refuses = 0
        self.is_gone = False
        self.asked: list[str] = []
        self._watches: list[Watch] = []

    async def send(self, request: Request, *, within: Seconds) -> Answer:
        await self._answer(request, within)
        if self.refuses:
            return status(self.refuses, "Forbidden")
        return Answer(200, {}, orjson.dumps(FOUND.get(request.target.partition("?")[0], {})))

    @asynccontextmanager
    async def stream(self, request: Request, *, within: Seconds) -> AsyncIterator[Stream]:
        await self._answer(request, within)
        self._watches.append(watch := Watch())
        yield watch

    def leave(self) -> None:
        """Drop all connections, and take none any more."""
        self.is_gone = True
        for watch in self._watches:
            watch.fail(errors.Unreachable("it is gone"))

    async def close(self) -> None:
        """Nothing is open."""

    async def _answer(self, request: Request, within: Seconds) -> None:
        self.asked.append(request.target.partition("?")[0])
        if self.is_gone:
            raise errors.Unreachable("it is gone")
        try:
            async with timeout(self.clock, within):
                await self.flows.wait()
        except TimeoutError as error:
            raise errors.Timeout("no answer") from error


class Rig:
    """A link that is up, and its worker."""

    def __init__(self) -> None:
        self.clock = ManualClock()
        self.server = Server(self.clock)
        self.told = 0
        common = Common(
            hub=client_over(Hub(), clock=self.clock),
            kinds=[DelegatedJob(Context(frozenset()))],
            selector=lambda name: f"worker={name}",
            requests=1,
            rules=STRICT,
            reach=lambda *_: self.server,
            observe=lambda *_: None,
            on_mirror=lambda *_: None,
            on_state=self._tell,
        )
        where = Kubeconfig(secret=SecretKey("ns", "east"))
        self.link = Link("east", Spec(kubeconfig=where), common)

    def _tell(self, _: str) -> None:
        self.told += 1

    @property
    def seen(self) -> tuple[bool, str]:
        return self.link.state.is_up, self.link.state.reason


@pytest.fixture
async def rig() -> AsyncIterator[Rig]:
    rig = Rig()
    async with supervise.tasks("test", clock=rig.clock) as tasks:
        tasks.start("link", rig.link.run)
        await settle()
        assert rig.seen == (True, "Connected")
        yield rig


async def test_one_that_is_frozen_is_suspect_then_lost_since_its_last_answer(rig: Rig) -> None:
    heard = rig.clock.now()
    rig.server.flows.clear()
    await rig.clock.pass_time(4.9)
    assert rig.seen == (True, "Connected")

    await rig.clock.pass_time(0.1)
    assert rig.seen == (True, "Silent")
    assert rig.link.state.silent_since == heard
    assert rig.link.state.lost_since is None

    await rig.clock.pass_time(5)
    assert rig.seen == (False, "Silent")
    assert rig.link.state.silent_since is None
    assert rig.link.state.lost_since == heard

    await rig.clock.pass_time(3600)
    assert rig.link.state.lost_since == heard


@pytest.mark.parametrize("seconds", [6, 12, 3600])
async def test_it_rises_as_soon_as_it_is_heard_again(rig: Rig, seconds: float) -> None:
    rig.server.flows.clear()
    await rig.clock.pass_time(seconds)
    assert rig.link.state.reason == "Silent"

    rig.server.flows.set()
    await settle()

    assert rig.seen == (True, "Connected")
    assert rig.link.state.lost_since is None
    assert rig.link.connection is not None
    assert rig.link.connection.mirrors.freshness().is_following
    assert await rig.link.connection.client.get(JOBS, "a", "ns") == {}


async def test_a_request_under_way_is_let_go_of_and_no_further_one_is_sent(rig: Rig) -> None:
    assert rig.link.connection is not None
    client = rig.link.connection.client
    rig.server.flows.clear()
    creating = asyncio.ensure_future(
        client.create(JOBS, {"metadata": {"name": "a"}}, namespace="ns")
    )
    await rig.clock.pass_time(4.9)
    assert not creating.done()

    await rig.clock.pass_time(0.1)

    with pytest.raises(Unheard):
        await creating
    sent = len(rig.server.asked)
    with pytest.raises(Unheard):
        await client.create(JOBS, {"metadata": {"name": "b"}}, namespace="ns")
    assert len(rig.server.asked) == sent


async def test_one_that_answers_is_asked_for_nothing_but_a_sign_of_life(rig: Rig) -> None:
    rig.server.asked.clear()
    told = rig.told

    await rig.clock.pass_time(60)

    assert rig.server.asked == ["/api/v1/namespaces/kube-system"] * 30
    assert (rig.seen, rig.told) == ((True, "Connected"), told)


async def test_one_that_is_gone_is_tried_less_and_less_whatever_its_watches_say(
    rig: Rig,
) -> None:
    rig.server.asked.clear()
    rig.server.leave()

    for _ in range(100):
        await rig.clock.pass_time(0.1)
        rig.link.doubt_kubeconfig()

    assert rig.seen == (False, "Unreachable")
    signs_of_life, tries, retries = 5, 5, 4
    asked = rig.server.asked.count("/api/v1/namespaces/kube-system")
    assert 10 < asked <= signs_of_life + tries * retries


async def test_one_that_refuses_us_is_lost_since_it_last_did_not(rig: Rig) -> None:
    welcome: datetime = rig.clock.now()
    rig.server.refuses = 403
    await rig.clock.pass_time(2)
    assert rig.seen == (False, "Forbidden")
    assert rig.link.state.lost_since == welcome

    await rig.clock.pass_time(600)
    assert rig.seen == (False, "Forbidden")
    assert rig.link.state.lost_since == welcome

    rig.server.refuses = 0
    await rig.clock.pass_time(2)
    assert rig.seen == (True, "Connected")


async def test_one_that_never_answers_is_lost_since_we_began_to_listen() -> None:
    rig = Rig()
    rig.server.flows.clear()
    began = rig.clock.now()
    async with supervise.tasks("test", clock=rig.clock) as tasks:
        tasks.start("link", rig.link.run)
        await rig.clock.pass_time(10)

        assert rig.seen == (False, "Timeout")
        assert rig.link.state.lost_since == began
        assert rig.clock.now() - began == timedelta(seconds=10)


async def test_time_in_which_nobody_listened_does_not_count_for_one_that_is_lost(
    rig: Rig,
) -> None:
    rig.server.leave()
    await settle()
    lost = rig.clock.now()
    assert rig.link.state.lost_since == lost
    await rig.clock.pass_time(100)

    rig.link.forgive(timedelta(seconds=60))
    assert rig.link.state.lost_since == lost + timedelta(seconds=60)

    rig.link.forgive(timedelta(seconds=60))
    assert rig.link.state.lost_since == rig.clock.now()
