"""The TTL of workloads that have ended: where nobody else applies it on the hub, we do, if we may."""

from jobferry.clock import Seconds
from jobferry.core import times
from jobferry.core.steps import Notice
from jobferry.core.view import View
from jobferry.errors import Error
from jobferry.kinds.adapter import Adapter

AGAIN_AFTER: Seconds = 1.0
"""When it is tried again with a workload that was not as we knew it."""

ASK_EVERY: Seconds = 600.0
"""How often it is tried whether we may by now."""


def left(kind: Adapter, view: View) -> Seconds | None:
    """Return how long a workload stays on the hub, as far as it is for us to say; None: until somebody else deletes it."""
    hub = view.hub
    if not kind.owes_ttl or hub is None or hub["metadata"].get("deletionTimestamp"):
        return None
    ttl, ended = kind.ttl(hub), kind.finished_at(hub)
    if ttl is None or ended is None or kind.finish(hub) is None:
        return None
    return max(0.0, times.left(ended, ttl, view.now))


def refusal(kind: Adapter, error: Error) -> Notice:
    """Return what to tell people of a workload that stays because we may not delete it."""
    return Notice(
        "TTLNotApplied",
        f"Its time is over, but we may not delete {kind.resource} on the hub ({error}):"
        " `jobferry manifests hub --kinds` has the role"
        f" jobferry-dispatcher-ttl-{kind.resource} for that",
    )
