"""Clusters whose history goes back, as that of one that was restored from a backup."""

from typing import Any

import pytest

from jobferry.kube.informer import Informer
from jobferry.kube.items import Head
from jobferry.testing.clock import ManualClock, settle
from tests.unit.kube.collection import Collection
from tests.unit.kube.copies import SCOPE, client_of, following, state


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


class Failing(Collection):
    """One whose API server can be away."""

    is_down = False

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if self.is_down:
            raise ConnectionResetError
        await super().__call__(scope, receive, send)


async def test_a_cluster_restored_from_a_backup_is_taken_as_it_is_now(
    clock: ManualClock,
) -> None:
    server = Collection()
    server.put("a", "1")
    server.put("lost", "1")
    informer = Informer(client_of(server, clock), SCOPE, Head)

    async with following(informer, clock):
        server.restore(version=50)
        server.put("a", "old")
        server.cut()
        await settle()
        assert state(informer) == {
            "a": "1",
            "lost": "1",
        }  # a watch from the future tells nothing

        await clock.pass_time(80)
        assert state(informer) == {"a": "old"}


async def test_a_restored_cluster_is_seen_for_what_it_is_as_soon_as_it_can_be_reached_again(
    clock: ManualClock,
) -> None:
    server = Failing()
    server.put("a", "1")
    server.put("lost", "1")
    informer = Informer(client_of(server, clock), SCOPE, Head)

    async with following(informer, clock):
        server.is_down = True
        server.cut()
        server.restore(version=50)
        server.put("a", "old")
        await settle()
        server.is_down = False
        await clock.pass_time(1)

        # Later its versions are beyond where we were, and nothing tells that they are others.
        assert state(informer) == {"a": "old"}


async def test_a_cluster_that_was_out_of_reach_is_followed_on_from_where_we_were(
    clock: ManualClock,
) -> None:
    server = Failing()
    server.put("a", "1")
    informer = Informer(client_of(server, clock), SCOPE, Head)

    async with following(informer, clock):
        server.is_down = True
        server.cut()
        await settle()
        server.is_down = False
        server.requests.clear()
        server.put("a", "2")
        await clock.pass_time(1)

        assert state(informer) == {"a": "2"}
        watch, probe = server.requests
        assert probe["limit"] == "1"
        assert "sendInitialEvents" not in watch
