"""Pod specs, right and wrong, by name: changes of the plainest Job's pods. Plain data."""

from typing import Any

from jobferry.objects import Obj
from tests.api.job_bodies import LONG, MAIN, of_container, of_pod
from tests.api.volume_bodies import VOLUME_SOURCES

VOLUMES = [{"name": "a", "emptyDir": {}}]
HTTP: Obj = {"httpGet": {"port": 80}}


def env(source: Obj | None = None, **more: Any) -> Obj:
    variable = {"name": "A", **more} | ({} if source is None else {"valueFrom": source})
    return of_container({"env": [variable]})


def field(path: str) -> Obj:
    return env({"fieldRef": {"fieldPath": path}})


def amount(resource: str, **more: Any) -> Obj:
    return env({"resourceFieldRef": {"resource": resource, **more}})


def resources(limits: Obj | None = None, requests: Obj | None = None, **more: Any) -> Obj:
    return of_container({"resources": {"limits": limits, "requests": requests, **more}})


def volume(*sources: Obj) -> Obj:
    return of_pod({"volumes": [{"name": "a", **source} for source in sources]})


def mount(*mounts: Obj, **container: Any) -> Obj:
    return of_container({"volumeMounts": list(mounts), **container}, volumes=VOLUMES)


def ports(*listed: Obj, **pod: Any) -> Obj:
    return of_container({"ports": list(listed)}, **pod)


def probe(kind: str, **members: Any) -> Obj:
    return of_container({kind: members})


def context(**members: Any) -> Obj:
    return of_container({"securityContext": members})


def pod_context(**members: Any) -> Obj:
    return of_pod({"securityContext": members})


def toleration(**members: Any) -> Obj:
    return of_pod({"tolerations": [members]})


def affinity(**members: Any) -> Obj:
    return of_pod({"affinity": members})


def nodes(*terms: Obj) -> Obj:
    required = {"nodeSelectorTerms": list(terms)}
    return affinity(nodeAffinity={"requiredDuringSchedulingIgnoredDuringExecution": required})


def prefer(weight: int, preference: Obj) -> Obj:
    term = {"weight": weight, "preference": preference}
    return affinity(nodeAffinity={"preferredDuringSchedulingIgnoredDuringExecution": [term]})


def near(term: Obj, kind: str = "podAffinity") -> Obj:
    return affinity(**{kind: {"requiredDuringSchedulingIgnoredDuringExecution": [term]}})


def spread(*constraints: Obj) -> Obj:
    return of_pod({"topologySpreadConstraints": list(constraints)})


def init(**members: Any) -> Obj:
    return of_pod({"initContainers": [{"name": "first", "image": "b", **members}]})


GOOD_SPREAD = {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule"}
SELECTOR = {"matchLabels": {"a": "b"}}

PODS: dict[str, Obj] = {
    "no containers": of_pod({"containers": []}),
    "no name, no image": of_pod({"containers": [{}]}),
    "bad name": of_container({"name": "A b"}),
    "long name": of_container({"name": LONG}),
    "name with dots": of_container({"name": "a.b"}),
    "image with blanks": of_container({"image": " a "}),
    "same name": of_pod({"containers": [MAIN, MAIN]}),
    "same name first": of_pod({"initContainers": [MAIN, {"name": "b", "image": "b"}] * 2}),
    "bad policies": of_container(
        {"imagePullPolicy": "Maybe", "terminationMessagePolicy": "Never"}
    ),
    "tag latest": of_container({"image": "a:latest"}),
    "no tag": of_container({"image": "example.com:5000/a/b"}),
    "digest": of_container({"image": "a@sha256:" + "0" * 64}),
    "tag and digest": of_container({"image": "a:latest@sha256:" + "0" * 64}),
    "image in capitals": of_container({"image": "A:latest"}),
    "image that is an id": of_container({"image": "0" * 64}),
    "image of two domains": of_container({"image": "index.docker.io/a"}),
    "env without name": of_container({"env": [{"value": "a"}]}),
    "env of all names": of_container(
        {"env": [{"name": "a b-1."}, {"name": "=", "value": "x"}]}
    ),
    "env beyond ascii": of_container({"env": [{"name": "é"}]}),
    "env twice": of_container(
        {"env": [{"name": "A", "value": "1"}, {"name": "A", "value": "2"}]}
    ),
    "env built upon": of_container(
        {"env": [{"name": "A", "value": "1"}, {"name": "A", "value": "$(A):2"}]}
    ),
    "env from nowhere": env({}),
    "env from two": env(
        {
            "fieldRef": {"fieldPath": "metadata.name"},
            "secretKeyRef": {"name": "a", "key": "b"},
        }
    ),
    "env with value and source": env({"fieldRef": {"fieldPath": "metadata.name"}}, value="x"),
    "field name": field("metadata.name"),
    "field labels": field("metadata.labels"),
    "field one label": field("metadata.labels['a.b/c']"),
    "field bad label": field("metadata.labels['a b']"),
    "field one annotation": field("metadata.annotations['A']"),
    "field bad annotation": field("metadata.annotations['a/b/c']"),
    "field subscript": field("metadata.name['a']"),
    "field phase": field("status.phase"),
    "field host": field("spec.host"),
    "field unknown": field("spec.nothing"),
    "field empty": field(""),
    "field of v2": env({"fieldRef": {"fieldPath": "metadata.name", "apiVersion": "v2"}}),
    "amount": amount("limits.cpu", divisor="1m"),
    "amount unknown": amount("limits.gpu"),
    "amount empty": amount(""),
    "amount of pages": amount("requests.hugepages-2Mi", divisor="3"),
    "amount by two": amount("limits.cpu", divisor="2"),
    "amount of memory by two": amount("limits.memory", divisor="2"),
    "amount of storage by milli": amount("requests.ephemeral-storage", divisor="1m"),
    "config key": env({"configMapKeyRef": {"name": "a", "key": "b"}}),
    "config key bad": env({"configMapKeyRef": {"name": "A", "key": "..a b"}}),
    "secret key missing": env({"secretKeyRef": {}}),
    "file key": of_container(
        {
            "env": [
                {
                    "name": "A",
                    "valueFrom": {"fileKeyRef": {"volumeName": "a", "path": "b", "key": "C"}},
                }
            ]
        },
        volumes=VOLUMES,
    ),
    "file key bad": env({"fileKeyRef": {"volumeName": "B", "path": "../b", "key": "="}}),
    "file key missing": env({"fileKeyRef": {}}),
    "env from": of_container(
        {
            "envFrom": [
                {"prefix": "a", "configMapRef": {"name": "b"}},
                {"secretRef": {"name": "c"}},
            ]
        }
    ),
    "env from bad": of_container(
        {
            "envFrom": [
                {"prefix": "="},
                {"configMapRef": {"name": "B"}, "secretRef": {}},
            ]
        }
    ),
    "ports": ports({"containerPort": 80, "name": "http"}, {"containerPort": 81}),
    "ports bad": ports(
        {"name": "Http--", "containerPort": 0},
        {"containerPort": 65536, "hostPort": 70000, "protocol": "ICMP"},
        {"name": "a-very-long-port-name", "containerPort": 1},
        {"name": "1", "containerPort": 2},
        {"name": "-", "containerPort": 3},
    ),
    "ports twice": ports(
        {"containerPort": 80, "name": "a"}, {"containerPort": 80, "name": "a"}
    ),
    "host ports twice": ports(
        {"containerPort": 80, "hostPort": 90}, {"containerPort": 81, "hostPort": 90}
    ),
    "host address": ports({"containerPort": 80, "hostIP": "10.0.0.1"}),
    "ports ambiguous": ports(
        {"containerPort": 80, "hostPort": 90, "hostIP": "10.0.0.1"},
        {"containerPort": 80, "hostPort": 90},
    ),
    "ports overlapping": ports({"containerPort": 80, "hostPort": 90}, {"containerPort": 80}),
    "host network": ports({"containerPort": 80}, hostNetwork=True),
    "host network, other port": ports({"containerPort": 80, "hostPort": 90}, hostNetwork=True),
    "limits": resources({"cpu": "1", "memory": "1Gi"}, {"cpu": "500m"}),
    "limits below requests": resources({"cpu": "1"}, {"cpu": "1001m"}),
    "limits below zero": resources({"cpu": "-1"}),
    "limits fine": resources({"cpu": "1.0001", "memory": "1.5Gi"}),
    "limits with fractions of bytes": resources({"memory": "100m"}, {"memory": "1m"}),
    "limits unknown": resources({"gpu": "1"}),
    "limits for quota": resources({"requests.cpu": "1"}),
    "limits badly named": resources({"a b": "1"}),
    "extended": resources({"example.com/gpu": "1"}),
    "extended, a half": resources({"example.com/gpu": "500m"}),
    "extended, fewer requested": resources({"example.com/gpu": "2"}, {"example.com/gpu": "1"}),
    "extended, no limit": resources(None, {"example.com/gpu": "1"}),
    "extended with a long name": resources({f"example.com/{'a' * 64}": "1"}),
    "extended of requests": resources({"requests.example.com/gpu": "1"}),
    "native": resources({"kubernetes.io/a": "1"}),
    "pages": resources({"hugepages-2Mi": "4Mi", "memory": "1Gi"}),
    "pages alone": resources({"hugepages-2Mi": "4Mi"}),
    "pages in part": resources({"hugepages-2Mi": "3Mi", "cpu": "1"}),
    "pages of no size": resources({"hugepages-x": "3Mi", "cpu": "1"}),
    "pages requested only": resources({"cpu": "1"}, {"hugepages-2Mi": "2Mi"}),
    "claims": of_container(
        {"resources": {"claims": [{"name": "a"}]}},
        resourceClaims=[{"name": "a", "resourceClaimName": "b"}],
    ),
    "claims bad": of_container(
        {"resources": {"claims": [{"name": "a"}, {"name": "b"}, {}, {"name": "a"}]}},
        resourceClaims=[{"name": "a", "resourceClaimName": "B"}, {"name": "a"}, {}],
    ),
    "claims by request": resources(
        claims=[{"name": "a", "request": "x"}, {"name": "a", "request": "X"}, {"name": "a"}]
    ),
    "pod level": of_pod({"resources": {"limits": {"cpu": "1", "memory": "1Gi"}}}),
    "pod level bad": of_container(
        {"resources": {"limits": {"cpu": "4"}, "requests": {"cpu": "3"}}},
        resources={"limits": {"cpu": "2", "example.com/gpu": "1"}, "requests": {"cpu": "1"}},
    ),
    "pod level storage": of_pod({"resources": {"requests": {"ephemeral-storage": "1"}}}),
    "resize": of_container(
        {"resizePolicy": [{"resourceName": "cpu", "restartPolicy": "NotRequired"}]}
    ),
    "resize bad": of_container(
        {
            "resizePolicy": [
                {"resourceName": "cpu", "restartPolicy": "RestartContainer"},
                {"resourceName": "cpu", "restartPolicy": "Sometimes"},
                {"resourceName": "gpu"},
            ]
        }
    ),
    "container restarts": of_container({"restartPolicy": "Always"}),
    "container restarts sometimes": of_container({"restartPolicy": "Sometimes"}),
    "container restart rules": of_container(
        {
            "restartPolicy": "Never",
            "restartPolicyRules": [
                {"action": "Restart", "exitCodes": {"operator": "In", "values": [1]}}
            ],
        }
    ),
    "container restart rules bad": of_container(
        {
            "restartPolicyRules": [
                {"action": "Stop"},
                {"action": "Restart", "exitCodes": {"operator": "Near"}},
            ]
        }
    ),
    "init": init(),
    "init with probes": init(
        lifecycle={"preStop": {"sleep": {"seconds": 1}}},
        livenessProbe=HTTP,
        readinessProbe=HTTP,
        startupProbe=HTTP,
    ),
    "sidecar": init(restartPolicy="Always", livenessProbe=HTTP),
    "sidecar with rules": init(restartPolicy="Always", restartPolicyRules=[{}]),
    "init with rules": init(restartPolicyRules=[{}]),
    "init never": init(restartPolicy="Never", restartPolicyRules=[{"action": "Restart"}]),
    "init sometimes": init(restartPolicy="Sometimes"),
    "init host ports": init(
        ports=[{"containerPort": 1, "hostPort": 2}, {"containerPort": 3, "hostPort": 2}]
    ),
    "mounts": mount({"name": "a", "mountPath": "/a", "subPath": "b"}),
    "mounts bad": mount(
        {"name": "a", "mountPath": "/a", "subPath": "/x/../y"},
        {"name": "b", "mountPath": "/a", "subPathExpr": "../z", "subPath": "q"},
        {},
    ),
    "mounts propagate": mount(
        {"name": "a", "mountPath": "/a", "mountPropagation": "Bidirectional"},
        {"name": "a", "mountPath": "/b", "mountPropagation": "Sideways"},
    ),
    "mounts propagate, privileged": mount(
        {"name": "a", "mountPath": "/a", "mountPropagation": "Bidirectional"},
        securityContext={"privileged": True},
    ),
    "mounts recursive": mount(
        {"name": "a", "mountPath": "/a", "recursiveReadOnly": "Enabled"},
        {"name": "a", "mountPath": "/b", "recursiveReadOnly": "Perhaps"},
        {
            "name": "a",
            "mountPath": "/c",
            "readOnly": True,
            "recursiveReadOnly": "IfPossible",
            "mountPropagation": "HostToContainer",
        },
    ),
    "devices bad": mount(
        {"name": "a", "mountPath": "/a"},
        volumeDevices=[
            {"name": "a", "devicePath": "/a"},
            {"name": "b", "devicePath": "/x/../y"},
            {"name": "b"},
        ],
    ),
    "devices": of_container(
        {"volumeDevices": [{"name": "c", "devicePath": "/dev/c"}]},
        volumes=[{"name": "c", "persistentVolumeClaim": {"claimName": "x"}}],
    ),
    "probe": probe("livenessProbe", **HTTP, periodSeconds=5),
    "probe bad": probe(
        "livenessProbe",
        httpGet={"port": 0, "scheme": "FTP", "httpHeaders": [{"name": "a b"}]},
        exec={},
        initialDelaySeconds=-1,
        timeoutSeconds=-1,
        successThreshold=2,
        failureThreshold=-1,
        terminationGracePeriodSeconds=0,
    ),
    "probe by name": probe("readinessProbe", tcpSocket={"port": "Http"}),
    "probe of nothing": probe("startupProbe", periodSeconds=1),
    "probe by grpc": probe("startupProbe", grpc={"port": 0}),
    "probe by grpc, good": probe("startupProbe", grpc={"port": 50}),
    "probe with grace": probe("readinessProbe", **HTTP, terminationGracePeriodSeconds=5),
    "probe by command": probe("livenessProbe", exec={"command": []}),
    "hooks": of_container(
        {"lifecycle": {"preStop": {"sleep": {"seconds": 0}}, "postStart": HTTP}}
    ),
    "hooks bad": of_container(
        {"lifecycle": {"preStop": {"sleep": {"seconds": 31}}, "postStart": {}}}
    ),
    "hooks by signal": of_container({"lifecycle": {"stopSignal": "SIGTERM"}}),
    "context": context(runAsUser=1000, runAsNonRoot=True),
    "context bad": context(
        runAsUser=-1,
        runAsGroup=2**31,
        procMount="Unmasked",
        seccompProfile={"type": "Localhost"},
        appArmorProfile={"type": "Localhost", "localhostProfile": " "},
        allowPrivilegeEscalation=False,
        privileged=True,
        capabilities={"add": ["CAP_SYS_ADMIN"]},
    ),
    "context, other": context(
        procMount="Hidden",
        seccompProfile={"type": "Mine", "localhostProfile": "x"},
        appArmorProfile={"type": "Unconfined", "localhostProfile": "x"},
    ),
    "context without types": context(seccompProfile={}, appArmorProfile={}),
    "context of Windows": context(
        windowsOptions={
            "runAsUserName": "a\\b\\c",
            "gmsaCredentialSpec": "",
            "gmsaCredentialSpecName": "A",
            "hostProcess": True,
        }
    ),
    "pod context": pod_context(fsGroup=1, supplementalGroups=[1, 2], runAsUser=0),
    "pod context bad": pod_context(
        fsGroup=-1,
        runAsUser=-1,
        runAsGroup=-1,
        supplementalGroups=[1, -1],
        fsGroupChangePolicy="Never",
        supplementalGroupsPolicy="Loose",
        seLinuxChangePolicy="MountOption",
        sysctls=[{"name": "a..b"}, {}, {"name": "a"}, {"name": "a"}],
        seccompProfile={"type": "Localhost", "localhostProfile": "/a/../b"},
        appArmorProfile={"type": "Mine"},
    ),
    "sysctls of the host": of_pod(
        {
            "hostNetwork": True,
            "hostIPC": True,
            "securityContext": {
                "sysctls": [
                    {"name": "net.a"},
                    {"name": "net/ipv4.x"},
                    {"name": "kernel.shmmax"},
                    {"name": "vm.x"},
                ]
            },
        }
    ),
    "shared processes": of_pod({"hostPID": True, "shareProcessNamespace": True}),
    "users of its own": of_pod(
        {"hostUsers": False, "hostNetwork": True, "hostPID": True, "hostIPC": True}
    ),
    "tolerations": of_pod(
        {"tolerations": [{"operator": "Exists"}, {"key": "a", "value": "b"}]}
    ),
    "toleration of nothing": toleration(),
    "toleration bad": toleration(key="a b", operator="Exists", value="c", effect="Now"),
    "toleration with time": toleration(key="a", tolerationSeconds=5, effect="NoSchedule"),
    "toleration near": toleration(key="a", operator="Near"),
    "toleration above": toleration(key="a", operator="Gt", value="5"),
    "toleration of bad value": toleration(key="a", value="b c" + LONG),
    "nodes": nodes({"matchExpressions": [{"key": "a", "operator": "In", "values": ["b"]}]}),
    "nodes, none": nodes(),
    "nodes bad": nodes(
        {
            "matchExpressions": [
                {"key": "a b", "operator": "In"},
                {"key": "a", "operator": "Exists", "values": ["b"]},
                {"key": "a", "operator": "Gt", "values": ["1", "2"]},
                {"key": "a", "operator": "Near", "values": ["b c"]},
            ],
            "matchFields": [
                {"key": "metadata.name", "operator": "In", "values": ["A"]},
                {"key": "metadata.uid", "operator": "Exists"},
                {"key": "metadata.name", "operator": "NotIn"},
            ],
        }
    ),
    "nodes of old": nodes(
        {"matchExpressions": [{"key": "beta.kubernetes.io/os", "operator": "Exists"}]}
    ),
    "nodes preferred": prefer(
        50, {"matchExpressions": [{"key": "a", "operator": "In", "values": ["b c"]}]}
    ),
    "nodes preferred too much": prefer(101, {}),
    "near": near({"topologyKey": "a", "labelSelector": SELECTOR}),
    "near nobody": near({"topologyKey": "a"}),
    "near bad": near(
        {
            "labelSelector": {"matchLabels": {"a b": "c"}},
            "namespaceSelector": {"matchExpressions": [{"key": "a", "operator": "In"}]},
            "namespaces": ["A"],
            "matchLabelKeys": ["a b", "c"],
            "mismatchLabelKeys": ["c"],
        },
        "podAntiAffinity",
    ),
    "near by keys": near({"topologyKey": "a", "matchLabelKeys": ["b"]}),
    "near by the same key": near(
        {
            "topologyKey": "a",
            "matchLabelKeys": ["a"],
            "labelSelector": {
                "matchLabels": {"a": "b"},
                "matchExpressions": [{"key": "a", "operator": "Exists"}],
            },
        }
    ),
    "near preferred": affinity(
        podAffinity={
            "preferredDuringSchedulingIgnoredDuringExecution": [
                {"weight": 0, "podAffinityTerm": {"topologyKey": "a"}}
            ]
        }
    ),
    "spread": spread({**GOOD_SPREAD, "labelSelector": SELECTOR}),
    "spread bad": spread(
        {
            "maxSkew": 0,
            "whenUnsatisfiable": "Cry",
            "minDomains": 0,
            "nodeAffinityPolicy": "Maybe",
            "nodeTaintsPolicy": "Maybe",
            "labelSelector": {"matchLabels": {"a b": ""}},
        }
    ),
    "spread twice": spread(
        {**GOOD_SPREAD, "labelSelector": SELECTOR}, {**GOOD_SPREAD, "labelSelector": SELECTOR}
    ),
    "spread by keys": spread({**GOOD_SPREAD, "matchLabelKeys": ["a"]}),
    "spread over old zones": spread(
        {**GOOD_SPREAD, "topologyKey": "failure-domain.beta.kubernetes.io/zone"}
    ),
    "node selector": of_pod({"nodeSelector": {"a": "b", "beta.kubernetes.io/os": "linux"}}),
    "node selector bad": of_pod({"nodeSelector": {"a b": "c"}}),
    "aliases": of_pod({"hostAliases": [{"ip": "10.0.0.1", "hostnames": ["a.b"]}]}),
    "aliases bad": of_pod({"hostAliases": [{"ip": "10.0.0", "hostnames": ["A"]}, {}]}),
    "aliases odd": of_pod(
        {
            "hostAliases": [
                {"ip": "010.0.0.1"},
                {"ip": "2001:db8:0::1"},
                {"ip": "::ffff:10.0.0.1"},
                {"ip": "010.0.0.1"},
            ]
        }
    ),
    "dns": of_pod({"dnsPolicy": "None", "dnsConfig": {"nameservers": ["10.0.0.1"]}}),
    "dns none": of_pod({"dnsPolicy": "None"}),
    "dns none, no servers": of_pod({"dnsPolicy": "None", "dnsConfig": {"searches": ["a"]}}),
    "dns bad": of_pod(
        {
            "dnsPolicy": "Guess",
            "dnsConfig": {
                "nameservers": ["1.1.1.1", "2.2.2.2", "x", "fe80::1%eth0"],
                "searches": ["a_b.", ".", "A", "", *["x"] * 33],
                "options": [{"name": "a"}, {"value": "b"}],
            },
        }
    ),
    "dns long": of_pod({"dnsConfig": {"searches": ["a" * 250] * 9}}),
    "gates": of_pod(
        {"schedulingGates": [{"name": "a.b/c"}, {"name": "a.b/c"}, {"name": "a b"}]}
    ),
    "readiness": of_pod(
        {"readinessGates": [{"conditionType": "a.b/c"}, {"conditionType": "a b"}]}
    ),
    "overhead": of_pod({"overhead": {"cpu": "-1"}}),
    "overhead of an unknown resource": of_pod({"overhead": {"gpu": "1"}}),
    "grace": of_pod({"terminationGracePeriodSeconds": -1}),
    "no grace": of_pod({"terminationGracePeriodSeconds": 0}),
    "deadline": of_pod({"activeDeadlineSeconds": 0}),
    "deadline far": of_pod({"activeDeadlineSeconds": 2**31}),
    "names bad": of_pod(
        {
            "serviceAccountName": "A",
            "nodeName": "B_",
            "hostname": "c.d",
            "subdomain": "-",
            "priorityClassName": "P Q",
            "runtimeClassName": "R",
            "schedulerName": "any thing",
        }
    ),
    "old account": of_pod({"serviceAccount": "a"}),
    "two accounts": of_pod({"serviceAccount": "a", "serviceAccountName": "b"}),
    "preemption": of_pod({"preemptionPolicy": "Always"}),
    "host name": of_pod({"hostnameOverride": "A" * 65, "setHostnameAsFQDN": True}),
    "linux": of_pod(
        {"os": {"name": "linux"}, "securityContext": {"windowsOptions": {"runAsUserName": "a"}}}
    ),
    "windows": of_pod(
        {
            "os": {"name": "windows"},
            "hostPID": True,
            "shareProcessNamespace": False,
            "securityContext": {"runAsUser": 1, "fsGroup": 1, "seccompProfile": {"type": "x"}},
            "containers": [MAIN | {"securityContext": {"privileged": True, "runAsUser": 1}}],
        }
    ),
    "other system": of_pod({"os": {"name": "plan9"}}),
    "no system": of_pod({"os": {}}),
    "pull secrets": of_pod({"imagePullSecrets": [{"name": "a"}, {"name": "a"}, {}]}),
    "ephemeral containers": of_pod({"ephemeralContainers": [{"name": "a", "image": "b"}]}),
}
"""Changes of a Job's spec."""

PODS |= {f"volume: {name}": volume(source) for name, source in VOLUME_SOURCES.items()}
PODS |= {
    "volumes of one name": volume({"emptyDir": {}}, {"emptyDir": {}}),
    "volume without name": of_pod(
        {"volumes": [{"emptyDir": {}}, {"name": "A", "emptyDir": {}}]}
    ),
}
