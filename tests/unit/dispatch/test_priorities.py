from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import msgspec
import pytest

from jobferry.core.view import Policy
from jobferry.dispatch.priorities import (
    HIGHEST,
    Classes,
    ClassHead,
    Priorities,
    Priority,
    read,
    value,
)
from jobferry.kinds.adapter import Context
from jobferry.kinds.job.delegated import DelegatedJob
from jobferry.kube import optional
from jobferry.kube.items import Item
from jobferry.objects import Obj
from jobferry.runtime import supervise
from jobferry.testing.clock import ManualClock, settle
from tests.unit.core.worlds import hub_job
from tests.unit.kube.collection import Collection
from tests.unit.kube.copies import client_of

CLASSES = Classes({"high": 100, "low": -100, "top": HIGHEST, "system": HIGHEST * 2})
SOME = Policy(workers=(), queue="q", honours=frozenset({"high", "system", "ghost"}))
ANY = Policy(workers=(), queue="q")
NO_QUEUE = Policy(workers=())

JOB = DelegatedJob(Context(frozenset()))


def read_class(name: str, value: int, *, default: bool = False) -> Item[ClassHead]:
    obj = {"metadata": {"name": name, "resourceVersion": "1"}, "value": value}
    body = msgspec.json.encode(obj | ({"globalDefault": True} if default else {}))
    return Item(msgspec.json.decode(body, type=ClassHead), body)


@pytest.mark.parametrize(
    ("named", "policy", "expected"),
    [
        ("", ANY, 0),
        ("high", ANY, 100),
        ("low", ANY, -100),
        ("top", ANY, HIGHEST),
        ("high", SOME, 100),
        ("system", SOME, HIGHEST * 2),  # whoever names it in a Queue means it
    ],
)
def test_a_class_counts_by_its_value(named: str, policy: Policy, expected: int) -> None:
    assert value(named, CLASSES, policy) == Priority(expected)


@pytest.mark.parametrize(
    ("named", "policy", "why"),
    [
        ("system", ANY, "its Queue does not honour those of the system"),
        ("low", SOME, "its Queue does not honour it"),
        ("high", Policy(workers=(), queue="q", honours=frozenset()), "its Queue does not"),
        ("ghost", ANY, "the hub has none of that name"),
        ("ghost", SOME, "the hub has none of that name"),
        ("high", NO_QUEUE, "it is in no Queue"),
    ],
)
def test_a_class_that_does_not_count_says_why(named: str, policy: Policy, why: str) -> None:
    found = value(named, CLASSES, policy)

    assert found.value == 0
    assert found.note.startswith(f"its PriorityClass {named} counts as 0: {why}")


def test_what_cannot_be_read_counts_as_0_and_only_those_are_told_who_name_a_class() -> None:
    assert value("", None, ANY) == Priority(0, "")
    assert value("high", None, ANY).note == (
        "its PriorityClass high counts as 0: PriorityClasses could not be read on the hub"
    )


def test_who_names_none_has_the_default_class_as_far_as_it_counts() -> None:
    default = Classes({"usual": 7}, "usual")

    assert value("", default, ANY) == Priority(7)
    assert value("", default, SOME) == Priority(0)
    assert value("", default, NO_QUEUE) == Priority(0)


def test_of_several_defaults_the_lowest_counts_as_for_pods() -> None:
    found = read(
        [
            read_class("a", 5, default=True),
            read_class("b", 3, default=True),
            read_class("c", 1),
        ]
    )

    assert found == Classes({"a": 5, "b": 3, "c": 1}, "b")
    assert read([]) == Classes({})


# What the hub says


class Hub(Collection):
    """PriorityClasses behind an API server."""

    def put_class(self, name: str, **members: Any) -> None:
        self.put(name)
        self.objects[name].update(members)  # the event of it is sent later, when others run


class Told:
    """What follows the classes, and how often it told of a change."""

    def __init__(self, server: Hub, clock: ManualClock) -> None:
        self.changes = 0
        self.of = Priorities(client_of(server, clock), self._note)

    def _note(self) -> None:
        self.changes += 1

    def priority(self, named: str) -> Priority:
        return self.of.of(JOB, job_of(named), ANY)


def job_of(named: str) -> Obj:
    return hub_job(template={"spec": {"priorityClassName": named} if named else {}})


@asynccontextmanager
async def followed(server: Hub, clock: ManualClock) -> AsyncIterator[Told]:
    told = Told(server, clock)
    async with supervise.tasks("test", clock=clock) as tasks:
        tasks.start("classes", told.of.run)
        await settle()
        yield told


async def test_classes_are_followed_and_what_makes_no_difference_is_no_news() -> None:
    server = Hub()
    server.put_class("high", value=10)
    async with followed(server, ManualClock()) as told:
        assert told.of.settled.is_set()
        assert (told.priority("high"), told.priority("")) == (Priority(10), Priority(0))
        before = told.changes

        server.put_class("high", value=10, description="urgent things")
        await settle()
        assert told.changes == before

        server.put_class("usual", value=5, globalDefault=True)
        await settle()
        assert told.changes == before + 1
        assert told.priority("") == Priority(5)

        server.remove("high")
        await settle()
        assert told.changes == before + 2
        assert "none of that name" in told.priority("high").note


async def test_without_the_right_all_counts_as_0_until_it_is_granted(
    caplog: pytest.LogCaptureFixture,
) -> None:
    server, clock = Hub(failures=[(403, "Forbidden")] * 2), ManualClock()
    server.put_class("high", value=10)
    async with followed(server, clock) as told:
        assert told.of.settled.is_set()
        assert "could not be read" in told.priority("high").note
        await clock.pass_time(optional.ASK_AGAIN_AFTER)
        assert caplog.messages == ["PriorityClasses cannot be read: every priority counts as 0"]

        await clock.pass_time(optional.ASK_AGAIN_AFTER)
        assert (told.priority("high"), told.changes) == (Priority(10), 1)


async def test_a_hub_that_answers_nothing_of_use_keeps_nobody_from_beginning() -> None:
    server = Hub(failures=[(404, "NotFound")])
    async with followed(server, ManualClock()) as told:
        assert told.of.settled.is_set()
        assert "could not be read" in told.priority("high").note
