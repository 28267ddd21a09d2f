"""Admission webhooks, played where an API server would ask them."""

from collections.abc import Collection

from jobferry.core import marks
from jobferry.localkube.apiserver import status
from jobferry.localkube.apiserver.admission.plugin import Plugin
from jobferry.localkube.apiserver.admission.request import CREATE, Request, forbidden

REFUSE, BROKEN, DEFAULT, STRIP = "refuse", "broken", "default", "strip"


def plugin(moods: Collection[str]) -> Plugin:
    """Return webhooks for new Jobs that do what is in `moods` at the time."""

    async def admit(request: Request) -> None:
        if REFUSE in moods:
            raise forbidden(request, 'admission webhook "no.example.com" denied the request')
        if BROKEN in moods:
            raise status.internal('failed calling webhook "broken.example.com": EOF')
        if request.obj is not None:
            _alter(request.obj["metadata"], moods)

    return Plugin(
        name="Webhooks",
        handles=lambda topic: topic[:3] == ("batch", "jobs", "") and topic.operation == CREATE,
        admit=admit,
    )


def _alter(metadata: dict[str, dict[str, str]], moods: Collection[str]) -> None:
    if DEFAULT in moods:
        metadata.setdefault("labels", {})["example.com/team"] = "batch"
    if STRIP in moods:
        metadata.get("labels", {}).pop(marks.ATTEMPT, None)
