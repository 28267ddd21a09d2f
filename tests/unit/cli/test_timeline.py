import orjson

from jobferry.cli import describe, timeline
from jobferry.core import placement
from jobferry.kinds.job.base import Base
from tests.unit.cli.hub_objects import NOW, at, event, job, placed


def whats(*args: object) -> list[str]:
    return [moment.what for moment in timeline.life(*args)]  # type: ignore[arg-type]


def test_a_life_over_two_attempts_is_told_in_order() -> None:
    ended = {"type": "Complete", "status": "True", "reason": "CompletionsReached"}
    status = {
        "succeeded": 2,
        "failed": 1,
        "startTime": at(-58),
        "completionTime": at(-5),
        "conditions": [{**ended, "lastTransitionTime": at(-5)}],
    }
    seen = placed(job(status=status), "west", attempt=2, base=Base(succeeded=1, failed=1))
    events = [
        event("Placed", "Placed on worker west, attempt 2: worker east is lost", age=30),
        event("WorkerLost", "Worker east cannot be reached", age=50, type="Warning"),
        event("Placed", "Placed on worker east", age=60),
    ]

    assert whats(seen, events) == [
        "made on the hub",
        "Placed on worker east",
        "started",
        "WorkerLost: Worker east cannot be reached",
        "Placed on worker west, attempt 2: worker east is lost",
        "the last pod ended: 2 succeeded, 1 failed",
        "Complete (CompletionsReached)",
    ]
    assert timeline.earned(seen) == ["1 succeeded, 1 failed before attempt 2"]


def test_what_was_earned_is_elsewhere_if_it_is_too_large() -> None:
    seen = placed(job(), "west", attempt=2)
    message = 'attempt 2 on west (cluster-west) after {"inPlacement":"5f"}'
    seen["status"]["conditions"][0]["message"] = message
    shard = {"worker": "west", "cluster": "cluster-west", "base": {"inPlacement": "5f"}}
    note = {"format": 1, "uid": "uid-train", "attempt": 2, "shards": [shard]}
    seen["metadata"]["annotations"] = {placement.ANNOTATION: orjson.dumps(note).decode()}

    assert timeline.earned(seen) == ["before attempt 2: see Placement uid-train"]


def test_without_events_the_condition_tells_the_placement() -> None:
    told = whats(placed(job(), "east"), [])

    assert told == ["made on the hub", "Placed on worker east"]


def test_of_a_first_placement_the_condition_tells_where_events_only_tell_of_moves() -> None:
    seen = placed(job(age=100), "west", attempt=2)
    [condition] = seen["status"]["conditions"]
    condition["lastTransitionTime"] = at(-90)
    moved = event("Placed", "Placed on worker west, attempt 2: worker east is lost", age=30)

    assert whats(seen, [moved]) == [
        "made on the hub",
        "placed for the first time",
        "Placed on worker west, attempt 2: worker east is lost",
    ]


def test_what_binds_only_together_with_the_end_is_not_told() -> None:
    target = {"type": "FailureTarget", "status": "True", "lastTransitionTime": at(0)}

    assert whats(job(status={"conditions": [target]}), []) == ["made on the hub"]


def test_suspending_resuming_and_deleting_are_told() -> None:
    condition = {"type": "Suspended", "status": "False", "lastTransitionTime": at(-10)}
    seen = job(status={"conditions": [condition]})
    seen["metadata"]["deletionTimestamp"] = at(-1)

    assert whats(seen, []) == ["made on the hub", "resumed", "deleted on the hub"]


def test_events_of_both_generations_are_read() -> None:
    series = {"count": 3, "lastObservedTime": at(-1)}
    new = event("Refused", "no", age=20, firstTimestamp=None, lastTimestamp=None, count=None)
    new |= {"eventTime": at(-20), "series": series}

    (moment,) = timeline.life(job(), [new])[1:]

    assert (moment.often, moment.until) == (3, NOW.replace(minute=59, second=59, hour=11))
    shown = describe.text(describe.summary(job(), NOW), timeline.life(job(), [new]))
    assert f"no (3 times, the last at {at(-1)})" in shown


def test_a_description_leaves_out_what_there_is_not() -> None:
    summary, life = describe.summary(job(), NOW), timeline.life(job(), [])
    shown = describe.text(summary, life)

    assert "Name:       train\n" in shown
    assert "Worker:     none yet\n" in shown
    assert "Queue" not in shown
    assert describe.summary(job(manager=None), NOW)["Delegated"] == "no"
    assert describe.data(summary, life)["life"][0]["at"] == at(-60)
