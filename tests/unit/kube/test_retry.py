import pytest

from jobferry.errors import BadInput, Error
from jobferry.kube import calls, errors
from jobferry.kube.calls import Call
from jobferry.kube.resources import NODES
from jobferry.kube.retry import Patience, pause_after

READ = calls.get(NODES, "n")
CREATE = calls.create(NODES, {"metadata": {"name": "n"}})
PATCH = calls.patch(NODES, "n", {})
REPLACE = calls.update(NODES, {"metadata": {"name": "n"}})
DELETE = calls.delete(NODES, "n")

PATIENCE = Patience(retries=3, first_pause=0.1, longest_pause=10.0)


def answered(code: int, retry_after: float | None = None) -> Error:
    return errors.from_answer("x", code, b"", retry_after)


LOST = errors.Unreachable("lost")

PAUSES: list[tuple[Error, Call, float | None]] = [
    # The server refused before it looked: any call may come again, when it says.
    (answered(429, 2.0), READ, 2.0),
    (answered(429, 2.0), CREATE, 2.0),
    (answered(429, 0.0), PATCH, 0.0),
    (answered(503, 2.0), CREATE, 2.0),
    (answered(429, 10.0), READ, 10.0),
    # Too long to sit out.
    (answered(429, 10.1), READ, None),
    # It does not say when.
    (answered(429), READ, None),
    (answered(503), READ, None),
    # Other answers are final, and may come after the call was carried out.
    (answered(500, 1.0), CREATE, None),
    (answered(500, 1.0), READ, None),
    (answered(409, 1.0), CREATE, None),
    (answered(403), READ, None),
    (answered(404), READ, None),
    # No answer: only what may be done twice is.
    (LOST, READ, 0.1),
    (LOST, REPLACE, 0.1),
    (LOST, DELETE, 0.1),
    (LOST, CREATE, None),
    (LOST, PATCH, None),
    # Waiting again does not help.
    (errors.Untrusted("x"), READ, None),
    (errors.Timeout("x"), READ, None),
    (errors.TooLong("x"), READ, None),
    (BadInput("x"), READ, None),
]


@pytest.mark.parametrize(("error", "call", "pause"), PAUSES)
def test_when_a_call_is_sent_again(error: Error, call: Call, pause: float | None) -> None:
    assert pause_after(error, call, 1, PATIENCE, spread=0.5) == pytest.approx(
        pause if pause is None or error is LOST else pause * 1.125
    )


def test_pauses_double_until_there_are_no_more_tries() -> None:
    pauses = [pause_after(LOST, READ, tries, PATIENCE, spread=0.5) for tries in range(1, 6)]

    assert pauses == [pytest.approx(0.1), pytest.approx(0.2), pytest.approx(0.4), None, None]


def test_no_pause_is_longer_than_the_longest() -> None:
    patience = Patience(retries=20, first_pause=0.1, longest_pause=2.0)

    assert pause_after(LOST, READ, 20, patience, spread=0.9) == 2.0


def test_a_server_that_always_refuses_is_left_alone_in_the_end() -> None:
    assert pause_after(answered(429, 1.0), READ, 3, PATIENCE, spread=0.0) == 1.0
    assert pause_after(answered(429, 1.0), READ, 4, PATIENCE, spread=0.0) is None


def test_clients_do_not_come_back_all_at_once() -> None:
    lost = {pause_after(LOST, READ, 1, PATIENCE, spread / 10) for spread in range(10)}
    refused = {
        pause_after(answered(429, 2.0), READ, 1, PATIENCE, spread / 10) for spread in range(10)
    }

    assert len(lost) == len(refused) == 10
    assert all(pause is not None and pause >= 2.0 for pause in refused)
    assert all(pause is not None and 0.05 <= pause < 0.15 for pause in lost)


def test_nothing_is_sent_again_where_no_retries_are_wanted() -> None:
    assert pause_after(LOST, READ, 1, Patience(retries=0), spread=0.5) is None
