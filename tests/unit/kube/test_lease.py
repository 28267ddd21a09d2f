import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial
from random import Random
from typing import Any
from urllib.parse import parse_qs

import orjson
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from jobferry.clock import Clock, Seconds, Timer, sleep
from jobferry.errors import BadInput, Error
from jobferry.kube import errors, lease
from jobferry.kube.client import Client
from jobferry.kube.in_process import InProcessTransport, Message
from jobferry.kube.items import Key, Metadata
from jobferry.kube.lease import TERMS, Candidate, LeadershipLost, Record, Spec, State, Terms
from jobferry.objects import Obj, merge_patch
from jobferry.testing.clock import ManualClock, settle

KEY = Key("jobferry", "dispatcher")
FIRST = 100
"""The resourceVersion before the first write."""

PATH = "/apis/coordination.k8s.io/v1/namespaces/jobferry/leases"
NOW = datetime(2026, 1, 2, 3, 4, 5, 678, UTC)


# A server that knows one Lease, the line to it, and those who want to lead


class Server:
    """Keeps one Lease as an API server does."""

    def __init__(self) -> None:
        self.lease: Obj | None = None
        self.version = FIRST
        self.history: list[Obj] = []
        self.watchers: list[asyncio.Queue[Obj]] = []
        self.refuses: int | None = None

    @property
    def holder(self) -> str | None:
        return self.lease["spec"].get("holderIdentity") if self.lease else None

    def answer(self, method: str, path: str, body: Any) -> tuple[int, Obj]:
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


@pytest.fixture
async def world() -> AsyncIterator[World]:
    world = World()
    yield world
    await world.close()


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


# Taking, keeping, giving up


async def test_who_comes_first_leads_and_the_other_stands_by(world: World) -> None:
    leader, standby = await leader_and_standby(world)

    assert leader.candidate.is_leading
    assert not standby.candidate.is_leading
    assert leader.candidate.holder == standby.candidate.holder == "ann"


async def test_the_lease_says_who_leads_since_when_and_for_how_long(world: World) -> None:
    world.join("ann").start()

    await settle()

    assert world.server.lease is not None
    assert world.server.lease["spec"] == {
        "holderIdentity": "ann",
        "leaseDurationSeconds": 15,
        "leaseTransitions": 0,
        "acquireTime": "2026-01-01T00:00:00.000000Z",
        "renewTime": "2026-01-01T00:00:00.000000Z",
    }


async def test_a_leader_renews_every_two_seconds_and_leads_on(world: World) -> None:
    await leader_and_standby(world)
    before = world.server.version

    await world.pass_time(100)

    assert world.at_work == ["ann"]
    assert world.server.version - before == 50
    assert world.server.lease is not None
    assert world.server.lease["spec"]["renewTime"] == "2026-01-01T00:01:40.000000Z"
    assert world.server.lease["spec"]["acquireTime"] == "2026-01-01T00:00:00.000000Z"


async def test_a_released_lease_is_taken_without_any_time_passing(world: World) -> None:
    leader, _ = await leader_and_standby(world)

    await leader.stop()

    assert world.at_work == ["bob"]
    assert world.server.holder == "bob"
    assert world.server.lease is not None
    assert world.server.lease["spec"]["leaseTransitions"] == 1


async def test_work_that_ends_by_itself_gives_the_lease_up(world: World) -> None:
    leader, standby = world.join("ann"), world.join("bob")
    task = leader.start()
    await settle()

    leader.ending.set()
    await settle()

    assert task.done()
    assert task.exception() is None
    assert world.server.holder == ""
    assert not standby.candidate.is_leading


async def test_work_that_fails_gives_the_lease_up_and_its_error_is_raised(world: World) -> None:
    async def fail() -> None:
        raise BadInput("the work is bad")

    with pytest.raises(BadInput, match="the work is bad"):
        await world.join("ann").candidate.lead(fail)

    assert world.server.holder == ""


async def test_the_lease_is_kept_until_the_work_has_cleaned_up(world: World) -> None:
    leader, standby = world.join("ann"), world.join("bob")

    async def tidy() -> None:
        world.begin("ann")
        try:
            await asyncio.Event().wait()
        finally:
            await sleep(world.clock, 60)
            world.end("ann")

    task = asyncio.create_task(leader.candidate.lead(tidy))
    await settle()
    standby.start()
    await settle()

    task.cancel()
    await world.pass_time(59)
    during = list(world.at_work)
    await world.pass_time(2)

    assert (during, world.at_work) == (["ann"], ["bob"])


async def test_one_who_led_once_can_lead_again(world: World) -> None:
    leader, standby = await leader_and_standby(world)
    await leader.stop()

    leader.start()
    await settle()
    await standby.stop()

    assert world.at_work == ["ann"]


async def test_many_compete_and_one_leads(world: World) -> None:
    leader, _ = await leader_and_standby(world)
    for name in ("cid", "dan", "eve"):
        world.join(name).start()
    await settle()

    await leader.stop()
    await world.pass_time(30)

    assert len(world.at_work) == 1
    assert world.most_at_work == 1


# Losing it


async def test_a_leader_that_is_cut_off_stops_before_the_standby_takes_over(
    world: World,
) -> None:
    leader, _ = await leader_and_standby(world)
    await world.pass_time(1)

    leader.line.cut()
    await world.pass_time(8.9)
    still = list(world.at_work)
    await world.pass_time(0.2)
    nobody = list(world.at_work)
    await world.pass_time(4.7)
    not_yet = list(world.at_work)
    await world.pass_time(0.5)

    assert still == ["ann"]  # renewed at 0, the deadline is at 10
    assert nobody == []
    assert not_yet == []
    assert world.at_work == ["bob"]  # seen at 0, the lease is over at 15, and a little chance


async def test_a_frozen_server_makes_the_leader_stop_at_its_deadline(world: World) -> None:
    leader, standby = await leader_and_standby(world)
    task = leader.task
    assert task is not None

    leader.line.cut()
    standby.line.cut()
    await world.pass_time(9.9)
    assert leader.candidate.is_leading
    await world.pass_time(0.2)

    assert not leader.candidate.is_leading
    assert world.at_work == []
    with pytest.raises(LeadershipLost, match="could not be renewed within 10 s: no answer"):
        await task


async def test_the_deadline_counts_from_when_the_renewal_was_sent(world: World) -> None:
    leader, _ = await leader_and_standby(world)
    leader.line.back = lambda: 4.0  # renewed at 2, heard of at 6
    await world.pass_time(6)

    leader.line.cut()
    await world.pass_time(5.9)
    still = list(world.at_work)
    await world.pass_time(0.2)

    assert (still, world.at_work) == (["ann"], [])


async def test_one_answer_that_never_comes_does_not_cost_the_leadership(world: World) -> None:
    leader, _ = await leader_and_standby(world)
    answers = iter([True])

    leader.line.loses_answer = lambda: next(answers, False)
    await world.pass_time(60)

    assert next(answers, None) is None
    assert world.at_work == ["ann"]


async def test_it_knows_that_it_must_not_act_even_before_it_was_cancelled(world: World) -> None:
    leader, _ = await leader_and_standby(world)

    world.clock.advance(11)  # as after SIGSTOP: no task has run yet

    assert world.at_work == ["ann"]
    assert not leader.candidate.is_leading


async def test_a_leader_that_sees_another_name_in_the_lease_stops_at_once(world: World) -> None:
    leader, _ = await leader_and_standby(world)

    world.server.touch({"holderIdentity": "mallory"})
    await settle()

    assert world.at_work == []
    assert leader.task is not None
    with pytest.raises(LeadershipLost, match="lost the lease jobferry/dispatcher: mallory"):
        await leader.task


@pytest.mark.parametrize("watch_works", [True, False])
async def test_a_leader_whose_lease_was_deleted_stops(watch_works: bool, world: World) -> None:
    leader = world.join("ann")
    leader.line.watch_works = watch_works
    task = leader.start()
    await settle()

    world.server.delete()
    await world.pass_time(0 if watch_works else TERMS.retry)

    with pytest.raises(LeadershipLost, match="it was deleted"):
        await task


async def test_after_a_deletion_the_standby_waits_until_the_leader_must_have_noticed(
    world: World,
) -> None:
    leader, _ = await leader_and_standby(world)
    leader.line.cut()

    world.server.delete()
    await world.pass_time(9.9)
    cut_off = list(world.at_work)
    await world.pass_time(5.5)

    assert cut_off == ["ann"]
    assert world.at_work == ["bob"]
    assert world.most_at_work == 1


async def test_a_change_by_somebody_else_does_not_cost_the_leadership(world: World) -> None:
    await leader_and_standby(world, leader_watches=False)

    world.server.touch({"strategy": "none of our business"})
    await world.pass_time(60)

    assert world.at_work == ["ann"]
    assert world.server.lease is not None
    assert world.server.lease["spec"]["strategy"] == "none of our business"


async def test_a_leader_without_its_rights_tries_on_until_its_deadline(world: World) -> None:
    leader, _ = await leader_and_standby(world)
    await world.pass_time(1)

    world.server.refuses = 403
    await world.pass_time(6.5)
    world.server.refuses = None
    await world.pass_time(30)

    assert world.at_work == ["ann"]
    assert leader.candidate.is_leading


async def test_work_that_ignores_its_cancellation_still_ends_in_the_loss(world: World) -> None:
    leader = world.join("ann")

    async def deaf() -> None:
        with suppress(asyncio.CancelledError):
            await asyncio.Event().wait()

    task = asyncio.create_task(leader.candidate.lead(deaf))
    await settle()
    leader.line.cut()
    await world.pass_time(11)

    with pytest.raises(LeadershipLost):
        await task


# Taking over under difficulties


async def test_an_answer_that_was_lost_is_found_in_the_lease(world: World) -> None:
    member = world.join("ann")
    answers = iter([False, True])  # to the look, to the write
    member.line.loses_answer = lambda: next(answers, False)

    member.start()
    await settle()
    assert (world.server.holder, world.at_work) == ("ann", [])
    await world.pass_time(6)

    assert world.at_work == ["ann"]


async def test_without_the_right_to_watch_the_standby_still_takes_over(world: World) -> None:
    leader, _ = await leader_and_standby(world, standby_watches=False)
    await world.pass_time(60)
    assert world.at_work == ["ann"]

    leader.line.cut()
    await world.pass_time(31)

    assert world.at_work == ["bob"]
    assert world.most_at_work == 1


async def test_a_release_finds_the_renewal_that_was_under_way(world: World) -> None:
    leader, _ = await leader_and_standby(world, leader_watches=False)
    delays = iter([0.5])
    leader.line.back = lambda: next(delays, 0.0)
    await world.pass_time(2.1)  # the renewal is written, its answer on the way

    await leader.stop()

    assert world.at_work == ["bob"]


async def test_stopping_does_not_wait_for_a_frozen_server(world: World) -> None:
    leader, _ = await leader_and_standby(world)
    leader.line.cut()

    await leader.stop()
    await world.pass_time(2)

    assert leader.task is not None
    assert leader.task.cancelled()


async def test_a_standby_without_rights_says_so_and_ends(world: World) -> None:
    world.server.refuses = 403

    with pytest.raises(errors.Forbidden, match="GET /apis/coordination"):
        await world.join("ann").candidate.lead(asyncio.Event().wait)  # type: ignore[arg-type]


async def test_a_missing_namespace_is_said_and_not_tried_forever(world: World) -> None:
    world.server.refuses = 404

    with pytest.raises(errors.NotFound, match="POST /apis/coordination"):
        await world.join("ann").candidate.lead(asyncio.Event().wait)  # type: ignore[arg-type]


async def test_a_standby_outlives_a_failing_server_and_complains_once(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    world.server.refuses = 500
    with caplog.at_level(logging.WARNING, lease.__name__):
        world.join("ann").start()
        await world.pass_time(20)

    world.server.refuses = None
    await world.pass_time(3)

    assert world.at_work == ["ann"]
    ours = [line for line in caplog.records if line.name == lease.__name__]
    assert [line.getMessage() for line in ours] == ["Lease out of reach"]


async def test_a_wall_clock_that_stands_still_does_not_hide_a_renewal(world: World) -> None:
    class Stuck(Skewed):
        def now(self) -> datetime:
            return NOW

    leader = Member(world, "ann", Stuck(world.clock, 0, 1), TERMS)
    leader.start()
    await settle()
    world.join("bob").start()

    await world.pass_time(60)

    assert world.at_work == ["ann"]
    assert world.most_at_work == 1


# No two at once, whatever happens


class Storm(World):
    """Three candidates with clocks that differ, on lines that are slow and lose answers."""

    def __init__(self, seed: int, rates: Iterable[float], slowest: Seconds) -> None:
        super().__init__()
        self.random = Random(seed)
        for number, rate in enumerate(rates):
            ahead = self.random.uniform(-1e4, 1e4)
            member = self.join(f"m{number}", ahead=ahead, rate=rate)
            member.line.there = member.line.back = lambda: self.random.random() ** 3 * slowest
            member.line.loses_answer = lambda: self.random.random() < 0.1
            member.start_for_good()

    async def suffer(self, what: str, member: Member, duration: Seconds) -> None:
        match what:
            case "cut":
                member.line.cut()
            case "mend":
                member.line.mend()
            case "stop":
                await member.stop()
            case "start":
                member.start_for_good()
        await self.pass_time(duration)
        assert sum(each.candidate.is_leading for each in self.members) <= 1

    async def calm_down(self) -> None:
        for member in self.members:
            member.line.there = member.line.back = lambda: 0.0
            member.line.loses_answer = lambda: False
            member.line.mend()
        await self.pass_time(10)
        self.members[0].start_for_good()
        await self.pass_time(60)


async def weather(steps: list[tuple[str, int, Seconds]], storm: Callable[[], Storm]) -> None:
    world = storm()
    for what, number, duration in steps:
        await world.suffer(what, world.members[number], duration)
    await world.calm_down()

    assert world.most_at_work == 1
    assert len(world.at_work) == 1
    await world.close()


STEP = st.tuples(
    st.sampled_from(["cut", "mend", "stop", "start", "pass"]),
    st.integers(0, 2),
    st.floats(0.1, 12),
)
STEPS = st.lists(STEP, min_size=5, max_size=15)
STORMS = st.builds(
    partial,
    st.just(Storm),
    st.integers(0, 2**32),
    st.tuples(*[st.floats(0.85, 1.15)] * 3),
    st.sampled_from([0.0, 0.5, 4.0, 8.0]),
)


# Shrinking a failure takes minutes; `make soak` does it.
@settings(max_examples=12, deadline=None, derandomize=True, phases=[Phase.generate])
@given(STEPS, STORMS)
def test_no_two_ever_lead_at_once_and_in_the_end_one_does(
    steps: list[tuple[str, int, Seconds]], storm: Callable[[], Storm]
) -> None:
    asyncio.run(weather(steps, storm))


@pytest.mark.soak
@pytest.mark.timeout(3600)
@settings(max_examples=5000, deadline=None)
@given(STEPS, STORMS)
def test_no_two_ever_lead_at_once_in_thousands_of_storms(
    steps: list[tuple[str, int, Seconds]], storm: Callable[[], Storm]
) -> None:
    asyncio.run(weather(steps, storm))


# The decisions alone


def record(holder: str = "", *, duration: int = 15, version: int = 1) -> Record:
    spec = Spec(holder_identity=holder, lease_duration_seconds=duration, lease_transitions=7)
    return Record(Metadata(name="dispatcher", resource_version=str(version)), spec)


def decide(state: State, now: Seconds, *, chance: float = 0) -> lease.Action:
    return lease.decide(state, "me", TERMS, now, chance)


def seen(lease_record: Record | None, now: Seconds) -> State:
    return lease.see(State(is_current=True), lease_record, now)


@pytest.mark.parametrize(
    ("state", "now", "action"),
    [
        (State(), 0, lease.Look(5)),
        (seen(None, 0), 0, lease.Write(5)),
        (seen(record(), 0), 0, lease.Write(5)),
        (seen(record("me"), 0), 0, lease.Write(5)),
        (seen(record("you"), 0), 1, lease.Wait(14)),
        (seen(record("you", duration=60), 0), 1, lease.Wait(59)),
        (seen(record("you"), 0), 15, lease.Write(5)),
        (lease.see(seen(record("you"), 0), None, 5), 6, lease.Wait(9)),
        (lease.see(seen(record("you"), 0), record("you", version=2), 5), 15, lease.Wait(5)),
        (lease.see(seen(record("you"), 0), record("you"), 5), 15, lease.Write(5)),
        (replace(seen(record(), 0), rest_until=3), 1, lease.Wait(2)),
        (replace(seen(record("me"), 0), renewed_at=0), 0, lease.Wait(2)),
        (replace(seen(record("me"), 0), renewed_at=0), 2, lease.Write(5)),
        (replace(seen(record("me"), 0), renewed_at=0), 7, lease.Write(3)),
        (replace(seen(record("me"), 0), renewed_at=0, rest_until=4), 3, lease.Wait(1)),
        (replace(seen(record("me"), 0), renewed_at=0, rest_until=12), 9, lease.Wait(1)),
        (replace(seen(record("me"), 0), renewed_at=0, is_current=False), 1, lease.Look(5)),
        (
            replace(seen(record("me"), 0), renewed_at=0),
            10,
            lease.StepDown("it could not be renewed within 10 s"),
        ),
        (replace(seen(None, 0), renewed_at=0), 1, lease.StepDown("it was deleted")),
        (replace(seen(record("you"), 0), renewed_at=0), 1, lease.StepDown("you holds it")),
        (replace(seen(record(), 0), renewed_at=0), 1, lease.StepDown("nobody holds it")),
    ],
)
def test_what_is_done_follows_from_what_is_known(
    state: State, now: Seconds, action: lease.Action
) -> None:
    assert decide(state, now) == action


def test_chance_makes_a_standby_late_by_a_tenth_of_a_retry_at_most() -> None:
    state = seen(record("you"), 0)

    assert decide(state, 0, chance=1) == lease.Wait(15 + TERMS.retry / 10)


def test_the_first_claim_counts_from_zero() -> None:
    assert lease.claim(None, "me", TERMS, NOW) == {
        "holderIdentity": "me",
        "leaseDurationSeconds": 15,
        "acquireTime": "2026-01-02T03:04:05.000678Z",
        "renewTime": "2026-01-02T03:04:05.000678Z",
        "leaseTransitions": 0,
    }


def test_a_lease_that_changes_hands_counts_on() -> None:
    claim = lease.claim(record("you"), "me", TERMS, NOW)

    assert claim["leaseTransitions"] == 8
    assert claim["acquireTime"] == claim["renewTime"]


def test_a_renewal_leaves_alone_since_when_it_is_held() -> None:
    claim = lease.claim(record("me"), "me", TERMS, NOW)

    assert claim.keys() == {"holderIdentity", "leaseDurationSeconds", "renewTime"}


@pytest.mark.parametrize(
    "terms",
    [
        {"duration": 10, "deadline": 10},
        {"deadline": 3.9},
        {"retry": 0},
        {"retry": -1},
        {"duration": 0, "deadline": 0, "retry": 0},
    ],
)
def test_terms_under_which_two_could_lead_are_refused(terms: dict[str, Any]) -> None:
    with pytest.raises(BadInput, match="is not safe"):
        Terms(**terms)


def test_a_candidate_needs_a_name() -> None:
    clock = ManualClock()
    client = Client(InProcessTransport(Line(Server(), clock), clock), name="x", clock=clock)

    with pytest.raises(Error, match="needs a name"):
        Candidate(client, KEY, me="")
