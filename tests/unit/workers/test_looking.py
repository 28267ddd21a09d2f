"""How workers are looked at, by what they are asked."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import orjson
import pytest

from jobferry.clock import Seconds, sleep
from jobferry.kinds import references
from jobferry.kinds.references import Reference
from jobferry.kube import optional
from jobferry.kube.client import Client
from jobferry.kube.wire import Answer, Request, Stream
from jobferry.objects import Obj
from jobferry.runtime import supervise
from jobferry.testing.clock import ManualClock
from jobferry.workers import looking
from jobferry.workers.looking import Looking

CLAIM = Reference("resource.k8s.io", "ResourceClaim", "gpu")
SETTINGS, TOKEN = references.config_map("settings"), references.secret("token")
THERE: Obj = {"kind": "PartialObjectMetadata", "metadata": {"name": "any"}}


def absent(request: Request) -> tuple[int, Obj]:
    name = request.target.rpartition("/")[2]
    return 404, {"kind": "Status", "reason": "NotFound", "details": {"name": name}}


class Worker:
    """An API server that gives rights to look for `open`, and has what `has` says."""

    def __init__(self) -> None:
        self.open: set[str] = {"configmaps", "secrets", "resourceclaims"}
        self.respond: Callable[[Request], tuple[int, Obj]] = lambda _: (200, THERE)
        self.asked: list[str] = []
        self.accepted: set[str] = set()
        self.hangs = False

    @property
    def looks(self) -> list[str]:
        """What was looked for."""
        return [each for each in self.asked if each.startswith("GET")]

    async def send(self, request: Request, *, within: Seconds) -> Answer:
        del within
        self.asked.append(f"{request.method} {request.target}")
        if request.method == "POST":
            attributes = orjson.loads(request.body)["spec"]["resourceAttributes"]
            self.asked[-1] += f" {attributes['resource']} in '{attributes['namespace']}'"
            answer: Obj = {"status": {"allowed": attributes["resource"] in self.open}}
            return Answer(201, {}, orjson.dumps(answer))
        self.accepted |= {value for name, value in request.headers if name == "Accept"}
        if self.hangs:
            await asyncio.Event().wait()
        code, body = self.respond(request)
        return Answer(code, {}, orjson.dumps(body))

    @asynccontextmanager
    async def stream(self, request: Request, *, within: Seconds) -> AsyncIterator[Stream]:
        raise AssertionError(f"nobody follows anything: {request.target} {within}")
        yield

    async def close(self) -> None:
        """Close nothing."""


class Rig:
    """Somebody who looks at a worker, in a time of his own."""

    def __init__(self, clock: ManualClock) -> None:
        self.clock = clock
        self.worker = Worker()
        self.client = self.connect()
        self.told: list[object] = []
        self.looking = Looking(clock, lambda: self.told.append(self.looking.closed))

    def connect(self) -> Client:
        """Return another connection."""
        return Client(self.worker, name="east", clock=self.clock)

    async def look(self, *wanted: Reference, only: tuple[str, ...] = ()) -> list[str]:
        """Name what is missing."""
        found = await self.looking.look(self.client, "ml", wanted, only=only)
        return [str(each) for each in found]


@pytest.fixture
async def rig() -> AsyncIterator[Rig]:
    clock = ManualClock()
    async with supervise.tasks("test", clock=clock) as tasks:
        tasks.start("time", clock.flow)
        yield Rig(clock)


async def test_nothing_but_metadata_is_asked_for(rig: Rig) -> None:
    assert await rig.look(SETTINGS, TOKEN) == []

    assert sorted(rig.worker.looks) == [
        "GET /api/v1/namespaces/ml/configmaps/settings",
        "GET /api/v1/namespaces/ml/secrets/token",
    ]
    assert rig.worker.accepted == {
        "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
    }


async def test_what_is_not_there_is_missing(rig: Rig) -> None:
    rig.worker.respond = absent

    assert await rig.look(SETTINGS) == ["ConfigMap settings"]


async def test_a_kind_that_is_not_served_is_missing_as_a_kind(rig: Rig) -> None:
    rig.worker.respond = lambda _: (404, {})

    assert await rig.look(CLAIM) == ["ResourceClaim.resource.k8s.io gpu (no such kind there)"]
    versions = [each.split("/")[3] for each in rig.worker.looks]
    assert versions == ["v1", "v1beta2", "v1beta1"]


async def test_an_older_version_of_a_kind_will_do(rig: Rig) -> None:
    rig.worker.respond = lambda request: (
        (200, THERE) if "/v1beta1/" in request.target else (404, {})
    )

    assert await rig.look(CLAIM) == []


async def test_what_was_found_is_not_looked_for_again_for_a_while(rig: Rig) -> None:
    await rig.look(SETTINGS)
    await rig.look(SETTINGS)
    assert len(rig.worker.looks) == 1

    await sleep(rig.clock, looking.FOUND_FOR)
    await rig.look(SETTINGS)

    assert len(rig.worker.looks) == 2


async def test_what_was_missing_is_looked_for_again_soon(rig: Rig) -> None:
    rig.worker.respond = absent
    assert await rig.look(SETTINGS) == await rig.look(SETTINGS) == ["ConfigMap settings"]
    assert len(rig.worker.looks) == 1

    rig.worker.respond = lambda _: (200, THERE)
    await sleep(rig.clock, looking.ABSENT_FOR)

    assert await rig.look(SETTINGS) == []


async def test_many_who_want_the_same_at_once_look_once(rig: Rig) -> None:
    async with asyncio.TaskGroup() as group:
        for _ in range(50):
            group.create_task(rig.look(SETTINGS))

    assert len(rig.worker.looks) == 1


async def test_where_we_may_not_look_we_do_not_and_say_so(rig: Rig) -> None:
    rig.worker.open = {"configmaps"}
    rig.worker.respond = absent

    assert await rig.look(TOKEN, SETTINGS) == ["ConfigMap settings"]
    assert await rig.look(TOKEN) == []

    assert rig.worker.looks == ["GET /api/v1/namespaces/ml/configmaps/settings"]
    (door,) = rig.looking.closed or ()
    assert (door.resource.kind, door.namespace) == ("Secret", "")
    assert sum("secrets" in each for each in rig.worker.asked) == 1


async def test_a_right_that_is_given_later_is_noticed_after_minutes(rig: Rig) -> None:
    rig.worker.open = set()
    await rig.look(TOKEN)
    rig.worker.open = {"secrets"}
    await rig.look(TOKEN)
    assert rig.worker.looks == []

    await sleep(rig.clock, optional.ASK_AGAIN_AFTER)
    await rig.look(TOKEN)

    assert len(rig.worker.looks) == 1
    assert rig.looking.closed == ()
    assert len(rig.told) == 2


async def test_what_else_we_may_look_at_does_not_hide_what_we_may_not(rig: Rig) -> None:
    rig.worker.open = {"configmaps"}
    await rig.look(TOKEN)
    await sleep(rig.clock, optional.ASK_AGAIN_AFTER)

    await rig.look(SETTINGS)

    assert [door.resource.kind for door in rig.looking.closed or ()] == ["Secret"]


async def test_rights_in_some_namespaces_are_asked_for_there(rig: Rig) -> None:
    await rig.look(SETTINGS, only=("ml", "vision"))

    assert rig.worker.asked[0].endswith("configmaps in 'ml'")


async def test_a_right_that_was_taken_meanwhile_is_remembered_as_such(rig: Rig) -> None:
    rig.worker.respond = lambda _: (403, {"kind": "Status", "reason": "Forbidden"})

    assert await rig.look(SETTINGS) == await rig.look(SETTINGS) == []

    assert len(rig.worker.looks) == 1
    assert [door.resource.kind for door in rig.looking.closed or ()] == ["ConfigMap"]


async def test_a_worker_that_does_not_answer_is_waited_for_a_moment_and_then_left_alone(
    rig: Rig,
) -> None:
    rig.worker.hangs = True
    began = rig.clock.monotonic()

    assert await rig.look(SETTINGS) == []
    assert rig.clock.monotonic() - began == looking.WITHIN
    assert await rig.look(references.config_map("other")) == []
    assert rig.clock.monotonic() - began == looking.WITHIN

    rig.worker.hangs = False
    assert await rig.look(TOKEN) == []
    await sleep(rig.clock, looking.UNSURE_FOR)
    await rig.look(SETTINGS)
    assert len(rig.worker.looks) == 3


async def test_what_is_known_is_told_though_the_rest_hangs(rig: Rig) -> None:
    rig.worker.respond = absent
    await rig.look(SETTINGS)
    rig.worker.hangs = True

    assert await rig.look(SETTINGS, TOKEN) == ["ConfigMap settings"]


async def test_what_no_object_can_be_called_is_missing_without_a_look(rig: Rig) -> None:
    odd = [references.config_map(name) for name in ("..", "a/b", "x" * 300)]

    assert len(await rig.look(*odd)) == 3
    assert rig.worker.asked == []


async def test_of_a_workload_that_refers_to_very_much_some_is_looked_for(rig: Rig) -> None:
    many = [references.config_map(f"m{number}") for number in range(1000)]

    await rig.look(*many)

    assert len(rig.worker.looks) == looking.MOST_REFERENCES


async def test_over_another_connection_all_is_looked_for_anew(rig: Rig) -> None:
    await rig.look(SETTINGS)

    rig.client = rig.connect()
    await rig.look(SETTINGS)

    assert len(rig.worker.looks) == 2
