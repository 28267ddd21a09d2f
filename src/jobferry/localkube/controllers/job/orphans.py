"""Lets go of pods that no Job will account for any more."""

from jobferry.kube.informer import Informer
from jobferry.kube.items import Item, Key
from jobferry.kube.resources import JOBS
from jobferry.localkube.controllers import heads
from jobferry.localkube.controllers.heads import Owner, Pod
from jobferry.localkube.controllers.job.hands import Hands
from jobferry.localkube.controllers.job.reconciler import Service
from jobferry.runtime.reconcile import DONE, Outcome


class Orphans:
    """Looks after pods that something of ours keeps though their Job is gone, or has ended."""

    def __init__(
        self,
        jobs: Informer[heads.Job],
        pods: Informer[Pod],
        hands: Hands,
        service: Service,
    ) -> None:
        self._jobs = jobs
        self._pods = pods
        self._hands = hands
        self._service = service

    def may_be_orphan(self, pod: Pod) -> bool:
        """Tell whether a pod is worth a closer look."""
        owner = pod.metadata.controller
        if owner is None:
            return True
        if not pod.metadata.is_deleted:
            return False
        job = self._job(pod, owner)
        return job is None or job.head.is_finished

    async def reconcile(self, key: Key) -> Outcome:
        """Let go of a pod, if it is an orphan."""
        item = self._pods.get(key)
        if item is not None and self._is_orphan(item.head):
            _, trouble = await self._hands.let_go([item.head])
            if trouble is not None:
                raise trouble
        return DONE

    def _is_orphan(self, pod: Pod) -> bool:
        if self._service.finalizer not in pod.metadata.finalizers:
            return False
        owner = pod.metadata.controller
        if owner is None:
            return True
        if (owner.api_version, owner.kind) != (JOBS.api_version, JOBS.kind):
            return False
        job = self._job(pod, owner)
        return job is None or (self._service.is_ours(job.head) and job.head.is_finished)

    def _job(self, pod: Pod, owner: Owner) -> Item[heads.Job] | None:
        job = self._jobs.get(Key(pod.metadata.namespace, owner.name))
        return job if job is not None and job.uid == owner.uid else None
