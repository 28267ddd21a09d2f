"""The border between Kubernetes and HTTP: what a transport must be able to do.

`transport` does it over sockets, `in_process` by calling an ASGI application.
"""

from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Protocol

from jobferry.clock import Seconds
from jobferry.kube.access import ANONYMOUS, Identity
from jobferry.kube.errors import Unreachable

LONGEST_LIST = 128 << 20
"""Bytes of a page of a list, unpacked: a quarter of a megabyte for each of 500 objects."""

LONGEST_OBJECT = 16 << 20
"""Bytes of one object or event: etcd takes 1.5 MiB, as protobuf, an API server 3 MiB of JSON."""


@dataclass(frozen=True, slots=True)
class Request:
    """One HTTP request, ready to go."""

    method: str
    target: str
    """Path and query, percent-encoded."""

    headers: tuple[tuple[str, str], ...] = ()
    body: bytes = b""
    identity: Identity = ANONYMOUS
    longest: int = LONGEST_LIST
    """Bytes that the body of a whole answer may have."""


@dataclass(frozen=True, slots=True)
class Answer:
    """A whole HTTP response."""

    code: int
    headers: Mapping[str, str]
    """Names in lower case."""

    body: bytes


class Stream(Protocol):
    """A response whose body is still coming in."""

    @property
    def code(self) -> int:
        """The status code."""
        ...

    @property
    def headers(self) -> Mapping[str, str]:
        """Names in lower case."""
        ...

    async def read(self) -> bytes:
        """Wait for more of the body and return all that has come; empty at its end."""
        ...

    def fail(self, error: Unreachable) -> None:
        """Raise `error` at the reader, after what has come before."""
        ...


class Transport(Protocol):
    """Sends requests to one API server. Fails with `errors.Unreachable` and its kin, or `BadInput`."""

    async def send(self, request: Request, *, within: Seconds) -> Answer:
        """Send and wait for the whole answer."""
        ...

    def stream(
        self, request: Request, *, within: Seconds
    ) -> AbstractAsyncContextManager[Stream]:
        """Send and wait for the head of the answer; leaving the block drops the rest."""
        ...

    async def close(self) -> None:
        """Drop every connection."""
        ...
