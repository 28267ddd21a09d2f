"""A cluster with a runner in a process of its own, for tests that kill it: victim.py FOLDER KEYS."""

import asyncio
import sys
from pathlib import Path

from jobferry.clock import SystemClock
from jobferry.kube.client import Client
from jobferry.kube.in_process import InProcessTransport
from jobferry.localkube.apiserver import server
from jobferry.localkube.apiserver.nodes import Nodes
from jobferry.localkube.apiserver.serving.app import IN_PROCESS
from jobferry.localkube.in_process import ADMIN
from jobferry.localkube.runner.running import running
from jobferry.localkube.runner.settings import Settings
from jobferry.runtime.termination import until_told


async def main(folder: Path, keys: Path) -> None:
    """Serve until killed; says so in a line once it is ready."""
    clock, nodes = SystemClock(), Nodes()
    plugins = frozenset({"ServiceAccount"})
    at = server.Settings(folder=folder / "api", keys=keys, without_plugins=plugins)
    async with server.serve(at, clock, nodes) as served:
        transport = InProcessTransport(served.app, clock, {IN_PROCESS: ADMIN})
        async with Client(transport, name="victim", clock=clock) as client:
            settings = Settings(node="here", folder=folder / "node", port=served.port)
            async with running(client, settings, nodes):
                path = folder / "kubeconfig"
                path.write_text(served.admin_kubeconfig())
                sys.stdout.write(f"{path}\n")
                sys.stdout.flush()
                await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(until_told(main(*map(Path, sys.argv[1:]))))
