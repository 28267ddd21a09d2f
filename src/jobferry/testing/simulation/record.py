"""What happened: a hash over all requests and answers, and lines for people."""

from hashlib import blake2b

from jobferry.clock import Seconds
from jobferry.kube.wire import Answer, Request
from jobferry.testing.simulation.clocks import BEGINNING, SimulatedClock
from jobferry.testing.simulation.network import Exchange


class Journal:
    """Takes note of everything."""

    def __init__(self, clock: SimulatedClock) -> None:
        self.lines: list[str] = []
        self.requests = 0
        self._clock = clock
        self._hash = blake2b(digest_size=16)

    @property
    def digest(self) -> str:
        """The same for the same history, and most likely for no other."""
        return self._hash.hexdigest()

    def now(self) -> Seconds:
        """Return how long the history has lasted."""
        return self._clock.monotonic() - BEGINNING

    def say(self, text: str) -> None:
        """Write a line."""
        self.lines.append(f"{self.now():9.3f}  {text}")

    def observe(self, exchange: Exchange, request: Request, answer: Answer) -> None:
        """Take note of a request that was answered."""
        self.requests += 1
        what = f"{self.now():.6f} {exchange} {request.target} {answer.code} "
        for part in (what.encode(), request.body, answer.body):
            self._hash.update(part)
        if request.method != "GET" and not _is_dull(exchange.path):
            self.say(f"{exchange} {request.body.decode()} → {answer.code}")


def _is_dull(path: str) -> bool:
    return "/events" in path or "/leases" in path
