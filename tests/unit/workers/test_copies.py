from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from random import Random
from typing import Any

import pytest

from jobferry.kinds.adapter import Context
from jobferry.kinds.job.delegated import DelegatedJob
from jobferry.kube import errors
from jobferry.kube.client import Client
from jobferry.kube.in_process import InProcessTransport
from jobferry.kube.items import Key
from jobferry.kube.resources import JOBS
from jobferry.runtime import supervise
from jobferry.testing.clock import ManualClock, settle
from jobferry.workers import copies
from jobferry.workers.copies import Copy
from tests.unit.kube.collection import Collection

JOB = DelegatedJob(Context(frozenset()))
REFUSED = (403, "Forbidden")


class Spaces:
    """Namespaces "a" and "b", and what is in all of them, each a collection of its own."""

    def __init__(self) -> None:
        self.clock = ManualClock()
        self.of = {"a": Collection(), "b": Collection(), "": Collection()}

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        _, _, rest = scope["path"].partition("/namespaces/")
        await self.of[rest.partition("/")[0]](scope, receive, send)

    def copy(self, *only: str) -> Copy:
        transport = InProcessTransport(self, self.clock)
        client = Client(transport, name="east", clock=self.clock, random=Random(0))
        return Copy(client, JOB, "", only)

    @asynccontextmanager
    async def following(self, copy: Copy) -> AsyncIterator[None]:
        async with supervise.tasks("test", clock=self.clock) as tasks:
            tasks.start("copy", copy.run)
            await settle()
            yield


@pytest.fixture
def spaces() -> Spaces:
    return Spaces()


def test_all_is_one_scope_and_some_namespaces_have_one_each() -> None:
    assert [scope.namespace for scope in copies.scopes(JOBS, "x=y", ())] == [None]
    assert [scope.namespace for scope in copies.scopes(JOBS, "x=y", ("a", "b"))] == ["a", "b"]


@pytest.mark.parametrize("only", [(), ("a", "b")])
async def test_it_is_a_copy_as_any_other(spaces: Spaces, only: tuple[str, ...]) -> None:
    there = spaces.of["b" if only else ""]
    copy, told = spaces.copy(*only), list[str]()
    copy.listen(lambda change: told.append(change.item.key.name))
    async with spaces.following(copy):
        assert (copy.synced.is_set(), copy.freshness().is_following) == (True, True)
        assert (len(copy), copy.unseen) == (0, {})

        # Our own write is there before the watch tells of it.
        made = there.put("x", namespace="b")
        copy.absorb(made["metadata"]["namespace"], made)
        assert [item.key for item in copy] == [Key("b", "x")]
        assert copy.get(Key("b", "x")) is not None
        assert copy.get(Key("a", "x")) is None
        copy.absorb_deletion(Key("b", "x"), there.remove("x"))

        assert (len(copy), told) == (0, ["x", "x"])


async def test_a_namespace_that_is_not_watched_has_nothing(spaces: Spaces) -> None:
    copy = spaces.copy("a")
    made = spaces.of["b"].put("x", namespace="b")

    copy.absorb(made["metadata"]["namespace"], made)
    copy.absorb_deletion(Key("b", "x"), spaces.of["b"].remove("x"))

    assert len(copy) == 0


async def test_one_refused_namespace_is_out_of_sight_until_it_was_listed(
    spaces: Spaces,
) -> None:
    spaces.of["a"].put("x", namespace="a")
    spaces.of["b"].put("y", namespace="b")
    spaces.of["b"].failures = [REFUSED] * 3
    copy, seen = spaces.copy("a", "b"), list[tuple[list[str], int]]()
    copy.listen_to_link(lambda _: seen.append((list(copy.unseen), len(copy))))
    async with spaces.following(copy):
        assert copy.synced.is_set()
        assert copy.freshness().trouble is None
        assert list(copy.unseen) == ["b"]

        spaces.of["b"].failures.clear()
        await spaces.clock.pass_time(20)

    # As soon as it is said to be in sight, all of it is there.
    assert (["b"], 1) in seen
    assert ([], 1) not in seen
    assert seen[-1] == ([], 2)


async def test_if_all_are_refused_so_is_the_worker(spaces: Spaces) -> None:
    for name in "ab":
        spaces.of[name].failures = [REFUSED] * 3
    copy = spaces.copy("a", "b")

    async with spaces.following(copy):
        assert not copy.synced.is_set()
        assert isinstance(copy.freshness().trouble, errors.Forbidden)


async def test_other_trouble_in_one_namespace_is_trouble_of_all(spaces: Spaces) -> None:
    copy = spaces.copy("a", "b")
    async with spaces.following(copy):
        spaces.of["b"].failures = [(500, "InternalError")] * 9
        spaces.of["b"].cut()
        await spaces.clock.pass_time(0.5)

        assert isinstance(copy.freshness().trouble, errors.ServerFailure)
        assert not copy.freshness().is_following
