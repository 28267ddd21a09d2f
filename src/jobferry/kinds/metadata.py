"""Which labels and annotations travel with a workload: all but those that bind it to its own cluster."""

from collections.abc import Mapping
from functools import lru_cache

from jobferry.core import marks

GENERATED = frozenset(
    {
        "batch.kubernetes.io/controller-uid",
        "batch.kubernetes.io/job-name",
        "controller-uid",
        "job-name",
    }
)
"""Labels that every API server makes anew, from the name and UID of the Job there."""

TRACKING = frozenset(
    {
        "app.kubernetes.io/instance",
        "applyset.kubernetes.io/part-of",
        "config.k8s.io/owning-inventory",
        "kubectl.kubernetes.io/last-applied-configuration",
    }
)
"""By these (Argo CD, kubectl, cli-utils) a tool knows what it applied, and prunes what it finds elsewhere."""

TRACKING_DOMAINS = (
    "argocd.argoproj.io",
    "configmanagement.gke.io",
    "configsync.gke.io",
    "fluxcd.io",
    "kapp.k14s.io",
    "meta.helm.sh",
    "objectset.rio.cattle.io",
)
"""As TRACKING, for all that a tool keeps under its domain and the domains below it."""


def travelling(entries: Mapping[str, str] | None) -> dict[str, str]:
    """Return the labels or annotations of a workload that its mirror gets, too."""
    return {key: value for key, value in (entries or {}).items() if _travels(key)}


def without_generated(labels: Mapping[str, str] | None) -> dict[str, str]:
    """Return the labels of a pod template without those that the API server has added."""
    return {key: value for key, value in (labels or {}).items() if key not in GENERATED}


@lru_cache(maxsize=1024)  # the same few keys are on thousands of workloads
def _travels(key: str) -> bool:
    if key in GENERATED or key in TRACKING or key.startswith(marks.PREFIX):
        return False
    domain = key.rpartition("/")[0]
    return not any(domain == each or domain.endswith(f".{each}") for each in TRACKING_DOMAINS)
