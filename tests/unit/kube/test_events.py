import asyncio
import logging
from collections.abc import AsyncIterator
from random import Random
from typing import Any

import orjson
import pytest

from jobferry.clock import Seconds
from jobferry.kube import events
from jobferry.kube.client import Client
from jobferry.kube.events import LIMITS, Limits, Recorder, Subject
from jobferry.kube.in_process import InProcessTransport, Message
from jobferry.kube.items import Key
from jobferry.kube.resources import JOBS, NODES
from jobferry.objects import Obj, merge_patch
from jobferry.testing.clock import ManualClock, settle

JOB = Subject(JOBS, Key("ml", "train"), "uid-1")
Answer = tuple[int, Obj]


def refusal(code: int, reason: str, *causes: str) -> Answer:
    details = {"causes": [{"reason": cause} for cause in causes]}
    return code, {"kind": "Status", "reason": reason, "message": "no", "details": details}


class Server:
    """Keeps Events, and refuses as told."""

    def __init__(self) -> None:
        self.events: dict[str, Obj] = {}
        self.requests: list[str] = []
        self.refuses: Answer | None = None
        self.loses_answers = False
        self.is_up = asyncio.Event()
        self.is_up.set()

    async def __call__(self, scope: Message, receive: Any, send: Any) -> None:
        body = orjson.loads((await receive())["body"])
        self.requests.append(scope["method"])
        await self.is_up.wait()
        code, answer = self.refuses or self._store(scope["method"], scope["path"], body)
        if self.loses_answers:
            raise ConnectionResetError
        await send({"type": "http.response.start", "status": code, "headers": []})
        await send({"type": "http.response.body", "body": orjson.dumps(answer)})

    def _store(self, method: str, path: str, body: Obj) -> Answer:
        collection, _, name = path.removeprefix("/api/v1/namespaces/").partition("/events")
        name = (
            f"{collection}/{body['metadata']['name']}"
            if method == "POST"
            else collection + name
        )
        if method == "POST" and name in self.events:
            return refusal(409, "AlreadyExists")
        if method == "PATCH" and name not in self.events:
            return refusal(404, "NotFound")
        self.events[name] = merge_patch.apply(self.events.get(name, {}), body)
        return 200, self.events[name]

    def said(self) -> list[tuple[str, int]]:
        return [(event["message"], event["count"]) for event in self.events.values()]


class Story:
    """A recorder at work."""

    def __init__(self) -> None:
        self.clock = ManualClock()
        self.server = Server()
        self.tasks: list[asyncio.Task[None]] = []

    def recorder(self, *, limits: Limits = LIMITS, runs: bool = True) -> Recorder:
        client = Client(
            InProcessTransport(self.server, self.clock),
            name="test",
            clock=self.clock,
            random=Random(0),
        )
        recorder = Recorder(client, component="jobferry", instance="pod-1", limits=limits)
        if runs:
            self.run(recorder)
        return recorder

    def run(self, recorder: Recorder) -> None:
        self.tasks.append(asyncio.create_task(recorder.run()))

    async def pass_time(self, seconds: Seconds) -> None:
        await self.clock.pass_time(seconds)
        await settle()


@pytest.fixture
async def story() -> AsyncIterator[Story]:
    story = Story()
    yield story
    for task in story.tasks:
        task.cancel()
    await asyncio.gather(*story.tasks, return_exceptions=True)


async def test_an_event_says_what_happened_to_whom_and_who_says_so(story: Story) -> None:
    story.recorder().record(JOB, "Normal", "Placed", "Placed on east")

    await settle()

    [(path, event)] = story.server.events.items()
    name = path.removeprefix("ml/")
    assert name.startswith("train.")
    assert event == {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": name, "namespace": "ml"},
        "involvedObject": {
            "apiVersion": "batch/v1",
            "kind": "Job",
            "namespace": "ml",
            "name": "train",
            "uid": "uid-1",
        },
        "type": "Normal",
        "reason": "Placed",
        "message": "Placed on east",
        "count": 1,
        "firstTimestamp": "2026-01-01T00:00:00Z",
        "lastTimestamp": "2026-01-01T00:00:00Z",
        "source": {"component": "jobferry"},
        "reportingComponent": "jobferry",
        "reportingInstance": "pod-1",
    }


async def test_what_is_said_again_is_counted_on_the_event_that_is_there(story: Story) -> None:
    recorder = story.recorder()
    for _ in range(3):
        recorder.record(JOB, "Warning", "Unreachable", "east does not answer")
        await story.pass_time(60)

    [event] = story.server.events.values()
    assert event["count"] == 3
    assert event["firstTimestamp"] == "2026-01-01T00:00:00Z"
    assert event["lastTimestamp"] == "2026-01-01T00:02:00Z"
    assert story.server.requests == ["POST", "PATCH", "PATCH"]


async def test_what_is_said_many_times_before_it_is_posted_takes_one_request(
    story: Story,
) -> None:
    recorder = story.recorder()
    for _ in range(1000):
        recorder.record(JOB, "Normal", "Placed", "Placed on east")

    await settle()

    assert story.server.said() == [("Placed on east", 1000)]
    assert story.server.requests == ["POST"]
    assert recorder.stats() == events.Stats(waiting=0, posted=1, dropped=0)


async def test_what_is_said_while_it_is_being_posted_is_not_lost(story: Story) -> None:
    recorder = story.recorder()
    story.server.is_up.clear()
    recorder.record(JOB, "Normal", "Placed", "Placed on east")
    await settle()

    recorder.record(JOB, "Normal", "Placed", "Placed on east")
    story.server.is_up.set()
    await settle()

    assert story.server.said() == [("Placed on east", 2)]


async def test_what_is_said_again_much_later_is_news(story: Story) -> None:
    recorder = story.recorder()
    recorder.record(JOB, "Normal", "Placed", "Placed on east")
    await story.pass_time(LIMITS.window + 1)

    recorder.record(JOB, "Normal", "Placed", "Placed on east")
    await settle()

    assert story.server.said() == [("Placed on east", 1), ("Placed on east", 1)]


async def test_an_object_made_again_under_the_same_name_has_events_of_its_own(
    story: Story,
) -> None:
    recorder = story.recorder()
    recorder.record(JOB, "Normal", "Placed", "Placed on east")
    recorder.record(JOB._replace(uid="uid-2"), "Normal", "Placed", "Placed on east")

    await settle()

    uids = [event["involvedObject"]["uid"] for event in story.server.events.values()]
    assert uids == ["uid-1", "uid-2"]


async def test_messages_that_all_differ_end_up_in_one_event(story: Story) -> None:
    recorder = story.recorder()
    for number in range(12):
        recorder.record(JOB, "Normal", "Retried", f"Try {number}")
        await settle()
    recorder.record(JOB, "Normal", "Retried", "Try 3")
    recorder.record(JOB, "Normal", "Placed", "Another reason")
    await settle()

    said = dict(story.server.said())
    assert len(said) == 12
    assert said["Try 3"] == 2
    assert said["(one of many alike) Try 11"] == 2
    assert said["Another reason"] == 1


async def test_an_object_that_is_always_in_trouble_costs_few_requests_but_is_counted(
    story: Story,
) -> None:
    recorder = story.recorder()
    for _ in range(600):
        recorder.record(JOB, "Warning", "Unreachable", "east does not answer")
        await story.pass_time(1)

    requests = len(story.server.requests)
    dropped = recorder.stats().dropped
    await story.pass_time(5)
    recorder.record(JOB, "Warning", "Unreachable", "east does not answer")
    await settle()

    assert requests == LIMITS.burst + 1  # one more was granted at 300 s, the next is at 600 s
    assert dropped == 600 - requests
    assert story.server.said() == [("east does not answer", 601)]


async def test_silence_does_not_earn_more_than_one_burst(story: Story) -> None:
    recorder = story.recorder(limits=Limits(burst=2))
    recorder.record(JOB, "Normal", "Placed", "Placed on east")
    await story.pass_time(100_000)

    for _ in range(5):
        recorder.record(JOB, "Normal", "Placed", "Placed on east")
        await settle()

    assert len(story.server.requests) == 3


async def test_trouble_with_one_object_does_not_silence_another(story: Story) -> None:
    recorder = story.recorder(limits=Limits(burst=1))
    for uid in ("uid-1", "uid-1", "uid-2"):
        recorder.record(JOB._replace(uid=uid), "Warning", "Unreachable", "no answer")
        await settle()
    recorder.record(JOB, "Normal", "Placed", "Placed on east")
    await settle()

    assert len(story.server.requests) == 3
    assert recorder.stats().dropped == 1


async def test_the_events_of_an_object_without_namespace_are_in_default(story: Story) -> None:
    node = Subject(NODES, Key("", "node-1"), "uid-n")
    story.recorder().record(node, "Normal", "Ready", "It is ready")

    await settle()

    [(path, event)] = story.server.events.items()
    assert path.startswith("default/node-1.")
    assert event["involvedObject"]["namespace"] == ""


@pytest.mark.parametrize("message", ["x" * 2000, "ä" * 1000, "€" * 400, "x" + "🚢" * 300])
async def test_a_long_message_is_cut_between_characters(message: str, story: Story) -> None:
    story.recorder().record(JOB, "Normal", "Placed", message)

    await settle()

    [(said, _)] = story.server.said()
    assert 1019 <= len(said.encode()) <= 1024
    assert said.endswith("…")
    assert message.startswith(said[:-1])


async def test_a_message_that_is_no_unicode_does_not_stop_the_recorder(story: Story) -> None:
    recorder = story.recorder()
    recorder.record(JOB, "Normal", "Placed", "half \ud83d pair")
    recorder.record(JOB, "Normal", "Placed", "whole")

    await settle()

    assert story.server.said() == [("half ? pair", 1), ("whole", 1)]


async def test_a_long_name_leaves_room_for_what_makes_it_unique(story: Story) -> None:
    long = Subject(JOBS, Key("ml", "x" * 253), "uid-x")
    recorder = story.recorder()
    recorder.record(long, "Normal", "Placed", "one")
    recorder.record(long, "Normal", "Placed", "two")

    await settle()

    names = [event["metadata"]["name"] for event in story.server.events.values()]
    assert [len(name) for name in names] == [253, 253]
    assert names[0] != names[1]


# When it cannot be posted


async def test_an_event_that_the_server_forgot_is_made_again(story: Story) -> None:
    recorder = story.recorder()
    recorder.record(JOB, "Normal", "Placed", "Placed on east")
    await settle()
    story.server.events.clear()

    recorder.record(JOB, "Normal", "Placed", "Placed on east")
    await settle()

    assert story.server.said() == [("Placed on east", 2)]


async def test_an_answer_that_was_lost_does_not_make_two_events(story: Story) -> None:
    recorder = story.recorder()
    story.server.loses_answers = True
    recorder.record(JOB, "Normal", "Placed", "Placed on east")
    await settle()

    story.server.loses_answers = False
    recorder.record(JOB, "Normal", "Placed", "Placed on east")
    await story.pass_time(2)

    assert story.server.said() == [("Placed on east", 2)]
    assert recorder.stats() == events.Stats(waiting=0, posted=1, dropped=0)


async def test_a_missing_right_is_said_once_and_the_events_are_dropped(
    story: Story, caplog: pytest.LogCaptureFixture
) -> None:
    recorder = story.recorder()
    story.server.refuses = refusal(403, "Forbidden")
    for number in range(3):
        recorder.record(JOB, "Normal", "Placed", f"Message {number}")

    await settle()

    [line] = caplog.records
    assert line.getMessage() == "Event not posted"
    assert "Grant the verb" in line.facts["hint"]  # type: ignore[attr-defined]
    assert recorder.stats() == events.Stats(waiting=0, posted=0, dropped=3)


@pytest.mark.parametrize(
    "gone", [refusal(404, "NotFound"), refusal(403, "Forbidden", "NamespaceTerminating")]
)
async def test_of_a_namespace_that_goes_away_nothing_is_said(
    gone: Answer, story: Story, caplog: pytest.LogCaptureFixture
) -> None:
    recorder = story.recorder()
    story.server.refuses = gone
    recorder.record(JOB, "Normal", "Placed", "Placed on east")

    with caplog.at_level(logging.DEBUG):
        await settle()

    assert caplog.records == []
    assert recorder.stats() == events.Stats(waiting=0, posted=0, dropped=1)


async def test_what_could_not_be_posted_for_a_while_is_posted_later(
    story: Story, caplog: pytest.LogCaptureFixture
) -> None:
    recorder = story.recorder()
    story.server.refuses = refusal(500, "InternalError")
    recorder.record(JOB, "Normal", "Placed", "Placed on east")
    recorder.record(JOB, "Normal", "Started", "It runs")
    await story.pass_time(100)
    tries = len(story.server.requests)

    story.server.refuses = None
    await story.pass_time(31)

    assert tries < 10
    assert sorted(story.server.said()) == [("It runs", 1), ("Placed on east", 1)]
    assert len(caplog.records) == 1


async def test_after_a_success_the_next_trouble_is_a_new_one(story: Story) -> None:
    recorder = story.recorder()
    for message in ("one", "two"):
        story.server.refuses = refusal(500, "InternalError")
        recorder.record(JOB, "Normal", "Placed", message)
        await story.pass_time(20)
        story.server.refuses = None
        await story.pass_time(31)
    story.server.refuses = refusal(500, "InternalError")
    recorder.record(JOB, "Normal", "Placed", "three")
    await settle()

    story.server.refuses = None
    await story.pass_time(events.BACKOFF.first)

    assert story.server.said() == [("one", 1), ("two", 1), ("three", 1)]


async def test_what_could_not_be_posted_for_long_is_old_news(story: Story) -> None:
    recorder = story.recorder()
    story.server.refuses = refusal(500, "InternalError")
    recorder.record(JOB, "Normal", "Placed", "Placed on east")

    await story.pass_time(LIMITS.window + 31)

    assert recorder.stats() == events.Stats(waiting=0, posted=0, dropped=1)


async def test_a_frozen_server_holds_up_nobody_and_little_is_kept_for_it(story: Story) -> None:
    recorder = story.recorder(limits=Limits(waiting=10))
    story.server.is_up.clear()

    for number in range(1000):
        subject = JOB._replace(uid=f"uid-{number}")
        recorder.record(subject, "Normal", "Placed", "Placed on east")

    assert recorder.stats() == events.Stats(waiting=10, posted=0, dropped=990)


async def test_when_too_much_waits_the_oldest_goes_and_warnings_stay(story: Story) -> None:
    recorder = story.recorder(limits=Limits(waiting=3), runs=False)
    recorder.record(JOB, "Warning", "Bad", "warning 1")
    for number in range(1, 5):
        recorder.record(JOB, "Normal", "Good", f"normal {number}")
    recorder.record(JOB, "Warning", "Bad", "warning 2")

    story.run(recorder)
    await settle()

    assert [said for said, _ in story.server.said()] == ["warning 1", "warning 2", "normal 4"]


async def test_nothing_but_warnings_loses_the_oldest_warning(story: Story) -> None:
    recorder = story.recorder(limits=Limits(waiting=2), runs=False)
    for number in range(1, 4):
        recorder.record(JOB, "Warning", "Bad", f"warning {number}")

    story.run(recorder)
    await settle()

    assert [said for said, _ in story.server.said()] == ["warning 2", "warning 3"]


async def test_what_was_said_longest_ago_is_forgotten_first(story: Story) -> None:
    recorder = story.recorder(limits=Limits(subjects=2))
    for number in (1, 2, 1, 3, 1, 2):
        subject = JOB._replace(uid=f"uid-{number}")
        recorder.record(subject, "Normal", "Placed", "Placed on east")
        await settle()

    counts = [(e["involvedObject"]["uid"], e["count"]) for e in story.server.events.values()]
    assert counts == [("uid-1", 3), ("uid-2", 1), ("uid-3", 1), ("uid-2", 1)]
