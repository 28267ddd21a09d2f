from datetime import UTC, datetime, timedelta

from jobferry.core import times

WRITTEN = "2026-11-14T23:02:03Z"
SINCE = datetime(2026, 11, 14, 23, 2, 3, tzinfo=UTC)


def test_a_moment_is_read_and_what_is_left_of_a_time_may_be_less_than_nothing() -> None:
    assert times.instant(WRITTEN) == SINCE
    assert times.left(SINCE, 10.0, SINCE.replace(second=5)) == 8.0
    assert times.left(SINCE, 10.0, SINCE.replace(second=23)) == -10.0


def test_a_status_tells_its_moments_by_our_clock() -> None:
    listed = [{"type": "Suspended", "lastTransitionTime": WRITTEN, "lastProbeTime": None}]
    status = {"startTime": WRITTEN, "ready": 1, "conditions": listed}
    obj = {"metadata": {"creationTimestamp": WRITTEN}, "status": status}

    found = times.on_our_clock(obj, timedelta(hours=-1))

    later = "2026-11-15T00:02:03Z"
    assert found["status"] == {
        "startTime": later,
        "ready": 1,
        "conditions": [{**listed[0], "lastTransitionTime": later}],
    }
    assert found["metadata"] == obj["metadata"]
    assert status["startTime"] == WRITTEN
    assert times.on_our_clock(obj, timedelta()) is obj


def test_what_is_no_moment_stays_as_it_is() -> None:
    for nonsense in ("soon", "0001-01-01T00:00:00Z"):
        obj = {"status": {"startTime": nonsense}}

        assert times.on_our_clock(obj, timedelta(hours=1)) == obj


def test_a_hub_object_was_made_when_our_clock_says_so() -> None:
    obj = {"metadata": {"name": "a", "creationTimestamp": WRITTEN}}

    found = times.made_on_our_clock(obj, timedelta(hours=-1))

    assert found["metadata"] == {"name": "a", "creationTimestamp": "2026-11-15T00:02:03Z"}
    assert times.made_on_our_clock(obj, timedelta()) is obj
