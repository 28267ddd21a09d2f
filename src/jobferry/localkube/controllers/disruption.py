"""Says on a pod that it does not end by its own doing, before it is deleted."""

from typing import NamedTuple

from jobferry.kube.calls import PatchKind
from jobferry.kube.client import Client
from jobferry.kube.informer import Informer
from jobferry.kube.items import Item
from jobferry.kube.resources import PODS
from jobferry.localkube.controllers.heads import Pod
from jobferry.objects import Obj, conditions


class Target(NamedTuple):
    """Why a pod is taken away."""

    reason: str
    message: str


async def mark(
    client: Client,
    pods: Informer[Pod],
    pod: Item[Pod],
    target: Target | None,
    *,
    fails: bool = False,
) -> None:
    """Write why a pod is taken away; with `fails`, that it has failed, where nobody is left to say so."""
    if pod.head.is_finished:
        return
    status: Obj = {"phase": "Failed"} if fails else {}
    if target is not None:
        condition: Obj = {
            "type": "DisruptionTarget",
            "status": "True",
            "reason": target.reason,
            "message": target.message,
        }
        if generation := pod.head.metadata.generation:
            condition["observedGeneration"] = generation
        status["conditions"] = conditions.set([], condition, client.clock.now())
    if not status:
        return
    answer = await client.patch(
        PODS,
        pod.key.name,
        {"metadata": {"uid": pod.uid}, "status": status},
        namespace=pod.key.namespace,
        kind=PatchKind.STRATEGIC,
        subresource="status",
    )
    pods.absorb(answer)
