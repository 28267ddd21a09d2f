import asyncio
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Any, Self

import orjson
import pytest

from jobferry.clock import Seconds
from jobferry.core.key import WorkloadKey
from jobferry.core.placement import Placement, Shard
from jobferry.core.steps import (
    CreateMirror,
    DeleteMirror,
    EditMirror,
    Into,
    Record,
    Store,
    WriteStatus,
)
from jobferry.dispatch.act import Actor
from jobferry.dispatch.setbacks import (
    Deposed,
    KindGone,
    NamespaceRefused,
    NotForwarded,
    Refused,
)
from jobferry.dispatch.workloads import Workloads
from jobferry.kinds.adapter import Context
from jobferry.kinds.job.delegated import DelegatedJob
from jobferry.kube import errors
from jobferry.kube.client import Client
from jobferry.kube.items import Key
from jobferry.kube.wire import Answer, Request, Stream
from jobferry.objects import Obj
from jobferry.runtime.inflight import Inflight
from jobferry.testing.clock import ManualClock, settle
from jobferry.workers.copies import Copies
from jobferry.workers.link import Connection
from jobferry.workers.resource import Namespaces, Spec
from tests.unit.dispatch.hubs import adapters

JOB = DelegatedJob(Context(frozenset()))
MIRROR: Obj = {
    "metadata": {"name": "a", "namespace": "ns", "uid": "u", "resourceVersion": "7"},
    "spec": {},
}
PLACEMENT = Placement("uid", 1, (Shard("east", "east-uid"),))
BUSY = 429

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
        headers = {"retry-after": "1"} if code == BUSY else {}
        return Answer(code, headers, orjson.dumps(body))

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
        self.clock = ManualClock()
        client = Client(self.server, name="test", clock=self.clock)
        workers: Any = Worker(client, requests)
        self.workloads = Workloads(client, [JOB])
        self.actor = Actor(
            client,
            self.workloads,
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


@pytest.mark.parametrize("write", WRITES)
async def test_whoever_has_lost_the_lead_while_a_server_was_busy_does_not_try_again(
    write: str,
) -> None:
    stage = Stage(lambda _: (BUSY, {"kind": "Status"}))
    writing = asyncio.ensure_future(WRITES[write](stage.actor))
    await settle()

    stage.leads = False
    await stage.clock.pass_time(10)

    with pytest.raises(Deposed):
        await writing
    assert len(stage.server.asked) == 1


async def test_a_namespace_that_cannot_be_found_even_after_it_was_made_is_a_refusal() -> None:
    def lacks_it(request: Request) -> tuple[int, Obj]:
        if request.target.startswith("/api/v1/namespaces"):
            return 201, {"metadata": {"name": "ns"}}
        return 404, {
            "kind": "Status",
            "message": 'namespaces "ns" not found',
            "details": {"name": "ns"},
        }

    stage = Stage(lacks_it)

    with pytest.raises(Refused, match='namespaces "ns" not found'):
        await stage.actor.create(JOB, CreateMirror("east", MIRROR), lambda: None)
    jobs = "POST /apis/batch/v1/namespaces/ns/jobs"
    assert stage.server.asked == [jobs, "POST /api/v1/namespaces", jobs]


BROKEN = 500, 'failed calling webhook "broken.example.com": EOF'
REFUSALS = [BROKEN, (400, "denied"), (403, "denied"), (422, "denied")]
"""What a worker may answer whose admission is broken, or says no."""


@pytest.mark.parametrize(("code", "says"), REFUSALS)
async def test_a_namespace_that_admission_lets_nobody_make_is_a_refusal(
    code: int, says: str
) -> None:
    def denies(request: Request) -> tuple[int, Obj]:
        if request.target.startswith("/api/v1/namespaces"):
            return code, {"kind": "Status", "message": says}
        return 404, {
            "kind": "Status",
            "message": 'namespaces "ns" not found',
            "details": {"name": "ns"},
        }

    with pytest.raises(NamespaceRefused, match=says):
        await WRITES["create"](Stage(denies).actor)


@pytest.mark.parametrize(("code", "says"), REFUSALS)
async def test_a_change_that_admission_does_not_let_pass_is_not_forwarded(
    code: int, says: str
) -> None:
    stage = Stage(lambda _: (code, {"kind": "Status", "message": says}))

    with pytest.raises(NotForwarded, match=says):
        await WRITES["edit"](stage.actor)


async def test_no_namespace_is_made_for_a_leader_that_was() -> None:
    def deposes(_: Request) -> tuple[int, Obj]:
        stage.leads = False
        return 404, {
            "kind": "Status",
            "message": 'namespaces "ns" not found',
            "details": {"name": "ns"},
        }

    stage = Stage(deposes)

    with pytest.raises(Deposed):
        await stage.actor.create(JOB, CreateMirror("east", MIRROR), lambda: None)
    assert len(stage.server.asked) == 1


# Records, and kinds that go

HUB: Obj = {"metadata": {"name": "a", "namespace": "ns", "uid": "uid", "resourceVersion": "7"}}
RECORD: Obj = {
    "metadata": {"name": "uid", "namespace": "ns", "uid": "r", "resourceVersion": "9"},
    "spec": {"workload": {"uid": "uid"}, "attempt": 1, "shards": [{"worker": "east"}]},
}
PLACEMENTS = "/apis/jobferry.io/v1alpha1/namespaces/ns/placements"
KEY = WorkloadKey(JOB.name, "ns", "a")


@pytest.mark.parametrize(
    ("into", "asked"),
    [
        (Into.NEW, f"POST {PLACEMENTS}"),
        (Into.OBJECT, f"PATCH {PLACEMENTS}/uid"),
        (Into.STATUS, "PATCH /apis/batch/v1/namespaces/ns/jobs/a/status"),
    ],
)
async def test_a_record_is_written_to_where_it_is_kept(into: Into, asked: str) -> None:
    stage = Stage(lambda _: (200, RECORD if into is not Into.STATUS else HUB))

    await stage.actor.record(JOB, HUB, Record(RECORD, PLACEMENT, into=into))

    assert stage.server.asked == [asked]
    known = stage.workloads.placements.objects.get(Key("ns", "uid"))
    assert (known is not None) == (into is not Into.STATUS)


async def test_a_record_that_is_there_by_now_is_a_conflict() -> None:
    stage = Stage(lambda _: (409, {"kind": "Status", "reason": "AlreadyExists"}))

    with pytest.raises(errors.AlreadyExists):
        await stage.actor.store(JOB, HUB, Store(RECORD, Into.NEW))


async def test_the_record_is_read_with_a_workload_that_does_not_carry_it() -> None:
    (job_set,) = adapters("JobSet.jobset.x-k8s.io")
    there = [RECORD]

    def answer(request: Request) -> tuple[int, Obj]:
        if "/placements/" not in request.target:
            return 200, HUB
        return (
            (200, there[0]) if there else (404, {"kind": "Status", "details": {"name": "uid"}})
        )

    stage = Stage(answer)
    key = KEY._replace(kind=job_set.name)
    await stage.actor.read_hub(job_set, key)
    assert len(stage.workloads.placements.objects) == 1

    there.clear()
    await stage.actor.read_hub(job_set, key)
    assert len(stage.workloads.placements.objects) == 0


async def test_a_workload_whose_kind_is_not_served_is_not_said_to_be_gone() -> None:
    stage = Stage(lambda _: (404, {"kind": "Status", "message": "no such page"}))
    with pytest.raises(KindGone):
        await stage.actor.read_hub(JOB, KEY)

    gone = {"kind": "Status", "reason": "NotFound", "details": {"name": "a"}}
    stage = Stage(lambda _: (404, gone))
    assert await stage.actor.read_hub(JOB, KEY) is None
