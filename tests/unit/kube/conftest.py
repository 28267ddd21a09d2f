"""What the tests of the client share."""

import asyncio
import gc
import os
import socket
import sys
import threading
from collections.abc import AsyncIterator, Callable, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from jobferry.kube.http1 import Connection
from jobferry.testing.clock import settle

ON_EVERY_LOOP = ("test_http1", "test_dial", "test_transport", "test_tcp", "test_program")
"""How the names of those tests begin that touch sockets and processes, where event loops differ."""
FDS = Path("/proc/self/fd")


class Sockets:
    """Knows the sockets that a test connects or listens on in its own thread, whoever has them then."""

    def __init__(self) -> None:
        self._thread: int | None = None
        self._used: set[int] = set()
        sys.addaudithook(self._note)

    def begin(self) -> None:
        """Look at what is used from now on."""
        self._used.clear()
        self._thread = threading.get_ident()

    def end(self) -> set[int]:
        """Look no longer; return the inodes of those that are still open, where the system tells."""
        self._thread = None
        fds = os.listdir(FDS) if FDS.exists() else []
        return self._used & {inode for fd in fds if (inode := _inode(int(fd)))}

    def _note(self, event: str, args: tuple[Any, ...]) -> None:
        if event in ("socket.connect", "socket.bind") and threading.get_ident() == self._thread:
            self._used.add(_inode(args[0].fileno()))


def _inode(fd: int) -> int:
    """Return the number of what a descriptor is for, which is not given anew while it is open."""
    try:
        return os.fstat(fd).st_ino
    except OSError:  # closed by now, as is the one through which we look
        return 0


SOCKETS = Sockets()


def pytest_asyncio_loop_factories(
    item: pytest.Item,
) -> Mapping[str, Callable[[], asyncio.AbstractEventLoop]] | None:
    """Run some tests on asyncio's own loop too."""
    if not item.path.name.startswith(ON_EVERY_LOOP):
        return None
    loops: dict[str, Callable[[], asyncio.AbstractEventLoop]] = {
        "asyncio": asyncio.new_event_loop
    }
    if find_spec("uvloop"):
        import uvloop  # noqa: PLC0415 (not on every platform)

        loops["uvloop"] = uvloop.new_event_loop
    return loops


@pytest.fixture
async def tidy() -> AsyncIterator[None]:
    """Fail the test if it leaves a socket or a task behind, or an error that nobody has seen."""
    unseen: list[dict[str, Any]] = []
    loop = asyncio.get_running_loop()
    loop.set_exception_handler(lambda _, context: unseen.append(context))
    tasks = asyncio.all_tasks()
    SOCKETS.begin()
    gc.freeze()  # so that looking for what is left over looks at nothing older
    yield
    await settle()
    gc.collect()
    gc.unfreeze()
    await settle()
    assert SOCKETS.end() == set()
    assert asyncio.all_tasks() - tasks == {asyncio.current_task()}
    assert unseen == []


@pytest.fixture
async def fed() -> AsyncIterator[Connection]:
    """A connection to nobody: a test hands it what it receives, piece by piece."""
    ours, theirs = socket.socketpair()
    _, connection = await asyncio.get_running_loop().create_connection(
        lambda: Connection("host"), sock=ours
    )
    yield connection
    connection.close()
    theirs.close()
