import asyncio
import threading

import pytest

from jobferry.localkube.apiserver.execution import Execution
from jobferry.testing.clock import settle


def add(one: int, *, other: int) -> tuple[int, int]:
    return one + other, threading.get_ident()


async def test_long_work_leaves_the_event_loop() -> None:
    total, thread = await Execution().run(add, 1, other=2)
    assert total == 3
    assert thread != threading.get_ident()


async def test_a_simulation_does_all_work_at_once_where_it_is() -> None:
    work = Execution(inline=True).run(add, 1, other=2)
    with pytest.raises(StopIteration) as ended:
        work.send(None)  # it ends without waiting for anything
    assert ended.value.value == (3, threading.get_ident())


@pytest.mark.parametrize("inline", [False, True])
async def test_what_goes_wrong_reaches_whoever_waits(inline: bool) -> None:
    with pytest.raises(ZeroDivisionError):
        await Execution(inline=inline).run(divmod, 1, 0)


async def test_one_can_wait_for_what_is_under_way() -> None:
    execution, go_on = Execution(), threading.Event()
    await execution.settled()
    work = asyncio.ensure_future(execution.run(go_on.wait))
    await settle()
    assert not execution.is_settled

    go_on.set()
    await settle(execution)

    assert execution.is_settled
    assert work.done()
