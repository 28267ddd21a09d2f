"""Answers that are not objects: `Status`, with the codes, reasons and words of kube-apiserver."""

from collections.abc import Sequence
from typing import Any

from jobferry import errors
from jobferry.localkube.apiserver import problems
from jobferry.localkube.apiserver.problems import Problem
from jobferry.objects import Obj
from jobferry.objects.gotext import quote


class StatusError(errors.Error):
    """A request that is answered with a failure."""

    def __init__(
        self,
        code: int,
        reason: str,
        message: str,
        *,
        details: Obj | None = None,
        retry_after: int | None = None,
    ) -> None:
        super().__init__(message)
        self.code = code
        self.reason = reason
        self.details = None if details is None else dict(details)
        self.retry_after = retry_after
        self.list_meta: Obj = {}
        if retry_after is not None:
            self.detail("retryAfterSeconds", retry_after)

    def detail(self, name: str, value: Any) -> None:
        """Add to what is said beside the message."""
        self.details = {**(self.details or {}), name: value}

    def status(self) -> Obj:
        """Return it as an answer shows it."""
        status: Obj = {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": self.list_meta,
            "status": "Failure",
            "message": str(self),
        }
        if self.reason:
            status["reason"] = self.reason
        if self.details is not None:
            status["details"] = self.details
        status["code"] = self.code
        return status


def qualified(group: str, name: str) -> str:
    """Return `name.group`, or the bare name in the core group: a resource or kind in a message."""
    return f"{name}.{group}" if group else name


def _about(group: str, resource: str, name: str) -> Obj:
    """Return details; what is empty is left out."""
    return {
        key: value
        for key, value in (("name", name), ("group", group), ("kind", resource))
        if value
    }


def not_found(group: str, resource: str, name: str) -> StatusError:
    """Report an object that is not there."""
    message = f"{qualified(group, resource)} {quote(name)} not found"
    return StatusError(404, "NotFound", message, details=_about(group, resource, name))


class NoPage(StatusError):
    """A path that is nowhere near anything that is served, or none; answered with text."""


def no_page() -> StatusError:
    """Report a path in which not even the API group is there."""
    return NoPage(404, "NotFound", "404 page not found")


def bad_path() -> StatusError:
    """Report a path that is written wrongly."""
    return NoPage(400, "BadRequest", "400 Bad Request")


def unknown_path() -> StatusError:
    """Report a version, resource or subresource that is not there."""
    return StatusError(
        404,
        "NotFound",
        "the server could not find the requested resource",
        details={},
    )


def already_exists(group: str, resource: str, name: str) -> StatusError:
    """Report a name that is taken."""
    message = f'{qualified(group, resource)} "{name}" already exists'
    return StatusError(409, "AlreadyExists", message, details=_about(group, resource, name))


def conflict(group: str, resource: str, name: str, why: str) -> StatusError:
    """Report a write that does not fit the state of the object."""
    message = f'Operation cannot be fulfilled on {qualified(group, resource)} "{name}": {why}'
    return StatusError(409, "Conflict", message, details=_about(group, resource, name))


def changed(group: str, resource: str, name: str) -> StatusError:
    """Report a write that was based on an older version."""
    why = "the object has been modified; please apply your changes to the latest version and try again"
    return conflict(group, resource, name, why)


def invalid(group: str, kind: str, name: str, found: Sequence[Problem]) -> StatusError:
    """Report an object that breaks rules."""
    message = f'{qualified(group, kind)} "{name}" is invalid: {problems.summary(found)}'
    details = _about(group, kind, name)
    details["causes"] = [problem.cause() for problem in found]
    return StatusError(422, "Invalid", message, details=details)


def bad_request(message: str) -> StatusError:
    """Report a request that cannot be understood."""
    return StatusError(400, "BadRequest", message)


def unauthorized() -> StatusError:
    """Report credentials that nobody vouches for."""
    return StatusError(401, "Unauthorized", "Unauthorized")


def forbidden(group: str, resource: str, name: str, why: str) -> StatusError:
    """Report an action that is not allowed."""
    about = qualified(group, resource) + (f" {quote(name)}" if name else "")
    message = f"{about} is forbidden: {why}" if group or resource else f"forbidden: {why}"
    return StatusError(403, "Forbidden", message, details=_about(group, resource, name))


def forbidden_path(message: str) -> StatusError:
    """Report a path that is not a resource and may not be read."""
    return StatusError(403, "Forbidden", message, details={})


def method_not_allowed() -> StatusError:
    """Report a verb that a path does not have."""
    message = "the server does not allow this method on the requested resource"
    return StatusError(405, "MethodNotAllowed", message, details={})


def not_acceptable(message: str) -> StatusError:
    """Report an Accept header that cannot be met."""
    return StatusError(406, "NotAcceptable", message, details={})


def not_convertible(message: str) -> StatusError:
    """Report an answer that cannot be given in the form that is asked for."""
    return StatusError(406, "NotAcceptable", message)


def unsupported_media_type(message: str) -> StatusError:
    """Report a body of a type that is not understood."""
    return StatusError(415, "UnsupportedMediaType", message)


def too_large(limit: int) -> StatusError:
    """Report a body of more than `limit` bytes."""
    message = f"Request entity too large: limit is {limit}"
    return StatusError(413, "RequestEntityTooLarge", message)


def too_many_requests(message: str, retry_after: int) -> StatusError:
    """Report that there is no room for the request now."""
    return StatusError(429, "TooManyRequests", message, retry_after=retry_after)


def expired(message: str) -> StatusError:
    """Report a version or continue token that is too old."""
    return StatusError(410, "Expired", message)


def timeout(message: str, retry_after: int = 0) -> StatusError:
    """Report that what was waited for did not come."""
    return StatusError(504, "Timeout", message, retry_after=retry_after)


def internal(message: str) -> StatusError:
    """Report a failure of the server itself."""
    details = {"causes": [{"message": message}]}
    return StatusError(
        500, "InternalError", f"Internal error occurred: {message}", details=details
    )
