"""RuntimeClass: there are none here, so a pod that names one, or the overhead of one, is refused."""

from jobferry.localkube.apiserver.admission.plugin import Plugin
from jobferry.localkube.apiserver.admission.request import Request, forbidden
from jobferry.objects.gotext import quote


def plugin() -> Plugin:
    """Return the plugin."""
    return Plugin(
        name="RuntimeClass",
        handles=lambda topic: topic.creates("", "pods"),
        admit=_admit,
        validate=_validate,
    )


async def _admit(request: Request) -> None:
    name = ((request.obj or {}).get("spec") or {}).get("runtimeClassName")
    if name is not None:
        raise forbidden(request, f"pod rejected: RuntimeClass {quote(name)} not found")


async def _validate(request: Request) -> None:
    if ((request.obj or {}).get("spec") or {}).get("overhead"):
        why = "Pod Overhead set without corresponding RuntimeClass defined Overhead"
        raise forbidden(request, f"pod rejected: {why}")
