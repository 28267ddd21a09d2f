"""What must hold of a cluster before it can be a worker, and whether it does."""

import ipaddress
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import urlsplit

from jobferry.cli import rights, tables
from jobferry.cli.job_facts import is_delegated
from jobferry.cli.rights import Right
from jobferry.cli.tables import Column
from jobferry.dispatch import manifests
from jobferry.kube import errors
from jobferry.kube.client import Client
from jobferry.kube.resources import JOBS, NAMESPACES
from jobferry.objects import Obj
from jobferry.objects.resource import Resource
from jobferry.workers import cluster
from jobferry.workers.cluster import Cluster

OLDEST = (1, 29)

OK = "ok"
WARNING = "warning"
UNKNOWN = "unknown"
FAILED = "failed"

ROLE = "jobferry-worker"
NAMESPACE_ROLE = "jobferry-worker-namespaces"


@dataclass(frozen=True, slots=True)
class Finding:
    """What came of one check."""

    check: str
    verdict: str
    says: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Hub:
    """What is known of the hub when a worker is looked at."""

    uid: str
    """Empty if we may not know."""

    workers: Mapping[str, str]
    """Names of its other Workers by the UIDs of their clusters."""

    namespaces: frozenset[str]
    """Where Jobs for workers come from."""


def report(findings: Sequence[Finding]) -> str:
    """Return findings to be read."""
    columns = (Column("CHECK"), Column("RESULT"), Column("DETAIL"))
    return tables.text(columns, [(each.check, each.verdict, each.says) for each in findings])


def failures(findings: Sequence[Finding]) -> list[Finding]:
    """Return those checks that a cluster did not pass."""
    return [each for each in findings if each.verdict == FAILED]


# Each check, from what was found out


def version(found: Cluster) -> Finding:
    """Judge the version of a cluster."""
    parts = re.match(r"v(\d+)\.(\d+)", found.version)
    if parts is None:
        return Finding("version", WARNING, f"{found.version!r} is no version that we know")
    if (int(parts[1]), int(parts[2])) < OLDEST:
        oldest = ".".join(map(str, OLDEST))
        return Finding(
            "version", FAILED, f"{found.version} is older than {oldest}, the oldest we try"
        )
    return Finding("version", OK, found.version)


def kinds(found: Cluster) -> Finding:
    """Judge what a cluster serves."""
    wanted = cluster.name(JOBS)
    if wanted in found.kinds:
        return Finding("kinds", OK, f"it serves {', '.join(found.kinds)}")
    return Finding("kinds", FAILED, f"it does not serve {wanted}")


def out_of_sight(kinds: Sequence[Resource], missing: Sequence[Right]) -> list[Finding]:
    """Judge whether we may use the kinds besides Jobs that a cluster serves; nothing depends on it but they."""
    lacking = {(each.group, each.resource) for each in missing}
    hidden = [each.kind for each in kinds if (each.group, each.plural) in lacking]
    if not hidden:
        return []
    listed = ",".join(hidden)
    says = f"we may not use {listed} there: `jobferry manifests worker --kinds {listed}` has the rights"
    return [Finding("other kinds", WARNING, says)]


def left_out(kinds: Sequence[Resource]) -> list[Finding]:
    """Judge that a cluster serves kinds besides Jobs on which no rights were asked for."""
    if not kinds:
        return []
    listed = ",".join(each.kind for each in kinds)
    says = f"it gets no {listed}, though it serves that: with `--kinds {listed}` it would"
    return [Finding("other kinds", WARNING, says)]


def unserved(kinds: Sequence[Resource]) -> list[Finding]:
    """Judge that a cluster does not serve kinds on which rights were asked for, which may come later."""
    if not kinds:
        return []
    named, listed = ", ".join(map(cluster.name, kinds)), ",".join(each.kind for each in kinds)
    says = (
        f"no CRD there serves {named}: install it with its operator, now or later;"
        f" until then this worker gets no {listed}"
    )
    return [Finding("other kinds", WARNING, says)]


def references(wanted: Sequence[Resource], missing: Sequence[Right]) -> list[Finding]:
    """Judge whether we may look for what workloads refer to; nothing depends on it but that we tell what is missing."""
    lacking = {(each.group, each.resource) for each in missing}
    hidden = ",".join(each.kind for each in wanted if (each.group, each.plural) in lacking)
    if hidden:
        says = (
            f"whether it has the {hidden} that workloads refer to is not ours to see:"
            f" `jobferry manifests worker --references {hidden}` has the rights"
        )
        return [Finding("references", UNKNOWN, says)]
    return [Finding("references", OK, "we may look for what workloads refer to")] * bool(wanted)


def identity(found: Cluster, hub: Hub) -> Finding:
    """Judge whether a cluster is one that we have already."""
    if found.uid == hub.uid:
        return Finding("identity", FAILED, "it is the hub itself")
    if other := hub.workers.get(found.uid):
        return Finding("identity", FAILED, f"it is the same cluster as Worker {other}")
    return Finding("identity", OK, f"cluster {found.uid}, of which there is no other Worker")


def lacking(missing: Sequence[Right], check: str = "rights", whose: str = "we") -> Finding:
    """Judge what somebody may not do there."""
    if missing:
        listed = ", ".join(map(str, missing))
        return Finding(check, FAILED, f"{whose} may not {listed}")
    return Finding(check, OK, f"{whose} may do all that is needed")


def namespaces(wanted: Iterable[str], there: Mapping[str, bool | None]) -> Finding:
    """Judge which namespaces of the hub's Jobs a cluster has; None: it does not tell."""
    absent = [name for name in sorted(wanted) if there.get(name) is False]
    hidden = [name for name in sorted(wanted) if there.get(name) is None]
    if absent:
        says = f"missing there: {', '.join(absent)}; Jobs of these go elsewhere or wait"
        return Finding("namespaces", WARNING, says)
    if hidden:
        return Finding(
            "namespaces", UNKNOWN, f"whether it has {', '.join(hidden)} is not ours to see"
        )
    return Finding(
        "namespaces", OK, f"all of the hub's are there: {', '.join(sorted(wanted)) or 'none'}"
    )


def address(url: str) -> Finding:
    """Judge whether others than this machine can reach a server."""
    host = urlsplit(url).hostname or ""
    try:
        is_loopback = ipaddress.ip_address(host).is_loopback
    except ValueError:
        is_loopback = host == "localhost"
    if is_loopback:
        says = f"{url} leads to this machine: only a dispatcher that runs here reaches it"
        return Finding("address", WARNING, says)
    return Finding("address", OK, url)


def needed(*, creates_namespaces: bool = False) -> list[Right]:
    """Return what a dispatcher must be allowed on a worker, as the manifest says."""
    roles = {
        each["metadata"]["name"]: each
        for each in manifests.objects("worker")
        if each["kind"] == "ClusterRole"
    }
    names = [ROLE, *([NAMESPACE_ROLE] if creates_namespaces else [])]
    return [right for name in names for right in rights.of_role(roles[name])]


def origins(jobs: Iterable[Obj], queues: Iterable[Obj]) -> frozenset[str]:
    """Return the namespaces from which Jobs for workers come."""
    used = {job["metadata"]["namespace"] for job in jobs if is_delegated(job)}
    listed = {
        name for queue in queues for name in (queue.get("spec") or {}).get("namespaces") or ()
    }
    return frozenset(used | listed)


# Finding it out


async def examine(
    client: Client,
    hub: Hub,
    *,
    creates_namespaces: bool = False,
    kinds_besides: Sequence[Resource] = (),
    looks_for: Sequence[Resource] = (),
) -> list[Finding]:
    """Try a cluster as whoever the client is; raises only if it cannot be reached at all."""
    found = await cluster.introduce(client, (JOBS, *kinds_besides))
    served = [each for each in kinds_besides if found.serves(each)]
    unusable = await rights.missing(client, _of_kinds(served))
    missing = await rights.missing(client, needed(creates_namespaces=creates_namespaces))
    unseen = await rights.missing(
        client, [Right("get", each.group, each.plural) for each in looks_for]
    )
    there = {name: await _has_namespace(client, name) for name in sorted(hub.namespaces)}
    if creates_namespaces:
        of_namespaces = Finding("namespaces", OK, "those that it lacks are created")
    else:
        of_namespaces = namespaces(hub.namespaces, there)
    return [
        version(found),
        kinds(found),
        identity(found, hub),
        lacking(missing),
        *out_of_sight(served, unusable),
        *references(looks_for, unseen),
        of_namespaces,
    ]


def _of_kinds(kinds: Iterable[Resource]) -> list[Right]:
    return [Right(verb, each.group, each.plural) for each in kinds for verb in manifests.MIRROR]


async def _has_namespace(client: Client, name: str) -> bool | None:
    try:
        await client.get(NAMESPACES, name)
    except errors.NotFound:
        return False
    except errors.Forbidden:
        return None
    return True
