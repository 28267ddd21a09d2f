"""Changes of small kinds, through their main and their status endpoints."""

from jobferry.objects import Obj
from tests.api.small_kinds_bodies import CLAIM, INVOLVED, NEW, SOURCE, TAINT

LOCKED = {"immutable": True, "data": {"a": "YQ=="}}
BOUND = {"status": {"phase": "Bound", "capacity": {"storage": "1Gi"}}}
UPDATED: list[tuple[str, Obj, Obj]] = [
    ("config_map", {"data": {"a": "b"}}, {"data": {"a": "c", "a/b": "x"}}),
    ("config_map", {"immutable": True, "data": {"a": "b"}}, {"data": {"a": "c"}}),
    ("config_map", {"immutable": True}, {"immutable": None}),
    ("config_map", {"immutable": True}, {"binaryData": {"a": "YQ=="}, "immutable": False}),
    ("config_map", {}, {"metadata": {"labels": {"a": "-"}}}),
    ("config_map", {}, {"metadata": {"finalizers": ["plain"]}}),
    ("secret", {"data": {"a": "YQ=="}}, {"stringData": {"b": "x"}}),
    ("secret", {}, {"type": "example.com/other"}),
    ("secret", LOCKED, {"data": {"b": "YQ=="}}),
    ("secret", LOCKED, {"immutable": False}),
    ("secret", LOCKED, {"stringData": {"a": "a"}}),
    ("secret", LOCKED, {"stringData": {"a": "b"}}),
    ("lease", {"spec": {}}, {"spec": {"leaseDurationSeconds": -1}}),
    ("lease", {"spec": {}}, {"spec": {"preferredHolder": "x", "holderIdentity": "y"}}),
    ("namespace", {}, {"spec": {"finalizers": None}, "status": {"phase": "Terminating"}}),
    ("namespace", {}, {"metadata": {"labels": {"kubernetes.io/metadata.name": "x", "a": "b"}}}),
    ("namespace", {}, {"metadata": {"annotations": {"a b": "c"}}}),
    ("node", {}, {"spec": {"unschedulable": True}, "status": {"phase": "Running"}}),
    ("node", {"spec": {"podCIDR": "10.0.0.0/24"}}, {"spec": {"podCIDR": "10.1.0.0/24"}}),
    (
        "node",
        {"spec": {"podCIDR": "10.0.0.0/24"}},
        {"spec": {"podCIDR": None, "podCIDRs": None}},
    ),
    ("node", {"spec": {"providerID": "a"}}, {"spec": {"providerID": "b"}}),
    ("node", {}, {"spec": {"providerID": "b", "externalID": "e"}}),
    ("node", {}, {"spec": {"taints": [TAINT, TAINT]}}),
    ("event", {"involvedObject": INVOLVED}, {"reason": "New", "count": 7}),
    ("event", {"involvedObject": INVOLVED}, {"involvedObject": {"namespace": "other"}}),
    ("new_event", NEW, {"note": "n", "reason": "Other", "type": "Warning", "action": "b"}),
    ("new_event", NEW, {"regarding": {"name": "y", "uid": "u"}, "related": {"kind": "K"}}),
    ("new_event", NEW, {"deprecatedSource": {"component": "c"}, "deprecatedCount": 3}),
    ("new_event", NEW, {"deprecatedFirstTimestamp": "2026-01-01T00:00:00Z"}),
    ("new_event", NEW, {"eventTime": "2026-01-01T00:00:01.000000Z", "reportingInstance": "j"}),
    ("new_event", NEW, {"reportingController": "x"}),
    ("new_event", NEW, {"series": {"count": 1, "lastObservedTime": None}}),
    (
        *("new_event", {**NEW, "related": {"kind": "K"}}),
        {"related": None, "series": {"count": 2, "lastObservedTime": NEW["eventTime"]}},
    ),
    ("claim", {"spec": CLAIM}, {"metadata": {"labels": {"a": "b"}}}),
    ("claim", {"spec": CLAIM}, {"spec": {"volumeName": "v", "storageClassName": "s"}}),
    ("claim", {"spec": CLAIM}, {"status": {"phase": "Bound"}}),
    ("claim", {"spec": {**CLAIM, "dataSource": SOURCE}}, {"spec": {"dataSourceRef": None}}),
]
STATUS_UPDATED: list[tuple[str, Obj, Obj]] = [
    ("namespace", {}, {"status": {"phase": "Terminating"}}),
    ("namespace", {}, {"status": None}),
    ("namespace", {}, {"status": {"conditions": [{"type": "A", "status": "True"}]}}),
    ("namespace", {}, {"spec": {"finalizers": ["a b"]}}),
    ("node", {}, {"status": {"addresses": [{"type": "InternalIP", "address": "a"}] * 2}}),
    ("node", {}, {"status": {"capacity": {"pods": "1500m"}}}),
    ("node", {}, {"status": {"capacity": {"cpu": "2"}}, "spec": {"unschedulable": True}}),
    ("claim", {"spec": CLAIM}, {"status": {"allocatedResources": {"storage": "-5"}}}),
    ("claim", {"spec": CLAIM}, {"status": {"allocatedResources": {"cpu": "1"}}}),
    ("claim", {"spec": CLAIM}, {"status": {"allocatedResourceStatuses": {"storage": "Big"}}}),
    (
        *("claim", {"spec": CLAIM}),
        {"status": {"allocatedResourceStatuses": {"storage": "NodeResizePending"}}},
    ),
    ("claim", {"spec": CLAIM}, BOUND),
    ("claim", {"spec": CLAIM}, {"status": {"capacity": {"storage": "-5"}}}),
    ("claim", {"spec": CLAIM}, {"spec": {"volumeName": "v"}}),
]


CLAIM_GROWTH: list[Obj] = [
    {"spec": {"resources": {"requests": {"storage": "2Gi"}}}},
    {"spec": {"resources": {"requests": {"storage": "512Mi"}}}},
    {"spec": {"resources": None}},
    {"spec": {"volumeAttributesClassName": "gold"}},
    {"spec": {"accessModes": ["ReadWriteMany"]}},
    {"spec": {"volumeMode": "Block"}},
    {"spec": {"storageClassName": "other"}},
]
