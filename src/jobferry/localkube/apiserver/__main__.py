"""Runs an API server by itself: `python -m jobferry.localkube.apiserver --folder DIR`."""

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


def main() -> int:
    """Serve until a signal ends it."""
    arguments = _arguments()
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
    gc.collect()
    gc.freeze()
    gc.set_threshold(100_000, 20, 50)


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


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m jobferry.localkube.apiserver",
        description="A Kubernetes API server in one process, for this machine only. Its kubeconfig is "
        "DIR/kubeconfig.",
    )
    parser.add_argument(
        "--folder", type=Path, required=True, help="where its state and keys are"
    )
    parser.add_argument("--keys", type=Path, help="a folder of keys to use as they are")
    parser.add_argument("--in-memory", action="store_true", help="keep no state on disk")
    parser.add_argument(
        "--durability",
        choices=("full", "normal"),
        default="full",
        help="what a crash of the machine may cost: nothing, or the newest writes",
    )
    parser.add_argument("--port", type=int, default=0, help="default: any that is free")
    parser.add_argument("--audit-log", type=Path, help="a file for one JSON line per request")
    parser.add_argument(
        "--disable-admission-plugins",
        default="",
        metavar="NAMES",
        help="parts of admission to leave out, with commas",
    )
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
