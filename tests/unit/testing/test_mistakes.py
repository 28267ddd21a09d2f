"""What is asked of a fleet by mistake is told at once, with what to do instead."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from jobferry.errors import BadInput
from jobferry.kube.client import Client
from jobferry.kube.errors import Invalid
from jobferry.kube.resources import JOBS
from jobferry.testing.kit import Cluster, Fleet
from jobferry.testing.simulation.loop import Spinning


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"workers": "3"}, "workers='3' is no number of workers"),
        ({"dispatchers": -1}, "dispatchers=-1 is no number"),
        ({"settings": None}, "settings=None are no jobferry.settings.Settings, as in"),
    ],
)
def test_a_fleet_that_cannot_be_is_refused(given: dict[str, Any], said: str) -> None:
    with pytest.raises(BadInput, match=said):
        Fleet(**given)


WRONG: dict[str, Callable[[Any], object]] = {
    "'jobs' is no Resource: jobferry.kube.resources has": lambda f: f.hub.get("jobs", "a"),
    "'w1' is no cluster: give hub, worker or": lambda f: f.freeze("w1"),
    "'w2' is no cluster": lambda f: f.start(asyncio.sleep, on="w2"),
    "there is no dispatcher 2: this fleet has 1": lambda f: f.kill_dispatcher(2),
    "there is no dispatcher 0": lambda f: f.start_dispatcher(0),
    "gave 5 where a coroutine has to be: is it async?": lambda f: f.hub.ask(lambda _: 5),
}


def test_what_makes_no_sense_is_refused(fleet: Fleet) -> None:
    for said, mistake in WRONG.items():
        with pytest.raises(BadInput) as raised:
            mistake(fleet)
        assert said in str(raised.value)


def test_a_controller_that_is_not_async_is_told(fleet: Fleet) -> None:
    def control(client: Client) -> None:
        """Do nothing, and not even that asynchronously."""

    fleet.start(control)  # type: ignore[arg-type]

    with pytest.raises(BadInput, match="control gave None where a coroutine has to be"):
        fleet.run_for(1)


def test_a_condition_that_is_async_does_not_hold_but_is_told(fleet: Fleet) -> None:
    async def condition() -> bool:
        return False

    given: Callable[[], object] = condition
    with pytest.raises(BadInput, match="the condition gave a coroutine"):
        fleet.run_until(given)


def test_a_controller_that_asks_as_a_test_does_is_told(fleet: Fleet, hub: Cluster) -> None:
    async def control(client: Client) -> None:
        hub.list(JOBS)

    fleet.start(control)

    with pytest.raises(BadInput, match="a controller asks the client that it is given"):
        fleet.run_for(1)


def test_async_tests_are_told_that_they_should_not_be(fleet: Fleet) -> None:
    async def test() -> None:
        with pytest.raises(BadInput, match="its tests are plain functions, without async"):
            fleet.run_for(1)
        with pytest.raises(BadInput, match="its tests are plain functions, without async"):
            Fleet().__enter__()

    asyncio.run(test())


def test_an_object_without_metadata_is_refused_by_the_server(hub: Cluster) -> None:
    with pytest.raises(Invalid, match="name or generateName is required"):
        hub.create(JOBS, {"spec": {}})


def test_who_spins_is_named_and_all_else_ends_as_ever() -> None:
    async def control(client: Client) -> None:
        while True:  # noqa: ASYNC110 (it is what is looked for)
            await asyncio.sleep(0)

    with Fleet() as fleet:
        fleet.start(control, name="mine")
        with pytest.raises(Spinning, match=r"20000 turns without any time passing, by .*mine"):
            fleet.run_for(1)


def test_who_opens_a_socket_is_told_where_to(fleet: Fleet) -> None:
    async def control(client: Client) -> None:
        await asyncio.open_connection("127.0.0.1", 1)

    fleet.start(control)

    with pytest.raises(RuntimeError, match=r"no sockets, not even to .*: test code that needs"):
        fleet.run_for(1)
