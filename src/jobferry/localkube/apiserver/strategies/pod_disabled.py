"""Fields of pods that belong to features which are off by default: an API server drops them unseen."""

from jobferry.objects import Obj

_STATUSES = ("containerStatuses", "initContainerStatuses", "ephemeralContainerStatuses")


def drop_from_spec(spec: Obj) -> None:
    """Drop them from a spec."""
    spec.pop("workloadRef", None)
    for volume in spec.get("volumes") or ():
        for part in (volume.get("projected") or {}).get("sources") or ():
            part.pop("clusterTrustBundle", None)
            part.pop("podCertificate", None)
    for kind in ("containers", "initContainers", "ephemeralContainers"):
        for container in spec.get(kind) or ():
            if lifecycle := container.get("lifecycle"):
                lifecycle.pop("stopSignal", None)
                if not lifecycle:
                    del container["lifecycle"]


def drop_from_status(status: Obj) -> None:
    """Drop them from a status."""
    for member in ("resources", "allocatedResources", "extendedResourceClaimStatus"):
        status.pop(member, None)
    for kind in _STATUSES:
        for container in status.get(kind) or ():
            container.pop("allocatedResourcesStatus", None)
