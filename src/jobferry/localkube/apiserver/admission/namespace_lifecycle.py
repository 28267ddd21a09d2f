"""NamespaceLifecycle: nothing is created in a namespace that is not there, or that is going."""

from jobferry.localkube.apiserver import status
from jobferry.localkube.apiserver.admission.cluster import Cluster
from jobferry.localkube.apiserver.admission.plugin import Plugin
from jobferry.localkube.apiserver.admission.request import (
    CONNECT,
    CREATE,
    DELETE,
    Request,
    Topic,
    forbidden,
)
from jobferry.localkube.apiserver.status import StatusError

IMMORTAL = frozenset({"default", "kube-system", "kube-public"})
"""Namespaces that cannot be deleted."""

_NAMESPACES = ("", "namespaces")
# Who may not know whether a namespace exists must not learn it from a review either.
_REVIEWS = ("authorization.k8s.io", "localsubjectaccessreviews")


def plugin(cluster: Cluster) -> Plugin:
    """Return the plugin."""

    async def admit(request: Request) -> None:
        if request.operation == DELETE:
            if request.name in IMMORTAL:
                why = "this namespace may not be deleted"
                raise status.forbidden(request.group, request.resource, request.name, why)
            return
        if not request.namespace:
            return
        namespace = cluster.get("", "namespaces", "", request.namespace)
        if namespace is None:
            raise status.not_found("", "namespaces", request.namespace)
        phase = (namespace.get("status") or {}).get("phase")
        if request.operation == CREATE and phase == "Terminating":
            raise _terminating(request)

    async def validate(request: Request) -> None:
        # A large object is checked for a while: its namespace may have gone meanwhile.
        if request.operation == CREATE:
            await admit(request)

    return Plugin(name="NamespaceLifecycle", handles=_handles, admit=admit, validate=validate)


def _handles(topic: Topic) -> bool:
    kind = (topic.group, topic.resource)
    if kind == _NAMESPACES:
        return topic.operation == DELETE
    return topic.operation not in (DELETE, CONNECT) and kind != _REVIEWS


def _terminating(request: Request) -> StatusError:
    name = request.namespace
    why = f"unable to create new content in namespace {name} because it is being terminated"
    error = forbidden(request, why)
    cause = {
        "reason": "NamespaceTerminating",
        "message": f"namespace {name} is being terminated",
        "field": "metadata.namespace",
    }
    error.detail("causes", [cause])
    return error
