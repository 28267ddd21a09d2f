"""What volumes may consist of, right and wrong, by name. Plain data."""

from jobferry.objects import Obj
from tests.api.job_bodies import LONG

VOLUME_SOURCES: dict[str, Obj] = {
    "nothing": {},
    "empty": {"emptyDir": {}},
    "empty, limited": {"emptyDir": {"sizeLimit": "1Gi", "medium": "Memory"}},
    "empty, limited below zero": {"emptyDir": {"sizeLimit": "-1"}},
    "two": {"emptyDir": {}, "hostPath": {"path": "/a"}, "cephfs": {}, "downwardAPI": {}},
    "host path": {"hostPath": {"path": "/a", "type": "Directory"}},
    "host path bad": {"hostPath": {"path": "/a/..", "type": "Any"}},
    "host path empty": {"hostPath": {}},
    "secret": {"secret": {"secretName": "a", "items": [{"key": "a", "path": "b"}]}},
    "secret bad": {
        "secret": {
            "defaultMode": 512,
            "items": [
                {"path": "/x"},
                {"key": "a", "path": "../b", "mode": -1},
                {"path": "..x"},
            ],
        }
    },
    "config": {"configMap": {"name": "a", "optional": True, "defaultMode": 256}},
    "config bad": {"configMap": {"items": [{}]}},
    "config overlapping": {
        "configMap": {
            "name": "a",
            "items": [{"key": "a", "path": "x"}, {"key": "b", "path": "x/y"}],
        }
    },
    "downward": {
        "downwardAPI": {
            "items": [
                {"path": "a", "fieldRef": {"fieldPath": "metadata.labels"}},
                {
                    "path": "b",
                    "resourceFieldRef": {"containerName": "main", "resource": "limits.cpu"},
                },
            ]
        }
    },
    "downward bad": {
        "downwardAPI": {
            "items": [
                {"path": "", "mode": 1000},
                {"path": "/a", "fieldRef": {"fieldPath": "status.podIP"}},
                {
                    "path": "b",
                    "fieldRef": {"fieldPath": "metadata.name"},
                    "resourceFieldRef": {"resource": "limits.cpu"},
                },
                {"path": "c", "resourceFieldRef": {"resource": "limits.cpu"}},
            ]
        }
    },
    "projected": {
        "projected": {
            "sources": [
                {"secret": {"name": "a"}},
                {"configMap": {"name": "a", "items": [{"key": "a", "path": "b"}]}},
                {"serviceAccountToken": {"path": "t"}},
            ]
        }
    },
    "projected bad": {
        "projected": {
            "defaultMode": -1,
            "sources": [
                {
                    "secret": {},
                    "configMap": {"name": "a", "items": [{"key": "a", "path": "x"}]},
                },
                {"secret": {"name": "b", "items": [{"key": "a", "path": "x"}]}},
                {"downwardAPI": {"items": [{"path": "x"}]}},
                {"serviceAccountToken": {"expirationSeconds": 5}},
                {"serviceAccountToken": {"expirationSeconds": 2**33, "path": "/t"}},
            ],
        }
    },
    "projected, dropped": {"projected": {"sources": [{"clusterTrustBundle": {"path": "a"}}]}},
    "claim": {"persistentVolumeClaim": {"claimName": "a"}},
    "claim bad": {"persistentVolumeClaim": {}},
    "csi": {"csi": {"driver": "a.b"}},
    "csi bad": {"csi": {"driver": "A_B", "nodePublishSecretRef": {"name": "C"}}},
    "csi long": {"csi": {"driver": LONG, "nodePublishSecretRef": {}}},
    "ephemeral": {
        "ephemeral": {
            "volumeClaimTemplate": {
                "spec": {
                    "accessModes": ["ReadWriteOnce"],
                    "resources": {"requests": {"storage": "1Gi"}},
                }
            }
        }
    },
    "ephemeral bad": {
        "ephemeral": {
            "volumeClaimTemplate": {
                "metadata": {"name": "a", "labels": {"a b": ""}},
                "spec": {
                    "accessModes": ["ReadWriteOncePod", "ReadWriteOnce", "Some"],
                    "resources": {"requests": {"storage": "0"}},
                    "storageClassName": "A",
                    "volumeMode": "Tape",
                    "dataSource": {"kind": "A", "name": ""},
                    "dataSourceRef": {"kind": "B", "name": "b", "apiGroup": "A"},
                },
            }
        }
    },
    "ephemeral without template": {"ephemeral": {}},
    "ephemeral, empty": {"ephemeral": {"volumeClaimTemplate": {"spec": {}}}},
    "image": {"image": {"reference": "a:latest"}},
    "image, no reference": {"image": {"pullPolicy": "Now"}},
    "nfs": {"nfs": {"server": "a", "path": "/b"}},
    "nfs bad": {"nfs": {"path": "b"}},
    "git": {"gitRepo": {"repository": "a", "directory": "x"}},
    "rbd": {"rbd": {"monitors": ["a"], "image": "b"}},
    "cephfs": {"cephfs": {"monitors": ["a"]}},
}
"""What a volume may consist of."""
