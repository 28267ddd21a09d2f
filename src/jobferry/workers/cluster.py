"""Finds out which cluster it is that answers, and what it can do."""

import re
from dataclasses import dataclass

from jobferry.kube import errors
from jobferry.kube.client import Client
from jobferry.kube.resources import JOBS, NAMESPACES
from jobferry.objects import Obj
from jobferry.objects.resource import Resource

KINDS = (JOBS,)
"""The kinds of workloads that we know to run elsewhere."""

COUNTS_AT_ONCE = (1, 32)
"""From here on the status that says Suspended also counts the pods that are still terminating."""


@dataclass(frozen=True, slots=True)
class Cluster:
    """Which cluster it is: a name or an address is no identity."""

    uid: str = ""
    """Of its namespace kube-system; empty: never reached."""

    version: str = ""
    kinds: tuple[str, ...] = ()
    """Those of ours that it serves, as in Job.batch/v1."""

    @property
    def counts_late(self) -> bool:
        """Whether its Job controller suspends a Job before it counts the pods that it stops for that."""
        found = re.match(r"v(\d+)\.(\d+)", self.version)
        return found is None or (int(found[1]), int(found[2])) < COUNTS_AT_ONCE


UNKNOWN = Cluster()


async def introduce(client: Client) -> Cluster:
    """Ask a cluster who it is."""
    try:
        kube_system = await client.get(NAMESPACES, "kube-system")
        version = await client.raw("/version")
        kinds = [name(each) for each in KINDS if await _serves(client, each)]
        return Cluster(
            str(kube_system["metadata"]["uid"]), str(version["gitVersion"]), tuple(kinds)
        )
    except (KeyError, TypeError) as error:
        raise errors.ServerFailure(
            f"{client.name}: it does not answer as a Kubernetes API server does"
        ) from error


def recall(status: Obj) -> Cluster:
    """Read from the status of a Worker which cluster it was."""
    return Cluster(
        status.get("clusterUID") or "",
        status.get("serverVersion") or "",
        tuple(status.get("kinds") or ()),
    )


def name(kind: Resource) -> str:
    """Name a kind as people do."""
    return f"{kind.kind}.{kind.api_version}"


async def _serves(client: Client, kind: Resource) -> bool:
    try:
        group = await client.raw(f"/apis/{kind.api_version}")
    except (errors.NotFound, errors.Forbidden):
        return False
    return any(each["name"] == kind.plural for each in group["resources"])
