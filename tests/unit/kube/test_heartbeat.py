import asyncio
from collections.abc import Awaitable, Callable

import pytest

from jobferry.clock import Seconds
from jobferry.kube import heartbeat
from jobferry.kube.client import Client
from jobferry.kube.heartbeat import Heartbeat, Hooks
from jobferry.runtime import supervise
from jobferry.testing.clock import settle
from tests.unit.kube.ears import Rig
from tests.unit.kube.wires import Wire

Reply = Callable[[], Awaitable[int]]
Told = tuple[str, Seconds]


class Beats:
    """A heartbeat, and what came of it."""

    def __init__(self) -> None:
        self.rig = Rig(Wire())
        self.clock = self.rig.clock
        self.began = self.clock.monotonic()
        self.told: list[Told] = []
        self.answer: Reply = self.hang
        self.heartbeat = Heartbeat(
            self.rig.client,
            Hooks(
                on_suspect=lambda: self.tell("suspect"),
                on_lost=lambda: self.tell("lost"),
                on_answer=lambda error: self.tell(type(error).__name__) if error else None,
            ),
            self.ask,
        )

    def tell(self, what: str) -> None:
        self.told.append((what, self.clock.monotonic() - self.began))

    async def hang(self) -> int:
        await asyncio.Event().wait()
        return 0

    async def ask(self, client: Client) -> None:
        self.tell("asked")
        self.rig.hearing.hear(await self.answer())


async def well() -> int:
    return 200


async def test_a_cluster_that_says_nothing_is_asked_is_suspect_and_is_lost() -> None:
    beats = Beats()
    async with supervise.tasks("test", clock=beats.clock) as tasks:
        tasks.start("heartbeat", beats.heartbeat.run)
        await beats.clock.pass_time(11)

    assert beats.told == [
        ("asked", 2),
        ("asked", 4),
        ("suspect", 5),
        ("asked", 6),
        ("asked", 8),
        ("lost", 10),
        ("asked", 10),
    ]


async def test_who_answers_is_asked_again_only_if_it_says_nothing_else() -> None:
    beats = Beats()
    beats.answer = well
    async with supervise.tasks("test", clock=beats.clock) as tasks:
        tasks.start("heartbeat", beats.heartbeat.run)
        await beats.clock.pass_time(3)
        for _ in range(10):
            beats.rig.hearing.hear(200)
            await beats.clock.pass_time(1)
        await beats.clock.pass_time(1.5)

    assert beats.told == [("asked", 2), ("asked", 14)]


async def test_of_those_that_hang_only_so_many_are_under_way() -> None:
    beats = Beats()
    async with supervise.tasks("test", clock=beats.clock) as tasks:
        tasks.start("heartbeat", beats.heartbeat.run)
        await beats.clock.pass_time(600)

    assert sum(what == "asked" for what, _ in beats.told) == 6


async def test_a_cluster_is_not_missed_for_what_we_ourselves_slept_through() -> None:
    beats = Beats()
    async with supervise.tasks("test", clock=beats.clock) as tasks:
        tasks.start("heartbeat", beats.heartbeat.run)
        await settle()
        sleeping = beats.clock
        sleeping._monotonic += 600  # as after SIGSTOP: no timer was called yet
        await sleeping.pass_time(1)

        assert [what for what, _ in beats.told] == ["asked"]
        assert beats.rig.hearing.silence() == pytest.approx(heartbeat.ASK_AFTER + 1)
