"""Candidates for one Lease, a server that keeps it, and lines between them that can be slow or cut."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from datetime import datetime, timedelta
from random import Random
from typing import Any
from urllib.parse import parse_qs

import orjson

from jobferry.clock import Clock, Seconds, Timer, sleep
from jobferry.kube.client import Client
from jobferry.kube.in_process import InProcessTransport, Message
from jobferry.kube.items import Key
from jobferry.kube.leadership import TERMS, Terms
from jobferry.kube.lease import Candidate, LeadershipLost
from jobferry.objects import Obj, merge_patch
from jobferry.testing.clock import ManualClock, settle

KEY = Key("jobferry", "dispatcher")
FIRST = 100
"""The resourceVersion before the first write."""

PATH = "/apis/coordination.k8s.io/v1/namespaces/jobferry/leases"


class Server:
    """Keeps one Lease as an API server does."""

    def __init__(self) -> None:
        self.lease: Obj | None = None
        self.version = FIRST
        self.history: list[Obj] = []
        self.watchers: list[asyncio.Queue[Obj]] = []
        self.refuses: int | None = None
        self.asked = 0
        """How many requests came."""

    @property
    def holder(self) -> str | None:
        return self.lease["spec"].get("holderIdentity") if self.lease else None

    def answer(self, method: str, path: str, body: Any) -> tuple[int, Obj]:
        self.asked += 1
        if self.refuses is not None:
            return self.refuses, {"kind": "Status", "message": "no"}
        if method == "POST":
            return self._create(body)
        if path == PATH:
            items = [self.lease] if self.lease else []
            return 200, {"metadata": {"resourceVersion": str(self.version)}, "items": items}
        if self.lease is None:
            return 404, {"kind": "Status", "reason": "NotFound", "message": "not found"}
        if method == "PATCH":
            return self._patch(body)
        return 200, self.lease

    def _create(self, body: Obj) -> tuple[int, Obj]:
        if self.lease is not None:
            return 409, {"kind": "Status", "reason": "AlreadyExists", "message": "exists"}
        return 201, self._store(body, "ADDED")

    def _patch(self, body: Obj) -> tuple[int, Obj]:
        assert self.lease is not None
        version = self.lease["metadata"]["resourceVersion"]
        if body.get("metadata", {}).get("resourceVersion", version) != version:
            return 409, {"kind": "Status", "reason": "Conflict", "message": "it was modified"}
        changed = merge_patch.apply(self.lease, body)
        if changed == self.lease:
            return 200, self.lease
        return 200, self._store(changed, "MODIFIED")

    def touch(self, spec: Obj) -> None:
        """Change the Lease as somebody with kubectl would."""
        self._patch({"spec": spec})

    def restore(self) -> None:
        """Go back to a backup from when the Lease was new; watches from after that hear nothing."""
        assert self.lease is not None
        self.version = FIRST + 1
        self.lease["metadata"]["resourceVersion"] = str(self.version)
        self.watchers.clear()

    def delete(self) -> None:
        assert self.lease is not None
        self._store(self.lease, "DELETED")
        self.lease = None

    def _store(self, obj: Obj, what: str) -> Obj:
        self.version += 1
        uid = obj["metadata"].get("uid", f"uid-{self.version}")
        meta = {**obj["metadata"], "uid": uid, "resourceVersion": str(self.version)}
        self.lease = {**obj, "metadata": meta}
        self.history.append({"type": what, "object": self.lease})
        for watcher in self.watchers:
            watcher.put_nowait(self.history[-1])
        return self.lease

    def _initial_events(self) -> list[Obj]:
        events = [{"type": "ADDED", "object": self.lease}] if self.lease else []
        end = {"k8s.io/initial-events-end": "true"}
        meta = {"resourceVersion": str(self.version), "annotations": end}
        return [*events, {"type": "BOOKMARK", "object": {"metadata": meta}}]

    async def watch(self, since: int | None) -> AsyncIterator[Obj]:
        events: asyncio.Queue[Obj] = asyncio.Queue()
        missed = self._initial_events() if since is None else self.history[since - FIRST :]
        for event in missed:
            events.put_nowait(event)
        self.watchers.append(events)
        try:
            while True:
                yield await events.get()
        finally:
            if events in self.watchers:
                self.watchers.remove(events)


class Line:
    """The way of one candidate to the server: an application that can be cut off and be slow."""

    def __init__(self, server: Server, clock: Clock) -> None:
        self.server = server
        self.clock = clock
        self.is_up = asyncio.Event()
        self.is_up.set()
        self.watch_works = True
        self.there: Callable[[], Seconds] = lambda: 0.0
        self.back: Callable[[], Seconds] = lambda: 0.0
        self.loses_answer: Callable[[], bool] = lambda: False
        self.under_way: set[asyncio.Task[Any]] = set()

    def cut(self) -> None:
        self.is_up.clear()

    def mend(self) -> None:
        self.is_up.set()

    async def __call__(self, scope: Message, receive: Any, send: Any) -> None:
        body = (await receive())["body"]
        query = parse_qs(scope["query_string"].decode())
        if "watch" in query:
            await self._watch(query.get("resourceVersion"), send)
            return
        # Also when the caller does not wait for it any longer, a request gets there.
        task = asyncio.create_task(self._carry(scope["method"], scope["path"], body))
        self.under_way.add(task)
        code, answer = await asyncio.shield(task)
        self.under_way.discard(task)
        await send({"type": "http.response.start", "status": code, "headers": []})
        await send({"type": "http.response.body", "body": orjson.dumps(answer)})

    async def _carry(self, method: str, path: str, body: bytes) -> tuple[int, Obj]:
        assert path.startswith(PATH)
        await sleep(self.clock, self.there())
        await self.is_up.wait()
        answer = self.server.answer(method, path, orjson.loads(body) if body else None)
        await sleep(self.clock, self.back())
        await self.is_up.wait()
        if self.loses_answer():
            await asyncio.Event().wait()
        return answer

    async def _watch(self, since: list[str] | None, send: Any) -> None:
        if not self.watch_works:
            await send({"type": "http.response.start", "status": 403, "headers": []})
            await send({"type": "http.response.body", "body": b"you may not watch"})
            return
        await send({"type": "http.response.start", "status": 200, "headers": []})
        async for event in self.server.watch(int(since[0]) if since else None):
            await sleep(self.clock, self.back())
            await self.is_up.wait()
            line = orjson.dumps(event) + b"\n"
            await send({"type": "http.response.body", "body": line, "more_body": True})


class Skewed:
    """A clock of another machine: set otherwise, and a little fast or slow."""

    def __init__(self, clock: ManualClock, ahead: Seconds, rate: float) -> None:
        self.clock, self.ahead, self.rate = clock, ahead, rate

    def now(self) -> datetime:
        return self.clock.now() + timedelta(seconds=self.ahead)

    def monotonic(self) -> Seconds:
        return self.ahead + self.clock.monotonic() * self.rate

    def call_later(self, delay: Seconds, callback: Callable[[], None]) -> Timer:
        return self.clock.call_later(delay / self.rate, callback)


class Member:
    """One candidate with its line, and the work that it does while it leads."""

    def __init__(self, world: "World", name: str, clock: Clock, terms: Terms) -> None:
        self.world = world
        self.name = name
        self.line = Line(world.server, world.clock)
        self.client = Client(
            InProcessTransport(self.line, clock),
            name="test",
            clock=clock,
            random=Random(name),
        )
        self.candidate = Candidate(self.client, KEY, me=name, terms=terms)
        self.ending = asyncio.Event()
        self.task: asyncio.Task[None] | None = None

    async def work(self) -> None:
        self.world.begin(self.name)
        try:
            await self.ending.wait()
        finally:
            self.world.end(self.name)

    def start(self) -> asyncio.Task[None]:
        self.task = asyncio.create_task(self.candidate.lead(self.work))
        return self.task

    def start_for_good(self) -> None:
        """Stand for election again after each loss."""
        if self.task is None or self.task.done():
            self.task = asyncio.create_task(self._for_good())

    async def _for_good(self) -> None:
        while True:
            with suppress(LeadershipLost):
                await self.candidate.lead(self.work)

    async def stop(self) -> None:
        if self.task is not None:
            self.task.cancel()
            await settle()


class World:
    """Some candidates, one server, one time; and the rule that at most one works."""

    def __init__(self) -> None:
        self.clock = ManualClock()
        self.server = Server()
        self.members: list[Member] = []
        self.at_work: list[str] = []
        self.most_at_work = 0

    def join(
        self, name: str, *, terms: Terms = TERMS, ahead: Seconds = 0, rate: float = 1
    ) -> Member:
        member = Member(self, name, Skewed(self.clock, ahead, rate), terms)
        self.members.append(member)
        return member

    def begin(self, name: str) -> None:
        self.at_work.append(name)
        self.most_at_work = max(self.most_at_work, len(self.at_work))

    def end(self, name: str) -> None:
        self.at_work.remove(name)

    async def pass_time(self, seconds: Seconds) -> None:
        await self.clock.pass_time(seconds)
        await settle()

    async def close(self) -> None:
        """Stop everyone, whatever they wait for; requests that still are under way get nowhere."""
        candidates = [member.task for member in self.members if member.task is not None]
        while any(not task.done() for task in candidates):
            for task in candidates:
                task.cancel()
            await settle()
        requests = [task for member in self.members for task in member.line.under_way]
        for task in requests:
            task.cancel()
        await asyncio.gather(*candidates, *requests, return_exceptions=True)


async def leader_and_standby(
    world: World, *, leader_watches: bool = True, standby_watches: bool = True
) -> tuple[Member, Member]:
    leader, standby = world.join("ann"), world.join("bob")
    leader.line.watch_works = leader_watches
    standby.line.watch_works = standby_watches
    leader.start()
    await settle()
    standby.start()
    await settle()
    assert world.at_work == ["ann"]
    return leader, standby
