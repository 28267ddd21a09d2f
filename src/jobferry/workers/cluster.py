"""Finds out which cluster it is that answers, and what it can do."""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from jobferry.errors import Error
from jobferry.kube import errors
from jobferry.kube.client import Client
from jobferry.kube.resources import NAMESPACES
from jobferry.objects import Obj
from jobferry.objects.resource import Resource

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

    def serves(self, kind: Resource) -> bool:
        """Tell whether it serves a kind; of those that every Kubernetes has we do not doubt it."""
        return "." not in kind.group or name(kind) in self.kinds

    @property
    def counts_late(self) -> bool:
        """Whether its Job controller suspends a Job before it counts the pods that it stops for that."""
        found = re.match(r"v(\d+)\.(\d+)", self.version)
        return found is None or (int(found[1]), int(found[2])) < COUNTS_AT_ONCE


UNKNOWN = Cluster()


class Moved(Error):
    """Who answers is another cluster than before, or a kubeconfig is good, but for another server."""


async def introduce(client: Client, kinds: Iterable[Resource]) -> Cluster:
    """Ask a cluster who it is, and which of these kinds it serves."""
    try:
        uid = await _uid(client)
        version = await client.raw("/version")
        return Cluster(
            uid,
            str(version["gitVersion"]),
            tuple(map(name, await served(client, kinds))),
        )
    except (KeyError, TypeError) as error:
        raise _nonsense(client) from error


async def recognise(client: Client, known: Cluster) -> None:
    """Ask a cluster for a sign of life; raises `Moved` if it is that of another one.

    Nothing else may tell: a watch of the one that was there can hang for a minute, and the next is not asked for before.
    """
    try:
        uid = await _uid(client)
    except (KeyError, TypeError) as error:
        raise _nonsense(client) from error
    if uid != known.uid:
        raise Moved(f"{client.name}: it is cluster {uid} now, and was {known.uid}")


async def _uid(client: Client) -> str:
    return str((await client.get(NAMESPACES, "kube-system"))["metadata"]["uid"])


def _nonsense(client: Client) -> errors.ServerFailure:
    what = f"{client.name}: it does not answer as a Kubernetes API server does"
    return errors.ServerFailure(what)


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


def kind_of(named: str) -> str:
    """Return the name of a kind without its version, as adapters are named: Pod of Pod.v1, Job.batch of Job.batch/v1."""
    kind, slash, _ = named.rpartition("/")
    return kind if slash else named.rpartition(".")[0]


async def served(client: Client, kinds: Iterable[Resource]) -> list[Resource]:
    """Return those of the kinds that a cluster serves, in the very versions."""
    wanted = list(kinds)
    versions = {each.api_version: each for each in wanted}
    if len(versions) > 1:
        there = await _versions(client)
        versions = {name: each for name, each in versions.items() if name in there}
    found = {name: await _plurals(client, each) for name, each in versions.items()}
    return [
        each
        for each in wanted
        if (each.plural, each.namespaced) in found.get(each.api_version, ())
    ]


async def _versions(client: Client) -> frozenset[str]:
    """Return all groups and versions that are served."""
    groups = (await client.raw("/apis"))["groups"]
    named = (version["groupVersion"] for group in groups for version in group["versions"])
    return frozenset(("v1", *named))


async def _plurals(client: Client, kind: Resource) -> frozenset[tuple[str, bool]]:
    """Return what is served in the group and version of a kind, and whether it is in namespaces."""
    root = f"/apis/{kind.api_version}" if kind.group else f"/api/{kind.version}"
    try:
        group = await client.raw(root)
    except (errors.NotFound, errors.Forbidden):
        return frozenset()
    return frozenset(
        (each["name"], bool(each.get("namespaced", True))) for each in group["resources"]
    )
