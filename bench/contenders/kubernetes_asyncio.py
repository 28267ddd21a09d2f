"""kubernetes_asyncio: its list and its watch into a dict of its typed objects, as its examples have it."""

from pathlib import Path

from kubernetes_asyncio import config
from kubernetes_asyncio.client import ApiClient, BatchV1Api, V1Job
from kubernetes_asyncio.watch import Watch

from bench.jobs import NAMESPACE
from jobferry.kube.calls import PatchKind
from jobferry.objects import Obj


class KubernetesAsyncio:
    """Its client, and the dict."""

    def __init__(self, client: ApiClient) -> None:
        self._client = client
        self._batch = BatchV1Api(client)
        self._jobs: dict[tuple[str, str], V1Job] = {}
        self._version = ""

    async def fill(self) -> None:
        jobs = await self._batch.list_namespaced_job(NAMESPACE)
        for job in jobs.items:
            self._jobs[job.metadata.namespace, job.metadata.name] = job
        self._version = jobs.metadata.resource_version

    async def pause(self) -> None:
        """It watches only while it is told to."""

    async def follow(self, updates: int) -> None:
        async with Watch().stream(
            self._batch.list_namespaced_job, NAMESPACE, resource_version=self._version
        ) as events:
            async for event in events:
                job = event["object"]
                self._jobs[job.metadata.namespace, job.metadata.name] = job
                updates -= 1
                if not updates:
                    return

    def active(self) -> list[int]:
        return [job.status.active or 0 for job in self._jobs.values()]

    async def patch_status(self, name: str, body: Obj) -> None:
        await self._batch.patch_namespaced_job_status(
            name, NAMESPACE, body, _content_type=PatchKind.MERGE
        )

    async def close(self) -> None:
        await self._client.close()


async def open_(file: Path) -> KubernetesAsyncio:
    return KubernetesAsyncio(await config.new_client_from_config(str(file)))
