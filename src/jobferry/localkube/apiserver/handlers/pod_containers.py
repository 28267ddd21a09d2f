"""Where a pod's containers are: which of them is meant, and what reaches its node."""

from jobferry.localkube.apiserver import status
from jobferry.localkube.apiserver.handlers.backend import Backend
from jobferry.localkube.apiserver.nodes import NodeConnector
from jobferry.localkube.apiserver.requests.call import Call
from jobferry.localkube.apiserver.status import StatusError
from jobferry.objects import Obj

_LISTS = ("initContainers", "containers", "ephemeralContainers")
_ADDRESSES = frozenset(("Hostname", "InternalDNS", "InternalIP", "ExternalDNS", "ExternalIP"))
"""The kinds of addresses at which a server looks for a kubelet."""


def pod_of(backend: Backend, call: Call) -> Obj:
    """Return the pod that a request is about; refuse a path that goes on."""
    if call.target.rest:
        raise status.unknown_path()
    name = call.target.name
    pod = backend.view.get("", "pods", call.target.namespace, name)
    if pod is None:
        raise status.not_found("", "pods", name)
    return pod


def container_of(pod: Obj, wanted: str) -> str:
    """Return the container that is meant: the one that is named, or the only one."""
    name, spec = pod["metadata"]["name"], pod["spec"]
    known = [each["name"] for part in _LISTS for each in spec.get(part) or ()]
    if wanted:
        if wanted not in known:
            raise status.bad_request(f"container {wanted} is not valid for pod {name}")
        return wanted
    if len(spec["containers"]) == 1:
        return str(spec["containers"][0]["name"])
    choice = f"choose one of: [{' '.join(known)}]"
    raise status.bad_request(f"a container name must be specified for pod {name}, {choice}")


def connector_of(backend: Backend, pod: Obj) -> NodeConnector | None:
    """Return what reaches the node of a pod, or None if nothing does; refuse a node that is none."""
    name = pod["spec"]["nodeName"]
    node = backend.view.get("", "nodes", "", name)
    if node is None:
        # It says pods: a server words it by what the request was about.
        raise status.not_found("", "pods", name)
    if found := backend.nodes.get(name):
        return found
    addresses = node.get("status", {}).get("addresses") or []
    if not any(each["type"] in _ADDRESSES for each in addresses):
        known = " ".join(f"{{{each['type']} {each['address']}}}" for each in addresses)
        why = f"no preferred addresses found; known addresses: [{known}]"
        raise StatusError(500, "", why)
    return None


def unreachable(pod: Obj) -> str:
    """Say that nothing reaches the node of a pod."""
    return f'node "{pod["spec"]["nodeName"]}" is not connected to this server'
