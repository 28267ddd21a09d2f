"""The demo itself: Jobs go to the hub, run elsewhere, and one of them loses its worker."""

from collections.abc import Callable
from contextlib import AsyncExitStack

from jobferry.cli import pod_logs, sights, story
from jobferry.cli.handful import HANDFUL, MOVED
from jobferry.cli.scene import Scene
from jobferry.cli.stages import Stage
from jobferry.cli.terminal import Show
from jobferry.clock import Seconds
from jobferry.kube.resources import JOBS
from jobferry.local.fleet import Fleet
from jobferry.local.layout import HUB

_ENOUGH = 3
"""So many parts of a Job must be done before its worker is killed: they are what is kept."""


async def play(stage: Stage, show: Show, time: Callable[[], Seconds]) -> None:
    """Play it to the end: that of all Jobs."""
    hub = stage.clients[HUB]
    names = [each["metadata"]["name"] for each in HANDFUL]
    async with AsyncExitStack() as stack:
        for client in stage.clients.values():
            await stack.enter_async_context(story.of_jobs(client, names, show.tell, time))
        await stack.enter_async_context(story.of_workers(hub, show.tell, time))
        await show.until(lambda scene: scene.has_its_workers)
        show.tell(sights.Ready(at=time()))
        delegated = sum("managedBy" in each["spec"] for each in HANDFUL)
        show.tell(sights.Creating(at=time(), delegated=delegated, total=len(HANDFUL)))
        for each in HANDFUL:
            await hub.create(JOBS, each, namespace="default")
        if stage.fleet is not None:
            await show.until(_is_under_way)
            await _kill(stage.fleet, show, time)
        await show.until(lambda scene: scene.all_ended)


async def log(stage: Stage, scene: Scene) -> list[str]:
    """Read what the Job printed that was moved, as far as its worker can be asked."""
    client = stage.clients[scene.jobs[MOVED].place]
    return [line async for line in pod_logs.lines(client, MOVED)]


def _is_under_way(scene: Scene) -> bool:
    job = scene.jobs.get(MOVED)
    return job is not None and (job.done >= _ENOUGH or bool(job.end))


async def _kill(fleet: Fleet, show: Show, time: Callable[[], Seconds]) -> None:
    """Kill the worker of the Job, unless that was faster."""
    job = show.scene.jobs[MOVED]
    if not job.end:
        cluster = fleet.clusters[job.place]
        show.tell(sights.Killed(at=time(), name=job.place, pid=cluster.pid))
        await cluster.kill()
