"""What one dispatcher claims, and where it may bring that."""

from dataclasses import dataclass

from jobferry.core.bounds import NO_BOUNDS, Bounds


@dataclass(frozen=True, slots=True)
class Claims:
    """What one dispatcher claims; `namespace` is where dispatchers have their Leases."""

    names: frozenset[str]
    """The values of managedBy by which a workload is ours, where its kind takes any."""

    namespace: str
    bounds: Bounds = NO_BOUNDS
    """Which namespaces may go to workers."""
