"""One request on its way through the server, and its answer."""

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field

import orjson

from jobferry.localkube.apiserver.identity.user import User
from jobferry.localkube.apiserver.requests import yaml_output
from jobferry.localkube.apiserver.requests.accept import PLAIN, YAML, Form
from jobferry.localkube.apiserver.requests.session import Session
from jobferry.localkube.apiserver.requests.target import Query, Target
from jobferry.localkube.apiserver.status import NoPage, StatusError


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
    warnings: list[str] = field(default_factory=list)

    def warn(self, text: str) -> None:
        """Tell the client something besides the answer, once."""
        if text not in self.warnings:
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


def answer_error(error: StatusError, form: Form = PLAIN) -> Answer:
    """Answer with a failure."""
    if isinstance(error, NoPage):
        return Answer(error.code, f"{error}\n".encode(), "text/plain; charset=utf-8")
    again = error.retry_after
    headers = () if again is None else (("Retry-After", str(again)),)
    if form.yaml:
        return Answer(error.code, yaml_output.dump(error.status()), YAML, headers)
    return Answer(error.code, orjson.dumps(error.status()), headers=headers)
