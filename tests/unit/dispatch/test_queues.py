from typing import Any

import msgspec
import pytest

from jobferry.clock import SystemClock
from jobferry.core.view import Policy
from jobferry.dispatch.queue_status import QueueStatuses, is_news
from jobferry.dispatch.queues import WORDS, QueueHead, Queues
from jobferry.kube.cache import Change
from jobferry.kube.calls import Scope
from jobferry.kube.client import Client
from jobferry.kube.in_process import InProcessTransport
from jobferry.kube.informer import Informer
from jobferry.kube.items import Item, Metadata
from jobferry.runtime import supervise
from jobferry.testing.clock import ManualClock, settle
from jobferry.workers.resource import WORKERS, WorkerHead


class Closed:
    """An API server that lets nobody do anything; counts what it was asked."""

    def __init__(self) -> None:
        self.asked = 0

    async def __call__(self, _scope: Any, _receive: Any, send: Any) -> None:
        self.asked += 1
        await send({"type": "http.response.start", "status": 403, "headers": []})
        await send({"type": "http.response.body", "body": b"", "more_body": False})


def client_of(server: Closed) -> Client:
    clock = ManualClock()
    return Client(InProcessTransport(server, clock), name="hub", clock=clock)


def queues_of(hub: Client) -> Queues:
    return Queues(hub, Informer(hub, Scope(resource=WORKERS), WorkerHead), 900.0)


@pytest.fixture
def queues() -> Queues:
    return queues_of(client_of(Closed()))


def queue(name: str, *, generation: int = 1, version: int = 1, **spec: Any) -> Item[QueueHead]:
    meta = {"name": name, "resourceVersion": str(version), "generation": generation}
    body = msgspec.json.encode({"metadata": meta, "spec": spec})
    return Item(msgspec.json.decode(body, type=QueueHead), body)


def of(name: str) -> Metadata:
    """What is known of a Job in that queue."""
    labels = {"jobferry.io/queue": name}
    return Metadata(name="a", namespace="ns", resource_version="1", labels=labels)


@pytest.mark.parametrize(
    "selector",
    [
        {"matchLabels": {"no such label!": "x"}},
        {"matchExpressions": [{"key": "a", "operator": "Near"}]},
        {"matchExpressions": [{"key": "x" * 1_000_000, "operator": "Exists"}]},
    ],
)
def test_a_selector_that_is_none_is_the_trouble_of_its_queue_alone(
    queues: Queues, selector: Any
) -> None:
    bad = queue("bad", workers={"selector": selector})
    for item in (bad, queue("good")):
        queues.objects.absorb({**item.object()})

    told = queues.policy(of("bad"))

    assert isinstance(told, str)
    assert told.startswith("the selector of Queue bad makes no sense: ")
    assert len(told) < 2 * WORDS
    assert queues.trouble(bad) == told
    assert isinstance(queues.policy(of("good")), Policy)


def test_a_status_is_no_news_of_a_queue() -> None:
    before = queue("a")

    assert is_news(Change(None, before))
    assert is_news(Change(before, None))
    assert is_news(Change(before, queue("a", generation=2, version=2)))
    assert not is_news(Change(before, queue("a", version=2)))


async def test_who_may_not_write_on_a_queue_logs_it_and_goes_on(
    caplog: pytest.LogCaptureFixture,
) -> None:
    server = Closed()
    hub = client_of(server)
    queues = queues_of(hub)
    queues.objects.absorb(queue("a").object())

    async with supervise.tasks("test", clock=SystemClock()) as tasks:
        tasks.start("statuses", QueueStatuses(hub, queues).run)
        await settle()

    assert server.asked == 1
    assert "may not be written" in caplog.text


def test_a_policy_says_whose_it_is_so_that_each_queue_has_its_own_line(queues: Queues) -> None:
    queues.objects.absorb(queue("good").object())

    told = queues.policy(of("good"))

    assert isinstance(told, Policy)
    assert told.queue == "good"
    nowhere = queues.policy(Metadata(name="a", namespace="ns", resource_version="1"))
    assert isinstance(nowhere, Policy)
    assert nowhere.queue == ""


@pytest.mark.parametrize(
    ("spec", "honours"),
    [({}, None), ({"priorityClasses": []}, set()), ({"priorityClasses": ["a"]}, {"a"})],
)
def test_a_queue_that_honours_no_class_is_not_one_that_does_not_say(
    queues: Queues, spec: Any, honours: set[str] | None
) -> None:
    queues.objects.absorb(queue("q", **spec).object())

    told = queues.policy(of("q"))

    assert isinstance(told, Policy)
    assert told.honours == honours


KEEPS: Any = {"finishedMirrors": {"keepSeconds": 0}}
BAD = {"workers": {"selector": {"matchLabels": {"no such label!": "x"}}}}


@pytest.mark.parametrize(
    ("was", "now", "expected"),
    [
        ({}, {"placement": "Pack"}, False),
        (KEEPS, {**KEEPS, "placement": "Pack"}, False),
        ({}, {"namespaces": ["ns"]}, False),
        (None, {"namespaces": ["ns"]}, False),
        ({}, KEEPS, True),
        (KEEPS, {}, True),
        (None, KEEPS, True),
        (KEEPS, None, True),
        (KEEPS, {**KEEPS, "namespaces": ["ns"]}, True),
        ({**KEEPS, **BAD}, KEEPS, True),
    ],
)
def test_finished_jobs_are_concerned_by_how_long_mirrors_stay(
    queues: Queues, was: Any, now: Any, expected: bool
) -> None:
    before, after = (None if spec is None else queue("a", **spec) for spec in (was, now))

    assert queues.concerns_finished(Change(before, after)) is expected


def test_a_queue_that_leaves_its_jobs_to_another_concerns_finished_ones(queues: Queues) -> None:
    queues.objects.absorb(queue("other", namespaces=["ns"], **KEEPS).object())

    assert queues.concerns_finished(Change(queue("a", namespaces=["ns"]), queue("a")))
