"""The network of a simulation: URLs that lead to API servers, over wires on which things go wrong.

A request that was sent arrives, if it does, whether its sender still waits for the answer or not: a server that was
frozen may carry it out long after.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any, Protocol

from jobferry.clock import Clock, Seconds, sleep, timeout
from jobferry.kube import errors
from jobferry.kube.access import Server
from jobferry.kube.hearing import REFUSALS
from jobferry.kube.wire import Answer, Request, Stream, Transport
from jobferry.testing.simulation.clocks import SimulatedClock
from jobferry.testing.simulation.gates import Gate

PEOPLE = "user"
"""The process of all who are no dispatchers."""

LONG: Seconds = 11.0
"""Who is silent for longer is lost to whoever listens."""

TAKEN = range(200, 300)

QUICK: Seconds = 0.0005
SLOW: Seconds = 0.006
"""Between these is how long a message takes."""


class Process:
    """Somebody who talks to clusters, and can be killed or stopped."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.clock = SimulatedClock()
        self.is_cut = False
        """Whether nothing that it sends arrives any more."""

        self._awake = asyncio.Event()
        self._awake.set()
        self._paused_at: Seconds = 0.0
        self._pauses: list[tuple[Seconds, Seconds]] = []

    @property
    def is_awake(self) -> bool:
        """Whether it runs."""
        return self._awake.is_set()

    def pause(self) -> None:
        """Stop it, as with SIGSTOP: what comes in waits, and so do its timers."""
        self._awake.clear()
        self.clock.stop()
        self._paused_at = self.clock.monotonic()

    def wake(self) -> None:
        """Let it go on, as if no time had passed."""
        if not self.is_awake:
            self._pauses.append((self._paused_at, self.clock.monotonic()))
        self._awake.set()
        self.clock.go_on()

    def slept(self, since: Seconds) -> Seconds:
        """Return for how long it stood still since then."""
        return sum(max(0.0, end - max(since, begin)) for begin, end in self._pauses)

    async def runs(self) -> None:
        """Wait until it runs; raises `Unreachable` once it is cut off for good."""
        await self._awake.wait()
        if self.is_cut:
            raise errors.Unreachable("this process was killed")


@dataclass(frozen=True, slots=True)
class Exchange:
    """A request on its way."""

    who: Process
    gate: Gate
    request: Request
    number: int
    """How many requests like it there were before."""

    sent: Seconds
    """When, in the time of the simulation."""

    @property
    def path(self) -> str:
        """The target without its options."""
        return self.request.target.partition("?")[0]

    @property
    def is_watch(self) -> bool:
        """Whether it is answered by a stream."""
        return "watch=" in self.request.target

    @property
    def lists_jobs(self) -> bool:
        """Whether its answer tells which Jobs there are."""
        goes_on = self.is_watch and "sendInitialEvents" not in self.request.target
        return self.request.method == "GET" and self.path.endswith("/jobs") and not goes_on

    def __str__(self) -> str:
        return f"{self.who.name} → {self.gate.name}: {self.request.method} {self.path}"


class Meddler(Protocol):
    """What may happen to requests on their way; each may raise, wait, or answer instead of the server."""

    async def before(self, exchange: Exchange) -> Answer | None:
        """Act before a request arrives; an answer keeps it from the server."""
        ...

    async def after(self, exchange: Exchange, answer: Answer) -> Answer:
        """Act when it was answered, before the sender hears of it."""
        ...

    async def heard(self, exchange: Exchange) -> None:
        """Act when the sender has the answer, before it goes on."""
        ...


Observer = Callable[[Exchange, Request, Answer], None]


class Network:
    """All gates there are, and everything that passes."""

    def __init__(self, seed: str, meddler: Meddler) -> None:
        self.clock = SimulatedClock()
        self.gates: dict[str, Gate] = {}
        self.observers: list[Observer] = []
        """Told of each answer of a server, when it gives it."""

        self.on_request: list[Callable[[Exchange], None]] = []
        """Told of each request of a dispatcher, when it is sent."""

        self.heard: dict[tuple[str, str], Seconds] = {}
        """When who last heard of which cluster, other than that it will not have them."""

        self.returned: dict[tuple[str, str], Seconds] = {}
        """When that was the first time after a long silence."""

        self.blind: dict[tuple[str, str], Seconds] = {}
        """Since when who sees no Jobs of which cluster: their watch was cut off, and they were not listed since."""

        self.meddler = meddler
        self.streams: dict[WireStream, None] = {}
        self._seed = seed
        self._numbers: dict[str, int] = {}
        self._under_way: dict[asyncio.Task[Any], None] = {}

    def add(self, gate: Gate) -> None:
        """Let a URL lead somewhere."""
        self.gates[gate.url] = gate

    def reach(self, who: Process) -> Callable[[Server, Clock], Transport]:
        """Return how somebody makes transports."""
        return lambda server, clock: Wire(self, who, self.gates.get(server.url), clock)

    def hear(self, exchange: Exchange) -> None:
        """Take note that somebody hears of a cluster."""
        pair, now = (exchange.who.name, exchange.gate.name), self.clock.monotonic()
        if now - self.heard.get(pair, now) > LONG:
            self.returned[pair] = now
        self.heard[pair] = now

    def see(self, exchange: Exchange) -> None:
        """Take note that somebody knows which Jobs a cluster has."""
        self.blind.pop((exchange.who.name, exchange.gate.name), None)

    def lose_sight(self, exchange: Exchange) -> None:
        """Take note that somebody was cut off from a watch."""
        pair = (exchange.who.name, exchange.gate.name)
        if exchange.path.endswith("/jobs"):
            self.blind.setdefault(pair, self.heard.get(pair, self.clock.monotonic()))

    def exchange(self, who: Process, gate: Gate, request: Request) -> Exchange:
        """Number a request."""
        name = f"{who.name} {gate.name} {request.method} {request.target.partition('?')[0]}"
        number = self._numbers[name] = self._numbers.get(name, 0) + 1
        exchange = Exchange(who, gate, request, number, self.clock.monotonic())
        for tell in self.on_request if who.name != PEOPLE else ():
            tell(exchange)
        return exchange

    async def travel(self, exchange: Exchange, part: int) -> None:
        """Let a message take its time, which is the same in each history in which it is sent."""
        text = f"{self._seed} {exchange} {exchange.number} {part}"
        drawn = blake2b(text.encode(), digest_size=4)
        share = int.from_bytes(drawn.digest(), "big") / 2**32
        await sleep(self.clock, QUICK + (SLOW - QUICK) * share**3)

    def start(self, run: Coroutine[Any, Any, Answer]) -> asyncio.Task[Answer]:
        """Let something go on, whether anybody waits for it or not."""
        task = asyncio.create_task(run)
        self._under_way[task] = None
        task.add_done_callback(self._end)
        return task

    def _end(self, task: asyncio.Task[Any]) -> None:
        self._under_way.pop(task, None)
        if not task.cancelled():
            task.exception()  # whoever asked has heard of it, or has gone

    async def close(self) -> None:
        """End what is under way."""
        for task in [*self._under_way]:
            task.cancel()
        if self._under_way:
            await asyncio.wait([*self._under_way])


class Wire:
    """Sends the requests of one process to one cluster."""

    def __init__(self, network: Network, who: Process, gate: Gate | None, clock: Clock) -> None:
        self._network = network
        self._who = who
        self._gate = gate
        self._clock = clock

    async def send(self, request: Request, *, within: Seconds) -> Answer:
        """Send and wait for the whole answer."""
        exchange = self._exchange(request)
        task = self._network.start(self._deliver(exchange))
        try:
            async with timeout(self._clock, within):
                answer = await asyncio.shield(task)
        except TimeoutError as error:
            raise errors.Timeout(f"no answer within {within:g} s") from error
        await self._network.meddler.heard(exchange)
        await self._who.runs()
        if answer.code not in REFUSALS:
            self._network.hear(exchange)
        if exchange.lists_jobs and answer.code in TAKEN:
            self._network.see(exchange)
        return answer

    @asynccontextmanager
    async def stream(self, request: Request, *, within: Seconds) -> AsyncIterator[Stream]:
        """Send and wait for the head of the answer."""
        exchange = self._exchange(request)
        network, gate = self._network, exchange.gate
        try:
            async with timeout(self._clock, within):
                await self._who.runs()
                instead = await network.meddler.before(exchange)
                await network.travel(exchange, 0)
                await gate.flows()
        except TimeoutError as error:
            raise errors.Timeout(f"no answer within {within:g} s") from error
        if instead is not None:
            yield _Said(instead)
            return
        inner, sent = gate.transport(request, network.clock)
        async with inner.stream(sent, within=within) as found:
            stream = WireStream(network, exchange, found)
            network.streams[stream] = None
            gate.note(found)
            if exchange.lists_jobs and found.code in TAKEN:
                network.see(exchange)
            for observe in network.observers:
                observe(exchange, request, Answer(found.code, found.headers, b""))
            try:
                yield stream
            finally:
                gate.forget(found)
                network.streams.pop(stream, None)
                if stream.is_cut_off:
                    network.lose_sight(exchange)

    async def close(self) -> None:
        """Nothing is kept open."""

    def _exchange(self, request: Request) -> Exchange:
        if self._gate is None:
            raise errors.Unreachable("the host cannot be resolved")
        return self._network.exchange(self._who, self._gate, request)

    async def _deliver(self, exchange: Exchange) -> Answer:
        network, gate = self._network, exchange.gate
        await self._who.runs()
        answer = await network.meddler.before(exchange)
        await network.travel(exchange, 0)
        await gate.flows()
        if answer is None:
            inner, sent = gate.transport(exchange.request, network.clock)
            answer = await inner.send(sent, within=1e6)
            for observe in network.observers:
                observe(exchange, exchange.request, answer)
            answer = await network.meddler.after(exchange, answer)
        await gate.flows()
        await network.travel(exchange, 1)
        return answer


class _Said:
    """An answer that came at once, as a stream."""

    def __init__(self, answer: Answer) -> None:
        self.code, self.headers = answer.code, answer.headers
        self._parts = [answer.body]

    async def read(self) -> bytes:
        """Return what there is."""
        return self._parts.pop() if self._parts else b""

    def fail(self, error: errors.Unreachable) -> None:
        """It is over already."""


class WireStream:
    """A watch, which may be late, end early, or hang."""

    def __init__(self, network: Network, exchange: Exchange, inner: Stream) -> None:
        self.exchange = exchange
        self.code, self.headers = inner.code, inner.headers
        self._network = network
        self._inner = inner
        self._parts = 1
        self._flows = asyncio.Event()
        self._flows.set()
        self._reading: asyncio.Timeout | None = None
        self._error: errors.Unreachable | None = None
        self._last: list[bytes] = []

    async def read(self) -> bytes:
        """Wait for more."""
        try:
            async with asyncio.timeout(0 if self._error else None) as self._reading:
                data = await self._inner.read()
                await self._arrive()
                if self.code not in REFUSALS:
                    self._network.hear(self.exchange)
                return data
        except (TimeoutError, errors.Unreachable) as error:
            if self._last:
                return self._last.pop()
            raise self._error or error from None
        finally:
            self._reading = None

    async def _arrive(self) -> None:
        """Let a part take its time, and wait for whoever stands still."""
        gate, who = self.exchange.gate, self.exchange.who
        self._parts += 1
        await self._network.travel(self.exchange, self._parts)
        while gate.is_frozen or not (self._flows.is_set() and who.is_awake):
            await gate.flows()
            await self._flows.wait()
            await who.runs()
        await who.runs()

    def fail(self, error: errors.Unreachable) -> None:
        """Raise `error` at the reader, whatever it waits for."""
        self._error = self._error or error
        if self._reading is not None:
            self._reading.reschedule(0)

    def is_of(self, who: str, cluster: str, what: str) -> bool:
        """Tell whose watch it is, of which cluster, and whether of this."""
        known = self.exchange
        return (known.who.name, known.gate.name) == (who, cluster) and what in known.path

    @property
    def is_cut_off(self) -> bool:
        """Whether it was ended before its end."""
        return self._error is not None

    @property
    def is_stalled(self) -> bool:
        """Whether nothing passes."""
        return not self._flows.is_set()

    def stall(self) -> None:
        """Let nothing pass."""
        self._flows.clear()

    def go_on(self) -> None:
        """Let pass what has waited."""
        self._flows.set()

    def drop(self) -> None:
        """Break the connection."""
        self.fail(errors.Unreachable("the connection was lost"))

    def end_with(self, data: bytes) -> None:
        """Say this, if anything, and end."""
        self._last = [b"", data] if data else [b""]
        self.drop()
