"""An apply that would take fields from others."""

from collections.abc import Iterable

from jobferry.localkube.apiserver.managed import entries, sets
from jobferry.localkube.apiserver.managed.entries import Managed, Manager
from jobferry.localkube.apiserver.managed.sets import FieldSet
from jobferry.localkube.apiserver.status import StatusError
from jobferry.objects.gotext import quote

Path = tuple[str, ...]


class Conflicts(StatusError):
    """Fields that others own and that would get another value."""

    def __init__(self, found: Iterable[tuple[Manager, Path]]) -> None:
        self.found = sorted(found, key=lambda one: one[0].identifier)
        causes = [
            {
                "reason": "FieldManagerConflict",
                "message": f"conflict with {_shown(known)}",
                "field": sets.shown(path),
            }
            for known, path in self.found
        ]
        super().__init__(409, "Conflict", _message(self.found), details={"causes": causes})

    def less(self, allowed: FieldSet) -> "Conflicts | None":
        """Return those at fields that are not allowed; None, if there are none."""
        left = [(known, path) for known, path in self.found if not sets.has(allowed, path)]
        return Conflicts(left) if left else None


def find(managed: Managed, come: FieldSet, but: Manager) -> Conflicts | None:
    """Return the conflicts of `but`, who changes the fields `come`."""
    found = [
        (known, path)
        for known, entry in managed.items()
        if known != but
        for path in sets.members(sets.intersection(entry.fields, come))
    ]
    return Conflicts(found) if found else None


def _message(found: list[tuple[Manager, Path]]) -> str:
    if len(found) == 1:
        known, path = found[0]
        return (
            f"Apply failed with 1 conflict: conflict with {_shown(known)}: {sets.shown(path)}"
        )
    paths: dict[Manager, list[Path]] = {}
    for known, path in found:
        paths.setdefault(known, []).append(path)
    lines = []
    for known, those in paths.items():
        lines.append(f"conflicts with {_shown(known)}:")
        lines.extend(f"- {sets.shown(path)}" for path in those)
    return f"Apply failed with {len(found)} conflicts: " + "\n".join(lines)


def _shown(known: Manager) -> str:
    shown = quote(known.name)
    if known.subresource:
        shown += f" with subresource {quote(known.subresource)}"
    return f"{shown} using {known.api_version}" if known.operation == entries.UPDATE else shown
