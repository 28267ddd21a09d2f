"""What the tests of the client share."""

import asyncio
import gc
import os
import socket
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
    sockets, tasks = _sockets(), len(asyncio.all_tasks())
    gc.freeze()  # so that looking for what is left over looks at nothing older
    yield
    await settle()
    gc.collect()
    gc.unfreeze()
    await settle()
    assert _sockets() == sockets
    assert len(asyncio.all_tasks()) == tasks
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


def _sockets() -> int:
    """Count the open sockets of this process, where the system tells."""
    return sum(_is_socket(fd) for fd in os.listdir(FDS)) if FDS.exists() else 0


def _is_socket(fd: str) -> bool:
    try:
        return os.readlink(FDS / fd).startswith("socket:")
    except FileNotFoundError:  # the one through which we look
        return False
