"""lightkube: its list and its watch into a dict of its typed objects, as its documentation has it."""

from pathlib import Path

from lightkube import AsyncClient, KubeConfig
from lightkube.resources.batch_v1 import Job, JobStatus
from lightkube.types import PatchType

from bench.jobs import NAMESPACE
from jobferry.kube.calls import PAGE
from jobferry.objects import Obj


class Lightkube:
    """Its client, and the dict."""

    def __init__(self, client: AsyncClient) -> None:
        self._client = client
        self._jobs: dict[tuple[str, str], Job] = {}
        self._version = ""

    async def fill(self) -> None:
        jobs = self._client.list(Job, namespace=NAMESPACE, chunk_size=PAGE)
        async for job in jobs:
            self._jobs[job.metadata.namespace, job.metadata.name] = job
        self._version = jobs.resourceVersion

    async def pause(self) -> None:
        """It watches only while it is told to."""

    async def follow(self, updates: int) -> None:
        watch = self._client.watch(Job, namespace=NAMESPACE, resource_version=self._version)
        async for _, job in watch:
            self._jobs[job.metadata.namespace, job.metadata.name] = job
            updates -= 1
            if not updates:
                return

    def active(self) -> list[int]:
        return [job.status.active or 0 for job in self._jobs.values()]

    async def patch_status(self, name: str, body: Obj) -> None:
        await self._client.patch(
            JobStatus, name, body, namespace=NAMESPACE, patch_type=PatchType.MERGE
        )

    async def close(self) -> None:
        await self._client.close()


async def open_(file: Path) -> Lightkube:
    return Lightkube(AsyncClient(KubeConfig.from_file(file)))
