from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobferry.errors import Error, Transient
from jobferry.kube import errors
from jobferry.kube.errors import Cause

WHAT = "east: GET /api/v1/nodes"


def status(code: int, reason: str = "", **more: Any) -> bytes:
    return orjson.dumps({"kind": "Status", "code": code, "reason": reason, **more})


@pytest.mark.parametrize(
    ("code", "reason", "kind"),
    [
        (400, "BadRequest", errors.BadRequest),
        (401, "Unauthorized", errors.Unauthorized),
        (403, "Forbidden", errors.Forbidden),
        (404, "NotFound", errors.NotFound),
        (405, "MethodNotAllowed", errors.ApiError),
        (409, "Conflict", errors.Conflict),
        (409, "AlreadyExists", errors.AlreadyExists),
        (409, "", errors.Conflict),
        (410, "Expired", errors.Expired),
        (410, "Gone", errors.Expired),
        (413, "RequestEntityTooLarge", errors.ApiError),
        (422, "Invalid", errors.Invalid),
        (429, "TooManyRequests", errors.TooManyRequests),
        (500, "InternalError", errors.ServerFailure),
        (500, "ServerTimeout", errors.ServerFailure),
        (503, "ServiceUnavailable", errors.ServerFailure),
        (504, "Timeout", errors.Timeout),
        (504, "", errors.ServerFailure),
    ],
)
def test_a_status_becomes_the_error_it_stands_for(
    code: int, reason: str, kind: type[Error]
) -> None:
    error = errors.from_answer(WHAT, code, status(code, reason, message="no, sorry"))

    assert type(error) is kind
    assert str(error) == f"{WHAT}: no, sorry"


def test_what_may_pass_by_itself_is_transient_and_nothing_else_is() -> None:
    transient = {errors.TooManyRequests, errors.ServerFailure}

    for kind in errors.ApiError.__subclasses__():
        assert issubclass(kind, Transient) is (kind in transient), kind
    assert issubclass(errors.Unreachable, Transient)


def test_each_error_says_what_to_do() -> None:
    kinds = [*errors.ApiError.__subclasses__(), errors.Unreachable]
    kinds += errors.Unreachable.__subclasses__()

    for kind in kinds:
        assert kind("x").hint, kind


def test_an_invalid_object_is_told_field_by_field() -> None:
    causes = [
        {"reason": "FieldValueRequired", "message": "Required value", "field": "spec.template"},
        {"message": "bad"},
    ]

    error = errors.from_answer(WHAT, 422, status(422, "Invalid", details={"causes": causes}))

    assert isinstance(error, errors.Invalid)
    assert error.causes == (
        Cause("FieldValueRequired", "Required value", "spec.template"),
        Cause("", "bad", ""),
    )


@pytest.mark.parametrize("details", [None, {}, {"causes": None}, {"causes": []}])
def test_without_causes_there_are_none(details: Any) -> None:
    error = errors.from_answer(WHAT, 422, status(422, "Invalid", details=details))

    assert isinstance(error, errors.Invalid)
    assert error.causes == ()


def test_code_reason_details_and_wait_are_kept() -> None:
    body = status(429, "TooManyRequests", details={"name": "n"})

    error = errors.from_answer(WHAT, 429, body, 2.0)

    assert isinstance(error, errors.TooManyRequests)
    assert (error.code, error.reason, error.retry_after) == (429, "TooManyRequests", 2.0)
    assert error.details == {"name": "n"}


def test_a_page_of_a_proxy_is_quoted_in_one_short_line() -> None:
    page = b"<html>\r\n  <h1>502 Bad Gateway</h1>\n" + b"<p>nginx</p>\n" * 1000

    error = errors.from_answer(WHAT, 502, page)

    assert isinstance(error, errors.ServerFailure)
    assert str(error).startswith(f"{WHAT}: HTTP 502: <html> <h1>502 Bad Gateway</h1> <p>nginx")
    assert len(str(error)) < 400
    assert "\n" not in str(error)


@pytest.mark.parametrize("body", [b"", b"  \n"])
def test_an_empty_answer_is_told_by_its_code(body: bytes) -> None:
    error = errors.from_answer(WHAT, 404, body)

    assert isinstance(error, errors.NotFound)
    assert str(error) == f"{WHAT}: HTTP 404"


def test_json_that_is_no_status_is_quoted() -> None:
    error = errors.from_answer(WHAT, 403, b'{"error": "who are you?"}')

    assert isinstance(error, errors.Forbidden)
    assert str(error) == WHAT + ': HTTP 403: {"error": "who are you?"}'


@pytest.mark.parametrize("code", [None, 0, 200])
def test_the_code_of_the_answer_counts_where_the_status_has_another(code: Any) -> None:
    error = errors.from_answer(WHAT, 404, orjson.dumps({"kind": "Status", "code": code}))

    assert isinstance(error, errors.NotFound)
    assert error.code == 404


def test_a_message_of_several_lines_becomes_one() -> None:
    body = status(403, "Forbidden", message='admission webhook "x" denied it:\n  - a\n  - b\n')

    error = errors.from_answer(WHAT, 403, body)

    assert str(error) == f'{WHAT}: admission webhook "x" denied it: - a - b'


@pytest.mark.parametrize(
    ("known", "words"),
    [({"reason": "Expired"}, "Expired"), ({}, "no reason given")],
)
def test_an_error_without_a_message_still_says_something(
    known: dict[str, Any], words: str
) -> None:
    assert str(errors.from_status(WHAT, known)) == f"{WHAT}: {words}"


@pytest.mark.parametrize("field", ["message", "reason", "details"])
@pytest.mark.parametrize("value", [None, 0, 7, "x", [], ["x"], {}, {"x": 1}])
def test_no_status_is_too_strange_to_be_told(field: str, value: object) -> None:
    error = errors.from_answer(WHAT, 404, orjson.dumps({"kind": "Status", field: value}))

    assert isinstance(error, errors.NotFound)
    assert str(error).startswith(f"{WHAT}: ")


@given(st.binary())
def test_no_bytes_are_too_strange_to_be_told(body: bytes) -> None:
    assert str(errors.from_answer(WHAT, 500, body)).startswith(f"{WHAT}: HTTP 500")


def test_what_the_server_said_can_be_told_without_what_it_was_asked() -> None:
    error = errors.from_status("east: GET /x", {"code": 404, "message": "not there"})

    assert isinstance(error, errors.NotFound)
    assert str(error) == "east: GET /x: not there"
    assert error.words == "not there"


def test_of_a_very_long_message_the_beginning_is_repeated() -> None:
    error = errors.from_status("east", {"code": 422, "message": "and so on " * 100_000})

    assert str(error).startswith("east: and so on and so on")
    assert len(str(error)) < 5000
