"""What is counted of an audit log."""

from pathlib import Path

import orjson

from bench.audit import Asked, Tail


def line(
    user: str, verb: str, resource: str, code: int = 200, stage: str = "ResponseComplete"
) -> bytes:
    entry = {
        "user": {"username": user},
        "verb": verb,
        "stage": stage,
        "objectRef": {"resource": resource, "subresource": "status"},
        "responseStatus": {"code": code},
    }
    return orjson.dumps(entry) + b"\n"


def test_requests_of_the_user_are_counted_from_the_beginning_of_the_tail(
    tmp_path: Path,
) -> None:
    log = tmp_path / "audit.log"
    log.write_bytes(line("we", "patch", "jobs"))
    tail = Tail({"hub": log}, {"hub": "we"})
    with log.open("ab") as file:
        file.write(line("we", "patch", "jobs", 409) + line("we", "patch", "jobs"))
        file.write(line("others", "patch", "jobs") + line("others-like-we", "patch", "jobs"))
        file.write(line("we", "watch", "jobs", stage="ResponseStarted"))

    requests = tail.requests()

    assert requests.count == {Asked("hub", "patch", "jobs/status"): 2}
    assert requests.codes == {200: 1, 409: 1}


def test_a_line_that_is_being_written_is_left_for_later(tmp_path: Path) -> None:
    log = tmp_path / "audit.log"
    log.touch()
    tail = Tail({"hub": log}, {"hub": "we"})
    log.write_bytes(line("we", "patch", "jobs") + line("we", "patch", "jobs")[:-9])

    assert tail.requests().count.total() == 1
