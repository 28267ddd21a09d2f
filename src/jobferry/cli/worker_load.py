"""How much unfinished work a Worker has, of which kinds."""

import os
from collections import Counter
from collections.abc import Iterable, Mapping

from jobferry import settings
from jobferry.cli.hub import Hub
from jobferry.cli.job_facts import plural
from jobferry.cli.workload_facts import Workload
from jobferry.core.placement_object import RESOURCE as PLACEMENTS
from jobferry.dispatch import switches
from jobferry.kinds.adapter import Adapter
from jobferry.kube import errors
from jobferry.kube.calls import Scope
from jobferry.objects import Obj
from jobferry.objects.resource import Resource

Load = Mapping[str, int]
"""How many workloads there are, by kind."""

ANY = "workload"
"""In place of a kind, where they cannot be told."""


async def read(hub: Hub, worker: Obj) -> Load:
    """Count the unfinished work of a Worker, as it is; as it was some seconds ago, by its own count, for who may not see it."""
    name = str(worker["metadata"]["name"])
    try:
        records = await _all(hub, PLACEMENTS)
        kinds = placed_kinds(records, name, switches.known(settings.load(environ=os.environ)))
        found = [
            seen
            for kind in kinds
            for seen in _workloads(kind, await _all(hub, kind.resource), records)
        ]
    except (errors.Forbidden, errors.NotFound, LookupError):
        return {ANY: int((worker.get("status") or {}).get("active") or 0)}
    return count(found, name)


def placed_kinds(
    records: Iterable[Obj], worker: str, known: Mapping[str, Adapter]
) -> list[Adapter]:
    """Return Jobs, and the kinds of which something was placed on a worker; raises `LookupError` if one is not known."""
    job, *others = known.values()
    by_kind = {(each.resource.api_version, each.resource.kind): each for each in others}
    named = dict.fromkeys(
        (str(of["apiVersion"]), str(of["kind"]))
        for each in records
        if any(shard["worker"] == worker for shard in each["spec"]["shards"])
        for of in (each["spec"]["workload"],)
    )
    is_job = (job.resource.api_version, job.resource.kind)
    return [job, *(by_kind[each] for each in named if each != is_job)]


def count(workloads: Iterable[Workload], worker: str) -> Load:
    """Count those that are placed on a worker and have not ended, by kind."""
    return Counter(each.kind.resource.kind for each in workloads if worker in each.places)


def text(load: Load) -> str:
    """Say how much there is, as in 3 Jobs and 1 JobSet; empty if there is nothing."""
    *most, last = [plural(number, kind) for kind, number in load.items() if number] or [""]
    return f"{', '.join(most)} and {last}" if most else last


def _workloads(kind: Adapter, found: Iterable[Obj], records: Iterable[Obj]) -> list[Workload]:
    by_uid = {each["metadata"]["name"]: each for each in records}
    return [Workload(kind, each, by_uid.get(each["metadata"]["uid"])) for each in found]


async def _all(hub: Hub, resource: Resource) -> list[Obj]:
    return list((await hub.client.list(Scope(resource=resource))).items)
