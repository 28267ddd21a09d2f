"""What the pods of a Job printed."""

from collections.abc import AsyncIterator

from jobferry.kube import calls
from jobferry.kube.calls import Scope
from jobferry.kube.client import Client
from jobferry.kube.resources import PODS


async def lines(client: Client, job: str, namespace: str = "default") -> AsyncIterator[str]:
    """Read the logs of a Job's pods, each line after the name of its pod."""
    scope = Scope(
        resource=PODS, namespace=namespace, labels=f"batch.kubernetes.io/job-name={job}"
    )
    for pod in (await client.list(scope)).items:
        name = pod["metadata"]["name"]
        answer = await client.send(calls.logs(PODS, name, namespace))
        for line in answer.body.decode(errors="replace").splitlines():
            yield f"{name}  {line}"
