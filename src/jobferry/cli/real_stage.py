"""The demo on real control planes, whose pods are only played."""

import tempfile
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from pathlib import Path

from jobferry.cli.handful import BROKEN, WORKERS
from jobferry.cli.stages import SETTINGS, Stage
from jobferry.clock import Clock
from jobferry.errors import BadInput
from jobferry.kube.client import connect
from jobferry.local import contexts, fleet
from jobferry.local.layout import HUB
from jobferry.objects import Obj
from jobferry.runtime import supervise
from jobferry.testing import assets
from jobferry.testing.control_plane import JOB_CONTROLLERS, ControlPlane, all_running
from jobferry.testing.fake_kubelet import fake_kubelet
from jobferry.testing.pods import Run

_JOB_NAME = "batch.kubernetes.io/job-name"


@asynccontextmanager
async def real(clock: Clock) -> AsyncIterator[Stage]:
    """Play on real control planes; a fake kubelet says that pods have run."""
    if assets.missing(assets.CURRENT):
        raise BadInput(
            f"Kubernetes {assets.CURRENT} is not on this machine",
            hint=f"`{assets.command_for(assets.CURRENT)}` builds it, with Go; without --real Python is enough.",
        )
    planes = {name: ControlPlane(controllers=JOB_CONTROLLERS) for name in (HUB, *WORKERS)}
    async with AsyncExitStack() as stack:
        await stack.enter_async_context(all_running(planes.values()))
        clients = {}
        for name, plane in planes.items():
            client = connect(plane.access(), name=name, clock=clock)
            clients[name] = await stack.enter_async_context(client)
            await stack.enter_async_context(fake_kubelet(client, bind=True, play=_played))
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="jobferry-demo-"))
        config = Path(folder) / "kubeconfig"
        contexts.write(config, {name: plane.kubeconfig() for name, plane in planes.items()})
        tasks = await stack.enter_async_context(supervise.tasks("demo", clock=clock))
        tasks.start("dispatcher", partial(fleet.dispatch, SETTINGS, config, WORKERS))
        yield Stage(clients)


def _played(pod: Obj) -> Run:
    return Run(1.0, int(pod["metadata"]["labels"].get(_JOB_NAME) == BROKEN))
