"""Who owns what of built-in kinds, and what an apply results in: as a real API server says."""

from collections.abc import Callable, Iterator
from secrets import token_hex
from typing import Any

import pytest

from jobferry.localkube.apiserver.managed.endpoint import Endpoint
from jobferry.localkube.apiserver.types import codec, shaping
from jobferry.objects import Obj
from jobferry.testing.control_plane import ControlPlane
from tests.api.ownership import Kind, Scene, met
from tests.api.raw_http import RawHttp

pytestmark = pytest.mark.kube


@pytest.fixture
def http(plane: ControlPlane) -> Iterator[RawHttp]:
    with RawHttp(plane.url, plane.folder) as connection:
        yield connection


@pytest.fixture
def room(http: RawHttp) -> str:
    """A new namespace."""
    name = f"test-{token_hex(5)}"
    http.post("/api/v1/namespaces", {"metadata": {"name": name}})
    return name


def no_defaults(_obj: Obj) -> None:
    """Leave it as it is."""


def built_in(
    api_version: str,
    kind: str,
    plural: str,
    *server_sets: str,
    default: Callable[[Obj], Any] = no_defaults,
) -> Kind:
    shape = shaping.shape_of(api_version, kind)
    zero = codec.decode(api_version, kind, {}).obj

    def endpoint(subresource: str, *reset: str) -> Endpoint:
        return Endpoint(
            api_version=api_version,
            kind=kind,
            shape=shape,
            subresource=subresource,
            reset=reset,
            zero=zero,
        )

    def decode(parsed: Obj) -> Obj:
        obj = codec.decode(api_version, kind, parsed).obj
        default(obj)
        return obj

    has_status = "status" in zero
    return Kind(
        f"{'/apis' if '/' in api_version else '/api'}/{api_version}/{plural}",
        endpoint("", *(["status"] if has_status else [])),
        endpoint("status", "spec"),
        decode,
        server_sets,
    )


def test_config_maps(http: RawHttp, room: str) -> None:
    scene = Scene(http, built_in("v1", "ConfigMap", "configmaps"), room, "it")

    scene.create("maker", {"metadata": {"labels": {"a": "1"}}, "data": {"a": "1", "b": "2"}})
    scene.update("changer", lambda obj: obj["data"].update(b="3", c="4"))
    scene.update("changer", lambda obj: None)
    scene.update("maker", lambda obj: obj["data"].pop("c"))
    scene.patch(
        "patcher", {"data": {"d<&>": None, "d": "5"}, "metadata": {"labels": {"a": None}}}
    )
    scene.apply("applier", {"data": {"a": "1", "e": "6"}})
    scene.apply("applier", {"data": {"a": "2", "b": "7", "d": "8"}})
    scene.apply("applier", {"data": {"a": "2", "b": "7", "d": "8"}}, force=True)
    scene.apply("applier", {"data": {"a": "2", "b": "7", "d": "8"}})
    scene.apply("other", {"data": {"a": "2"}, "metadata": {"annotations": {"x/y": "z"}}})
    scene.apply("other", {"data": {"a": "3"}})
    scene.apply("applier", {"metadata": {"labels": {"q": "w"}, "finalizers": ["x.y/z"]}})
    scene.apply("applier", {"metadata": {"finalizers": ["x.y/z"]}, "data": {"f": None}})
    scene.apply("applier", {})
    scene.apply("other", {})

    met(scene)


def test_what_clients_send_as_managed_fields(http: RawHttp, room: str) -> None:
    scene = Scene(http, built_in("v1", "ConfigMap", "configmaps"), room, "it")
    odd = {
        "manager": "odd",
        "operation": "Update",
        "apiVersion": "v1",
        "fieldsType": "FieldsV1",
        "fieldsV1": {
            "f:data": {"f:b": {}, "f:a": {}, "x:unknown": {}, ".": {}, "f:zzz": {}},
            "f:metadata": {"f:ownerReferences": {'k:{ "uid": "1" }': {}}},
        },
    }

    scene.create("maker", {"data": {"a": "1", "b": "2"}, "metadata": {"managedFields": [odd]}})
    scene.update(
        "x", lambda obj: obj["metadata"].update(managedFields=[odd, {**odd, "time": None}])
    )
    scene.update("x", lambda obj: obj["metadata"].pop("managedFields"))
    scene.update(
        "x", lambda obj: obj["metadata"].update(managedFields=[{**odd, "fieldsType": ""}])
    )
    scene.update(
        "x", lambda obj: obj["metadata"].update(managedFields=[{**odd, "fieldsV1": None}])
    )
    scene.update("x", lambda obj: obj["metadata"].update(managedFields=[{"manager": "only"}]))
    scene.update(
        "x",
        lambda obj: obj["metadata"].update(
            managedFields=[{**odd, "fieldsV1": {"nonsense": {}}}]
        ),
    )
    scene.update("y", lambda obj: obj["data"].update(q="w"))
    scene.apply("apl", {"data": {"a": "9"}}, force=True)
    scene.update("x", lambda obj: obj["metadata"].update(managedFields=[{}]))
    scene.update("x", lambda obj: obj["data"].update(untracked="1"))
    scene.apply("apl", {"data": {"a": "10"}})
    scene.apply("apl", {"data": {"a": "10"}}, force=True)
    scene.update("x", lambda obj: obj["metadata"].update(managedFields=[]))
    scene.patch("p", {"metadata": {"managedFields": [{**odd, "apiVersion": "apps/v7"}]}})
    scene.patch("p", {"data": {"some": "thing"}})

    met(scene)


def test_many_managers(http: RawHttp, room: str) -> None:
    scene = Scene(http, built_in("v1", "ConfigMap", "configmaps"), room, "it")

    scene.create("maker", {"data": {"a": "1"}})
    for number in range(15):
        scene.patch(f"m{number:02}", {"data": {f"k{number}": "v"}})

    met(scene)


def test_leases(http: RawHttp, room: str) -> None:
    kind = built_in("coordination.k8s.io/v1", "Lease", "leases")
    scene = Scene(http, kind, room, "it")
    times = {"acquireTime": "2026-01-01T00:00:00.000000Z", "leaseDurationSeconds": 15}

    scene.create("maker", {"spec": {"holderIdentity": "one", **times}})
    scene.update("two", lambda obj: obj["spec"].update(renewTime="2026-01-01T00:00:01.000000Z"))
    scene.update("three", lambda obj: obj["spec"].pop("holderIdentity"))
    scene.apply("four", {"spec": {"leaseTransitions": 3}})
    scene.apply("four", {"spec": {"leaseDurationSeconds": 20}})
    scene.apply("four", {"spec": {"leaseDurationSeconds": "20"}})
    scene.apply("four", {"spec": {"holderIdentity": 5, "leaseTransitions": []}})
    scene.apply("four", {"spec": ["a", 1]})
    scene.apply("four", {"spec": {"unknown": 1}})
    scene.apply("four", {"metadata": {"managedFields": []}})
    scene.apply("four", {"kind": "Leash"})
    scene.apply("four", {"metadata": {"ownerReferences": [{"name": "x"}]}})
    owner = {"apiVersion": "v1", "kind": "ConfigMap", "name": "x", "uid": "1"}
    scene.apply("four", {"metadata": {"ownerReferences": [owner, owner]}})
    scene.apply("four", {"metadata": {"finalizers": ["a.b/c", "a.b/c"]}})
    scene.apply("four", {"metadata": {"finalizers": ["a.b/c", None]}})
    scene.apply("four", {"metadata": {"finalizers": ["a.b/c", {}]}})
    scene.apply("four", {"metadata": {"labels": {"a": True}}})
    scene.apply("four", {"metadata": {"ownerReferences": [None]}})
    scene.apply("four", {"metadata": {"ownerReferences": ["x"]}})
    scene.apply("four", {"metadata": {"ownerReferences": [owner]}})

    met(scene)


def test_services(http: RawHttp, room: str) -> None:
    def default(obj: Obj) -> None:
        for port in obj["spec"]["ports"]:
            port["targetPort"] = port["targetPort"] or port["port"]

    kind = built_in("v1", "Service", "services", "clusterIP", "clusterIPs", default=default)
    scene = Scene(http, kind, room, "it")
    http_port = {"name": "http", "port": 80, "protocol": "TCP", "targetPort": 80}
    spec = {
        "ports": [http_port],
        "selector": {"a": "b"},
        "sessionAffinity": "None",
        "type": "ClusterIP",
        "ipFamilies": ["IPv4"],
        "ipFamilyPolicy": "SingleStack",
        "internalTrafficPolicy": "Cluster",
    }

    scene.create("maker", {"spec": spec})
    scene.update(
        "changer",
        lambda obj: obj["spec"]["ports"].append({**http_port, "port": 9, "name": "x"}),
    )
    scene.update("changer", lambda obj: obj["spec"]["selector"].update(c="d"))
    dns = {"name": "dns", "port": 53, "protocol": "UDP", "targetPort": "dns"}
    scene.apply("applier", {"spec": {"ports": [dns, {"port": 80, "targetPort": 81}]}})
    both = {"spec": {"ports": [dns, {"port": 80, "targetPort": 81, "name": "http"}]}}
    scene.apply("applier", both, force=True)
    scene.apply("applier", {"spec": {"ports": [dns]}})
    scene.apply("applier", {"spec": {"selector": {"e": "f"}}})
    scene.apply("applier", {"spec": {"selector": {"e": "f"}}}, force=True)
    scene.apply("applier", {"spec": {"ports": [{"port": 1, "name": "1"}, {"port": 1}]}})
    ready = {"type": "x", "status": "True", "reason": "y", "message": ""}
    ready["lastTransitionTime"] = "2026-01-01T00:00:00Z"
    scene.patch("lb", {"status": {"conditions": [ready]}}, status=True)
    scene.apply(
        "x", {"status": {"loadBalancer": {}}, "spec": {"publishNotReadyAddresses": True}}
    )

    met(scene)


CONTAINER: Obj = {
    "name": "main",
    "image": "image",
    "imagePullPolicy": "Always",
    "resources": {},
    "terminationMessagePath": "/dev/termination-log",
    "terminationMessagePolicy": "File",
}
POD_SPEC: Obj = {
    "automountServiceAccountToken": False,
    "containers": [CONTAINER],
    "dnsPolicy": "ClusterFirst",
    "enableServiceLinks": True,
    "restartPolicy": "Never",
    "schedulerName": "default-scheduler",
    "securityContext": {},
    "terminationGracePeriodSeconds": 30,
}


def test_pods(http: RawHttp, room: str) -> None:
    kind = built_in("v1", "Pod", "pods")
    scene = Scene(http, kind, room, "it")
    ready = {"type": "Ready", "status": "True", "lastProbeTime": None}

    scene.create("maker", {"spec": POD_SPEC})
    scene.patch("kubelet", {"status": {"phase": "Running", "conditions": [ready]}}, status=True)
    more = {"type": "mine.io/x", "status": "False", "lastProbeTime": None, "message": "m"}
    scene.apply("gate", {"status": {"conditions": [more]}}, status=True)
    scene.apply("gate", {"status": {"conditions": [{**ready, "status": "False"}]}}, status=True)
    scene.apply("gate", {"status": {"conditions": []}}, status=True)
    scene.apply("labels", {"metadata": {"labels": {"a": "b"}}})
    scene.apply("image", {"spec": {"containers": [{"name": "main", "image": "other"}]}})
    scene.apply(
        "image", {"spec": {"containers": [{"name": "main", "image": "other"}]}}, force=True
    )
    scene.apply("image", {"metadata": {"labels": {"image": "x"}}})
    scene.apply("image", {"spec": {"containers": [{"image": "other"}]}})
    scene.apply("image", {"spec": {"containers": [{"name": "main", "foo": {"a": [1]}}]}})

    met(scene)


def test_jobs(http: RawHttp, room: str) -> None:
    def default(obj: Obj) -> None:
        obj["spec"] = {"parallelism": 1, "suspend": False, **obj["spec"]}

    kind = built_in("batch/v1", "Job", "jobs", "selector", default=default)
    scene = Scene(http, kind, room, "it")
    template = {"metadata": {"labels": {"l": "m"}}, "spec": POD_SPEC}
    spec = {
        "parallelism": 1,
        "completions": 1,
        "completionMode": "NonIndexed",
        "backoffLimit": 6,
        "suspend": True,
        "manualSelector": False,
        "podReplacementPolicy": "TerminatingOrFailed",
        "template": template,
    }

    scene.create("maker", {"metadata": {"labels": {"l": "m"}}, "spec": spec})
    scene.update("queue", lambda obj: obj["spec"].update(parallelism=3))
    scene.update("controller", lambda obj: obj["status"].update(active=1), status=True)
    scene.update(
        "controller",
        lambda obj: obj["status"].update(
            active=0, conditions=[{"type": "x", "status": "True", "reason": "y"}]
        ),
        status=True,
    )
    scene.apply("kubectl", {"spec": {"parallelism": 5}})
    scene.apply("kubectl", {"spec": {"parallelism": 5, "suspend": False}}, force=True)
    scene.apply("kubectl", {"spec": {"suspend": False}})
    scene.apply("kubectl", {"status": {"active": 7}})
    scene.apply("status", {"status": {"active": 7}, "spec": {"parallelism": 9}}, status=True)
    scene.apply("status", {"status": {"failed": 2}}, force=True, status=True)
    env = [{"name": "A", "value": "1"}]
    labels = {"template": {"metadata": {"labels": {"l": "m", "n": "o"}}}}
    scene.apply("kubectl", {"spec": labels})
    wrong = {"template": {"spec": {"containers": [{"name": "main", "env": [*env, *env]}]}}}
    scene.apply("kubectl", {"spec": wrong})

    met(scene)


def test_lists_that_have_things_twice(http: RawHttp, room: str) -> None:
    def default(obj: Obj) -> None:
        obj["spec"] = {"concurrencyPolicy": "Allow", "suspend": False, **obj["spec"]}

    scene = Scene(
        http, built_in("batch/v1", "CronJob", "cronjobs", default=default), room, "it"
    )
    template = {"spec": {**POD_SPEC, "containers": [{**CONTAINER, "env": []}]}}
    spec = {
        "schedule": "* * * * *",
        "suspend": False,
        "concurrencyPolicy": "Allow",
        "successfulJobsHistoryLimit": 3,
        "failedJobsHistoryLimit": 1,
        "jobTemplate": {"spec": {"template": template}},
    }

    def variables(*values: str) -> list[Obj]:
        return [{"name": value[0], "value": value[1:]} for value in values]

    def put(manager: str, *values: str) -> None:
        def change(obj: Obj) -> None:
            pod = obj["spec"]["jobTemplate"]["spec"]["template"]["spec"]
            pod["containers"][0]["env"] = variables(*values)

        scene.update(manager, change)

    def apply(manager: str, *values: str, force: bool = True) -> None:
        containers = [{"name": "main", "env": variables(*values)}]
        pods = {"template": {"spec": {"containers": containers}}}
        scene.apply(manager, {"spec": {"jobTemplate": {"spec": pods}}}, force=force)

    scene.create("maker", {"spec": spec})
    put("one", "a1", "a2", "b1")
    put("two", "a1", "a3", "b1")
    put("two", "a1", "a3", "b1", "b2")
    put("one", "a1", "b2", "c")
    put("two", "c", "c", "b2", "a1")
    apply("three", "d1", "c2", "a1")
    put("two", "d1", "d2", "e1", "f1", "a1")
    apply("three", "f2", "e2", force=False)
    apply("three", "f2", "e2")
    apply("three", "e2", "g1", "d3")
    apply("three", "g1")
    apply("three")

    met(scene)


def test_what_kubectl_applied_on_the_client(http: RawHttp, room: str) -> None:
    scene = Scene(http, built_in("v1", "ConfigMap", "configmaps"), room, "it")
    remembered = '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"it"},"data":{"a":"1","b":"2"}}'
    annotation = "kubectl.kubernetes.io/last-applied-configuration"

    scene.create(
        "kubectl-client-side-apply",
        {
            "data": {"a": "1", "b": "2", "c": "3"},
            "metadata": {"annotations": {annotation: remembered}},
        },
    )
    scene.apply("else", {"data": {"a": "5"}})
    scene.apply("kubectl", {"data": {"c": "5", "a": "8"}})
    scene.patch("somebody", {"data": {"b": "x"}})
    scene.apply("kubectl", {"data": {"b": "5", "a": "8"}})
    scene.apply("kubectl", {"data": {"a": "7<&>"}})
    scene.apply(
        "kubectl", {"data": {"a": "7"}, "metadata": {"annotations": {annotation: "{}"}}}
    )
    scene.apply(
        "kubectl", {"data": {"a": "7" * 300_000}, "metadata": {"annotations": {"q": "w"}}}
    )

    met(scene)
