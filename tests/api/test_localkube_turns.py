"""No request holds up the others: counted in turns of the event loop and in work that goes elsewhere, not in time."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any, ParamSpec, TypeVar

import orjson
import pytest
import yaml

from jobferry.clock import SystemClock
from jobferry.localkube.apiserver.core import core
from jobferry.localkube.apiserver.execution import Execution
from jobferry.localkube.apiserver.handlers import pacing
from jobferry.localkube.apiserver.storage.store import open_storage
from tests.api.fuzz_patches import APPLY, MERGE
from tests.api.fuzz_requests import JSON
from tests.api.fuzz_server import Ask, scope

PODS = "/api/v1/namespaces/default/pods"
MAPS = "/api/v1/namespaces/default/configmaps"
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
THINGS = "/apis/example.com/v1/namespaces/default/things"
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
METADATA = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"
YAML = "application/yaml"
COUNT, SIZE = 600, 4000
SLICES = COUNT * SIZE // pacing.SLICE

_P = ParamSpec("_P")
_T = TypeVar("_T")


class Noted(Execution):
    """Does all work at once, as in a simulation, and remembers what it was."""

    def __init__(self) -> None:
        super().__init__(inline=True)
        self.names: list[str] = []

    async def run(self, function: Callable[_P, _T], *args: _P.args, **kwargs: _P.kwargs) -> _T:
        """Remember what would go to a thread."""
        self.names.append(function.__qualname__)
        return await super().run(function, *args, **kwargs)


class Held(Execution):
    """Does all work at once, but for one function, which waits until it is let go."""

    def __init__(self, name: str) -> None:
        super().__init__(inline=True)
        self._name = name
        self.begun = asyncio.Event()
        self.go_on = asyncio.Event()

    async def run(self, function: Callable[_P, _T], *args: _P.args, **kwargs: _P.kwargs) -> _T:
        """Wait as a thread may."""
        if function.__qualname__ == self._name:
            self.begun.set()
            await self.go_on.wait()
        return await super().run(function, *args, **kwargs)


class World:
    """A server without a socket, and how many turns others had while it answered."""

    def __init__(self, app: Any, execution: Noted) -> None:
        self._app = app
        self._execution = execution
        self.body = b""
        self.turns = 0
        self.away: list[str] = []

    async def ask(
        self, method: str, path: str, body: Any = None, kind: str = JSON, accept: str = JSON
    ) -> int:
        """Ask; returns the code. What is sent of the answer counts as one turn, at most."""
        sent = b"" if body is None else body if isinstance(body, bytes) else orjson.dumps(body)
        headers = (("Content-Type", kind), ("Accept", accept))
        code, waiting, gone = 0, [sent], asyncio.Event()
        self.body, self.turns, self._execution.names = b"", 0, []

        async def receive() -> Any:
            if waiting:
                return {"type": "http.request", "body": waiting.pop(), "more_body": False}
            await gone.wait()
            return {"type": "http.disconnect"}

        async def send(message: Any) -> None:
            nonlocal code
            code = message.get("status", code)
            self.body += message.get("body", b"")
            if self.body.count(b"\n") >= COUNT:
                gone.set()

        asking = asyncio.ensure_future(
            self._app(scope(Ask(method, path, sent, headers)), receive, send)
        )
        while not asking.done():
            self.turns += 1
            await asyncio.sleep(0)
        await asking
        self.away = self._execution.names
        return code


@asynccontextmanager
async def running() -> AsyncIterator[World]:
    execution, clock = Noted(), SystemClock()
    async with (
        open_storage(None, clock=clock) as storage,
        core(storage, clock, execution=execution) as server,
    ):
        yield World(server.app, execution)


@pytest.fixture
async def world() -> AsyncIterator[World]:
    async with running() as found:
        yield found


@pytest.fixture
async def full() -> AsyncIterator[World]:
    """A world with many ConfigMaps."""
    async with running() as found:
        for number in range(COUNT):
            meta = {"name": f"m{number:04}", "labels": {"odd": str(number % 2)}}
            body = {"metadata": meta, "data": {"text": "x" * SIZE}}
            assert await found.ask("POST", MAPS, body) == 201
        yield found


@pytest.mark.parametrize(
    ("query", "accept"),
    [
        ("?labelSelector=odd=1", JSON),
        ("?labelSelector=odd=2&limit=5&fieldSelector=metadata.name!=m0001", JSON),
        ("", JSON),
        ("?pretty=true", JSON),
        ("", TABLE),
        ("?includeObject=Object&pretty=true", TABLE),
        ("", METADATA),
        ("?watch=true&timeoutSeconds=60", JSON),
    ],
)
async def test_others_have_turns_while_a_long_list_is_read(
    full: World, query: str, accept: str
) -> None:
    assert await full.ask("GET", f"{MAPS}/m0000") == 200
    short = full.turns
    assert await full.ask("GET", f"{MAPS}{query}", accept=accept) == 200

    assert full.turns >= short + SLICES


async def test_others_have_turns_while_a_collection_is_deleted_for_a_try(full: World) -> None:
    assert await full.ask("DELETE", f"{MAPS}?dryRun=All") == 200

    assert full.turns >= 2 * SLICES


async def test_a_list_in_parts_is_a_list(full: World) -> None:
    texts = {}
    for accept in (JSON, TABLE, METADATA):
        for pretty in ("false", "true"):
            await full.ask("GET", f"{MAPS}?pretty={pretty}", accept=accept)
            texts[accept, pretty] = full.body

    for accept in (JSON, TABLE, METADATA):
        plain, indented = orjson.loads(texts[accept, "false"]), texts[accept, "true"]
        rows = plain["rows" if accept == TABLE else "items"]
        assert len(rows) == COUNT
        assert indented == orjson.dumps(plain, option=orjson.OPT_INDENT_2)


def large(count: int) -> Any:
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "large"},
        "data": {f"k{number}": "v" * 20 for number in range(count)},
    }


async def test_small_objects_are_written_at_once(world: World) -> None:
    for method, path, body, kind in (
        ("POST", MAPS, large(3), JSON),
        ("PATCH", f"{MAPS}/large", {"data": {"a": "b"}}, MERGE),
        ("PATCH", f"{MAPS}/large?fieldManager=m&force=true", large(4), APPLY),
        ("PUT", f"{MAPS}/large", large(2), JSON),
        ("DELETE", f"{MAPS}/large", None, JSON),
    ):
        assert await world.ask(method, path, body, kind) in (200, 201)
        assert world.away == []


async def test_large_objects_are_checked_where_they_hold_up_nobody(world: World) -> None:
    body = large(3000)
    text = yaml.safe_dump(body).encode()
    done: dict[str, list[str]] = {}
    for title, method, path, sent, kind in (
        ("create", "POST", MAPS, body, JSON),
        ("update", "PUT", f"{MAPS}/large", large(3001), JSON),
        ("patch", "PATCH", f"{MAPS}/large", {"data": {"a": "b"}}, MERGE),
        ("apply", "PATCH", f"{MAPS}/large?fieldManager=m&force=true", text, APPLY),
        ("delete", "DELETE", f"{MAPS}/large", None, JSON),
    ):
        assert await world.ask(method, path, sent, kind) in (200, 201), world.body[:300]
        done[title] = world.away

    assert done["create"] == ["_whole", "_begin", "_check_new"]
    changes = ["current", "_check_changed"]
    assert done["update"] == ["_whole", "_replacement.<locals>.transform", *changes]
    assert done["patch"] == ["_change.<locals>.transform", *changes]
    assert done["apply"] == ["read_ahead", "_apply.<locals>.transform", *changes]
    assert done["delete"] == ["current", "private"]


@pytest.mark.parametrize(
    ("path", "kind", "body"),
    [
        (MAPS, JSON, b'{"data":[' + b"1," * 9000),
        (MAPS, YAML, b"data: [" + b"1, " * 9000),
        (MAPS, "application/vnd.kubernetes.protobuf", b"k8s\x00" + b"\x0a\x02ab" * 9000),
        (f"{PODS}/a/eviction", JSON, b'{"a":[' + b"1," * 9000),
        ("/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", JSON, b"[" + b"1," * 9000),
    ],
)
async def test_large_bodies_that_make_no_sense_are_read_elsewhere(
    world: World, path: str, kind: str, body: bytes
) -> None:
    assert await world.ask("POST", path, body, kind) == 400

    assert world.away


def definition(rule: str) -> Any:
    text = {"type": "string"}
    spec = {
        "type": "object",
        "properties": {"items": {"type": "array", "items": text}},
        "x-kubernetes-validations": [{"rule": rule}],
    }
    version = {
        "name": "v1",
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec}}},
    }
    return {
        "metadata": {"name": "things.example.com"},
        "spec": {
            "group": "example.com",
            "scope": "Namespaced",
            "names": {"plural": "things", "kind": "Thing"},
            "versions": [version],
        },
    }


@pytest.mark.parametrize(
    ("rule", "away"),
    [
        ("self.items.size() > 0", []),
        ("self.items.all(a, self.items.all(b, a == b))", ["_whole", "_begin", "_check_new"]),
    ],
)
async def test_rules_that_may_loop_are_evaluated_where_they_hold_up_nobody(
    world: World, rule: str, away: list[str]
) -> None:
    assert await world.ask("POST", CRDS, definition(rule)) == 201
    while await world.ask("GET", THINGS) != 200:
        pass
    body = {
        "apiVersion": "example.com/v1",
        "kind": "Thing",
        "metadata": {"name": "a"},
        "spec": {"items": ["x"] * 3},
    }

    assert await world.ask("POST", THINGS, body) == 201
    first = world.away
    assert await world.ask("POST", THINGS, {**body, "metadata": {"name": "b"}}) == 201

    assert first == ["_whole", "_begin", "_check_new"]  # then all is compiled
    assert world.away == away


async def test_nothing_is_created_of_a_kind_that_went_while_it_was_checked() -> None:
    held, clock = Held("_check_new"), SystemClock()
    async with (
        open_storage(None, clock=clock) as storage,
        core(storage, clock, execution=held) as server,
    ):
        client = World(server.app, Noted())
        defining = asyncio.ensure_future(client.ask("POST", CRDS, definition("true")))
        await held.begun.wait()
        held.go_on.set()
        assert await defining == 201
        while await client.ask("GET", THINGS) != 200:
            pass
        held.begun.clear()
        held.go_on.clear()
        body = {"apiVersion": "example.com/v1", "kind": "Thing", "metadata": {"name": "a"}}
        late = World(server.app, Noted())
        creating = asyncio.ensure_future(late.ask("POST", THINGS, body))
        await held.begun.wait()
        assert await client.ask("DELETE", f"{CRDS}/things.example.com") == 200
        while await client.ask("GET", f"{CRDS}/things.example.com") != 404:
            pass
        held.go_on.set()

        assert await creating == 403
        assert storage.range("/custom/example.com/things/").entries == []


async def test_nothing_is_created_in_a_namespace_that_went_while_it_was_checked() -> None:
    held, clock = Held("_check_new"), SystemClock()
    async with (
        open_storage(None, clock=clock) as storage,
        core(storage, clock, execution=held) as server,
    ):
        client, late = World(server.app, Noted()), World(server.app, Noted())
        assert (
            await client.ask("POST", "/api/v1/namespaces", {"metadata": {"name": "n"}}) == 201
        )
        maps = "/api/v1/namespaces/n/configmaps"
        creating = asyncio.ensure_future(late.ask("POST", maps, large(3000)))
        await held.begun.wait()
        assert await client.ask("DELETE", "/api/v1/namespaces/n") == 200
        held.go_on.set()

        assert await creating == 403
        assert storage.range("/registry/core/configmaps/n/").entries == []
