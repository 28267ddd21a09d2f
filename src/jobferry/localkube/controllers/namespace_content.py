"""What a namespace that is deleted says of its content: pure."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime

from jobferry.objects import Obj, conditions
from jobferry.objects.resource import Resource

_GOOD = {
    "NamespaceDeletionDiscoveryFailure": (
        "ResourcesDiscovered",
        "All resources successfully discovered",
    ),
    "NamespaceDeletionGroupVersionParsingFailure": (
        "ParsedGroupVersions",
        "All legacy kube types successfully parsed",
    ),
    "NamespaceDeletionContentFailure": (
        "ContentDeleted",
        "All content successfully deleted, may be waiting on finalization",
    ),
    "NamespaceContentRemaining": ("ContentRemoved", "All content successfully removed"),
    "NamespaceFinalizersRemaining": (
        "ContentHasNoFinalizers",
        "All content-preserving finalizers finished",
    ),
}


@dataclass(slots=True)
class Content:
    """What is left in a namespace after its content was deleted, and what went wrong."""

    remaining: dict[Resource, int] = field(default_factory=dict)
    finalizers: Counter[str] = field(default_factory=Counter)
    failures: list[str] = field(default_factory=list)
    discovery_failure: str = ""

    @property
    def is_gone(self) -> bool:
        """Whether nothing keeps the namespace any more."""
        return not (self.remaining or self.failures or self.discovery_failure)

    def note(self, resource: Resource, left: Iterable[Obj]) -> None:
        """Count the objects of one kind that are still there."""
        found = list(left)
        if found:
            self.remaining[resource] = len(found)
        for obj in found:
            self.finalizers.update(obj["metadata"].get("finalizers") or ())


def next_conditions(namespace: Obj, content: Content, now: datetime) -> list[Obj] | None:
    """Return the conditions that a namespace should have; None if it has them."""
    before = (namespace.get("status") or {}).get("conditions") or []
    after = before
    bad = _bad(content)
    for type, good in _GOOD.items():
        reason, message = bad.get(type, good)
        condition = {
            "type": type,
            "status": "True" if type in bad else "False",
            "reason": reason,
            "message": message,
        }
        known = conditions.find(before, type)
        if known is None or any(known.get(key) != value for key, value in condition.items()):
            after = conditions.set(after, condition, now)
    return None if after is before else after


def _bad(content: Content) -> dict[str, tuple[str, str]]:
    found = {}
    if content.discovery_failure:
        found["NamespaceDeletionDiscoveryFailure"] = (
            "DiscoveryFailed",
            content.discovery_failure,
        )
    if failures := content.failures:
        found["NamespaceDeletionContentFailure"] = (
            "ContentDeletionFailed",
            f"Failed to delete all resource types, {len(failures)} remaining: "
            + ", ".join(sorted(failures)),
        )
    if content.remaining:
        parts = sorted(
            f"{resource.plural}.{resource.group} has {count} resource instances"
            for resource, count in content.remaining.items()
        )
        found["NamespaceContentRemaining"] = (
            "SomeResourcesRemain",
            f"Some resources are remaining: {', '.join(parts)}",
        )
    if content.finalizers:
        parts = sorted(
            f"{finalizer} in {count} resource instances"
            for finalizer, count in content.finalizers.items()
        )
        found["NamespaceFinalizersRemaining"] = (
            "SomeFinalizersRemain",
            f"Some content in the namespace has finalizers remaining: {', '.join(parts)}",
        )
    return found
