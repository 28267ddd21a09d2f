"""Events have two forms for one stored object: that of the core group, and that of events.k8s.io."""

from collections.abc import Mapping

from jobferry.objects import Obj

_SAME = ("series", "action", "reason", "related", "type")
"""Members that both forms know by the same name, and leave out when empty."""

_CORE_NAMES = {"note": "message", "deprecatedCount": "count"}
_NEW_NAMES = {core: new for new, core in _CORE_NAMES.items()}
"""Members that are left out when empty, and their names in the other form."""


def to_core(event: Obj) -> Obj:
    """Return an events.k8s.io/v1 Event as a v1 Event (what is in it is shared, not copied)."""
    core: Obj = {
        "kind": "Event",
        "apiVersion": "v1",
        "metadata": event["metadata"],
        "involvedObject": event.get("regarding") or {},
        "source": event.get("deprecatedSource") or {},
        "firstTimestamp": event.get("deprecatedFirstTimestamp"),
        "lastTimestamp": event.get("deprecatedLastTimestamp"),
        "eventTime": event.get("eventTime"),
        "reportingComponent": event.get("reportingController", ""),
        "reportingInstance": event.get("reportingInstance", ""),
    }
    _copy(event, core, _CORE_NAMES)
    if (series := core.get("series")) is not None and not series.get("count", 1):
        core["series"] = {key: value for key, value in series.items() if key != "count"}
    return core


def to_new(event: Obj) -> Obj:
    """Return a v1 Event as an events.k8s.io/v1 Event (what is in it is shared, not copied)."""
    new: Obj = {
        "kind": "Event",
        "apiVersion": "events.k8s.io/v1",
        "metadata": event["metadata"],
        "eventTime": event.get("eventTime"),
        "regarding": event.get("involvedObject") or {},
        "deprecatedSource": event.get("source") or {},
        "deprecatedFirstTimestamp": event.get("firstTimestamp"),
        "deprecatedLastTimestamp": event.get("lastTimestamp"),
    }
    if controller := event.get("reportingComponent"):
        new["reportingController"] = controller
    if instance := event.get("reportingInstance"):
        new["reportingInstance"] = instance
    _copy(event, new, _NEW_NAMES)
    if (series := new.get("series")) is not None and "count" not in series:
        new["series"] = {"count": 0, **series}
    return new


def _copy(event: Obj, into: Obj, names: Mapping[str, str]) -> None:
    for name in _SAME:
        if name in event:
            into[name] = event[name]
    for name, other in names.items():
        if name in event:
            into[other] = event[name]
