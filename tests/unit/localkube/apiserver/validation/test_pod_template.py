"""Templates for pods: one line for each way to get them wrong."""

from typing import Any

import pytest

from jobferry.localkube.apiserver.strategies import pod_defaults
from jobferry.localkube.apiserver.validation import pod_template
from jobferry.objects import Obj
from tests.unit.localkube.apiserver.validation.rule_world import Found, found

MAIN: Obj = {"name": "main", "image": "a:1"}
C, S = "t.spec.containers[0]", "t.spec"
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
VOLUMES = [{"name": "v", "emptyDir": {}}]


def pod(**members: Any) -> Obj:
    return {"containers": [dict(MAIN)], **members}


def container(pod_members: Obj | None = None, **members: Any) -> Obj:
    return {"containers": [MAIN | members], **(pod_members or {})}


def env(**source: Any) -> Obj:
    return container(env=[{"name": "A", "valueFrom": source}])


def volume(**source: Any) -> Obj:
    return pod(volumes=[{"name": "v", **source}])


def mounts(*listed: Obj, **members: Any) -> Obj:
    return container({"volumes": VOLUMES}, volumeMounts=list(listed), **members)


CASES: dict[str, tuple[Obj, Found]] = {
    "good": (pod(), []),
    "no containers": ({}, [(f"{S}.containers", "Required")]),
    "empty container": (
        {"containers": [{}]},
        [(f"{C}.name", "Required"), (f"{C}.image", "Required")],
    ),
    "same names": (
        {"containers": [MAIN, MAIN], "initContainers": [MAIN]},
        [
            (f"{S}.containers[1].name", "Duplicate"),
            (f"{S}.initContainers[0].name", "Duplicate"),
        ],
    ),
    "policies": (
        container(imagePullPolicy="x", terminationMessagePolicy="y"),
        [
            (f"{C}.terminationMessagePolicy", "NotSupported"),
            (f"{C}.imagePullPolicy", "NotSupported"),
        ],
    ),
    "env name": (container(env=[{"value": "x"}]), [(f"{C}.env[0].name", "Required")]),
    "env from nowhere": (env(), [(f"{C}.env[0].valueFrom", "Invalid")]),
    "env from two": (
        env(fieldRef={"fieldPath": "metadata.name"}, secretKeyRef={"name": "a", "key": "b"}),
        [(f"{C}.env[0].valueFrom", "Invalid")],
    ),
    "env field": (
        env(fieldRef={"fieldPath": "metadata.labels"}),
        [(f"{C}.env[0].valueFrom.fieldRef.fieldPath", "NotSupported")],
    ),
    "env one label": (env(fieldRef={"fieldPath": "metadata.labels['a']"}), []),
    "env unknown field": (
        env(fieldRef={"fieldPath": "spec.x"}),
        [(f"{C}.env[0].valueFrom.fieldRef.fieldPath", "Invalid")],
    ),
    "env amount": (
        env(resourceFieldRef={"resource": "limits.gpu"}),
        [(f"{C}.env[0].valueFrom.resourceFieldRef.resource", "NotSupported")],
    ),
    "env divisor": (
        env(resourceFieldRef={"resource": "limits.cpu", "divisor": "2"}),
        [(f"{C}.env[0].valueFrom.resourceFieldRef.divisor", "Invalid")],
    ),
    "env key": (
        env(configMapKeyRef={"name": "A"}),
        [
            (f"{C}.env[0].valueFrom.configMapKeyRef.name", "Invalid"),
            (f"{C}.env[0].valueFrom.configMapKeyRef.key", "Required"),
        ],
    ),
    "env file": (
        env(fileKeyRef={"key": "A", "volumeName": "x", "path": "p"}),
        [(f"{C}.env[0].valueFrom.fileKeyRef.volumeName", "NotFound")],
    ),
    "env from": (container(envFrom=[{}]), [(f"{C}.envFrom", "Invalid")]),
    "ports": (
        container(ports=[{"name": "A"}, {"containerPort": 70000, "protocol": "X"}]),
        [
            (f"{C}.ports[0].name", "Invalid"),
            (f"{C}.ports[0].name", "Invalid"),
            (f"{C}.ports[0].containerPort", "Required"),
            (f"{C}.ports[1].containerPort", "Invalid"),
            (f"{C}.ports[1].protocol", "NotSupported"),
        ],
    ),
    "host ports": (
        container(
            ports=[{"containerPort": 1, "hostPort": 9}, {"containerPort": 2, "hostPort": 9}]
        ),
        [(f"{C}.ports[1].hostPort", "Duplicate")],
    ),
    "host network": (
        container({"hostNetwork": True}, ports=[{"containerPort": 1, "hostPort": 2}]),
        [(f"{C}.ports[0].hostPort", "Invalid")],
    ),
    "no such volume": (
        container(volumeMounts=[{"name": "x", "mountPath": "/x"}]),
        [(f"{C}.volumeMounts[0].name", "NotFound")],
    ),
    "mounted twice": (
        mounts({"name": "v", "mountPath": "/a"}, {"name": "v", "mountPath": "/a"}),
        [(f"{C}.volumeMounts[1].mountPath", "Invalid")],
    ),
    "sub path": (
        mounts({"name": "v", "mountPath": "/a", "subPath": "/../b"}),
        [(f"{C}.volumeMounts.subPath", "Invalid")] * 2,
    ),
    "device": (
        mounts(volumeDevices=[{"name": "v", "devicePath": "/d"}]),
        [(f"{C}.volumeDevices[0].name", "Invalid")],
    ),
    "propagation": (
        mounts({"name": "v", "mountPath": "/a", "mountPropagation": "Bidirectional"}),
        [(f"{C}.volumeMounts.mountPropagation", "Forbidden")],
    ),
    "old kinds of volumes": (volume(gitRepo={}), []),
    "two kinds of volume": (
        volume(emptyDir={}, secret={"secretName": "a"}),
        [(f"{S}.volumes[0].secret", "Forbidden")],
    ),
    "same volumes": (pod(volumes=VOLUMES * 2), [(f"{S}.volumes[1].name", "Duplicate")]),
    "secret": (
        volume(secret={"items": [{"key": "a", "path": "../b", "mode": 512}]}),
        [
            (f"{S}.volumes[0].secret.secretName", "Required"),
            (f"{S}.volumes[0].secret.items[0].path", "Invalid"),
            (f"{S}.volumes[0].secret.items[0].mode", "Invalid"),
        ],
    ),
    "projected": (
        volume(projected={"sources": [{"secret": {}, "configMap": {"name": "a"}}]}),
        [
            (f"{S}.volumes[0].projected.sources[0].secret.name", "Required"),
            (f"{S}.volumes[0].projected.sources[0]", "Forbidden"),
        ],
    ),
    "downward": (
        volume(downwardAPI={"items": [{"path": "a"}]}),
        [(f"{S}.volumes[0].downwardAPI", "Required")],
    ),
    "csi": (volume(csi={}), [(f"{S}.volumes[0].csi.driver", "Required")]),
    "ephemeral": (
        volume(ephemeral={"volumeClaimTemplate": {}}),
        [
            (f"{S}.volumes[0].ephemeral.volumeClaimTemplate.spec.accessModes", "Required"),
            (
                f"{S}.volumes[0].ephemeral.volumeClaimTemplate.spec.resources[storage]",
                "Required",
            ),
        ],
    ),
    "nfs": (
        volume(nfs={"server": "a", "path": "b"}),
        [(f"{S}.volumes[0].nfs.path", "Invalid")],
    ),
    "resources": (
        container(resources={"limits": {"cpu": "1"}, "requests": {"cpu": "2"}}),
        [(f"{C}.resources.requests", "Invalid")],
    ),
    "probe": (
        container(livenessProbe={"exec": {"command": ["x"]}, "successThreshold": 2}),
        [(f"{C}.livenessProbe.successThreshold", "Invalid")],
    ),
    "probe handlers": (
        container(readinessProbe={"exec": {}, "tcpSocket": {"port": 1}}, startupProbe={}),
        [
            (f"{C}.readinessProbe.exec.command", "Required"),
            (f"{C}.readinessProbe.tcpSocket", "Forbidden"),
            (f"{C}.startupProbe", "Required"),
        ],
    ),
    "hook": (
        container(lifecycle={"preStop": {"sleep": {"seconds": 31}}}),
        [(f"{C}.lifecycle.preStop.sleep", "Invalid")],
    ),
    "init probe": (
        pod(initContainers=[{"name": "i", "image": "i", "livenessProbe": {}}]),
        [(f"{S}.initContainers[0].livenessProbe", "Forbidden")],
    ),
    "sidecar": (
        pod(
            initContainers=[
                {"name": "i", "image": "i", "restartPolicy": "Always", "livenessProbe": {}}
            ]
        ),
        [(f"{S}.initContainers[0].livenessProbe", "Required")],
    ),
    "restart rule": (
        container(restartPolicyRules=[{"action": "x"}]),
        [
            (f"{C}.restartPolicy", "Required"),
            (f"{C}.restartPolicyRules[0].action", "NotSupported"),
            (f"{C}.restartPolicyRules[0].exitCodes", "Required"),
        ],
    ),
    "users": (
        container({"securityContext": {"fsGroup": -1}}, securityContext={"runAsUser": 2**31}),
        [
            (f"{C}.securityContext.runAsUser", "Invalid"),
            (f"{S}.securityContext.fsGroup", "Invalid"),
        ],
    ),
    "escalation": (
        container(securityContext={"privileged": True, "allowPrivilegeEscalation": False}),
        [(f"{C}.securityContext", "Invalid")],
    ),
    "seccomp": (
        pod(securityContext={"seccompProfile": {"type": "Localhost"}}),
        [(f"{S}.securityContext.seccompProfile.localhostProfile", "Required")],
    ),
    "sysctl": (
        pod(hostNetwork=True, securityContext={"sysctls": [{"name": "net.a"}]}),
        [(f"{S}.securityContext.sysctls[0].name", "Invalid")],
    ),
    "toleration": (pod(tolerations=[{}]), [(f"{S}.tolerations[0].operator", "Invalid")]),
    "toleration seconds": (
        pod(tolerations=[{"key": "a", "tolerationSeconds": 1}]),
        [(f"{S}.tolerations[0].effect", "Invalid")],
    ),
    "nodes": (
        pod(affinity={"nodeAffinity": {REQUIRED: {}}}),
        [(f"{S}.affinity.nodeAffinity.{REQUIRED}.nodeSelectorTerms", "Required")],
    ),
    "weight": (
        pod(affinity={"nodeAffinity": {PREFERRED: [{"weight": 101}]}}),
        [(f"{S}.affinity.nodeAffinity.{PREFERRED}[0].weight", "Invalid")],
    ),
    "pods nearby": (
        pod(
            affinity={
                "podAffinity": {REQUIRED: [{"topologyKey": "a", "matchLabelKeys": ["b"]}]}
            }
        ),
        [(f"{S}.affinity.podAffinity.{REQUIRED}[0].matchLabelKeys", "Forbidden")],
    ),
    "spread": (
        pod(
            topologySpreadConstraints=[
                {"maxSkew": 0, "topologyKey": "a", "whenUnsatisfiable": "x"}
            ]
        ),
        [
            (f"{S}.topologySpreadConstraints[0].maxSkew", "Invalid"),
            (f"{S}.topologySpreadConstraints[0].whenUnsatisfiable", "NotSupported"),
        ],
    ),
    "aliases": (pod(hostAliases=[{"ip": "x"}]), [(f"{S}.hostAliases[0].ip", "Invalid")]),
    "dns": (pod(dnsPolicy="None"), [(f"{S}.dnsConfig", "Required")]),
    "gates": (
        pod(schedulingGates=[{"name": "a"}, {"name": "a"}], readinessGates=[{}]),
        [
            (f"{S}.readinessGates[0].conditionType", "Invalid"),
            (f"{S}.readinessGates[0].conditionType", "Invalid"),
            (f"{S}.schedulingGates[1]", "Duplicate"),
        ],
    ),
    "overhead": (pod(overhead={"cpu": "-1"}), [(f"{S}.overhead.limits[cpu]", "Invalid")]),
    "deadline": (pod(activeDeadlineSeconds=0), [(f"{S}.activeDeadlineSeconds", "Invalid")]),
    "names": (
        pod(serviceAccountName="A", hostname="a.b"),
        [(f"{S}.serviceAccountName", "Invalid"), (f"{S}.hostname", "Invalid")],
    ),
    "users of its own": (
        pod(hostUsers=False, hostNetwork=True),
        [(f"{S}.hostNetwork", "Forbidden")],
    ),
    "windows": (
        pod(os={"name": "windows"}, securityContext={"runAsUser": 1}),
        [(f"{S}.securityContext.runAsUser", "Forbidden")],
    ),
    "system": (pod(os={"name": "x"}), [(f"{S}.os", "NotSupported")]),
    "ephemeral containers": (
        pod(ephemeralContainers=[MAIN]),
        [(f"{S}.ephemeralContainers", "Forbidden")],
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_a_template_is_checked(name: str) -> None:
    spec, expected = CASES[name]
    template = {"spec": spec}
    pod_defaults.default_template(template)
    assert found(pod_template.template_problems(template, "t")) == expected


def test_labels_are_reported_without_metadata() -> None:
    template = {"metadata": {"labels": {"a b": ""}}, "spec": pod()}
    pod_defaults.default_template(template)
    assert found(pod_template.template_problems(template, "t")) == [("t.labels", "Invalid")]
