import asyncio
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Any, Self

import orjson
import pytest

from jobferry.clock import Seconds
from jobferry.core.placement import Placement, Shard
from jobferry.core.steps import CreateMirror, DeleteMirror, EditMirror, Record, WriteStatus
from jobferry.dispatch.act import Actor, Deposed, Refused
from jobferry.dispatch.workloads import Workloads
from jobferry.kinds.adapter import Context
from jobferry.kinds.job.delegated import DelegatedJob
from jobferry.kube.client import Client
from jobferry.kube.wire import Answer, Request, Stream
from jobferry.objects import Obj
from jobferry.runtime.inflight import Inflight
from jobferry.testing.clock import ManualClock, settle
from jobferry.workers.copies import Copies
from jobferry.workers.link import Connection
from jobferry.workers.resource import Namespaces, Spec

JOB = DelegatedJob(Context(frozenset()))
MIRROR: Obj = {
    "metadata": {"name": "a", "namespace": "ns", "uid": "u", "resourceVersion": "7"},
    "spec": {},
}
PLACEMENT = Placement("uid", 1, (Shard("east", "east-uid"),))

Respond = Callable[[Request], tuple[int, Obj]]


class Server:
    """An API server that answers as a function says, once it is let."""

    def __init__(self, respond: Respond) -> None:
        self._respond = respond
        self.asked: list[str] = []
        self.answers = asyncio.Event()
        self.answers.set()

    async def send(self, request: Request, *, within: Seconds) -> Answer:
        del within
        self.asked.append(f"{request.method} {request.target.partition('?')[0]}")
        await self.answers.wait()
        code, body = self._respond(request)
        return Answer(code, {}, orjson.dumps(body))

    def stream(
        self, request: Request, *, within: Seconds
    ) -> AbstractAsyncContextManager[Stream]:
        raise NotImplementedError

    async def close(self) -> None: ...


class Worker:
    """As much of a link as an actor uses."""

    def __init__(self, client: Client, requests: int) -> None:
        self.connection = Connection(client, Copies(client, [JOB], ""))
        self.hearing = client.hearing
        self.inflight = Inflight(requests)
        self.spec = Spec(namespaces=Namespaces(create=True))

    def link(self, _: str) -> Self:
        return self


class Stage:
    """An actor, and one server that is both its hub and its worker."""

    def __init__(self, respond: Respond, requests: int = 8) -> None:
        self.server = Server(respond)
        self.leads = True
        client = Client(self.server, name="test", clock=ManualClock())
        workers: Any = Worker(client, requests)
        self.actor = Actor(
            client,
            Workloads(client, [JOB]),
            workers,
            requests,
            lambda *_: None,
            may_act=lambda: self.leads,
        )


def ok(_: Request) -> tuple[int, Obj]:
    return 200, MIRROR


WRITES: dict[str, Callable[[Actor], Any]] = {
    "record": lambda actor: actor.record(JOB, MIRROR, Record({}, PLACEMENT)),
    "status": lambda actor: actor.write_status(JOB, MIRROR, WriteStatus({}, None)),
    "create": lambda actor: actor.create(JOB, CreateMirror("east", MIRROR), lambda: None),
    "edit": lambda actor: actor.edit(JOB, EditMirror("east", MIRROR, {})),
    "delete": lambda actor: actor.delete(JOB, DeleteMirror("east", MIRROR, "")),
}


@pytest.mark.parametrize("write", WRITES)
async def test_whoever_has_lost_the_lead_while_it_waited_writes_nothing(write: str) -> None:
    stage = Stage(ok, requests=1)
    stage.server.answers.clear()
    first = asyncio.ensure_future(WRITES[write](stage.actor))
    second = asyncio.ensure_future(WRITES[write](stage.actor))
    await settle()

    stage.leads = False
    stage.server.answers.set()

    await first
    with pytest.raises(Deposed):
        await second
    assert len(stage.server.asked) == 1


async def test_a_namespace_that_cannot_be_found_even_after_it_was_made_is_a_refusal() -> None:
    def lacks_it(request: Request) -> tuple[int, Obj]:
        if request.target.startswith("/api/v1/namespaces"):
            return 201, {"metadata": {"name": "ns"}}
        return 404, {"kind": "Status", "message": 'namespaces "ns" not found'}

    stage = Stage(lacks_it)

    with pytest.raises(Refused, match='namespaces "ns" not found'):
        await stage.actor.create(JOB, CreateMirror("east", MIRROR), lambda: None)
    jobs = "POST /apis/batch/v1/namespaces/ns/jobs"
    assert stage.server.asked == [jobs, "POST /api/v1/namespaces", jobs]


async def test_no_namespace_is_made_for_a_leader_that_was() -> None:
    def deposes(_: Request) -> tuple[int, Obj]:
        stage.leads = False
        return 404, {"kind": "Status", "message": 'namespaces "ns" not found'}

    stage = Stage(deposes)

    with pytest.raises(Deposed):
        await stage.actor.create(JOB, CreateMirror("east", MIRROR), lambda: None)
    assert len(stage.server.asked) == 1
