"""A pod template with something in every corner."""

from jobferry.objects import Obj

TEMPLATE: Obj = {
    "metadata": {"labels": {"app": "x"}, "annotations": {"b": "2", "a": "<&>"}},
    "spec": {
        "restartPolicy": "Always",
        "serviceAccountName": "default",
        "nodeSelector": {"z": "1", "a": "2"},
        "tolerations": [
            {"key": "a", "operator": "Exists", "tolerationSeconds": 0, "effect": "NoExecute"}
        ],
        "topologySpreadConstraints": [
            {
                "maxSkew": 1,
                "topologyKey": "zone",
                "whenUnsatisfiable": "DoNotSchedule",
                "labelSelector": {"matchLabels": {"app": "x"}},
            }
        ],
        "affinity": {
            "nodeAffinity": {
                "requiredDuringSchedulingIgnoredDuringExecution": {
                    "nodeSelectorTerms": [
                        {"matchExpressions": [{"key": "k", "operator": "In", "values": ["v"]}]}
                    ]
                }
            },
            "podAntiAffinity": {
                "preferredDuringSchedulingIgnoredDuringExecution": [
                    {
                        "weight": 1,
                        "podAffinityTerm": {
                            "topologyKey": "z",
                            "labelSelector": {"matchLabels": {"a": "b"}},
                        },
                    }
                ]
            },
        },
        "securityContext": {
            "fsGroup": 0,
            "runAsNonRoot": False,
            "seccompProfile": {"type": "RuntimeDefault"},
            "sysctls": [{"name": "kernel.shm_rmid_forced", "value": "0"}],
        },
        "hostAliases": [{"ip": "1.2.3.4", "hostnames": ["h"]}],
        "imagePullSecrets": [{"name": "s"}],
        "volumes": [
            {"name": "empty", "emptyDir": {"sizeLimit": "0.5Gi", "medium": "Memory"}},
            {
                "name": "config",
                "configMap": {"name": "c", "items": [{"key": "k", "path": "p"}]},
            },
            {
                "name": "all",
                "projected": {
                    "sources": [
                        {"serviceAccountToken": {"path": "t", "expirationSeconds": 3600}},
                        {
                            "downwardAPI": {
                                "items": [
                                    {"path": "n", "fieldRef": {"fieldPath": "metadata.name"}},
                                    {
                                        "path": "c",
                                        "resourceFieldRef": {
                                            "containerName": "main",
                                            "resource": "limits.cpu",
                                            "divisor": "1m",
                                        },
                                    },
                                ]
                            }
                        },
                    ]
                },
            },
            {"name": "claim", "persistentVolumeClaim": {"claimName": "p", "readOnly": True}},
        ],
        "initContainers": [{"name": "init", "image": "i", "restartPolicy": "Always"}],
        "containers": [
            {
                "name": "main",
                "image": "registry/x:1",
                "command": ["a", ""],
                "args": [],
                "workingDir": "/",
                "env": [
                    {"name": "A", "value": ""},
                    {"name": "B", "value": "b"},
                    {
                        "name": "C",
                        "valueFrom": {
                            "secretKeyRef": {"name": "s", "key": "k", "optional": False}
                        },
                    },
                    {"name": "D", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}},
                    {"name": "E", "valueFrom": {"configMapKeyRef": {"name": "c", "key": "k"}}},
                ],
                "envFrom": [{"prefix": "P", "configMapRef": {"name": "c"}}],
                "ports": [
                    {"containerPort": 80, "name": "http"},
                    {"containerPort": 53, "protocol": "UDP", "name": "dns"},
                ],
                "resources": {
                    "limits": {"cpu": "1500m", "memory": "1024Mi", "example.com/gpu": 2},
                    "requests": {"cpu": 0.5, "memory": "1e3"},
                },
                "volumeMounts": [
                    {"name": "empty", "mountPath": "/e"},
                    {"name": "config", "mountPath": "/c", "readOnly": True, "subPath": "s"},
                ],
                "livenessProbe": {"httpGet": {"path": "/", "port": "http"}, "periodSeconds": 5},
                "readinessProbe": {"tcpSocket": {"port": 80}},
                "startupProbe": {"grpc": {"port": 5, "service": ""}},
                "lifecycle": {"preStop": {"exec": {"command": ["x"]}}},
                "securityContext": {
                    "privileged": False,
                    "runAsUser": 0,
                    "capabilities": {"add": ["NET_ADMIN"], "drop": ["ALL"]},
                },
                "stdin": True,
            }
        ],
    },
}
