"""TaintNodesByCondition: a new node takes no pods until it was seen to be ready."""

from jobferry.localkube.apiserver.admission.plugin import Plugin
from jobferry.localkube.apiserver.admission.request import Request

_NOT_READY = ("node.kubernetes.io/not-ready", "NoSchedule")


def plugin() -> Plugin:
    """Return the plugin."""
    return Plugin(
        name="TaintNodesByCondition",
        handles=lambda topic: topic.creates("", "nodes"),
        admit=_admit,
    )


async def _admit(request: Request) -> None:
    spec = (request.obj or {}).setdefault("spec", {})
    taints = spec.get("taints") or []
    if all((taint.get("key"), taint.get("effect")) != _NOT_READY for taint in taints):
        key, effect = _NOT_READY
        spec["taints"] = [*taints, {"key": key, "effect": effect}]
