"""What tests of controllers make and wait for."""

from collections.abc import Callable
from contextlib import aclosing
from typing import Any

import msgspec

from jobferry.kube import watch
from jobferry.kube.calls import Scope
from jobferry.kube.client import Client
from jobferry.kube.resources import CONFIG_MAPS, EVENTS, PODS
from jobferry.objects import Obj, conditions, owners
from jobferry.objects.resource import Resource

ACCOUNTS = Resource("", "v1", "serviceaccounts", "ServiceAccount")
POD: Obj = {"restartPolicy": "Never", "containers": [{"name": "main", "image": "busybox"}]}


def is_there(_obj: Obj) -> bool:
    return True


async def make(
    client: Client, place: str, name: str, *of: Obj, blocks: bool = True, **meta: Any
) -> Obj:
    references = [
        owners.owner_reference(each, controller=False, blocks_deletion=blocks) for each in of
    ]
    meta = {"name": name, "namespace": place, "ownerReferences": references, **meta}
    return await client.create(CONFIG_MAPS, {"metadata": meta})


async def make_pod(
    client: Client, place: str, name: str, machine: str, cpu: str = "1", **spec: Any
) -> None:
    container = {**POD["containers"][0], "resources": {"requests": {"cpu": cpu}}}
    body = {**POD, "containers": [container], "nodeSelector": {"only": machine}, **spec}
    await client.create(PODS, {"metadata": {"name": name, "namespace": place}, "spec": body})


def has(type: str, status: str = "True") -> Callable[[Obj], bool]:
    def holds(obj: Obj) -> bool:
        found = conditions.find(obj.get("status", {}).get("conditions"), type)
        return found is not None and found["status"] == status

    return holds


async def names(client: Client, place: str, resource: Resource = CONFIG_MAPS) -> set[str]:
    found = (await client.list(Scope(resource=resource, namespace=place))).items
    return {each["metadata"]["name"] for each in found} - {"kube-root-ca.crt"}


async def until_told(client: Client, place: str, about: str, reason: str) -> str:
    """Wait for an Event; return what it says."""
    fields = f"involvedObject.name={about},reason={reason}"
    scope = Scope(resource=EVENTS, namespace=place, fields=fields)
    watching = watch.batches(client, scope, "0", watch.Watching())
    async with aclosing(watching) as batches:
        async for batch in batches:
            for event in batch:
                if event.type == "ADDED":
                    return str(msgspec.json.decode(event.object)["message"])
    raise AssertionError("the watch ended before that was told")


def is_deleted(obj: Obj) -> bool:
    """Tell whether somebody has deleted an object."""
    return "deletionTimestamp" in obj["metadata"]
