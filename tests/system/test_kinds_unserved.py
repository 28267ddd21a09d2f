"""A worker one of whose servers does not know a kind, as while its CRD comes or changes: that is no word about mirrors."""

import asyncio
from collections.abc import Callable

import pytest

from jobferry.kube.wire import Answer, Request
from tests.system.jobs import NORTH_FIRST, complete, job
from tests.system.kinds import SIMULATION, STOPPED, known, rights, trial
from tests.system.lab import Lab
from tests.system.meddling import Meddling, Send
from tests.workloads.examples import ADAPTERS, DECLARED
from tests.workloads.lives import LIVES

pytestmark = [pytest.mark.fleet, pytest.mark.timeout(120)]

PLURAL = ADAPTERS[SIMULATION].resource.plural
NO_PAGE = Answer(404, {"content-type": "text/plain"}, b"404 page not found\n")
"""What an API server says of a path that it does not serve."""

MANY = 3


class Unserved:
    """Lets a worker answer some requests for a kind as if it did not know it."""

    def __init__(self, lab: Lab, is_meant: Callable[[Request], bool]) -> None:
        self.reach = Meddling(lab.fleet.reach)
        self.is_on = False
        self.often = asyncio.Event()
        self._is_meant = is_meant
        self._met = 0
        self.reach.meddle(lab.proxies["north"].url, self._answer)

    async def _answer(self, request: Request, send: Send) -> Answer:
        if not (self.is_on and f"/{PLURAL}" in request.target and self._is_meant(request)):
            return await send(request)
        self._met += 1
        if self._met == MANY:
            self.often.set()
        return NO_PAGE


def about_one(request: Request) -> bool:
    """Hold for requests that name an object."""
    return f"/{PLURAL}/" in request.target


def creates(request: Request) -> bool:
    """Hold for requests that make something."""
    return request.method == "POST"


async def test_a_mirror_that_is_to_leave_is_not_taken_for_gone(lab: Lab) -> None:
    unserved = Unserved(lab, about_one)
    async with known(lab, SIMULATION), rights(lab, SIMULATION):
        await lab.add_workers()
        queue = await lab.world.queue("first", **NORTH_FIRST)
        async with lab.dispatcher(custom_kinds=tuple(DECLARED), reach=unserved.reach.reach):
            found = trial(lab, SIMULATION, queue=queue)
            await found.submit()
            await found.on("north")
            await found.play("north", LIVES[SIMULATION][1])
            await lab.edit_worker("north", drain="MoveAway")
            await found.on("north", lambda obj: obj["spec"].get("paused") is True)
            unserved.is_on = True

            await found.play("north", STOPPED[SIMULATION])
            await unserved.often.wait()

            assert (await found.record())["spec"]["attempt"] == 1
            unserved.is_on = False
            assert await found.where(attempt=2) == "south"
            await found.gone_from("north")


async def test_other_work_of_the_namespace_goes_there_nevertheless(lab: Lab) -> None:
    unserved = Unserved(lab, creates)
    unserved.is_on = True
    async with known(lab, SIMULATION), rights(lab, SIMULATION):
        await lab.add_workers()
        queue = await lab.world.queue("first", **NORTH_FIRST)
        async with lab.dispatcher(custom_kinds=tuple(DECLARED), reach=unserved.reach.reach):
            found = trial(lab, SIMULATION, queue=queue)
            await found.submit()

            said = await lab.world.event(found.name, "Refused")
            await lab.world.run(job("a", queue=queue), complete)

            assert "does not serve simulations.example.com" in said
            assert await found.where(attempt=2) == "south"
            assert await lab.world.where("a") == "north"
