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


def test_what_reads_its_own_json_is_left_to_others() -> None:
    job = {"metadata": {"creationTimestamp": "nonsense"}}
    assert conversion.misfit("batch/v1", "Job", job) is None


def test_bytes_are_given_as_text() -> None:
    assert conversion.misfit("v1", "Secret", {"data": {"a": "YQ=="}}) is None
    found = conversion.misfit("v1", "Secret", {"data": {"a": 5}})
    assert found == "cannot restore slice from int64"


def test_unknown_kinds_have_no_types() -> None:
    assert conversion.misfit("example.com/v1", "Train", {"spec": 5}) is None
