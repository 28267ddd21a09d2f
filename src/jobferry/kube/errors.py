"""What can go wrong with a request, by whose fault it is.

Error
├── ApiError                 the API server answered, with a Status
│   ├── BadRequest           400
│   ├── Unauthorized         401  who are you?
│   ├── Forbidden            403  final: rights do not come by asking again
│   ├── NotFound             404
│   ├── Conflict             409  the object changed meanwhile, or a precondition failed
│   ├── AlreadyExists        409  the name is taken
│   ├── Expired              410  the resourceVersion or continue token is too old
│   ├── Invalid              422  with `causes`, one for each field
│   ├── TooManyRequests      429  (Transient)
│   └── ServerFailure        5xx  (Transient)
├── Unreachable              no answer: connection, DNS, proxy (Transient)
│   ├── Untrusted            the server's certificate, or ours, was refused
│   ├── Timeout              nothing within the time we gave; also what the server calls a timeout
│   └── TooLong              more than any API server sends: we hung up
└── …
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import orjson

from jobferry.clock import Seconds
from jobferry.errors import Error, Transient


@dataclass(frozen=True, slots=True)
class Cause:
    """One thing that is wrong with an object, and where."""

    reason: str
    message: str
    field: str


class ApiError(Error):
    """The API server answered that it will not."""

    def __init__(
        self,
        message: str,
        *,
        code: int = 0,
        reason: str = "",
        details: Mapping[str, Any] | None = None,
        retry_after: Seconds | None = None,
        words: str = "",
    ) -> None:
        super().__init__(message)
        self.words = words or message
        """What the server said; the message tells besides what it was asked."""
        self.code = code
        self.reason = reason
        self.details = dict(details or {})
        self.retry_after = retry_after

    @property
    def causes(self) -> tuple[Cause, ...]:
        """What is wrong, field by field; empty where the server names no fields."""
        return tuple(
            Cause(cause.get("reason", ""), cause.get("message", ""), cause.get("field", ""))
            for cause in self.details.get("causes") or ()
        )

    @property
    def is_of_a_vanishing_namespace(self) -> bool:
        """Whether nothing can be created there any more, since the namespace is going away."""
        return any(cause.reason == "NamespaceTerminating" for cause in self.causes)


class BadRequest(ApiError):
    """The request itself makes no sense to the server."""

    hint = "This is usually a version difference: check which fields and parameters that server knows."


class Unauthorized(ApiError):
    """The server does not know who we are."""

    hint = "The token or certificate is wrong or has expired: renew the credentials in the kubeconfig."


class Forbidden(ApiError):
    """We are not allowed to; asking again does not help."""

    hint = (
        "Grant the verb named in the message to the user named in it, by a Role or ClusterRole."
    )


class NotFound(ApiError):
    """The object, or the whole kind, is not there."""

    hint = "Check the name and the namespace; for a whole kind, that its CRD is installed."

    @property
    def names_one(self) -> bool:
        """Whether it is one object, or its namespace, that is not there: of a kind that is not served, none is named."""
        return bool(self.details.get("name"))


class Conflict(ApiError):
    """The object changed since it was read, or a precondition does not hold."""

    hint = "Read the object again and decide anew."


class AlreadyExists(ApiError):
    """The name is taken."""

    hint = "Choose another name, or delete the object that has it."


class Expired(ApiError):
    """The resourceVersion or continue token is too old for the server to go on from."""

    hint = "List anew."


class Invalid(ApiError):
    """The object breaks a rule; `causes` says which."""

    hint = "Correct the fields named in the message."


class TooManyRequests(ApiError, Transient):
    """The server asks us to slow down; `retry_after` says how long."""

    hint = "The API server sheds load: look at its priority levels and flow schemas."


class ServerFailure(ApiError, Transient):
    """The server failed, or is not ready to answer."""

    hint = "Look at the API server's own log."


class Unreachable(Transient):
    """No answer came; whether the request was carried out is not known."""

    hint = "Check that the server in the kubeconfig is right and answers from this machine."


class Untrusted(Unreachable):
    """The server's certificate was not accepted, or ours was not."""

    hint = "Check certificate-authority and tls-server-name in the kubeconfig, and when the certificates end."


class Timeout(Unreachable):
    """Nothing came within the time given; whether the request was carried out is not known."""

    hint = "The API server is slow or frozen, or something between drops packets."


class TooLong(Unreachable):
    """More came than any API server sends, and we hung up; whether the request was carried out is not known."""

    hint = "Check that an API server answers there; none has objects of this size."


MOST_WORDS = 4096
"""How much is repeated of what a server says: it goes into logs, events and the status of objects."""

_BY_REASON: dict[str, type[ApiError]] = {
    "AlreadyExists": AlreadyExists,
    "Expired": Expired,
    "Gone": Expired,
    "Conflict": Conflict,
}

_BY_CODE: dict[int, type[ApiError]] = {
    400: BadRequest,
    401: Unauthorized,
    403: Forbidden,
    404: NotFound,
    409: Conflict,
    410: Expired,
    422: Invalid,
    429: TooManyRequests,
}


def from_answer(
    what: str, code: int, body: bytes, retry_after: Seconds | None = None
) -> ApiError | Timeout:
    """Make the error that an answer with a code of 400 or more stands for."""
    return from_status(what, _status(code, body), retry_after)


def from_status(
    what: str, status: Mapping[str, Any], retry_after: Seconds | None = None
) -> ApiError | Timeout:
    """Make the error that a Status object stands for; `what` says what was asked, and of whom."""
    code, reason = int(status.get("code") or 0), str(status.get("reason") or "")
    words = _one_line(str(status.get("message") or reason or "no reason given")[:MOST_WORDS])
    message = f"{what}: {words}"
    if reason == "Timeout":
        return Timeout(message)
    kind = _BY_REASON.get(reason) or _BY_CODE.get(code) or _by_class(code)
    details = status.get("details")
    if not isinstance(details, Mapping):
        details = None
    return kind(
        message,
        code=code,
        reason=reason,
        details=details,
        retry_after=retry_after,
        words=words,
    )


def _by_class(code: int) -> type[ApiError]:
    return ServerFailure if code >= 500 else ApiError


def _status(code: int, body: bytes) -> Mapping[str, Any]:
    """Read a Status; whatever else came (a proxy's HTML page, plain text) becomes its message."""
    try:
        decoded = orjson.loads(body)
    except orjson.JSONDecodeError:
        decoded = None
    if isinstance(decoded, dict) and decoded.get("kind") == "Status":
        return {**decoded, "code": code}
    words = _one_line(body[:300].decode("utf-8", "replace"))
    return {"code": code, "message": f"HTTP {code}" + (f": {words}" if words else "")}


def _one_line(text: str) -> str:
    return " ".join(text.split())
