"""Bodies of small kinds: fine ones, and ones with something wrong."""

import base64

from jobferry.objects import Obj


def encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


BAD_METADATA: list[Obj] = [
    {"metadata": {"name": name}}
    for name in ("A", "a_b", "a" * 254, "-a", "a.b", "a" * 64, "1a")
] + [
    {"metadata": {"name": "a", "labels": {"-": "x"}}},
    {"metadata": {"name": "a", "labels": {"a": "-"}}},
    {"metadata": {"name": "a", "annotations": {"a b": "x"}}},
    {"metadata": {"name": "a", "finalizers": ["plain"]}},
    {"metadata": {"name": "a", "finalizers": ["example.com/fine"]}},
    {"metadata": {"name": "a", "ownerReferences": [{"kind": "K"}]}},
]

PEM = "-----BEGIN {0}-----\nYQ==\n-----END {0}-----\n"
SECRETS: list[Obj] = [
    {},
    {"data": {"a": "YQ=="}, "stringData": {"a": "x", "b": "é"}},
    {"stringData": {"b": ""}},
    {"data": {"a b": "YQ=="}},
    {"data": {"..a": ""}},
    {"data": {".": ""}},
    {"data": {"k" * 254: ""}},
    {"stringData": {"a": "x" * (1 << 20)}},
    {"stringData": {"a": "x" * (1 << 20), "b": "y"}},
    {"type": "example.com/own", "data": {"a": ""}},
    {"immutable": True},
    {"type": "kubernetes.io/basic-auth"},
    {"type": "kubernetes.io/basic-auth", "data": {"username": ""}},
    {"type": "kubernetes.io/ssh-auth"},
    {"type": "kubernetes.io/ssh-auth", "data": {"ssh-privatekey": ""}},
    {"type": "kubernetes.io/ssh-auth", "data": {"ssh-privatekey": "YQ=="}},
    {"type": "kubernetes.io/tls"},
    {"type": "kubernetes.io/tls", "data": {"tls.crt": ""}},
    {"type": "kubernetes.io/tls", "data": {"tls.crt": "", "tls.key": ""}},
    *(
        {"type": "kubernetes.io/tls", "stringData": {"tls.crt": a, "tls.key": b}}
        for a, b in (
            (PEM.format("RSA PRIVATE KEY"), ""),
            (PEM.format("X") + PEM.format("Y"), ""),
            (PEM.format("CERTIFICATE"), "x"),
            (PEM.format("CERTIFICATE"), PEM.format("CERTIFICATE")),
            (PEM.format("CERTIFICATE"), PEM.format("X")),
        )
    ),
    {"type": "kubernetes.io/service-account-token"},
    {"type": "kubernetes.io/dockercfg"},
    *(
        {"type": "kubernetes.io/dockerconfigjson", "stringData": {".dockerconfigjson": text}}
        for text in (
            *("", "{}", "[]", "1", '"a"', "true", "null", "x", "{", " ", '{"a":1}'),
            *('{"a":1,}', '{"a" 1}', "{'a':1}", "{} {}"),
        )
    ),
]
CONFIG_MAPS: list[Obj] = [
    {},
    {"data": {"a": "b"}, "binaryData": {"c": "YQ=="}},
    {"data": {"a": "b"}, "binaryData": {"a": "YQ=="}},
    {"data": {"a/b": "b"}},
    {"data": {"": "b"}},
    {"binaryData": {"..": "YQ=="}},
    {"binaryData": {"a/b": "YQ=="}},
    {"data": {"a": "é" * (1 << 19)}},
    {"data": {"a": "é" * (1 << 19) + "x"}},
    {"data": {"a": "x" * (1 << 20)}, "binaryData": {"b": "YWI="}},
    {"binaryData": {"b": encoded("x" * ((1 << 20) - 1))}},
    {"binaryData": {"b": encoded("x" * ((1 << 20) + 1))}},
    {"immutable": True},
]
NAMESPACES: list[Obj] = [
    {},
    {"spec": {"finalizers": ["example.com/a"]}, "status": {"phase": "Terminating"}},
    {"spec": {"finalizers": ["kubernetes", "a"]}},
    {"spec": {"finalizers": ["a b"]}},
    {"metadata": {"name": "n", "labels": {"kubernetes.io/metadata.name": "other", "a": "b"}}},
]
LEASE_BODIES: list[Obj] = [
    {"spec": {}},
    {"spec": {"leaseDurationSeconds": 0}},
    {"spec": {"leaseDurationSeconds": -1, "leaseTransitions": -1}},
    {"spec": {"leaseDurationSeconds": 5, "leaseTransitions": 0, "holderIdentity": "a"}},
    {"spec": {"strategy": "x", "preferredHolder": "y"}},
    {"spec": {"renewTime": "2026-01-01T00:00:00.123456Z"}},
]

INVOLVED = {"kind": "Pod", "namespace": "default", "name": "x"}
NEW_PARTS = {
    "eventTime": "2026-01-01T00:00:00.123456Z",
    "reportingInstance": "i",
    "action": "act",
    "reason": "Because",
    "type": "Normal",
}
CORE_NEW = {**NEW_PARTS, "involvedObject": INVOLVED, "reportingComponent": "example.com/c"}
EVENT_BODIES: list[Obj] = [
    {"involvedObject": {}},
    {"involvedObject": INVOLVED},
    {"involvedObject": {"namespace": "elsewhere"}},
    {"involvedObject": INVOLVED, "type": "Odd", "count": -1, "message": "x" * 2000},
    CORE_NEW,
    {**CORE_NEW, "involvedObject": {}},
    {**CORE_NEW, "involvedObject": {"namespace": "elsewhere"}},
    {**CORE_NEW, "reportingComponent": "", "reportingInstance": "", "action": "", "reason": ""},
    {**CORE_NEW, "reportingComponent": "a b", "reportingInstance": "x" * 129},
    {**CORE_NEW, "action": "x" * 129, "reason": "x" * 129, "message": "x" * 1025},
    {**CORE_NEW, "type": "Odd", "series": {"count": 1}},
]
NEW = {**NEW_PARTS, "regarding": INVOLVED, "reportingController": "example.com/c"}
NEW_EVENT_BODIES: list[Obj] = [
    NEW,
    {**NEW, "eventTime": None},
    {**NEW, "type": "Odd"},
    {**NEW, "type": ""},
    {**NEW, "regarding": {}},
    {**NEW, "regarding": {"namespace": "elsewhere"}},
    {**NEW, "series": {"count": 1, "lastObservedTime": None}},
    {**NEW, "series": {"count": 2, "lastObservedTime": "2026-01-01T00:00:00.000000Z"}},
    {**NEW, "deprecatedFirstTimestamp": "2026-01-01T00:00:00Z", "deprecatedCount": 1},
    {**NEW, "deprecatedLastTimestamp": "2026-01-01T00:00:00Z"},
    {**NEW, "deprecatedSource": {"component": "c"}},
    {**NEW, "deprecatedSource": {"host": "c"}},
    {**NEW, "reportingController": "", "action": "", "note": "x" * 1025},
    {**NEW, "reportingController": "a b", "reason": ""},
    {"eventTime": None, "regarding": {}},
]

TAINT = {"key": "a", "effect": "NoSchedule"}
NODES: list[Obj] = [
    {},
    {"spec": {"taints": [TAINT, {**TAINT, "effect": "NoExecute", "value": "v"}]}},
    {"spec": {"taints": [TAINT, {**TAINT, "value": "v"}]}},
    {"spec": {"taints": [{"key": "-", "value": "-", "effect": "Odd"}]}},
    {"spec": {"taints": [{"key": "", "effect": ""}]}},
    {"spec": {"podCIDR": "10.0.0.0/24"}},
    {"spec": {"podCIDRs": ["10.0.0.0/24", "fd00::/64"]}},
    {"spec": {"podCIDR": "10.1.0.0/24", "podCIDRs": ["10.0.0.0/24", "fd00::/64"]}},
    {"spec": {"podCIDRs": ["10.0.0.0/24", "10.1.0.0/24"]}},
    {"spec": {"podCIDRs": ["10.0.0.0/24", "fd00::/64", "fd01::/64"]}},
    {"spec": {"podCIDRs": ["10.0.0.0"]}},
    {"spec": {"podCIDRs": ["10.0.0.0/33"]}},
    {"spec": {"podCIDRs": ["10.0.0.5/24"]}},
    {"spec": {"podCIDRs": ["010.0.0.0/24"]}},
    {"spec": {"podCIDRs": ["fd00:0::/64"]}},
    {"spec": {"externalID": "x"}},
    {"spec": {"unschedulable": True, "providerID": "p"}},
    {"status": {"capacity": {"cpu": "4", "memory": "8Gi", "pods": "110"}}},
    {"status": {"capacity": {"cpu": "1500u"}}},
    {"status": {"capacity": {"pods": "1500m"}, "allocatable": {"cpu": "1"}}},
    {"status": {"capacity": {"cpu": "-1"}}},
    {"status": {"capacity": {"example.com/gpu": "500m"}}},
    {"status": {"nodeInfo": {"swap": {"capacity": 0}}}},
    {"status": {"addresses": [{"type": "InternalIP", "address": "a"}] * 2}},
]

CLAIM: Obj = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
SOURCE = {"kind": "PersistentVolumeClaim", "name": "c"}
SNAPSHOT = {"apiGroup": "snapshot.storage.k8s.io", "kind": "VolumeSnapshot", "name": "s"}
CLAIMS: list[Obj] = [
    {},
    CLAIM,
    {**CLAIM, "accessModes": []},
    {**CLAIM, "accessModes": ["Odd", "ReadWriteOncePod", "ReadWriteMany"]},
    {**CLAIM, "accessModes": ["ReadWriteOncePod", "Odd"]},
    {**CLAIM, "resources": {"requests": {"storage": "0"}}},
    {**CLAIM, "resources": {"requests": {"storage": "-1"}}},
    {**CLAIM, "resources": {"requests": {"storage": "1500m"}, "limits": {"storage": "1m"}}},
    {**CLAIM, "resources": {"requests": {"cpu": "1"}}},
    {**CLAIM, "storageClassName": "A"},
    {**CLAIM, "storageClassName": ""},
    {**CLAIM, "volumeMode": "Odd"},
    {**CLAIM, "volumeMode": "Block", "volumeName": "v"},
    {**CLAIM, "selector": {"matchLabels": {"a": "-"}}},
    {**CLAIM, "selector": {"matchExpressions": [{"key": "a", "operator": "In"}]}},
    {**CLAIM, "dataSource": SOURCE},
    {**CLAIM, "dataSource": SNAPSHOT},
    {**CLAIM, "dataSource": {"kind": "Odd", "name": "c"}},
    {**CLAIM, "dataSourceRef": SOURCE},
    {**CLAIM, "dataSourceRef": {"kind": "Odd", "name": "c"}},
    {**CLAIM, "dataSourceRef": {"kind": "Odd", "name": "", "apiGroup": "a b"}},
    {**CLAIM, "dataSourceRef": {**SOURCE, "namespace": "n"}},
    {**CLAIM, "volumeAttributesClassName": "A"},
]

CREATED = [
    (case, {"metadata": {"name": "a"}, **body})
    for case, bodies in (
        ("namespace", NAMESPACES),
        ("node", NODES),
        ("config_map", CONFIG_MAPS),
        ("secret", SECRETS),
        ("event", EVENT_BODIES),
        ("new_event", NEW_EVENT_BODIES),
        ("lease", LEASE_BODIES),
        ("claim", [{"spec": spec} for spec in CLAIMS]),
    )
    for body in bodies
]
NAMED = [
    (case, {**least, **body})
    for case, least in (
        ("namespace", {}),
        ("node", {}),
        ("config_map", {}),
        ("secret", {}),
        ("event", {"involvedObject": {}}),
        ("new_event", NEW),
        ("lease", {}),
        ("claim", {"spec": CLAIM}),
    )
    for body in BAD_METADATA
]
