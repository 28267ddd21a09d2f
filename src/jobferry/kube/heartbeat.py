"""Notices within seconds that a cluster has fallen silent: asks it for a sign of life when it has said nothing for a while."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from math import inf

from jobferry.clock import Seconds, sleep
from jobferry.errors import Error
from jobferry.kube.client import Client
from jobferry.kube.resources import NAMESPACES
from jobferry.runtime import supervise

ASK_AFTER: Seconds = 2.0
"""A cluster that has said nothing for so long is asked, and again each time as long after that."""

SUSPECT_AFTER: Seconds = 5.0
"""A cluster that has said nothing for so long gets no new work."""

LOST_AFTER: Seconds = 10.0
"""A cluster that has said nothing for so long is not connected any more; nor is an answer waited for any longer."""

LATE: Seconds = 0.5
"""Who wakes up so much too late did not listen meanwhile: this process, or the machine, was held up itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Hooks:
    """Whom it concerns."""

    on_lost: Callable[[], None]
    on_suspect: Callable[[], None] = lambda: None
    on_answer: Callable[[Error | None], None] = lambda _: None
    """Hears what came of each question: None, or why there was no good answer."""


async def ask(client: Client) -> None:
    """Ask for a sign of life: a small thing that everybody who connects may read, from where objects are kept."""
    await client.get(NAMESPACES, "kube-system")


class Heartbeat:
    """Listens to one cluster, until cancelled."""

    def __init__(
        self, client: Client, hooks: Hooks, ask: Callable[[Client], Awaitable[None]] = ask
    ) -> None:
        self._clock = client.clock
        self._hearing = client.hearing
        self._client = client.insisting(within=LOST_AFTER)
        self._hooks = hooks
        self._ask = ask
        self._asked = -inf
        self._asking = 0
        self._level = 0
        self._is_well = True

    async def run(self) -> None:
        """Listen."""
        async with supervise.tasks(
            f"heartbeat of {self._client.name}", clock=self._clock
        ) as tasks:
            while True:
                self._judge()
                if self._due() <= 0:
                    self._asked = self._clock.monotonic()
                    tasks.start("question", self._beat)
                await self._sleep(self._next())

    def _judge(self) -> None:
        """Tell how long it has been silent, each step once."""
        silence = self._hearing.silence()
        level = (silence >= SUSPECT_AFTER) + (silence >= LOST_AFTER)
        before, self._level = self._level, level
        if level and not before:
            self._hearing.miss()
            self._hooks.on_suspect()
        if level == 2 and before < 2:
            self._hooks.on_lost()

    def _due(self) -> Seconds:
        """Return how long it is until it should be asked; who gave no good answer is asked also if it talks."""
        if self._asking * ASK_AFTER > LOST_AFTER:
            return inf  # so many are under way: the way to ask must be blocked
        asked = self._clock.monotonic() - self._asked
        return ASK_AFTER - (min(self._hearing.silence(), asked) if self._is_well else asked)

    def _next(self) -> Seconds:
        """Return after how long to look again."""
        silence = self._hearing.silence()
        steps = (each - silence for each in (SUSPECT_AFTER, LOST_AFTER) if each > silence)
        return max(0.0, min(ASK_AFTER, self._due(), *steps))

    async def _sleep(self, delay: Seconds) -> None:
        due = self._clock.monotonic() + delay
        await sleep(self._clock, delay)
        late = self._clock.monotonic() - due
        if late > LATE:
            self._hearing.forgive(late)

    async def _beat(self) -> None:
        self._asking += 1
        trouble: Error | None = None
        try:
            await self._ask(self._client)
        except Error as error:
            trouble = error
        finally:
            self._asking -= 1
        self._is_well = trouble is None
        self._hooks.on_answer(trouble)
