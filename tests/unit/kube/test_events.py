import asyncio
from collections.abc import AsyncIterator

import pytest

from jobferry.kube import events
from jobferry.kube.events import LIMITS, Limits, Subject
from jobferry.kube.items import Key
from jobferry.kube.resources import JOBS, NODES
from jobferry.testing.clock import settle
from tests.unit.kube.events_story import JOB, Story


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


async def test_several_are_posted_at_a_time_but_one_of_each_object(story: Story) -> None:
    recorder = story.recorder()
    story.server.is_up.clear()
    for message in ("one", "two", "three"):
        for number in range(events.POSTING + 1):
            subject = JOB._replace(uid=f"uid-{number}")
            recorder.record(subject, "Normal", "Placed", message)
    await settle()
    in_flight = len(story.server.requests)

    story.server.is_up.set()
    await settle()

    assert in_flight == events.POSTING
    for number in range(events.POSTING + 1):
        assert story.server.said_about(f"uid-{number}") == ["one", "two", "three"]


async def test_one_object_alone_has_its_events_in_order(story: Story) -> None:
    recorder = story.recorder()
    story.server.is_up.clear()
    for message in ("one", "two", "three"):
        recorder.record(JOB, "Normal", "Placed", message)
    await settle()

    assert story.server.requests == ["POST"]


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
