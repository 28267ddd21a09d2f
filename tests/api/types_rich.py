"""Rich objects of many kinds."""

from jobferry.objects import Obj
from tests.api.types_template import TEMPLATE

_ONCE: Obj = {**TEMPLATE, "spec": {**TEMPLATE["spec"], "restartPolicy": "Never"}}
_SELECTOR: Obj = {"matchLabels": {"app": "x"}}

RICH: list[tuple[str, Obj]] = [
    (
        "Job",
        {
            "metadata": {"labels": {"z": "1", "a": "2"}, "finalizers": ["example.com/a"]},
            "spec": {
                "parallelism": 0,
                "completions": 3,
                "completionMode": "Indexed",
                "backoffLimitPerIndex": 1,
                "podFailurePolicy": {
                    "rules": [
                        {
                            "action": "FailIndex",
                            "onExitCodes": {"operator": "In", "values": [1, 2]},
                        },
                        {
                            "action": "Ignore",
                            "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}],
                        },
                    ]
                },
                "successPolicy": {"rules": [{"succeededIndexes": "0-1", "succeededCount": 1}]},
                "template": {**_ONCE, "spec": {**_ONCE["spec"], "restartPolicy": "Never"}},
            },
        },
    ),
    (
        "CronJob",
        {
            "spec": {
                "schedule": "* * * * *",
                "suspend": False,
                "jobTemplate": {
                    "metadata": {"labels": {"a": "b"}},
                    "spec": {"template": _ONCE},
                },
            }
        },
    ),
    ("Pod", {"metadata": TEMPLATE["metadata"], "spec": TEMPLATE["spec"]}),
    (
        "ConfigMap",
        {"data": {"z": "", "a": "x\u2028<&>\u00e9"}, "binaryData": {"b": "AAEC/w=="}},
    ),
    ("ConfigMap", {"immutable": False, "data": {}}),
    ("Secret", {"data": {"a": "", "b": "YQ=="}, "type": "example.com/x"}),
    (
        "Service",
        {
            "spec": {
                "selector": {"a": "b"},
                "ports": [
                    {"name": "a", "port": 80, "targetPort": "http"},
                    {"name": "b", "port": 81, "protocol": "UDP"},
                ],
                "sessionAffinity": "ClientIP",
            }
        },
    ),
    (
        "ServiceAccount",
        {"secrets": [{"name": "s"}], "imagePullSecrets": [{"name": "t"}]},
    ),
    (
        "PersistentVolumeClaim",
        {
            "spec": {
                "accessModes": ["ReadWriteOnce"],
                "resources": {"requests": {"storage": "1Gi"}},
                "storageClassName": "",
                "dataSourceRef": {"kind": "PersistentVolumeClaim", "name": "other"},
            }
        },
    ),
    (
        "PersistentVolume",
        {
            "spec": {
                "accessModes": ["ReadWriteOnce"],
                "capacity": {"storage": "1Gi"},
                "csi": {
                    "driver": "d.example.com",
                    "volumeHandle": "h",
                    "volumeAttributes": {"a": "b"},
                },
                "nodeAffinity": {
                    "required": {
                        "nodeSelectorTerms": [
                            {
                                "matchExpressions": [
                                    {"key": "k", "operator": "In", "values": ["v"]}
                                ]
                            }
                        ]
                    }
                },
            }
        },
    ),
    (
        "ResourceQuota",
        {"spec": {"hard": {"cpu": "1000m", "pods": "10"}, "scopes": ["NotBestEffort"]}},
    ),
    (
        "LimitRange",
        {
            "spec": {
                "limits": [{"type": "Container", "default": {"cpu": "1"}, "max": {"cpu": "2"}}]
            }
        },
    ),
    (
        "ReplicationController",
        {"spec": {"replicas": 0, "selector": {"app": "x"}, "template": TEMPLATE}},
    ),
    (
        "Event",
        {
            "eventTime": "2026-01-01T01:02:03.123456+01:00",
            "reportingController": "a/b",
            "reportingInstance": "i",
            "action": "Act",
            "reason": "Why",
            "type": "Normal",
            "note": "n",
            "regarding": {"kind": "Pod", "namespace": "default", "name": "x"},
            "series": {"count": 2, "lastObservedTime": "2026-01-01T00:00:00.000000Z"},
        },
    ),
    (
        "Node",
        {
            "metadata": {"labels": {"a": "b"}},
            "spec": {
                "podCIDR": "10.0.0.0/24",
                "taints": [
                    {"key": "k", "effect": "NoSchedule", "timeAdded": "2026-01-01T00:00:00Z"}
                ],
                "unschedulable": True,
            },
            "status": {
                "capacity": {"cpu": "4", "memory": "16Gi", "pods": "110"},
                "conditions": [
                    {
                        "type": "Ready",
                        "status": "True",
                        "lastHeartbeatTime": "2026-01-01T00:00:00Z",
                        "reason": "r",
                    }
                ],
                "addresses": [{"type": "InternalIP", "address": "1.2.3.4"}],
                "daemonEndpoints": {"kubeletEndpoint": {"Port": 10250}},
                "images": [{"names": ["a", "b"], "sizeBytes": 5}],
            },
        },
    ),
    ("Namespace", {"metadata": {"labels": {"a": "b"}}, "spec": {"finalizers": ["kubernetes"]}}),
    (
        "Lease",
        {
            "spec": {
                "holderIdentity": "x",
                "leaseDurationSeconds": 15,
                "acquireTime": "2026-01-01T00:00:00.000000Z",
                "renewTime": "2026-01-01T02:00:00.500000+02:00",
                "leaseTransitions": 0,
            }
        },
    ),
    ("PriorityClass", {"value": 0, "globalDefault": False, "description": ""}),
    ("ClusterRole", {"rules": []}),
    ("ClusterRole", {"rules": None, "aggregationRule": {"clusterRoleSelectors": [_SELECTOR]}}),
    (
        "ClusterRole",
        {
            "rules": [
                {
                    "apiGroups": [""],
                    "resources": ["pods"],
                    "verbs": ["get"],
                    "resourceNames": [],
                },
                {"nonResourceURLs": ["/x"], "verbs": ["get"]},
            ]
        },
    ),
    (
        "RoleBinding",
        {
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "r"},
            "subjects": [{"kind": "ServiceAccount", "name": "a", "namespace": "b"}],
        },
    ),
    ("DaemonSet", {"spec": {"selector": _SELECTOR, "template": TEMPLATE}}),
    ("ReplicaSet", {"spec": {"replicas": 0, "selector": _SELECTOR, "template": TEMPLATE}}),
    (
        "StatefulSet",
        {
            "spec": {
                "serviceName": "s",
                "selector": _SELECTOR,
                "template": TEMPLATE,
                "volumeClaimTemplates": [
                    {
                        "metadata": {"name": "data"},
                        "spec": {
                            "accessModes": ["ReadWriteOnce"],
                            "resources": {"requests": {"storage": "1Gi"}},
                        },
                    }
                ],
            }
        },
    ),
    ("PodDisruptionBudget", {"spec": {"minAvailable": "50%", "selector": _SELECTOR}}),
    ("PodDisruptionBudget", {"spec": {"maxUnavailable": 0, "selector": {}}}),
    (
        "StorageClass",
        {
            "provisioner": "p.example.com",
            "parameters": {"b": "1", "a": "2"},
            "mountOptions": ["x"],
            "allowedTopologies": [{"matchLabelExpressions": [{"key": "k", "values": ["v"]}]}],
        },
    ),
    ("CSIDriver", {"spec": {"attachRequired": False, "tokenRequests": [{"audience": "a"}]}}),
    ("CSINode", {"spec": {"drivers": []}}),
    (
        "CSINode",
        {
            "spec": {
                "drivers": [
                    {
                        "name": "d",
                        "nodeID": "n",
                        "topologyKeys": ["k"],
                        "allocatable": {"count": 1},
                    }
                ]
            }
        },
    ),
    (
        "CSIStorageCapacity",
        {"storageClassName": "s", "capacity": "10.5Gi", "nodeTopology": _SELECTOR},
    ),
    (
        "VolumeAttachment",
        {"spec": {"attacher": "a", "nodeName": "n", "source": {"persistentVolumeName": "p"}}},
    ),
    (
        "ResourceClaim",
        {
            "spec": {
                "devices": {
                    "requests": [
                        {
                            "name": "r",
                            "exactly": {
                                "deviceClassName": "c",
                                "selectors": [{"cel": {"expression": "true"}}],
                                "tolerations": [{"key": "k", "operator": "Exists"}],
                            },
                        }
                    ],
                    "config": [
                        {
                            "opaque": {
                                "driver": "d.example.com",
                                "parameters": {"a": [1, None], "b": {}},
                            }
                        }
                    ],
                }
            }
        },
    ),
    (
        "ResourceSlice",
        {
            "spec": {
                "driver": "d.example.com",
                "nodeName": "n",
                "pool": {"name": "p", "generation": 0, "resourceSliceCount": 1},
                "devices": [
                    {
                        "name": "d",
                        "attributes": {
                            "a": {"int": 5},
                            "b": {"bool": False},
                            "c": {"string": "s"},
                        },
                        "capacity": {"memory": {"value": "10Gi"}},
                    }
                ],
            }
        },
    ),
    (
        "DeviceClass",
        {
            "spec": {
                "selectors": [{"cel": {"expression": "true"}}],
                "config": [{"opaque": {"driver": "d.example.com", "parameters": {"x": 1}}}],
            }
        },
    ),
    (
        "CustomResourceDefinition",
        {
            "metadata": {"name": "widgets.types.example.com"},
            "spec": {
                "group": "types.example.com",
                "names": {"kind": "Widget", "plural": "widgets"},
                "scope": "Namespaced",
                "versions": [
                    {
                        "name": "v1",
                        "served": True,
                        "storage": True,
                        "subresources": {
                            "status": {},
                            "scale": {
                                "specReplicasPath": ".spec.n",
                                "statusReplicasPath": ".status.n",
                            },
                        },
                        "additionalPrinterColumns": [
                            {"name": "N", "type": "string", "jsonPath": ".spec.n"}
                        ],
                        "schema": {
                            "openAPIV3Schema": {
                                "type": "object",
                                "properties": {
                                    "spec": {
                                        "type": "object",
                                        "required": ["n"],
                                        "properties": {
                                            "n": {
                                                "type": "integer",
                                                "minimum": 0,
                                                "maximum": 10.5,
                                                "default": 0,
                                            },
                                            "list": {
                                                "type": "array",
                                                "items": {"type": "string", "enum": ["a", ""]},
                                            },
                                            "map": {
                                                "type": "object",
                                                "additionalProperties": {"type": "string"},
                                            },
                                            "any": {
                                                "type": "object",
                                                "x-kubernetes-preserve-unknown-fields": True,
                                                "default": {"a": [1, {"b": None}]},
                                            },
                                            "port": {"x-kubernetes-int-or-string": True},
                                        },
                                    },
                                    "status": {
                                        "type": "object",
                                        "x-kubernetes-preserve-unknown-fields": True,
                                    },
                                },
                            }
                        },
                    }
                ],
            },
        },
    ),
]
"""Objects that are accepted; names are given to those without."""
