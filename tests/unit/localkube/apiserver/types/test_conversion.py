"""What Go's converter says of values of the wrong type."""

from typing import Any

import pytest

from jobferry.localkube.apiserver.types import conversion


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ({"parallelism": 2, "suspend": True, "template": {"spec": {"containers": []}}}, None),
        ({"parallelism": None, "unknown": 1}, None),
        ({"parallelism": 3.0}, None),
        ({"parallelism": "x"}, "unrecognized type: int32"),
        ({"parallelism": 1.5}, "cannot convert float64 to int32"),
        ({"suspend": 1}, "unrecognized type: bool"),
        ({"completionMode": 1}, "cannot convert int64 to v1.CompletionMode"),
        ({"completionMode": True}, "unrecognized type: string"),
        ({"template": []}, "cannot restore struct from: slice"),
        ({"template": {"spec": {"containers": {}}}}, "cannot restore slice from map"),
        ({"template": {"spec": {"containers": ["x"]}}}, "cannot restore struct from: string"),
        ({"selector": {"matchLabels": "x"}}, "cannot restore map from string"),
        ({"selector": {"matchLabels": {"a": 1}}}, "cannot convert int64 to string"),
        ("x", "cannot restore struct from: string"),
    ],
)
def test_the_first_value_of_the_wrong_type_is_reported(spec: Any, words: str | None) -> None:
    assert conversion.misfit("batch/v1", "Job", {"metadata": {}, "spec": spec}) == words


@pytest.mark.parametrize(
    ("metadata", "words"),
    [
        ({"creationTimestamp": "2026-01-01T00:00:00Z"}, None),
        (
            {"creationTimestamp": "x"},
            'parsing time "x" as "2006-01-02T15:04:05Z07:00": cannot parse "x" as "2006"',
        ),
        (
            {"labels": 1, "creationTimestamp": 1},
            "json: cannot unmarshal number into Go value of type string",
        ),
    ],
)
def test_what_reads_its_own_json_has_its_own_words(metadata: Any, words: str | None) -> None:
    assert conversion.misfit("batch/v1", "Job", {"metadata": metadata}) == words


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        (2.0, 2),
        (2**31, -(2**31)),
        (2**32 + 1, 1),
        (-(2**31) - 1, 2**31 - 1),
        (1e20, 0),
        (None, None),
    ],
)
def test_numbers_lose_the_bits_that_their_type_has_no_room_for(given: Any, kept: Any) -> None:
    spec = {
        "parallelism": given,
        "podFailurePolicy": {"rules": [{"onExitCodes": {"values": [given]}}]},
    }
    job = {"metadata": {"name": "a"}, "spec": spec, "unknown": given}

    assert conversion.misfit("batch/v1", "Job", job) is None

    found = conversion.cut("batch/v1", "Job", job)
    assert found["spec"]["parallelism"] == kept
    assert found["spec"]["podFailurePolicy"]["rules"][0]["onExitCodes"]["values"] == [kept]
    assert found["unknown"] == given


def test_bytes_are_given_as_text() -> None:
    assert conversion.misfit("v1", "Secret", {"data": {"a": "YQ=="}}) is None
    found = conversion.misfit("v1", "Secret", {"data": {"a": 5}})
    assert found == "cannot restore slice from int64"
    found = conversion.misfit("v1", "Secret", {"data": {"a": "!"}})
    assert found == "error decoding from json: illegal base64 data at input byte 0"


def test_unknown_kinds_have_no_types() -> None:
    assert conversion.misfit("example.com/v1", "Train", {"spec": 5}) is None
