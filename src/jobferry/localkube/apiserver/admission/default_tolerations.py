"""DefaultTolerationSeconds: pods stay for five minutes on a node that fails."""

from jobferry.localkube.apiserver.admission.plugin import Plugin
from jobferry.localkube.apiserver.admission.request import Request
from jobferry.objects import Obj

SECONDS = 300

_TAINTS = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")


def plugin() -> Plugin:
    """Return the plugin."""
    return Plugin(
        name="DefaultTolerationSeconds",
        handles=lambda topic: topic.writes("", "pods"),
        admit=_admit,
    )


async def _admit(request: Request) -> None:
    spec = (request.obj or {}).setdefault("spec", {})
    tolerations = spec.get("tolerations") or []
    added = [_toleration(key) for key in _TAINTS if not _tolerated(key, tolerations)]
    if added:
        spec["tolerations"] = [*tolerations, *added]


def _tolerated(key: str, tolerations: list[Obj]) -> bool:
    return any(
        toleration.get("key", "") in (key, "")
        and toleration.get("effect", "") in ("NoExecute", "")
        for toleration in tolerations
    )


def _toleration(key: str) -> Obj:
    return {
        "key": key,
        "operator": "Exists",
        "effect": "NoExecute",
        "tolerationSeconds": SECONDS,
    }
