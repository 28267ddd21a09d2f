import asyncio
from typing import Any

import orjson
import pytest

from jobferry.dispatch import hub_checks
from jobferry.errors import BadInput
from jobferry.kube.client import Client
from jobferry.kube.in_process import InProcessTransport
from jobferry.runtime import supervise
from jobferry.testing.clock import ManualClock


class LateHub:
    """Serves our kinds one after the other, as discovery of a busy hub does; the first answer is 404."""

    def __init__(self, *names: str) -> None:
        self.names = names
        self.asked = 0

    async def __call__(self, _scope: Any, _receive: Any, send: Any) -> None:
        self.asked += 1
        resources = [{"name": name} for name in self.names[: self.asked - 1]]
        code = 200 if resources else 404
        await send({"type": "http.response.start", "status": code, "headers": []})
        body = orjson.dumps({"resources": resources})
        await send({"type": "http.response.body", "body": body})


async def test_kinds_that_are_served_late_are_waited_for() -> None:
    clock, app = ManualClock(), LateHub("workers", "queues", "placements")
    hub = Client(InProcessTransport(app, clock), name="hub", clock=clock)

    async with supervise.tasks("test", clock=clock) as tasks:
        waiting = tasks.start("wait", lambda: hub_checks.served(hub))
        await clock.pass_time(5.0)
        assert not waiting.is_running

    assert app.asked == 4


async def test_kinds_that_never_come_are_told_in_the_end() -> None:
    clock, app = ManualClock(), LateHub("workers", "placements")
    hub = Client(InProcessTransport(app, clock), name="hub", clock=clock)
    told: asyncio.Future[BaseException] = asyncio.get_running_loop().create_future()

    async with supervise.tasks("test", clock=clock) as tasks:
        tasks.start("wait", lambda: hub_checks.served(hub), on_failure=told.set_result)
        await clock.pass_time(hub_checks.SERVED_WITHIN + 1)

    with pytest.raises(BadInput, match=r"the CRDs queues\.jobferry\.io are not installed"):
        raise told.result()
