"""What happens to requests on their way: a trap that was laid hits the next ones that it matches."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, replace

import orjson

from jobferry.clock import Clock, Seconds, sleep
from jobferry.kube import errors
from jobferry.kube.wire import Answer
from jobferry.testing.simulation.network import PEOPLE, Exchange

REASONS = {
    409: "Conflict",
    410: "Expired",
    429: "TooManyRequests",
    500: "InternalError",
    503: "ServiceUnavailable",
    504: "Timeout",
}
WRITES = ("POST", "PUT", "PATCH", "DELETE")


@dataclass(frozen=True, slots=True, kw_only=True)
class Trap:
    """What is to happen to some requests of dispatchers."""

    effect: str
    """lost, hang, delay, kill, pause, or the code of an answer."""

    phase: str = "before"
    """Whether it hits before the request arrives, after it took effect, or (heard) when its sender has the answer."""

    who: str = ""
    """One of the dispatchers; empty: any."""

    cluster: str = ""
    method: str = ""
    """One, or write for all that change something, or watch; empty: any."""

    what: str = ""
    """A part of the path."""

    says: str = ""
    """A part of the body."""

    count: int = 1
    seconds: Seconds = 1.0

    def matches(self, exchange: Exchange, phase: str) -> bool:
        """Tell whether it hits a request."""
        return (
            phase == self.phase
            and self.who in ("", exchange.who.name)
            and self.cluster in ("", exchange.gate.name)
            and self.what in exchange.path
            and self.says.encode() in exchange.request.body
            and self._is_method(exchange)
        )

    def _is_method(self, exchange: Exchange) -> bool:
        method = exchange.request.method
        if self.effect == "409" and method not in ("PUT", "PATCH"):
            return False  # what is read, created or deleted is not in conflict with anything
        if self.method == "write":
            return method in WRITES
        if self.method == "watch":
            return exchange.is_watch
        return self.method in ("", method)


OnKill = Callable[[str], None]
OnPause = Callable[[str, Seconds], None]
OnHit = Callable[[Trap, Exchange], None]


class Meddling:
    """The traps that are laid; `on_kill` and `on_pause` are told whom they hit."""

    def __init__(self, clock: Clock) -> None:
        self.on_kill: OnKill = lambda _: None
        self.on_pause: OnPause = lambda *_: None
        self.on_hit: OnHit = lambda *_: None
        self._clock = clock
        self._traps: list[Trap] = []
        self._parted: dict[tuple[str, str], str] = {}

    def lay(self, trap: Trap) -> None:
        """Let it hit the next requests that it matches."""
        self._traps.append(trap)

    def part(self, who: str, cluster: str, how: str) -> None:
        """Let nothing pass between two: requests are refused, or hang."""
        self._parted[who, cluster] = how

    def join(self, who: str, cluster: str) -> None:
        """Let all pass again."""
        self._parted.pop((who, cluster), None)

    def clear(self) -> None:
        """Take all traps away, and join everybody."""
        self._traps.clear()
        self._parted.clear()

    async def before(self, exchange: Exchange) -> Answer | None:
        """Act before a request arrives; an answer keeps it from the server."""
        parted = self._parted.get((exchange.who.name, exchange.gate.name))
        if parted == "hang":
            await _for_ever()
        if parted is not None:
            raise errors.Unreachable("the network is cut")
        trap = self._sprung(exchange, "before")
        if trap is None:
            return None
        await self._hit(trap, exchange)
        return _answer(int(trap.effect)) if trap.effect.isdecimal() else None

    async def after(self, exchange: Exchange, answer: Answer) -> Answer:
        """Act when it was answered, before the sender hears of it."""
        trap = self._sprung(exchange, "after")
        if trap is None:
            return answer
        await self._hit(trap, exchange)
        return _answer(int(trap.effect)) if trap.effect.isdecimal() else answer

    async def heard(self, exchange: Exchange) -> None:
        """Act when the sender has the answer, before it goes on."""
        trap = self._sprung(exchange, "heard")
        if trap is not None:
            await self._hit(trap, exchange)

    def _sprung(self, exchange: Exchange, phase: str) -> Trap | None:
        if exchange.who.name == PEOPLE:
            return None
        for place, trap in enumerate(self._traps):
            if trap.matches(exchange, phase):
                left = replace(trap, count=trap.count - 1)
                self._traps[place : place + 1] = [left] if left.count else []
                self.on_hit(trap, exchange)
                return trap
        return None

    async def _hit(self, trap: Trap, exchange: Exchange) -> None:
        if trap.effect == "hang":
            await _for_ever()
        elif trap.effect == "lost":
            raise errors.Unreachable("the connection was lost")
        elif trap.effect == "delay":
            await sleep(self._clock, trap.seconds)
        elif trap.effect == "pause":
            self.on_pause(exchange.who.name, trap.seconds)
            await exchange.who.runs()
        elif trap.effect == "kill":
            self.on_kill(exchange.who.name)
            if trap.phase == "before":
                raise errors.Unreachable("its sender was killed")


def _answer(code: int) -> Answer:
    body = {
        "apiVersion": "v1",
        "kind": "Status",
        "status": "Failure",
        "reason": REASONS[code],
        "message": f"the simulation answers {code}",
        "code": code,
    }
    headers = {"content-type": "application/json"}
    if code in (429, 503):
        headers["retry-after"] = "1"
    return Answer(code, headers, orjson.dumps(body))


async def _for_ever() -> None:
    await asyncio.Event().wait()
