"""The Job controller by itself, beside the one that a cluster has, for the Jobs that name it."""

import socket

from jobferry.kube.client import Client
from jobferry.kube.events import Recorder
from jobferry.localkube.controllers.informers import Informers
from jobferry.localkube.controllers.job.controller import controller
from jobferry.runtime import supervise


async def run(client: Client, name: str) -> None:
    """Run the Jobs of a cluster whose managedBy is `name`, until cancelled."""
    recorder = Recorder(client, component="job-controller", instance=socket.gethostname())
    informers = Informers(client)
    jobs = controller(
        client,
        informers,
        recorder.record,
        names=frozenset({name}),
        finalizer=finalizer(name),
    )
    async with supervise.tasks("job controller", clock=client.clock) as tasks:
        await informers.start(tasks)
        tasks.start("events", recorder.run)
        tasks.start("jobs", jobs.run)
        await tasks.ended()


def finalizer(name: str) -> str:
    """Return what keeps the pods of the controller of that name until they are accounted for.

    A cluster's own controller drops its own finalizer wherever it finds it without a Job, so ours is another.
    """
    return f"{name.partition('/')[0]}/job-tracking"
