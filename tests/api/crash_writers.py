"""Writers and watchers of a server that is killed all the time; they know what they were told."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random
from typing import Any

import orjson

from jobferry.clock import SystemClock, sleep
from jobferry.kube import errors
from jobferry.kube.access import Fixed, Identity
from jobferry.kube.transport import HttpTransport
from jobferry.kube.wire import Answer, Request
from jobferry.objects import Obj
from jobferry.testing.control_plane import ControlPlane

NAMESPACE = "crash"
PATH = f"/api/v1/namespaces/{NAMESPACE}/configmaps"
MERGE = "application/merge-patch+json"
CLOCK = SystemClock()


class Way:
    """How a server is asked, without any second try."""

    def __init__(self, plane: ControlPlane) -> None:
        access = plane.access()
        assert isinstance(access.credentials, Fixed)
        self._credentials = access.credentials
        self._transport = HttpTransport(access.server, CLOCK)
        self._identity: Identity | None = None

    async def ask(
        self, method: str, path: str, body: Any = None, kind: str = "application/json"
    ) -> Answer:
        """Ask once."""
        return await self._transport.send(
            await self._request(method, path, body, kind), within=20
        )

    async def insist(self, method: str, path: str, body: Any = None) -> Answer:
        """Ask until there is an answer."""
        while True:
            try:
                return await self.ask(method, path, body)
            except errors.Unreachable:
                await sleep(CLOCK, 0.05)

    async def stream(self, path: str, take: Callable[[Obj], None]) -> None:
        """Watch until it ends, in whatever way."""
        request = await self._request("GET", path, None, "")
        rest = b""
        try:
            async with self._transport.stream(request, within=20) as stream:
                assert stream.code == 200
                while part := await stream.read():
                    *lines, rest = (rest + part).split(b"\n")
                    for line in lines:
                        take(orjson.loads(line))
        except errors.Unreachable:
            await sleep(CLOCK, 0.05)

    async def close(self) -> None:
        """Drop the connections."""
        await self._transport.close()

    async def _request(self, method: str, path: str, body: Any, kind: str) -> Request:
        if self._identity is None:
            self._identity = await self._credentials.identity()
        headers = (("Content-Type", kind),) if body is not None else ()
        data = orjson.dumps(body) if body is not None else b""
        return Request(method, path, headers, data, self._identity)


@dataclass(slots=True)
class Ledger:
    """What the server acknowledged, to whomever."""

    highest: int = 0
    versions: set[int] = field(default_factory=set)
    written: set[tuple[str, str]] = field(default_factory=set)
    """Names with what was written."""
    deleted: set[tuple[str, str]] = field(default_factory=set)
    """Names with what was in them last."""
    unsure: int = 0
    """How many requests were killed before their answer."""

    def acknowledge(self, name: str, obj: Obj, before: int) -> None:
        """Note a write; `before` is the highest version that was known when it was asked for."""
        version = int(obj["metadata"]["resourceVersion"])
        assert version > before, "a version went backwards"
        assert version not in self.versions, "a version was given twice"
        self.versions.add(version)
        self.highest = max(self.highest, version)
        self.written.add((name, obj["data"]["serial"]))


class Writer:
    """Writes objects that nobody else writes, and so knows what they must be."""

    def __init__(self, way: Way, ledger: Ledger, rng: Random, number: int) -> None:
        self._way = way
        self._ledger = ledger
        self._rng = rng
        self._names = [f"w{number}-{index}" for index in range(6)]
        self._known: dict[str, Obj | None] = dict.fromkeys(self._names)
        self._serial = number * 10_000_000

    async def run(self, end: asyncio.Event) -> None:
        """Write until told to end."""
        while not end.is_set():
            name = self._rng.choice(self._names)
            self._serial += 1
            serial = str(self._serial)
            try:
                await self._write(name, serial)
            except errors.Unreachable:
                self._ledger.unsure += 1
                await self._find_out(name, serial)

    async def check(self) -> None:
        """What was acknowledged is there."""
        for name in self._names:
            answer = await self._way.insist("GET", f"{PATH}/{name}")
            known = self._known[name]
            assert answer.code == (404 if known is None else 200), name
            if known is not None:
                assert orjson.loads(answer.body) == known

    async def _write(self, name: str, serial: str) -> None:
        before, known = self._ledger.highest, self._known[name]
        body: Obj = {"metadata": {"name": name}, "data": {"serial": serial}}
        if known is None:
            answer = await self._way.ask("POST", PATH, body)
        elif self._rng.random() < 0.2:
            answer = await self._way.ask("DELETE", f"{PATH}/{name}")
            assert answer.code == 200, answer.body
            self._ledger.deleted.add((name, known["data"]["serial"]))
            self._known[name] = None
            return
        elif self._rng.random() < 0.5:
            body["metadata"]["resourceVersion"] = known["metadata"]["resourceVersion"]
            answer = await self._way.ask("PUT", f"{PATH}/{name}", body)
        else:
            answer = await self._way.ask("PATCH", f"{PATH}/{name}", body, MERGE)
        assert answer.code in (200, 201), answer.body
        obj = orjson.loads(answer.body)
        assert obj["data"]["serial"] == serial
        self._ledger.acknowledge(name, obj, before)
        self._known[name] = obj

    async def _find_out(self, name: str, serial: str) -> None:
        """Learn what became of a request without an answer: either all of it, or nothing."""
        answer = await self._way.insist("GET", f"{PATH}/{name}")
        known = self._known[name]
        if answer.code == 404:
            self._known[name] = None  # it was not there, or this was to delete it
            return
        found = orjson.loads(answer.body)
        if found["data"]["serial"] == serial:
            version = int(found["metadata"]["resourceVersion"])
            assert version not in self._ledger.versions, "a version was given twice"
        else:
            assert found == known, "an acknowledged write is not there"
        self._known[name] = found


@dataclass(slots=True)
class Watcher:
    """Follows the objects across all restarts, resuming where it was."""

    way: Way
    version: int
    bookmarks: bool
    copy: dict[str, Obj] = field(default_factory=dict)
    written: set[tuple[str, str]] = field(default_factory=set)
    deleted: set[tuple[str, str]] = field(default_factory=set)
    resumed: int = 0
    wrong: list[str] = field(default_factory=list)
    _moved: asyncio.Event = field(default_factory=asyncio.Event)

    async def run(self) -> None:
        """Watch for ever."""
        while True:
            query = f"?watch=1&resourceVersion={self.version}"
            if self.bookmarks:
                query += "&allowWatchBookmarks=true&timeoutSeconds=3"
            await self.way.stream(PATH + query, self._take)
            self.resumed += 1

    async def reach(self, version: int) -> None:
        """Wait until it has seen everything up to a version."""
        while self.version < version:
            self._moved.clear()
            await self._moved.wait()

    def _take(self, event: Obj) -> None:
        kind, obj = event["type"], event["object"]
        if kind == "ERROR":
            self.wrong.append(str(event))
            return
        version = int(obj["metadata"]["resourceVersion"])
        if kind == "BOOKMARK":
            if version < self.version:
                self.wrong.append(f"a bookmark goes back from {self.version} to {version}")
        else:
            self._change(kind, obj, version)
        self.version = max(version, self.version)
        self._moved.set()

    def _change(self, kind: str, obj: Obj, version: int) -> None:
        name, serial = obj["metadata"]["name"], obj["data"]["serial"]
        if version <= self.version:
            self.wrong.append(f"{name}: {version} was seen already")
        if (kind == "ADDED") != (name not in self.copy):
            self.wrong.append(f"{name}: {kind} at {version}, but something was missed before")
        if kind == "DELETED":
            self.copy.pop(name, None)
            self.deleted.add((name, serial))
        else:
            self.copy[name] = obj
            self.written.add((name, serial))
