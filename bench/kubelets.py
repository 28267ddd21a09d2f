"""The kubelets of the workers, in a process of their own (started by bench.fleet)."""

import asyncio
import sys
from contextlib import AsyncExitStack
from pathlib import Path

from bench.command import new_event_loop
from bench.processes import READY
from jobferry.clock import SystemClock
from jobferry.kube import kubeconfig
from jobferry.kube.client import connect
from jobferry.testing.fake_kubelet import fake_kubelet


async def run(kubeconfigs: list[str]) -> None:
    """Run the pods of every cluster, until killed."""
    clock = SystemClock()
    async with AsyncExitStack() as stack:
        for file in kubeconfigs:
            access = kubeconfig.from_file(Path(file)).access(clock=clock)
            client = await stack.enter_async_context(connect(access, name=file, clock=clock))
            await stack.enter_async_context(fake_kubelet(client, bind=True))
        print(READY, end="", flush=True)
        await asyncio.Event().wait()


if __name__ == "__main__":
    with asyncio.Runner(loop_factory=new_event_loop) as runner:
        runner.run(run(sys.argv[1:]))
