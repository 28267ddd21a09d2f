"""What the API server needs of a node: the logs of its containers, and to talk with what runs in them.

A runner implements `NodeConnector` and says so with `Nodes.connected` for as long as it serves its node.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager, contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, NamedTuple, Protocol

from jobferry import errors
from jobferry.objects import Obj


@dataclass(frozen=True, slots=True, kw_only=True)
class LogOptions:
    """Which part of a container's log is wanted, as PodLogOptions says it; checked already."""

    follow: bool = False
    """Go on with what is logged later, until the container ends."""
    previous: bool = False
    """The log of the container's last run before this one."""
    since_seconds: int | None = None
    since_time: datetime | None = None
    timestamps: bool = False
    """Put its time (RFC 3339, with nanoseconds) and a blank before each line."""
    tail_lines: int | None = None
    limit_bytes: int | None = None


class Size(NamedTuple):
    """How large a terminal is, in characters."""

    width: int
    height: int


Write = Callable[[bytes], Awaitable[None]]
"""Sends to the client, and waits while the client is slow to read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Streams:
    """The client's side of a process. What the client did not ask for is None."""

    stdin: AsyncIterator[bytes] | None = None
    """Ends when the client closes it; what is not read holds the client back."""
    stdout: Write | None = None
    stderr: Write | None = None
    """Never there with a terminal: that has one output."""
    tty: bool = False
    sizes: AsyncIterator[Size]
    """The client's terminal, each time that it changes; of several changes, the last."""


class NodeRefused(errors.Error):
    """A node does not do what is asked of it; with the code and the words that a kubelet has for it."""

    def __init__(self, message: str, *, code: Literal[400, 404, 500] = 500) -> None:
        super().__init__(message)
        self.code = code


class NodeConnector(Protocol):
    """Reaches the containers of one node.

    Pods are as stored, never to be changed; a container is always one of the pod. A call is cancelled when its
    client goes; it has to leave nothing behind then. What cannot be done is a `NodeRefused`.
    """

    def logs(
        self, pod: Obj, container: str, options: LogOptions
    ) -> AbstractAsyncContextManager[AsyncIterator[bytes]]:
        """Open the log of a container: entering the block may refuse, the iterator gives its parts."""

    async def execute(
        self, pod: Obj, container: str, command: Sequence[str], streams: Streams
    ) -> int:
        """Run a command in a container; returns its exit code, 0 to 255, all its output written."""

    async def attach(self, pod: Obj, container: str, streams: Streams) -> None:
        """Join the main process of a container, until that ends."""


class Nodes:
    """The connectors of the nodes that are there, by name."""

    def __init__(self) -> None:
        self._connectors: dict[str, NodeConnector] = {}

    @contextmanager
    def connected(self, name: str, connector: NodeConnector) -> Iterator[None]:
        """Serve a node within the block; whoever comes last for a name has it."""
        self._connectors[name] = connector
        try:
            yield
        finally:
            if self._connectors.get(name) is connector:
                del self._connectors[name]

    def get(self, name: str) -> NodeConnector | None:
        """Return what reaches a node, or None if nothing does."""
        return self._connectors.get(name)
