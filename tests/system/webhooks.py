"""The webhooks of operators: configurations as their projects ship them, which lead to a program on this machine."""

import asyncio
import json
from base64 import b64encode
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from jobferry.clock import sleep
from jobferry.kube import errors
from jobferry.kube.client import Client
from jobferry.objects import Obj
from jobferry.objects.resource import Resource
from jobferry.testing import assets
from jobferry.testing.control_plane import ControlPlane
from jobferry.testing.programs import ADDRESS

_GROUP = "admissionregistration.k8s.io"
CONFIGURATIONS = {
    each: Resource(_GROUP, "v1", f"{each.lower()}s", each, namespaced=False)
    for each in ("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration")
}

HOME = "default"
"""The namespace that operators take for their own."""

REFUSED = "denied the request"
"""What an API server says of what a webhook refuses."""

READY_WITHIN = 60.0
PAUSE = 0.1

Leads = Callable[[Obj, ControlPlane, int], Obj]
"""Returns how an API server reaches a webhook, given how it would in a cluster that runs pods, and a port."""


@dataclass(frozen=True)
class Sign:
    """An object of which an API server says something, in its answer or refusal, only once it asks a webhook."""

    resource: Resource
    obj: Obj
    says: str


def by_service(client: Obj, _: ControlPlane, port: int) -> Obj:
    """Lead to a webhook that insists on a Service and sees to the certificate itself."""
    return {"service": {**client["service"], "namespace": HOME, "port": port}}


def by_url(client: Obj, plane: ControlPlane, port: int) -> Obj:
    """Lead to a webhook that has the certificate of the control plane itself."""
    authority = (plane.folder / "ca.crt").read_bytes()
    return {
        "url": f"https://{ADDRESS}:{port}{client['service']['path']}",
        "caBundle": b64encode(authority).decode(),
    }


class Webhooks:
    """What an API server is told of the webhooks of a project, and how it shows that it has heard."""

    def __init__(self, *signs: Sign, leads: Leads = by_url) -> None:
        self.signs = signs
        self.leads = leads


async def install(
    client: Client, plane: ControlPlane, project: str, hooks: Webhooks, port: int
) -> None:
    """Tell an API server of webhooks, and wait until it asks them."""
    for resource, obj in _configurations(project):
        for each in obj["webhooks"]:
            each["clientConfig"] = hooks.leads(each["clientConfig"], plane, port)
        await client.create(resource, obj)
    async with asyncio.timeout(READY_WITHIN):
        for sign in hooks.signs:
            while sign.says not in await _answer(client, sign):
                await sleep(client.clock, PAUSE)


async def remove(client: Client, project: str) -> None:
    """Have an API server forget webhooks, those of them that it knows."""
    for resource, obj in _configurations(project):
        try:
            await client.delete(resource, obj["metadata"]["name"])
        except errors.NotFound:
            continue


def _configurations(project: str) -> Iterator[tuple[Resource, Obj]]:
    for obj in assets.webhooks(project):
        name = obj["metadata"]["name"]
        if "." not in name:  # many projects have that name, and put theirs before it
            obj["metadata"]["name"] = f"{project}-{name}"
        yield CONFIGURATIONS[obj["kind"]], obj


async def _answer(client: Client, sign: Sign) -> str:
    """Return what an API server would say if it were given an object."""
    try:
        made: Any = await client.create(sign.resource, sign.obj, namespace=HOME, dry_run=True)
    except errors.ApiError as error:
        return str(error)
    return json.dumps(made)
