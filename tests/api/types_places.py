"""Where the built-in kinds are created."""

PLACES = {
    "Job": ("batch/v1", "/apis/batch/v1/namespaces/default/jobs"),
    "CronJob": ("batch/v1", "/apis/batch/v1/namespaces/default/cronjobs"),
    "Pod": ("v1", "/api/v1/namespaces/default/pods"),
    "ConfigMap": ("v1", "/api/v1/namespaces/default/configmaps"),
    "Secret": ("v1", "/api/v1/namespaces/default/secrets"),
    "Service": ("v1", "/api/v1/namespaces/default/services"),
    "ServiceAccount": ("v1", "/api/v1/namespaces/default/serviceaccounts"),
    "PersistentVolumeClaim": ("v1", "/api/v1/namespaces/default/persistentvolumeclaims"),
    "ResourceQuota": ("v1", "/api/v1/namespaces/default/resourcequotas"),
    "LimitRange": ("v1", "/api/v1/namespaces/default/limitranges"),
    "ReplicationController": ("v1", "/api/v1/namespaces/default/replicationcontrollers"),
    "Event": ("events.k8s.io/v1", "/apis/events.k8s.io/v1/namespaces/default/events"),
    "Node": ("v1", "/api/v1/nodes"),
    "Namespace": ("v1", "/api/v1/namespaces"),
    "PersistentVolume": ("v1", "/api/v1/persistentvolumes"),
    "Lease": (
        "coordination.k8s.io/v1",
        "/apis/coordination.k8s.io/v1/namespaces/default/leases",
    ),
    "PriorityClass": ("scheduling.k8s.io/v1", "/apis/scheduling.k8s.io/v1/priorityclasses"),
    "ClusterRole": (
        "rbac.authorization.k8s.io/v1",
        "/apis/rbac.authorization.k8s.io/v1/clusterroles",
    ),
    "RoleBinding": (
        "rbac.authorization.k8s.io/v1",
        "/apis/rbac.authorization.k8s.io/v1/namespaces/default/rolebindings",
    ),
    "CustomResourceDefinition": (
        "apiextensions.k8s.io/v1",
        "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
    ),
    "DaemonSet": ("apps/v1", "/apis/apps/v1/namespaces/default/daemonsets"),
    "ReplicaSet": ("apps/v1", "/apis/apps/v1/namespaces/default/replicasets"),
    "StatefulSet": ("apps/v1", "/apis/apps/v1/namespaces/default/statefulsets"),
    "PodDisruptionBudget": (
        "policy/v1",
        "/apis/policy/v1/namespaces/default/poddisruptionbudgets",
    ),
    "StorageClass": ("storage.k8s.io/v1", "/apis/storage.k8s.io/v1/storageclasses"),
    "CSIDriver": ("storage.k8s.io/v1", "/apis/storage.k8s.io/v1/csidrivers"),
    "CSINode": ("storage.k8s.io/v1", "/apis/storage.k8s.io/v1/csinodes"),
    "CSIStorageCapacity": (
        "storage.k8s.io/v1",
        "/apis/storage.k8s.io/v1/namespaces/default/csistoragecapacities",
    ),
    "VolumeAttachment": ("storage.k8s.io/v1", "/apis/storage.k8s.io/v1/volumeattachments"),
    "ResourceClaim": (
        "resource.k8s.io/v1",
        "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims",
    ),
    "ResourceSlice": ("resource.k8s.io/v1", "/apis/resource.k8s.io/v1/resourceslices"),
    "DeviceClass": ("resource.k8s.io/v1", "/apis/resource.k8s.io/v1/deviceclasses"),
    "TokenReview": ("authentication.k8s.io/v1", "/apis/authentication.k8s.io/v1/tokenreviews"),
    "SubjectAccessReview": (
        "authorization.k8s.io/v1",
        "/apis/authorization.k8s.io/v1/subjectaccessreviews",
    ),
}
"""The apiVersion of each kind, and where it is created."""
