"""Kinds that go from a worker, or only seem to: what was there has gone with its kind, or may run on."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import orjson
import pytest

from jobferry.kube.wire import Answer, Request
from jobferry.objects import Obj
from tests.system.jobs import NORTH_FIRST
from tests.system.kinds import SIMULATION, Trial, known, rights, trial, undefine
from tests.system.lab import Lab
from tests.system.meddling import Meddling, Send
from tests.workloads.examples import ADAPTERS, DECLARED
from tests.workloads.lives import LIVES

pytestmark = [pytest.mark.fleet, pytest.mark.timeout(120)]

REFUSAL = Answer(
    403, {}, orjson.dumps({"kind": "Status", "code": 403, "reason": "Forbidden", "message": ""})
)
GROUP = ADAPTERS[SIMULATION].resource.group


@asynccontextmanager
async def running(lab: Lab, meddling: Meddling, **policy: Any) -> AsyncIterator[Trial]:
    """Have a Simulation run on north during the block; it could run on south."""
    async with known(lab, SIMULATION), rights(lab, SIMULATION):
        await lab.add_workers()
        queue = await lab.world.queue("first", **NORTH_FIRST, **policy)
        async with lab.dispatcher(custom_kinds=tuple(DECLARED), reach=meddling.reach):
            found = trial(lab, SIMULATION, queue=queue)
            await found.submit()
            await found.on("north")
            await found.play("north", LIVES[SIMULATION][1])
            await found.until(found.shows(shown(LIVES[SIMULATION][1])))
            yield found


def without(answer: Answer, member: str, is_hidden: Callable[[Obj], bool]) -> Answer:
    """Return an answer that leaves some out of a list."""
    said = orjson.loads(answer.body)
    said[member] = [each for each in said[member] if not is_hidden(each)]
    return replace(answer, body=orjson.dumps(said))


def is_any(_: Obj) -> bool:
    """Hold for everything."""
    return True


def shown(status: Obj) -> Obj:
    """Return what the hub shows of a status, whatever the times in its conditions."""
    return {key: value for key, value in status.items() if key != "conditions"}


async def test_what_has_gone_with_its_kind_runs_elsewhere(lab: Lab) -> None:
    async with running(lab, Meddling(lab.fleet.reach)) as found:
        await undefine(lab.world.workers["north"], SIMULATION)

        # Mirrors go before their kind: until that is seen, it may be placed there once more.
        await found.on("south")
        await found.play("south", LIVES[SIMULATION][-1])
        await found.until(found.ended())


async def test_or_fails_if_its_queue_says_so(lab: Lab) -> None:
    meddling = Meddling(lab.fleet.reach)
    async with running(lab, meddling, onMirrorDeleted="Fail") as found:
        await undefine(lab.world.workers["north"], SIMULATION)

        await found.until(found.ended("Failed"))


@pytest.mark.parametrize("definitions", ["told", "hidden", "refused"])
async def test_what_a_worker_does_not_tell_of_its_kinds_moves_nothing(
    lab: Lab, definitions: str
) -> None:
    """Its discovery leaves a group out, as when part of an API server is not there; and perhaps it hides CRDs."""
    meddling, hides = Meddling(lab.fleet.reach), set[str]()

    async def leave_out(request: Request, send: Send) -> Answer:
        answer, where = await send(request), request.target.partition("?")[0]
        if not hides or answer.code != 200:
            return answer
        if where == "/apis":
            return without(answer, "groups", lambda each: each["name"] in hides)
        if not where.endswith("/customresourcedefinitions") or definitions == "told":
            return answer
        return REFUSAL if definitions == "refused" else without(answer, "items", is_any)

    meddling.meddle(lab.proxies["north"].url, leave_out)
    async with running(lab, meddling) as found:
        hides.add(GROUP)
        await lab.proxies["north"].cut()
        await lab.proxies["north"].mend()

        said = await lab.world.event(found.name, "KindNotServed")

        assert "how it fares there is not known" in said
        assert (await found.record())["spec"]["attempt"] == 1
        await found.on("north")
