"""Which columns the objects of a built-in kind have."""

from collections.abc import Mapping

from jobferry.localkube.apiserver.printing import (
    batch,
    columns,
    events,
    few_columns,
    nodes,
    pods,
    services,
    volumes,
)
from jobferry.localkube.apiserver.printing.columns import Columns

_BUILT_IN: Mapping[tuple[str, str], Columns] = {
    ("", "ConfigMap"): few_columns.CONFIG_MAPS,
    ("", "Event"): events.EVENTS,
    ("", "LimitRange"): columns.DEFAULT,
    ("", "Namespace"): few_columns.NAMESPACES,
    ("", "Node"): nodes.NODES,
    ("", "PersistentVolume"): volumes.PERSISTENT_VOLUMES,
    ("", "PersistentVolumeClaim"): volumes.PERSISTENT_VOLUME_CLAIMS,
    ("", "Pod"): pods.PODS,
    ("", "ResourceQuota"): few_columns.RESOURCE_QUOTAS,
    ("", "Secret"): few_columns.SECRETS,
    ("", "Service"): services.SERVICES,
    ("", "ServiceAccount"): columns.NAME_AND_AGE,
    ("apiextensions.k8s.io", "CustomResourceDefinition"): columns.DEFAULT,
    ("batch", "CronJob"): batch.CRON_JOBS,
    ("batch", "Job"): batch.JOBS,
    ("coordination.k8s.io", "Lease"): few_columns.LEASES,
    ("events.k8s.io", "Event"): events.NEW_EVENTS,
    ("rbac.authorization.k8s.io", "ClusterRole"): columns.DEFAULT,
    ("rbac.authorization.k8s.io", "ClusterRoleBinding"): few_columns.ROLE_BINDINGS,
    ("rbac.authorization.k8s.io", "Role"): columns.DEFAULT,
    ("rbac.authorization.k8s.io", "RoleBinding"): few_columns.ROLE_BINDINGS,
    ("scheduling.k8s.io", "PriorityClass"): few_columns.PRIORITY_CLASSES,
}


def columns_for(group: str, kind: str) -> Columns:
    """Return the columns of a kind; stored kinds, which are not listed, show name and age."""
    return _BUILT_IN.get((group, kind), columns.NAME_AND_AGE)
