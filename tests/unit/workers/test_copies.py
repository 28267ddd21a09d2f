from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from random import Random
from typing import Any

import pytest

from jobferry.kinds.adapter import Context
from jobferry.kinds.job.delegated import DelegatedJob
from jobferry.kube import errors, optional
from jobferry.kube.client import Client
from jobferry.kube.in_process import InProcessTransport
from jobferry.kube.items import Key
from jobferry.kube.resources import JOBS
from jobferry.runtime import supervise
from jobferry.testing.clock import ManualClock, settle
from jobferry.workers import copies
from jobferry.workers.copies import Copies, Copy
from tests.unit.dispatch.hubs import JOB as JOB_NAME
from tests.unit.dispatch.hubs import JOB_SET, adapters
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


# Several kinds


class Kinds:
    """Two kinds of a worker, each a collection of its own."""

    def __init__(self) -> None:
        self.clock = ManualClock()
        self.of = {"jobs": Collection(), "jobsets": Collection()}

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        await self.of[scope["path"].rpartition("/")[2]](scope, receive, send)

    def copies(self) -> Copies:
        transport = InProcessTransport(self, self.clock)
        client = Client(transport, name="east", clock=self.clock, random=Random(0))
        return Copies(client, adapters(JOB_NAME, JOB_SET), "")

    @asynccontextmanager
    async def following(self, copies: Copies) -> AsyncIterator[None]:
        async with supervise.tasks("test", clock=self.clock) as tasks:
            tasks.start("copies", copies.run)
            await settle()
            yield


@pytest.fixture
def kinds() -> Kinds:
    return Kinds()


async def test_mirrors_are_told_with_the_workloads_that_they_are_of(kinds: Kinds) -> None:
    copies, told = kinds.copies(), list[str]()
    copies.listen(lambda key, _: told.append(str(key)))
    async with kinds.following(copies):
        kinds.of["jobs"].put("a")
        kinds.of["jobsets"].put("a", annotations={"jobferry.io/hub-name": "b"})
        await settle()

        assert told == [f"{JOB_NAME} ns/a", f"{JOB_SET} ns/b"]
        assert len(copies) == 2
        assert copies.get(JOB_SET, Key("ns", "a")) is not None
        assert copies.get("RayJob.ray.io", Key("ns", "a")) is None
        assert copies.watched == {JOB_NAME: None, JOB_SET: None}


@pytest.mark.parametrize(
    "refusal",
    [REFUSED, (404, "NotFound"), (500, "InternalError"), (429, "TooManyRequests")],
)
async def test_one_kind_that_cannot_be_followed_hides_no_other(
    kinds: Kinds, refusal: tuple[int, str]
) -> None:
    kinds.of["jobsets"].failures = [refusal] * 4
    copies = kinds.copies()
    async with kinds.following(copies):
        await kinds.clock.pass_time(0.1)
        assert copies.synced.is_set()
        assert copies.freshness().trouble is None
        assert list(copies.hidden) == [JOB_SET]
        assert copies.watched == {JOB_NAME: None}
        assert copies.are_kinds_missing == (refusal[0] == 404)

        kinds.of["jobsets"].failures.clear()
        await kinds.clock.pass_time(optional.ASK_AGAIN_AFTER + 20)
        assert copies.hidden == {}
        assert copies.watched == {JOB_NAME: None, JOB_SET: None}


async def test_what_is_wrong_with_jobs_is_wrong_with_the_worker(kinds: Kinds) -> None:
    copies = kinds.copies()
    async with kinds.following(copies):
        kinds.of["jobs"].failures = [(500, "InternalError")] * 9
        kinds.of["jobs"].cut()
        await kinds.clock.pass_time(0.5)

        assert isinstance(copies.freshness().trouble, errors.ServerFailure)


async def test_without_rights_on_jobs_other_kinds_are_followed(kinds: Kinds) -> None:
    kinds.of["jobs"].failures = [REFUSED] * 9
    copies = kinds.copies()
    async with kinds.following(copies):
        assert copies.synced.is_set()
        assert copies.watched == {JOB_SET: None}


async def test_if_no_kind_may_be_followed_the_worker_may_not_be_used(kinds: Kinds) -> None:
    for each in kinds.of.values():
        each.failures = [REFUSED] * 9
    copies = kinds.copies()
    async with kinds.following(copies):
        assert not copies.synced.is_set()
        assert isinstance(copies.freshness().trouble, errors.Forbidden)


async def test_what_a_controller_made_of_a_mirror_is_no_mirror(kinds: Kinds) -> None:
    """It may bear the marks and the name of what it was made of, as a JobSet of a TrainJob does."""
    copies = kinds.copies()
    async with kinds.following(copies):
        owner = {"apiVersion": "v1", "kind": "X", "name": "x", "uid": "u", "controller": True}
        kinds.of["jobsets"].put("made", ownerReferences=[owner])
        kinds.of["jobsets"].put("mirror", ownerReferences=[{**owner, "controller": False}])
        await settle()

        assert [key.name for key, _ in copies] == ["mirror"]


async def test_a_worker_that_serves_none_of_our_kinds_is_followed_all_the_same(
    spaces: Spaces,
) -> None:
    """It may serve one later, and is no worse than the others."""
    transport = InProcessTransport(spaces, spaces.clock)
    client = Client(transport, name="east", clock=spaces.clock, random=Random(0))

    copy = Copies(client, [], "")

    assert copy.synced.is_set()
    assert copy.freshness().is_following
    assert (len(copy), copy.watched, copy.hidden) == (0, {}, {})
