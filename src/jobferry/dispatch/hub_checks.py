"""What must hold on a hub before a dispatcher can work there; each failure says what to do."""

from contextlib import suppress
from itertools import count

from jobferry.clock import Seconds, sleep, timeout
from jobferry.core.placement_object import RESOURCE as PLACEMENTS
from jobferry.dispatch.queues import QUEUES
from jobferry.errors import BadInput
from jobferry.kube import errors, rights
from jobferry.kube.client import Client
from jobferry.kube.resources import JOBS, LEASES
from jobferry.runtime.backoff import Backoff
from jobferry.workers.resource import WORKERS

OLDEST_HUB = (1, 32)
"""From here on API servers take spec.managedBy without a feature gate."""

SERVED_WITHIN: Seconds = 30.0
BACKOFF = Backoff(first=0.02, cap=1.0)

NEEDED = (
    (JOBS, "", ("list", "watch")),
    (JOBS, "status", ("patch",)),
    (WORKERS, "", ("list", "watch", "patch")),
    (WORKERS, "status", ("patch",)),
    (QUEUES, "", ("list", "watch")),
    (PLACEMENTS, "", ("get", "list", "watch", "create", "patch")),
)
"""The rights without which nothing works; what else is missing is told where it is missed."""


async def check(hub: Client, lease_namespace: str) -> None:
    """Raise `BadInput` if the hub is too old, lacks our CRDs, or does not let us work."""
    await _check_version(hub)
    await check_kinds(hub)
    missing = [
        f"{verb} {resource}{'/' if subresource else ''}{subresource}"
        for resource, subresource, verbs in NEEDED
        for verb in verbs
        if not await rights.may(hub, verb, resource, subresource)
    ]
    if not await rights.may(hub, "patch", LEASES, "", lease_namespace):
        missing.append(f"patch {LEASES} in namespace {lease_namespace}")
    if missing:
        raise BadInput(
            f"hub: we lack the rights to {', '.join(missing)}",
            hint="Apply what `jobferry manifests hub` prints, and run as its service account.",
        )


async def served(hub: Client) -> None:
    """Wait until the API server serves the kinds of our CRDs, which may be seconds after they are Established.

    It is asked again and again: discovery cannot be watched.
    """
    last = BadInput("hub: it does not answer")
    with suppress(TimeoutError):
        async with timeout(hub.clock, SERVED_WITHIN):
            for tries in count(1):
                try:
                    await check_kinds(hub)
                except BadInput as error:
                    last = error
                    await sleep(hub.clock, BACKOFF.delay(tries, hub.random.random()))
                else:
                    return
    raise last


async def _check_version(hub: Client) -> None:
    version = await hub.raw("/version")
    minor = version["minor"].rstrip("+")
    if (int(version["major"]), int(minor)) < OLDEST_HUB:
        raise BadInput(
            f"hub: Kubernetes {version['gitVersion']} does not know spec.managedBy of Jobs",
            hint="A hub needs Kubernetes 1.32 or later; workers may be older.",
        )


async def check_kinds(hub: Client) -> None:
    """Raise `BadInput` if the hub does not serve our kinds."""
    try:
        served = await hub.raw(f"/apis/{WORKERS.api_version}")
    except errors.NotFound:
        served = {"resources": []}
    names = {each["name"] for each in served["resources"]}
    missing = [str(kind) for kind in (WORKERS, QUEUES, PLACEMENTS) if kind.plural not in names]
    if missing:
        raise BadInput(
            f"hub: the CRDs {', '.join(missing)} are not installed",
            hint="Run with --install-crds, or apply what `jobferry manifests crds` prints.",
        )
