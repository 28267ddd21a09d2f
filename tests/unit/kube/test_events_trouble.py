import asyncio
import logging
from collections.abc import AsyncIterator

import pytest

from jobferry.kube import events
from jobferry.kube.events import LIMITS, Limits
from jobferry.testing.clock import settle
from tests.unit.kube.events_story import JOB, Answer, Story, refusal


@pytest.fixture
async def story() -> AsyncIterator[Story]:
    story = Story()
    yield story
    for task in story.tasks:
        task.cancel()
    await asyncio.gather(*story.tasks, return_exceptions=True)


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
