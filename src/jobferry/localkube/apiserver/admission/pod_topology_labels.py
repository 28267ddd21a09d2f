"""PodTopologyLabels: a pod carries the zone and region of the node that it is bound to."""

from jobferry.localkube.apiserver.admission.cluster import Cluster
from jobferry.localkube.apiserver.admission.plugin import Plugin
from jobferry.localkube.apiserver.admission.request import CREATE, Request, Topic
from jobferry.objects import Obj

_LABELS = ("topology.kubernetes.io/zone", "topology.kubernetes.io/region")


def plugin(cluster: Cluster) -> Plugin:
    """Return the plugin."""

    async def admit(request: Request) -> None:
        obj = request.obj or {}
        node = _node(obj, request.subresource)
        found = cluster.get("", "nodes", "", node) if node else None
        labels = _topology(found) if found else {}
        if labels:
            metadata = obj.setdefault("metadata", {})
            metadata["labels"] = (metadata.get("labels") or {}) | labels

    return Plugin(name="PodTopologyLabels", handles=_handles, admit=admit)


def _handles(topic: Topic) -> bool:
    return topic.creates("", "pods") or topic == ("", "pods", "binding", CREATE)


def _node(obj: Obj, subresource: str) -> str:
    if not subresource:
        return str((obj.get("spec") or {}).get("nodeName") or "")
    target = obj.get("target") or {}
    return str(target.get("name") or "") if target.get("kind") == "Node" else ""


def _topology(node: Obj) -> Obj:
    labels = node["metadata"].get("labels") or {}
    return {label: labels[label] for label in _LABELS if label in labels}
