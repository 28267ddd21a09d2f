"""What the audit logs of hubs say about the dispatchers."""

from collections.abc import Iterable

from jobferry.objects import Obj
from tests.system.fleet import DISPATCHER, Fleet

WRITES = {"create", "update", "patch", "delete", "deletecollection"}
HUBS = ("hub", "west")
MOST_CONFLICTS = 0.01


def check(fleet: Fleet) -> None:
    """Fail if any hub found a status illegal, or had to refuse too many writes as stale."""
    for name in HUBS:
        writes = [each for each in fleet.audited(name, DISPATCHER) if is_write(each, "jobs")]
        illegal = answered(writes, 422)
        assert not illegal, f"{name} answered {illegal} of {len(writes)} writes with 422"
        calm = [
            each for each in writes if each["objectRef"].get("namespace") not in fleet.races
        ]
        stale = answered(calm, 409)
        # One is no rate.
        assert stale <= max(1, len(calm) * MOST_CONFLICTS), (
            f"{name} answered {stale} of {len(calm)} writes with 409"
        )


def is_write(entry: Obj, resource: str) -> bool:
    """Tell whether a request was to change objects of a resource."""
    return entry["verb"] in WRITES and entry.get("objectRef", {}).get("resource") == resource


def answered(entries: Iterable[Obj], code: int) -> int:
    """Count the requests that were answered so."""
    return sum(entry["responseStatus"]["code"] == code for entry in entries)
