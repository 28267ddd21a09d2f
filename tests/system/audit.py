"""What the audit logs of hubs say about the dispatchers."""

from collections import Counter

from jobferry.objects import Obj
from tests.system.fleet import DISPATCHER, Fleet

WRITES = {"create", "update", "patch", "delete", "deletecollection"}
HUBS = ("hub", "west")
MOST_CONFLICTS = 0.01


def check(fleet: Fleet) -> None:
    """Fail if any hub found a status illegal, or had to refuse too many writes as stale."""
    for name in HUBS:
        answers = Counter(
            entry["responseStatus"]["code"]
            for entry in fleet.audited(name, DISPATCHER)
            if is_write(entry, "jobs")
        )
        writes = sum(answers.values())
        assert not answers[422], f"{name} answered {answers[422]} of {writes} writes with 422"
        # One is no rate.
        assert answers[409] <= max(1, writes * MOST_CONFLICTS), (
            f"{name} answered {answers[409]} of {writes} writes with 409"
        )


def is_write(entry: Obj, resource: str) -> bool:
    """Tell whether a request was to change objects of a resource."""
    return entry["verb"] in WRITES and entry.get("objectRef", {}).get("resource") == resource
