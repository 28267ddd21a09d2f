"""One request on its way through the server, and its answer."""

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import orjson

from jobferry.localkube.apiserver.identity.user import User
from jobferry.localkube.apiserver.requests.accept import PLAIN, Form
from jobferry.localkube.apiserver.requests.session import Session
from jobferry.localkube.apiserver.requests.target import Query, Target
from jobferry.localkube.apiserver.requests.yaml_document import Document
from jobferry.localkube.apiserver.status import NoPage, StatusError

MOST_WARNINGS = 1000
"""More than an answer has room for."""

_NO_SNIFFING = ("X-Content-Type-Options", "nosniff")
"""Tells browsers to take a text for a text, whatever names are in it."""


@dataclass(slots=True)
class Call:
    """A request: what it asks for, who asks, and what must be said besides its answer."""

    method: str
    query: Query
    headers: Mapping[str, str]
    """By lower-case name."""
    body: bytes
    target: Target
    user: User
    protocols: Sequence[str] | None = None
    """What the client of a WebSocket offers to speak; None: it asks for none."""
    form: Form = PLAIN
    forgets_owners: bool = False
    """The object in its body says that nobody shall own its fields."""
    read_ahead: Document | ValueError | None = None
    """What its body says, if that was read in advance: YAML takes its time."""
    warnings: list[str] = field(default_factory=list)

    @property
    def is_pretty(self) -> bool:
        """Whether the answer is for the eyes of a person."""
        values = self.query.get("pretty")
        if values and values[0]:
            return values[0] in ("1", "t", "T", "true", "TRUE", "True")
        return self.headers.get("user-agent", "").startswith(("curl", "Wget", "Mozilla/5.0"))

    def warn(self, text: str) -> None:
        """Tell the client something besides the answer, once."""
        if len(self.warnings) < MOST_WARNINGS and text not in self.warnings:
            self.warnings.append(text)


@dataclass(slots=True)
class Answer:
    """What goes back: a body, or a stream of parts (which has to be closed), or a WebSocket."""

    code: int
    body: bytes = b""
    content_type: str = "application/json"
    """Nothing: there is no body."""
    headers: tuple[tuple[str, str], ...] = ()
    stream: AsyncIterator[bytes] | None = None
    session: Session | None = None
    rest: Sequence[bytes] = ()
    """What follows the body, in parts: a long list is never in one piece."""


def text_answer(code: int, text: str) -> Answer:
    """Answer with a text for people."""
    return Answer(code, text.encode(), "text/plain; charset=utf-8", (_NO_SNIFFING,))


def json_bytes(value: Any, *, pretty: bool = False) -> bytes:
    """Write JSON as Go does: indented, or in a line."""
    return orjson.dumps(
        value, option=orjson.OPT_INDENT_2 if pretty else orjson.OPT_APPEND_NEWLINE
    )


def answer_error(error: StatusError, call: Call | None = None) -> Answer:
    """Answer with a failure."""
    if isinstance(error, NoPage):
        return text_answer(error.code, f"{error}\n")
    headers: tuple[tuple[str, str], ...] = (_NO_SNIFFING,) if error.code == 403 else ()
    if error.retry_after is not None:
        headers += (("Retry-After", str(error.retry_after)),)
    content = json_bytes(error.status(), pretty=call is not None and call.is_pretty)
    return Answer(error.code, content, headers=headers)
