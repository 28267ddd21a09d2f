"""The columns of services."""

from datetime import datetime
from typing import Any

from jobferry.localkube.apiserver.printing import columns, durations
from jobferry.localkube.apiserver.printing.columns import Columns, column
from jobferry.objects import Obj

NONE = "<none>"
_USUAL = "ClusterIP"
"""What a service is that does not say: nothing fills in what was left out."""


def _cells(service: Obj, now: datetime) -> list[Any]:
    spec = service.get("spec") or {}
    cluster_ips = spec.get("clusterIPs") or (spec.get("clusterIP") or NONE,)
    pairs = sorted((spec.get("selector") or {}).items())
    return [
        columns.name_of(service),
        spec.get("type") or _USUAL,
        cluster_ips[0],
        _external_ip(spec, service.get("status") or {}),
        ",".join(map(_port, spec.get("ports") or ())) or NONE,
        columns.age_of(service, now),
        ",".join([f"{key}={value}" for key, value in pairs]) or NONE,
    ]


def _external_ip(spec: Obj, status: Obj) -> str:
    external = spec.get("externalIPs") or ()
    match spec.get("type") or _USUAL:
        case "ClusterIP" | "NodePort":
            return ",".join(external) or NONE
        case "LoadBalancer":
            return ",".join([*_ingress(status), *external]) or "<pending>"
        case "ExternalName":
            return str(spec.get("externalName", ""))
    return durations.UNKNOWN


def _ingress(status: Obj) -> list[str]:
    points = (status.get("loadBalancer") or {}).get("ingress") or ()
    return sorted({each.get("ip") or each.get("hostname") or "" for each in points} - {""})


def _port(port: Obj) -> str:
    node_port = port.get("nodePort") or 0
    number = f"{port['port']}:{node_port}" if node_port > 0 else port["port"]
    return f"{number}/{port.get('protocol') or 'TCP'}"


SERVICES = Columns(
    [
        columns.NAME,
        column("Type", "How the service is exposed."),
        column("Cluster-IP", "Its address inside the cluster."),
        column("External-IP", "Its addresses for the outside."),
        column("Port(s)", "Its ports, with the ports on nodes."),
        columns.AGE,
        column("Selector", "Which pods it leads to.", wide=True),
    ],
    _cells,
)
"""Services."""
