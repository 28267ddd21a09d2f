"""A runner as a whole: what is built from what, and in which order it starts and ends."""

from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass

from jobferry.kube.client import Client
from jobferry.kube.events import Recorder, Subject
from jobferry.kube.items import Key
from jobferry.kube.resources import PODS
from jobferry.localkube.apiserver.nodes import Nodes
from jobferry.localkube.runner import node, processes
from jobferry.localkube.runner.connector import Connector
from jobferry.localkube.runner.hooks import Hooks
from jobferry.localkube.runner.hosting import Hosting
from jobferry.localkube.runner.kubelet import Kubelet
from jobferry.localkube.runner.probing import Prober
from jobferry.localkube.runner.settings import Settings
from jobferry.localkube.runner.sources import Sources
from jobferry.objects import Obj
from jobferry.runtime import supervise


@dataclass(frozen=True, slots=True)
class Runner:
    """A node that runs pods."""

    name: str
    kubelet: Kubelet


@asynccontextmanager
async def running(
    client: Client, settings: Settings, nodes: Nodes | None = None
) -> AsyncIterator[Runner]:
    """Run the pods of a node during the block; their processes outlive it.

    With `nodes`, those of the API server in this process, their logs can be read, and commands run in them.
    """
    clock = client.clock
    room = {**node.capacity(), **settings.capacity}
    recorder = Recorder(client, component="kubelet", instance=settings.node)
    async with AsyncExitStack() as stack:
        started = await stack.enter_async_context(processes.running(settings, clock))
        connector = Connector(started, clock)
        tasks = await stack.enter_async_context(
            supervise.tasks(f"runner {settings.node}", clock=clock)
        )
        prober = Prober(started, connector, clock, tasks)
        hooks = Hooks(started, connector, clock, tasks)
        sources = Sources(client, settings.authority)
        hosting = Hosting(
            settings, started, sources, room, _teller(recorder), prober.look_after, hooks
        )
        kubelet = Kubelet(client, {settings.node}, hosting, recorder)
        await node.register(client, settings.node, room)
        tasks.start("lease", lambda: node.keep_alive(client, settings.node, room))
        tasks.start("events", recorder.run)
        tasks.start("tokens", hosting.renew_tokens)
        tasks.start("informer", kubelet.informer.run)
        await kubelet.informer.synced.wait()
        kubelet.begin()
        tasks.start("loop", kubelet.loop.run)
        if nodes is not None:
            stack.enter_context(nodes.connected(settings.node, connector))
        yield Runner(settings.node, kubelet)


def _teller(recorder: Recorder) -> Callable[[Obj, str], None]:
    def tell(pod: Obj, message: str) -> None:
        meta = pod["metadata"]
        subject = Subject(PODS, Key(meta["namespace"], meta["name"]), meta["uid"])
        recorder.record(subject, "Warning", "LimitsNotEnforced", message)

    return tell
