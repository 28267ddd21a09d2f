from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial

from jobferry.kube import optional
from jobferry.kube.items import Key
from jobferry.runtime import supervise
from jobferry.testing.clock import ManualClock, settle
from jobferry.workers import secrets
from tests.unit.kube.collection import Collection
from tests.unit.kube.copies import client_of


@asynccontextmanager
async def followed(server: Collection, clock: ManualClock) -> AsyncIterator[list[Key]]:
    """Follow the Secrets of a server during the block; gives those that were told of."""
    told: list[Key] = []
    hub = client_of(server, clock)
    async with supervise.tasks("test", clock=clock) as tasks:
        tasks.start("secrets", partial(secrets.follow, hub, "ns", told.append))
        await settle()
        yield told


async def test_a_secret_that_comes_changes_or_goes_is_told_but_not_what_was_there() -> None:
    server = Collection()
    server.put("east")
    async with followed(server, ManualClock()) as told:
        assert told == []

        server.put("west")
        server.put("east", "new")
        server.remove("west")
        await settle()

        assert [key.name for key in told] == ["west", "east", "west"]


async def test_without_the_right_it_asks_again_later() -> None:
    server, clock = Collection(failures=[(403, "Forbidden")]), ManualClock()
    async with followed(server, clock) as told:
        assert len(server.requests) == 1
        server.put("west")
        await clock.pass_time(optional.ASK_AGAIN_AFTER)
        await settle()

        server.put("west", "new")
        await settle()

        assert [key.name for key in told] == ["west"]
