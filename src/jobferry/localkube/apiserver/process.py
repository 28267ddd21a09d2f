"""The process of an API server, and of what runs beside it."""

import argparse
import asyncio
import gc
import signal
import sys
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, nullcontext
from typing import Any

from jobferry import log
from jobferry.clock import SystemClock
from jobferry.errors import Error
from jobferry.localkube.apiserver.identity.folder import leave_kubeconfig
from jobferry.localkube.apiserver.nodes import Nodes
from jobferry.localkube.apiserver.server import Server, Settings, serve

Beside = Callable[[Server, Nodes], AbstractAsyncContextManager[object]]
"""Runs something else in the process of a server, as a block."""


def _nothing(_server: Server, _nodes: Nodes) -> AbstractAsyncContextManager[object]:
    return nullcontext()


def run(
    given: argparse.Namespace,
    *,
    name: str = "localkube",
    beside: Beside = _nothing,
    owned: bool = False,
) -> int:
    """Serve as a command line says until a signal ends it; if `owned`, until standard input ends at the latest.

    `name` is that of the context in the kubeconfig which is left for people.
    """
    log.configure(stream=sys.stderr, level="WARNING")
    try:
        _runner()(_serve(_settings(given), name, beside, owned=owned))
    except Error as error:
        hint = f"\n{error.hint}" if error.hint else ""
        print(f"error: {error}{hint}", file=sys.stderr)  # noqa: T201 (to the person who ran us)
        return 1
    return 0


def _settings(given: argparse.Namespace) -> Settings:
    return Settings(
        folder=given.folder,
        keys=given.keys,
        in_memory=given.in_memory,
        durability=given.durability,
        port=given.port,
        audit_log=given.audit_log,
        without_plugins=frozenset(filter(None, given.disable_admission_plugins.split(","))),
    )


async def _serve(settings: Settings, name: str, beside: Beside, *, owned: bool) -> None:
    end = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, end.set)
    if owned:
        # Nobody writes to it: all there is to read is its end, when the other side has gone.
        loop.add_reader(sys.stdin.fileno(), end.set)
    nodes = Nodes()
    async with serve(settings, SystemClock(), nodes) as server, beside(server, nodes):
        _relax_collector()
        # For tests: what was compacted cannot be watched any more.
        loop.add_signal_handler(signal.SIGUSR1, _compact, server)
        if settings.keys is None:
            path = leave_kubeconfig(server.keys, server.url, name)
            print(f"{server.url} is ready: export KUBECONFIG={path}", flush=True)  # noqa: T201
        await end.wait()


def _relax_collector() -> None:
    """Look for garbage in cycles seldom: objects from JSON have none, and looking costs most of reading them.

    Nothing goes on meanwhile: so never through more than some 75,000 objects, but once in a long while.
    """
    gc.freeze()
    gc.set_threshold(25_000, 2, 1000)
    gc.enable()


def _compact(server: Server) -> None:
    server.storage.compact(through=server.storage.revision)


def _runner() -> Callable[[Any], None]:
    try:
        import uvloop  # noqa: PLC0415 (it is not for every platform)
    except ImportError:
        return asyncio.run
    return uvloop.run
