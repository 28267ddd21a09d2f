"""The options of logs and exec are read from a query; the words of refusals are compared with a real server."""

from datetime import UTC, datetime

import pytest

from jobferry.localkube.apiserver.nodes import LogOptions
from jobferry.localkube.apiserver.requests import pod_options
from jobferry.localkube.apiserver.requests.pod_options import TalkOptions
from jobferry.localkube.apiserver.status import StatusError


def test_nothing_is_wanted_by_default() -> None:
    assert pod_options.log_options({}, "one") == LogOptions()
    assert pod_options.talk_options({}) == TalkOptions()
    assert pod_options.container({}) == ""


def test_all_that_is_wanted_of_a_log_is_read() -> None:
    query = {
        "follow": ["true"],
        "previous": ["1"],
        "timestamps": [""],
        "tailLines": ["5"],
        "limitBytes": ["7"],
        "sinceSeconds": ["9"],
    }
    assert pod_options.log_options(query, "one") == LogOptions(
        follow=True,
        previous=True,
        timestamps=True,
        tail_lines=5,
        limit_bytes=7,
        since_seconds=9,
    )


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("2020-01-02T03:04:05.9+01:00", datetime(2020, 1, 2, 2, 4, 5, tzinfo=UTC)),
        ("", datetime(1, 1, 1, tzinfo=UTC)),
        ("null", datetime(1, 1, 1, tzinfo=UTC)),
        ("0001-01-01T00:00:00Z", datetime(1, 1, 1, tzinfo=UTC)),
    ],
)
def test_a_time_is_read_in_whole_seconds(text: str, moment: datetime) -> None:
    assert pod_options.log_options({"sinceTime": [text]}, "one").since_time == moment


def test_all_that_is_wrong_is_told_at_once() -> None:
    query = {
        "tailLines": ["-1"],
        "limitBytes": ["0"],
        "sinceSeconds": ["0"],
        "sinceTime": [""],
        "stream": ["All"],
    }
    with pytest.raises(StatusError) as caught:
        pod_options.log_options(query, "one")
    assert caught.value.details is not None
    fields = [cause["field"] for cause in caught.value.details["causes"]]
    assert fields == ["tailLines", "limitBytes", "[]", "stream"]


@pytest.mark.parametrize(
    ("name", "text", "why"),
    [
        ("tailLines", "x", 'strconv.ParseInt: parsing "x": invalid syntax'),
        ("limitBytes", "9" * 20, f'strconv.ParseInt: parsing "{"9" * 20}": value out of range'),
        ("sinceTime", "2020", 'cannot parse "" as "-"'),
    ],
)
def test_what_cannot_be_read_is_told(name: str, text: str, why: str) -> None:
    with pytest.raises(StatusError) as caught:
        pod_options.log_options({name: [text]}, "one")
    assert caught.value.code == 400
    assert why in str(caught.value)


def test_a_terminal_has_one_output() -> None:
    query = {"stdout": ["1"], "stderr": ["1"], "tty": ["1"], "command": ["sh", "-c"]}
    assert pod_options.talk_options(query) == TalkOptions(
        stdout=True, tty=True, command=("sh", "-c")
    )


def test_nothing_is_tried_dry() -> None:
    with pytest.raises(StatusError, match="dryRun is not supported"):
        pod_options.talk_options({"dryRun": ["All"]})
