from datetime import UTC, datetime, timedelta, timezone

from jobferry.objects import Obj, conditions

NOON = datetime(2026, 1, 2, 12, tzinfo=UTC)
EARLIER = "2026-01-01T00:00:00Z"


def condition(type: str, status: str = "True", **more: str) -> Obj:
    return {"type": type, "status": status, **more}


def test_find_returns_the_first_condition_of_a_type() -> None:
    first, second = condition("Ready", "False"), condition("Ready", "True")

    assert conditions.find([condition("Other"), first, second], "Ready") is first
    assert conditions.find([condition("Other")], "Ready") is None
    assert conditions.find(None, "Ready") is None


def test_a_condition_is_true_if_any_entry_of_its_type_is() -> None:
    assert conditions.is_true([condition("Ready", "False"), condition("Ready")], "Ready")
    assert not conditions.is_true([condition("Ready", "Unknown"), condition("Other")], "Ready")
    assert not conditions.is_true(None, "Ready")


def test_a_new_condition_goes_to_the_end_with_the_time_it_was_set() -> None:
    old = [condition("A", lastTransitionTime=EARLIER)]

    new = conditions.set(old, condition("B", reason="Because", message="so"), NOON)

    assert new == [
        old[0],
        condition(
            "B", reason="Because", message="so", lastTransitionTime="2026-01-02T12:00:00Z"
        ),
    ]
    assert conditions.set(None, condition("B"), NOON)[0]["type"] == "B"


def test_the_transition_time_stays_while_the_status_does() -> None:
    old = [condition("A", reason="Old", lastTransitionTime=EARLIER), condition("B")]

    new = conditions.set(old, condition("A", reason="New", lastProbeTime="later"), NOON)

    kept = condition("A", reason="New", lastProbeTime="later", lastTransitionTime=EARLIER)
    assert new == [kept, condition("B")]


def test_the_transition_time_moves_when_the_status_changes() -> None:
    old = [condition("A", "False", lastTransitionTime=EARLIER)]

    (new,) = conditions.set(old, condition("A", "True"), NOON)

    assert new["lastTransitionTime"] == "2026-01-02T12:00:00Z"


def test_a_missing_transition_time_is_filled_in_and_one_brought_along_does_not_count() -> None:
    old = [condition("A")]

    (new,) = conditions.set(old, condition("A", lastTransitionTime=EARLIER), NOON)

    assert new["lastTransitionTime"] == "2026-01-02T12:00:00Z"


def test_times_are_written_in_utc_to_the_second() -> None:
    tokyo = timezone(timedelta(hours=9))
    now = datetime(2026, 1, 2, 21, 0, 0, 999999, tzinfo=tokyo)

    assert (
        conditions.set([], condition("A"), now)[0]["lastTransitionTime"]
        == "2026-01-02T12:00:00Z"
    )


def test_setting_a_condition_leaves_one_entry_of_its_type_and_the_old_list_alone() -> None:
    old = [condition("A", "False"), condition("B"), condition("A", "True")]
    before = [dict(each) for each in old]

    new = conditions.set(old, condition("A", "Unknown"), NOON)

    assert [(each["type"], each["status"]) for each in new] == [("A", "Unknown"), ("B", "True")]
    assert old == before


def test_setting_the_same_condition_again_changes_nothing() -> None:
    once = conditions.set([], condition("A", reason="R"), NOON)

    assert conditions.set(once, condition("A", reason="R"), NOON + timedelta(1)) == once


def test_remove_takes_out_every_entry_of_a_type() -> None:
    old = [condition("A"), condition("B"), condition("A")]

    assert conditions.remove(old, "A") == [condition("B")]
    assert conditions.remove(None, "A") == []


def test_a_condition_without_a_time_gets_one() -> None:
    before = [{"type": "Ready", "status": "True", "lastTransitionTime": None}]

    after = conditions.set(before, {"type": "Ready", "status": "True"}, NOON)

    assert after[0]["lastTransitionTime"].startswith(f"{NOON:%Y-%m-%dT%H:%M}")
