"""The process of an API server that runs by itself."""

import argparse
import asyncio
import gc
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from jobferry import log
from jobferry.clock import SystemClock
from jobferry.errors import Error
from jobferry.localkube.apiserver.server import Server, Settings, serve


def run(arguments: argparse.Namespace) -> int:
    """Serve until a signal ends it."""
    log.configure(stream=sys.stderr, level="WARNING")
    settings = Settings(
        folder=arguments.folder,
        keys=arguments.keys,
        in_memory=arguments.in_memory,
        durability=arguments.durability,
        port=arguments.port,
        audit_log=arguments.audit_log,
        without_plugins=frozenset(filter(None, arguments.disable_admission_plugins.split(","))),
    )
    try:
        _runner()(_serve(settings))
    except Error as error:
        hint = f"\n{error.hint}" if error.hint else ""
        print(f"error: {error}{hint}", file=sys.stderr)  # noqa: T201 (to the person who ran us)
        return 1
    return 0


async def _serve(settings: Settings) -> None:
    end = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, end.set)
    async with serve(settings, SystemClock()) as server:
        _relax_collector()
        # For tests: what was compacted cannot be watched any more.
        loop.add_signal_handler(signal.SIGUSR1, _compact, server)
        if settings.keys is None:
            path = _leave_kubeconfig(settings.folder, server)
            print(f"{server.url} is ready: export KUBECONFIG={path}", flush=True)  # noqa: T201
        await end.wait()


def _relax_collector() -> None:
    """Look for garbage in cycles seldom: objects from JSON have none, and looking costs most of reading them."""
    gc.freeze()
    gc.set_threshold(100_000, 20, 50)
    gc.enable()


def _compact(server: Server) -> None:
    storage = server.backend.storage
    storage.compact(through=storage.revision)


def _leave_kubeconfig(folder: Path, server: Server) -> Path:
    path = folder / "kubeconfig"
    path.touch(mode=0o600)
    path.write_text(server.admin_kubeconfig())
    return path


def _runner() -> Callable[[Any], None]:
    try:
        import uvloop  # noqa: PLC0415 (it is not for every platform)
    except ImportError:
        return asyncio.run
    return uvloop.run
