"""The table of built-in resources: one row for each."""

from collections.abc import Iterator, Mapping

from jobferry.localkube.apiserver.crds import definition
from jobferry.localkube.apiserver.printing.catalog import columns_for
from jobferry.localkube.apiserver.resource import READ_WRITE, Resource, Subresource
from jobferry.localkube.apiserver.strategies import (
    config_map,
    cronjob,
    event,
    job,
    lease,
    limit_range,
    namespace,
    node,
    persistent_volume_claim,
    pod,
    priority_class,
    rbac,
    resource_quota,
    secret,
    service_account,
    stored,
    stored_scale,
)
from jobferry.localkube.apiserver.strategy import Strategy
from jobferry.localkube.apiserver.types import event_forms
from jobferry.localkube.apiserver.types.codec import BuiltIn
from jobferry.localkube.apiserver.validation import names

_RBAC = "rbac.authorization.k8s.io"
_IDENTITY = "authentication.k8s.io"
_ACCESS = "authorization.k8s.io"
_EVENTS = "/registry/core/events/"

_CREATE = ("create",)
_CONNECT = ("create", "get")


def resources() -> Iterator[Resource]:
    """Return everything that is served from the first moment."""
    yield from _core()
    yield from _kept()
    yield from _batch()
    yield from _others()
    yield from _answered()
    yield from _stored()


def _core() -> Iterator[Resource]:
    """Return what runs, and where."""
    yield _row(
        "",
        "namespaces",
        "Namespace",
        namespace.STRATEGY,
        namespaced=False,
        short_names=("ns",),
        # A collection of namespaces cannot be deleted: upstream does not offer it either.
        verbs=("create", "delete", "get", "list", "patch", "update", "watch"),
        subresources={
            "status": Subresource(strategy=namespace.STATUS),
            "finalize": Subresource(strategy=namespace.FINALIZE, verbs=("update",)),
        },
    )
    yield _row(
        "",
        "pods",
        "Pod",
        pod.STRATEGY,
        short_names=("po",),
        categories=("all",),
        subresources={
            "status": Subresource(strategy=pod.STATUS),
            "binding": Subresource(kind="Binding", verbs=_CREATE),
            "eviction": Subresource(
                kind="Eviction", group="policy", version="v1", verbs=_CREATE
            ),
            "log": Subresource(verbs=("get",)),
            "exec": Subresource(kind="PodExecOptions", verbs=_CONNECT),
            "attach": Subresource(kind="PodAttachOptions", verbs=_CONNECT),
        },
    )
    yield _row(
        "",
        "bindings",
        "Binding",
        stored.strategy(namespaced=True, has_status=False),
        verbs=_CREATE,
    )
    yield _row(
        "",
        "nodes",
        "Node",
        node.STRATEGY,
        namespaced=False,
        short_names=("no",),
        subresources=_status(node.STATUS),
    )


def _kept() -> Iterator[Resource]:
    """Return what pods use and what limits them."""
    yield _row("", "configmaps", "ConfigMap", config_map.STRATEGY, short_names=("cm",))
    yield _row("", "secrets", "Secret", secret.STRATEGY)
    yield _row(
        "",
        "serviceaccounts",
        "ServiceAccount",
        service_account.STRATEGY,
        short_names=("sa",),
        subresources={
            "token": Subresource(
                kind="TokenRequest", group=_IDENTITY, version="v1", verbs=_CREATE
            )
        },
    )
    yield _row("", "events", "Event", event.STRATEGY, short_names=("ev",), root=_EVENTS)
    yield _row(
        "",
        "services",
        "Service",
        stored.strategy(
            namespaced=True,
            has_status=True,
            returns_deleted=True,
            fields={"spec.clusterIP": "", "spec.type": "ClusterIP"},
            unknown_field="field label not supported: {0}",
            name_problems=names.is_old_label,
        ),
        short_names=("svc",),
        categories=("all",),
        subresources=_status(stored.status_strategy(name_problems=names.is_old_label)),
        notice="there is no network here: localkube only stores services, and gives them no address",
    )
    yield _row(
        "",
        "persistentvolumeclaims",
        "PersistentVolumeClaim",
        persistent_volume_claim.STRATEGY,
        short_names=("pvc",),
        subresources=_status(persistent_volume_claim.STATUS),
    )
    yield _row(
        "",
        "resourcequotas",
        "ResourceQuota",
        resource_quota.STRATEGY,
        short_names=("quota",),
        subresources=_status(resource_quota.STATUS),
    )
    yield _row("", "limitranges", "LimitRange", limit_range.STRATEGY, short_names=("limits",))


def _batch() -> Iterator[Resource]:
    yield _row(
        "batch",
        "jobs",
        "Job",
        job.STRATEGY,
        categories=("all",),
        subresources=_status(job.STATUS),
    )
    yield _row(
        "batch",
        "cronjobs",
        "CronJob",
        cronjob.STRATEGY,
        short_names=("cj",),
        categories=("all",),
        subresources=_status(cronjob.STATUS),
    )


def _others() -> Iterator[Resource]:
    yield _row(
        "events.k8s.io",
        "events",
        "Event",
        event.NEW_STRATEGY,
        short_names=("ev",),
        root=_EVENTS,
        stored_version="v1",
        load=event_forms.to_new,
        save=event_forms.to_core,
    )
    yield _row("coordination.k8s.io", "leases", "Lease", lease.STRATEGY)
    yield _row(
        "scheduling.k8s.io",
        "priorityclasses",
        "PriorityClass",
        priority_class.STRATEGY,
        namespaced=False,
        short_names=("pc",),
    )
    yield _row(_RBAC, "roles", "Role", rbac.ROLE)
    yield _row(_RBAC, "rolebindings", "RoleBinding", rbac.ROLE_BINDING)
    yield _row(_RBAC, "clusterroles", "ClusterRole", rbac.CLUSTER_ROLE, namespaced=False)
    yield _row(
        _RBAC,
        "clusterrolebindings",
        "ClusterRoleBinding",
        rbac.CLUSTER_ROLE_BINDING,
        namespaced=False,
    )
    yield _row(
        "apiextensions.k8s.io",
        "customresourcedefinitions",
        "CustomResourceDefinition",
        definition.STRATEGY,
        namespaced=False,
        short_names=("crd", "crds"),
        categories=("api-extensions",),
        subresources=_status(definition.STATUS),
    )


def _answered() -> Iterator[Resource]:
    """Return kinds that are answered and never stored."""
    for group, kind, namespaced in (
        (_IDENTITY, "TokenReview", False),
        (_IDENTITY, "SelfSubjectReview", False),
        (_ACCESS, "SubjectAccessReview", False),
        (_ACCESS, "LocalSubjectAccessReview", True),
        (_ACCESS, "SelfSubjectAccessReview", False),
        (_ACCESS, "SelfSubjectRulesReview", False),
    ):
        unused = stored.strategy(namespaced=namespaced, has_status=False)
        plural = f"{kind.lower()}s"
        yield _row(group, plural, kind, unused, namespaced=namespaced, verbs=_CREATE)


_STORED = (
    # group, plural, kind, namespaced, has status, short name, categories
    ("", "persistentvolumes", "PersistentVolume", False, True, "pv", ()),
    ("", "replicationcontrollers", "ReplicationController", True, True, "rc", ("all",)),
    ("apps", "daemonsets", "DaemonSet", True, True, "ds", ("all",)),
    ("apps", "replicasets", "ReplicaSet", True, True, "rs", ("all",)),
    ("apps", "statefulsets", "StatefulSet", True, True, "sts", ("all",)),
    ("policy", "poddisruptionbudgets", "PodDisruptionBudget", True, True, "pdb", ()),
    ("storage.k8s.io", "storageclasses", "StorageClass", False, False, "sc", ()),
    ("storage.k8s.io", "csinodes", "CSINode", False, False, "", ()),
    ("storage.k8s.io", "csidrivers", "CSIDriver", False, False, "", ()),
    ("storage.k8s.io", "csistoragecapacities", "CSIStorageCapacity", True, False, "", ()),
    ("storage.k8s.io", "volumeattachments", "VolumeAttachment", False, True, "", ()),
    ("resource.k8s.io", "resourceclaims", "ResourceClaim", True, True, "", ()),
    ("resource.k8s.io", "resourceslices", "ResourceSlice", False, False, "", ()),
    ("resource.k8s.io", "deviceclasses", "DeviceClass", False, False, "", ()),
)
"""What kube-scheduler and the node lifecycle controller want to watch; nothing here acts on it."""


_FIELDS = {
    "replicationcontrollers": {"status.replicas": "0"},
    "resourceslices": {"spec.nodeName": "", "spec.driver": ""},
}
"""Fields of stored kinds that selectors may ask for, and what they are when they are not set."""
_UNKNOWN_FIELDS = {
    "replicationcontrollers": "field label not supported: {0}",
    "resourceslices": "field label not supported for resource.k8s.io/v1, Kind=ResourceSlice: {0}",
}
_PROPAGATION = {"replicationcontrollers": "Orphan"}
"""Stored kinds whose dependents stay when a delete does not say."""
_SCALED = frozenset({"replicationcontrollers", "replicasets", "statefulsets"})
_RETURNED = frozenset(
    (
        *("persistentvolumes", "storageclasses", "csinodes", "csidrivers", "volumeattachments"),
        *("resourceclaims", "resourceslices", "deviceclasses"),
    )
)
"""Stored kinds of which a delete is answered with the object."""


def _stored() -> Iterator[Resource]:
    for group, plural, kind, namespaced, has_status, short_name, categories in _STORED:
        yield _row(
            group,
            plural,
            kind,
            stored.strategy(
                namespaced=namespaced,
                has_status=has_status,
                has_generation=has_status,
                returns_deleted=plural in _RETURNED,
                default_propagation=_PROPAGATION.get(plural, "Background"),
                fields=_FIELDS.get(plural),
                unknown_field=_UNKNOWN_FIELDS.get(plural, ""),
            ),
            namespaced=namespaced,
            short_names=(short_name,) if short_name else (),
            categories=categories,
            subresources=_stored_subresources(group, plural) if has_status else None,
            notice=f"nothing acts on {plural} here: localkube only stores them",
        )


def _stored_subresources(group: str, plural: str) -> Mapping[str, Subresource]:
    found = dict(_status(stored.status_strategy()))
    if plural in _SCALED:
        found["scale"] = Subresource(
            kind="Scale",
            group="autoscaling",
            version="v1",
            scaling=stored_scale.Replicas(),
            places={f"{group}/v1" if group else "v1": "spec.replicas"},
        )
    return found


def _status(strategy: Strategy) -> Mapping[str, Subresource]:
    return {"status": Subresource(strategy=strategy, verbs=READ_WRITE)}


def _row(
    group: str,
    plural: str,
    kind: str,
    strategy: Strategy,
    *,
    namespaced: bool = True,
    subresources: Mapping[str, Subresource] | None = None,
    **more: object,
) -> Resource:
    api_version = f"{group}/v1" if group else "v1"
    return Resource(
        group=group,
        version="v1",
        kind=kind,
        plural=plural,
        singular=kind.lower(),
        namespaced=namespaced,
        strategy=strategy,
        codec=BuiltIn(api_version, kind),
        columns=columns_for(group, kind),
        subresources=subresources or {},
        **more,  # type: ignore[arg-type]
    )
