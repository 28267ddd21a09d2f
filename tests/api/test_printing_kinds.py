"""Objects of further kinds beside a real API server: they look the same."""

from collections.abc import Iterator
from random import Random
from secrets import token_hex

import pytest

from jobferry.localkube.apiserver.printing import catalog
from jobferry.objects import Obj
from jobferry.testing.control_plane import ControlPlane
from tests.api.looks import (
    OBJECT,
    ago,
    assert_same,
    micro,
    moments_around,
)
from tests.api.raw_http import MERGE, TABLE, RawHttp

pytestmark = [pytest.mark.kube, pytest.mark.timeout(120)]


CORE = "/api/v1"
RBAC = "/apis/rbac.authorization.k8s.io/v1"


@pytest.fixture(scope="module")
def http(plane: ControlPlane) -> Iterator[RawHttp]:
    with RawHttp(plane.url, plane.folder) as connection:
        yield connection


@pytest.fixture(scope="module")
def space(http: RawHttp) -> Iterator[str]:
    """A namespace with a service account, as pods need it."""
    name = f"printing-{token_hex(4)}"
    http.post("/api/v1/namespaces", {"metadata": {"name": name}})
    path = f"/api/v1/namespaces/{name}"
    http.post(f"{path}/serviceaccounts", {"metadata": {"name": "default"}})
    yield path
    http.ask("DELETE", path)


# -- what else has states -------------------------------------------------------------------------


def events_of(rng: Random, namespace: str) -> Iterator[Obj]:
    for number in range(60):
        event: Obj = {
            "metadata": {"name": f"event-{number}"},
            "involvedObject": {"namespace": namespace, "kind": rng.choice(("Pod", "Job"))},
            "reason": rng.choice(("", "Started")),
            "message": rng.choice(("", " all well\n", "x")),
            "type": rng.choice(("", "Normal", "Warning")),
            "source": rng.choice(({}, {"component": "kubelet", "host": "a"}, {"host": "b"})),
            "count": rng.choice((0, 1, 5)),
        }
        event["involvedObject"] |= rng.choice(
            ({}, {"name": "x", "fieldPath": "spec.containers{a}"})
        )
        if rng.random() < 0.5:
            event |= {"firstTimestamp": ago(rng)}
        if rng.random() < 0.5:
            event |= {"lastTimestamp": ago(rng)}
        if rng.random() < 0.5:
            new = {
                "reportingComponent": "example.com/c",
                "reportingInstance": "i",
                "action": "a",
            }
            event |= {**new, "eventTime": micro(ago(rng)), "reason": "R"}
        if rng.random() < 0.3:
            event["series"] = {"count": 3, "lastObservedTime": micro(ago(rng))}
        yield event


def test_events_look_the_same_in_both_groups(http: RawHttp, space: str) -> None:
    # Not among other objects: a real server may write events about those by itself.
    place = f"{space}-events"
    name = place.rpartition("/")[2]
    http.post("/api/v1/namespaces", {"metadata": {"name": name}})
    for event in events_of(Random(11), name):
        http.post(f"{place}/events", event)
    for group, root in (("", "/api/v1"), ("events.k8s.io", "/apis/events.k8s.io/v1")):
        path = place.replace("/api/v1", root) + "/events"
        answered, moments = moments_around(http, "GET", path, accept=TABLE, query=OBJECT)
        assert len(answered.body["rows"]) == 60
        assert_same(answered.body, catalog.columns_for(group, "Event"), moments)


NODE_LABELS: list[dict[str, str]] = [
    {},
    {"node-role.kubernetes.io/worker": "", "node-role.kubernetes.io/control-plane": "x"},
    {"kubernetes.io/role": "old", "node-role.kubernetes.io/": ""},
]
NODE_INFO = {"kubeletVersion": "v1.35.8", "osImage": "Debian", "kernelVersion": "6.1"}
NODE_STATUSES: list[Obj] = [
    {},
    {"conditions": [{"type": "Ready", "status": "True"}], "nodeInfo": NODE_INFO},
    {"conditions": [{"type": "Ready", "status": "False"}, {"type": "Other", "status": "True"}]},
    {"conditions": [{"type": "Ready", "status": s} for s in ("True", "Unknown")]},
    {"addresses": [{"type": t, "address": a} for t, a in (("ExternalIP", "1.2.3.4"), ("InternalIP", "10.0.0.1"), ("InternalIP", "10.0.0.2"))]},
]  # fmt: skip


def test_nodes_look_the_same(http: RawHttp) -> None:
    names = []
    for number, status in enumerate(NODE_STATUSES):
        for kind, labels in enumerate(NODE_LABELS):
            names.append(f"print-{number}-{kind}")
            spec = {"unschedulable": kind == 1}
            metadata = {"name": names[-1], "labels": labels}
            # The part after the slash of a label may not be empty.
            metadata["labels"] = {key: each for key, each in labels.items() if key[-1] != "/"}
            http.post(f"{CORE}/nodes", {"metadata": metadata, "spec": spec, "status": status})

    answered, moments = moments_around(http, "GET", f"{CORE}/nodes", accept=TABLE, query=OBJECT)

    assert len(answered.body["rows"]) >= len(names)
    assert_same(answered.body, catalog.columns_for("", "Node"), moments)
    for name in names:
        http.ask("DELETE", f"{CORE}/nodes/{name}")


PORTS = [{"name": "a", "port": 80}, {"name": "b", "port": 53, "protocol": "UDP"}]
SERVICES: list[Obj] = [
    {"ports": PORTS, "selector": {"b": "1", "a": "2"}},
    {"ports": PORTS, "clusterIP": "None"},
    {"clusterIP": "None"},
    {"ports": PORTS, "type": "NodePort", "externalIPs": ["8.8.8.8", "9.9.9.9"]},
    {"ports": PORTS, "type": "LoadBalancer"},
    {"ports": PORTS, "type": "LoadBalancer", "externalIPs": ["8.8.8.8"]},
    {"type": "ExternalName", "externalName": "example.com"},
    {"ports": PORTS, "type": "ExternalName", "externalName": "example.com"},
]
INGRESS = [
    {"ip": "4.4.4.4"},
    {"hostname": "a.example.com"},
    {"ip": "3.3.3.3"},
    {"ip": "4.4.4.4"},
]


def test_services_look_the_same(http: RawHttp, space: str) -> None:
    for number, spec in enumerate(SERVICES):
        http.post(f"{space}/services", {"metadata": {"name": f"s{number}"}, "spec": spec})
    for name in ("s4", "s5"):
        balanced = {"status": {"loadBalancer": {"ingress": INGRESS}}}
        path = f"{space}/services/{name}/status"
        http.ask("PATCH", path, balanced, content_type=MERGE)

    path = f"{space}/services"
    answered, moments = moments_around(http, "GET", path, accept=TABLE, query=OBJECT)

    assert len(answered.body["rows"]) == len(SERVICES)
    assert_same(answered.body, catalog.columns_for("", "Service"), moments)


CLAIM = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1024Mi"}}}
CLAIMS: list[tuple[Obj, Obj]] = [
    (CLAIM, {}),
    ({**CLAIM, "storageClassName": "fast", "volumeMode": "Block"}, {"phase": "Lost"}),
    (
        {**CLAIM, "volumeName": "v", "volumeAttributesClassName": "gold"},
        {
            "phase": "Bound",
            "accessModes": ["ReadWriteMany", "ReadWriteOnce", "ReadOnlyMany"],
            "capacity": {"storage": "2048Mi"},
        },
    ),
    ({**CLAIM, "volumeName": "v"}, {"phase": "Bound"}),
]
VOLUME = {"capacity": {"storage": "1500Mi"}, "hostPath": {"path": "/a"}}
VOLUMES: list[Obj] = [
    {**VOLUME, "accessModes": ["ReadWriteOnce", "ReadWriteMany"]},
    {
        **VOLUME,
        "accessModes": ["ReadWriteOncePod"],
        "claimRef": {"namespace": "n", "name": "c"},
    },
    {**VOLUME, "accessModes": ["ReadOnlyMany"], "storageClassName": "x", "volumeMode": "Block"},
]


def test_volumes_and_claims_look_the_same(http: RawHttp, space: str) -> None:
    claims = f"{space}/persistentvolumeclaims"
    beta = {"volume.beta.kubernetes.io/storage-class": "slow"}
    for number, (spec, status) in enumerate(CLAIMS):
        metadata = {"name": f"c{number}", "annotations": beta if number == 3 else {}}
        http.post(claims, {"metadata": metadata, "spec": spec})
        path = f"{claims}/c{number}/status"
        assert http.ask("PATCH", path, {"status": status}, content_type=MERGE).code == 200
    volumes = []
    for number, spec in enumerate(VOLUMES):
        volumes.append(f"v{number}-{token_hex(3)}")
        http.post(
            f"{CORE}/persistentvolumes", {"metadata": {"name": volumes[-1]}, "spec": spec}
        )
    http.ask("DELETE", f"{CORE}/persistentvolumes/{volumes[0]}")

    for kind, path in (
        ("PersistentVolumeClaim", claims),
        ("PersistentVolume", f"{CORE}/persistentvolumes"),
    ):
        answered, moments = moments_around(http, "GET", path, accept=TABLE, query=OBJECT)
        assert len(answered.body["rows"]) >= 2
        assert_same(answered.body, catalog.columns_for("", kind), moments)
    for name in volumes:
        http.ask("DELETE", f"{CORE}/persistentvolumes/{name}")


SUBJECTS = [
    {"kind": "User", "name": "u1"},
    {"kind": "Group", "name": "g"},
    {"kind": "User", "name": "u2"},
    {"kind": "ServiceAccount", "name": "s", "namespace": "n"},
]
ROLE = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "view"}
QUOTA = {"pods": "4", "limits.cpu": "1500m", "requests.memory": "1000Ki", "cpu": "2"}
SMALL: list[tuple[str, str, str, Obj]] = [
    ("", "Secret", f"{CORE}/secrets", {"data": {"a": "YQ==", "b": ""}}),
    ("", "ConfigMap", f"{CORE}/configmaps", {"data": {"a": ""}, "binaryData": {"c": "YQ=="}}),
    ("", "ResourceQuota", f"{CORE}/resourcequotas", {"spec": {"hard": {"pods": "100"}}}),
    ("", "LimitRange", f"{CORE}/limitranges", {"spec": {"limits": []}}),
    ("", "ServiceAccount", f"{CORE}/serviceaccounts", {}),
    (
        *("coordination.k8s.io", "Lease", "/apis/coordination.k8s.io/v1/leases"),
        {"spec": {"holderIdentity": "me", "leaseDurationSeconds": 5}},
    ),
    (
        *("rbac.authorization.k8s.io", "RoleBinding", f"{RBAC}/rolebindings"),
        {"roleRef": ROLE, "subjects": SUBJECTS},
    ),
    ("rbac.authorization.k8s.io", "RoleBinding", f"{RBAC}/rolebindings", {"roleRef": ROLE}),
]


@pytest.mark.parametrize("case", SMALL, ids=lambda case: case[1])
def test_small_kinds_look_the_same(
    http: RawHttp, space: str, case: tuple[str, str, str, Obj]
) -> None:
    group, kind, path, body = case
    root, _, plural = path.rpartition("/")
    namespace = space.rpartition("/")[2]
    created, moments = moments_around(
        http,
        *("POST", f"{root}/namespaces/{namespace}/{plural}"),
        {"metadata": {"generateName": "small-"}, **body},
        accept=TABLE,
        query=OBJECT,
    )

    assert created.code == 201
    assert_same(created.body, catalog.columns_for(group, kind), moments)


def test_quotas_show_what_is_used(http: RawHttp, space: str) -> None:
    metadata = {"name": f"quota-{token_hex(3)}"}
    http.post(f"{space}/resourcequotas", {"metadata": metadata, "spec": {"hard": QUOTA}})
    used = {"pods": "3", "limits.cpu": "0.5", "cpu": "1500m"}
    answered, moments = moments_around(
        http,
        *("PATCH", f"{space}/resourcequotas/{metadata['name']}/status"),
        {"status": {"hard": QUOTA, "used": used}},
        accept=TABLE,
        content_type=MERGE,
        query=OBJECT,
    )

    assert answered.code == 200
    assert_same(answered.body, catalog.columns_for("", "ResourceQuota"), moments)
    http.ask("DELETE", f"{space}/resourcequotas/{metadata['name']}")
