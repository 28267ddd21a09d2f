"""Workloads that are not ours, though they look as if they were meant to be: whose are they?"""

from jobferry.core.steps import Notice
from jobferry.dispatch.claims import Claims
from jobferry.dispatch.heads import WorkloadHead
from jobferry.kube import errors
from jobferry.kube.client import Client
from jobferry.kube.events import LONGEST_NAME
from jobferry.kube.resources import LEASES
from jobferry.settings import lease_name


class Strangers:
    """Finds out which names other dispatchers claim: each has a Lease."""

    def __init__(self, hub: Client, claims: Claims) -> None:
        self._hub = hub
        self._claims = claims
        self._claimed: set[str] = set()
        """By others: their workloads are seen often."""

    async def notice(self, kind: str, workload: WorkloadHead) -> Notice | None:
        """Return what to tell the author of a workload that is not ours, unless it is another dispatcher's."""
        name = workload.managed_by
        if name in self._claimed:
            return None
        if await self._is_claimed(name):
            self._claimed.add(name)
            return None
        ours = ", ".join(sorted(self._claims.names))
        return Notice(
            "NotClaimed",
            f"No dispatcher was found for managedBy {name[:LONGEST_NAME]}, so nobody runs this {kind}; claimed is {ours}",
        )

    async def _is_claimed(self, name: str) -> bool:
        """Tell whether another dispatcher has a name; no kind of a user's needs to check how long it is."""
        if len(name) > LONGEST_NAME:
            return False
        try:
            await self._hub.get(LEASES, lease_name(name), self._claims.namespace)
        except errors.NotFound:
            return False
        return True
