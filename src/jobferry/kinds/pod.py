"""Plain Pods. They have no managedBy: one that was made with our scheduling gate is ours, and is gated on the hub for ever."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from jobferry.core.kind import Earned, Gang
from jobferry.kinds import pod_groups, statuses
from jobferry.kinds.adapter import Selection
from jobferry.kinds.custom import CustomKind
from jobferry.kinds.paths import changed, found, items, path, word
from jobferry.kinds.pods import Pods
from jobferry.kinds.table import CONDITIONS, Row, Says
from jobferry.objects import Obj, conditions
from jobferry.objects.resource import Resource

GATES = path("spec.schedulingGates")
PHASE = path("status.phase")
SCHEDULED = "PodScheduled"

TOKEN = "kube-api-access-"  # noqa: S105 (the name of a volume)
"""What the name of the volume begins with that every API server adds to a pod, for its own tokens."""

POD = Row(
    resource=Resource("", "v1", "pods", "Pod"),
    managed_by=GATES,
    # What admission made of the hub's classes, which the worker's may not be like; and what only comes later.
    strips=tuple(
        path(f"spec.{each}")
        for each in (
            "ephemeralContainers",
            "nodeName",
            "overhead",
            "preemptionPolicy",
            "priority",
        )
    ),
    forwards=(path("spec.activeDeadlineSeconds"),),
    suspend=None,
    success=Says(member=PHASE, values=("Succeeded",)),
    failure=Says(member=PHASE, values=("Failed",)),
    suspended=None,
    started=(),
    ended=(),
    ran=(Says(member=PHASE, values=("Running", "Succeeded", "Failed")),),
    quiet=frozenset({"phase", "qosClass"}),
)


@dataclass(frozen=True)
class Pod(CustomKind):
    """Pods, one by one or in groups."""

    def own_pods(self, mirror: Obj) -> tuple[Selection, ...]:
        """Mean the mirror itself."""
        return (Selection(fields=f"metadata.name={mirror['metadata']['name']}"),)

    def managed_by(self, obj: Obj) -> str:
        """Name one of the gates of a pod: ours, if there is one."""
        names = _gates(obj)
        return next((name for name in names if name in self.claims), names[0] if names else "")

    def is_suspended(self, hub: Obj) -> bool:
        """Tell whether somebody else has a gate on it, too."""
        return any(name not in self.claims for name in _gates(hub))

    def gang(self, hub: Obj) -> Gang | None:
        """Return the group that a pod says it is of; None if it says none, or not of how many."""
        return pod_groups.read(hub)

    def refusal(self, hub: Obj) -> str | None:
        """Say why nobody can know when a pod may go."""
        return pod_groups.nonsense(hub)

    def pods(self, hub: Obj) -> Iterator[Pods]:
        """Yield the pod itself."""
        yield Pods(hub["spec"], 1)

    def missing_pods(self, hub: Obj) -> str | None:
        """Say nothing: it is there."""
        return None

    def draft(self, hub: Obj) -> Obj:
        """Return what a worker is to run: without our gate, and without what an API server adds by itself."""
        drafted = CustomKind.draft(self, hub)
        spec = drafted["spec"]
        for member in ("containers", "initContainers"):
            spec = changed(spec, (member, "*", "volumeMounts"), _without_tokens)
        spec = changed(spec, ("volumes",), _without_tokens)
        kept = [each for each in items(hub, GATES) if each.get("name") not in self.claims]
        return {**drafted, "spec": {**spec, **({"schedulingGates": kept} if kept else {})}}

    def shown(self, hub: Obj, mirror: Obj, base: Earned) -> Obj:
        """Return the status that the hub is to show.

        Its class cannot change. That it is gated keeps the hub's autoscaler away until it has a node elsewhere.
        """
        status = CustomKind.shown(self, hub, mirror, base)
        if not status:
            return {}
        old = hub.get("status") or {}
        if "qosClass" in old:
            status["qosClass"] = old["qosClass"]
        status = {
            key: value for key, value in status.items() if not _comes_back(hub, key, value)
        }
        gated = conditions.find(items(hub, CONDITIONS), SCHEDULED)
        if gated and not conditions.is_true(items(mirror, CONDITIONS), SCHEDULED):
            others = conditions.remove(status.get("conditions"), SCHEDULED)
            status["conditions"] = [gated, *others]
        return status

    def failed(self, hub: Obj, reason: str, message: str, now: datetime) -> Obj:
        """Return the status of one that failed: members say why."""
        status = statuses.failure(self.row, hub, reason, message, now)
        return {**status, "reason": reason, "message": message}


def _gates(pod: Obj) -> list[str]:
    return [word(each, ("name",)) for each in items(pod, GATES)]


def _without_tokens(listed: Any) -> Any:
    """Leave out the volume of tokens, or where it is mounted."""
    kept = [each for each in listed if not word(each, ("name",)).startswith(TOKEN)]
    return kept or None


def _comes_back(hub: Obj, member: str, listed: Any) -> bool:
    """Tell whether containers run again that have ended on the hub, as those of a new attempt do.

    API servers refuse that, but not that they are gone. So they go in one write, and come back in the next.
    """
    policy = word(hub, path("spec.restartPolicy"))
    if not member.endswith("ontainerStatuses") or policy == "Always":
        return False
    ended = {
        word(each, ("name",))
        for each in items(hub, ("status", member))
        if _stays_ended(found(each, path("state.terminated")), policy)
    }
    return any(
        word(each, ("name",)) in ended and found(each, path("state.terminated")) is None
        for each in (listed if isinstance(listed, list) else ())
    )


def _stays_ended(end: Any, policy: str) -> bool:
    return end is not None and not (policy == "OnFailure" and found(end, ("exitCode",)))
