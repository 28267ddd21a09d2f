"""An API server that is killed, frozen or has forgotten, as the client tells of it."""

import asyncio
from collections.abc import AsyncIterator, Iterator

import pytest

from jobferry.clock import SystemClock
from jobferry.kube import calls, errors
from jobferry.kube.calls import Scope
from jobferry.kube.client import Client, connect
from jobferry.kube.resources import CONFIG_MAPS
from jobferry.kube.retry import Patience
from jobferry.kube.wire import Stream
from jobferry.objects import Obj
from jobferry.testing.control_plane import ControlPlane
from tests.conftest import BOTH

pytestmark = [pytest.mark.kube, pytest.mark.timeout(60)]

STUBBORN = Patience(answer=30.0, retries=100, first_pause=0.1, longest_pause=0.5)
HASTY = Patience(answer=1.0, retries=3)

MAPS = Scope(resource=CONFIG_MAPS, namespace="default")


@pytest.fixture(scope="module", params=BOTH)
def fragile(request: pytest.FixtureRequest) -> Iterator[ControlPlane]:
    """An API server for the tests of this module to break."""
    plane = ControlPlane(version=request.param).start()
    yield plane
    plane.stop()


@pytest.fixture
async def stubborn(fragile: ControlPlane) -> AsyncIterator[Client]:
    """A client that tries again for as long as a restart takes."""
    async with client(fragile, STUBBORN) as connected:
        yield connected


def client(plane: ControlPlane, patience: Patience) -> Client:
    return connect(plane.access(), name="fragile", clock=SystemClock(), patience=patience)


def config_map(name: str, **data: str) -> Obj:
    return {"metadata": {"name": name, "namespace": "default"}, "data": data}


async def test_what_may_be_sent_twice_survives_a_killed_server_and_nothing_else_is_sent_twice(
    fragile: ControlPlane, stubborn: Client
) -> None:
    kept = await stubborn.create(CONFIG_MAPS, config_map("kept"))
    doomed = await stubborn.create(CONFIG_MAPS, config_map("doomed"))

    # Frozen first, so that all of them are under way when it dies.
    fragile.freeze()
    unsafe = [
        asyncio.create_task(stubborn.create(CONFIG_MAPS, config_map("new"))),
        asyncio.create_task(
            stubborn.patch(CONFIG_MAPS, "kept", {"data": {"b": "2"}}, namespace="default")
        ),
    ]
    reading = asyncio.create_task(stubborn.get(CONFIG_MAPS, "kept", "default"))
    listing = asyncio.create_task(stubborn.list(MAPS))
    deleting = asyncio.create_task(
        stubborn.delete(CONFIG_MAPS, "doomed", "default", uid=doomed["metadata"]["uid"])
    )
    await asyncio.wait([reading], timeout=0.5)
    fragile.kill()
    outcomes = await asyncio.gather(*unsafe, return_exceptions=True)
    await asyncio.to_thread(fragile.restart)

    assert [type(outcome) for outcome in outcomes] == [errors.Unreachable] * 2
    assert str(outcomes[0]).startswith("fragile: POST /api/v1/namespaces/default/configmaps: ")
    assert (await reading)["metadata"]["uid"] == kept["metadata"]["uid"]
    assert "kept" in {item["metadata"]["name"] for item in (await listing).items}
    assert (await deleting)["status"] == "Success"


async def read_to_the_end(stream: Stream) -> None:
    while await stream.read():
        pass


async def test_a_killed_server_cuts_streams_and_takes_no_connections(
    fragile: ControlPlane, stubborn: Client
) -> None:
    hasty = client(fragile, Patience(retries=0))
    async with hasty, stubborn.stream(calls.watch(MAPS, "0", timeout=60)) as stream:
        fragile.kill()
        try:
            with pytest.raises(errors.Unreachable):
                await read_to_the_end(stream)
            with pytest.raises(errors.Unreachable, match="Connection refused") as caught:
                await hasty.raw("/version")
        finally:
            await asyncio.to_thread(fragile.restart)

    assert caught.value.hint


async def test_a_frozen_server_is_given_up_in_time_and_taken_up_when_it_is_back(
    fragile: ControlPlane,
) -> None:
    clock = SystemClock()
    async with client(fragile, HASTY) as hasty:
        await hasty.raw("/version")
        fragile.freeze()
        try:
            before = clock.monotonic()
            with pytest.raises(errors.Timeout, match=r"no answer within 1 s"):
                await hasty.raw("/version")
            with pytest.raises(errors.Timeout):
                async with hasty.stream(calls.watch(MAPS, "0", timeout=60)):
                    pass
            waited = clock.monotonic() - before
        finally:
            fragile.thaw()

        assert 2.0 <= waited < 8.0
    async with client(fragile, STUBBORN) as patient:
        assert (await patient.raw("/version"))["major"]


async def test_a_list_that_the_server_has_forgotten_is_told(
    fragile: ControlPlane, stubborn: Client
) -> None:
    for number in range(3):
        await stubborn.create(CONFIG_MAPS, config_map(f"m{number}"))
    first = await stubborn.json(calls.list_(MAPS, limit=1))
    await stubborn.patch(CONFIG_MAPS, "m0", {"data": {"b": "2"}}, namespace="default")
    await asyncio.to_thread(fragile.compact)
    await asyncio.to_thread(fragile.restart)

    resume = first["metadata"]["continue"]
    with pytest.raises(errors.Expired, match="continue"):
        await stubborn.json(calls.list_(MAPS, limit=1, resume=resume))
    assert len((await stubborn.list(MAPS, page=1)).items) >= 3
