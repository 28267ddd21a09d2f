"""How a pod reaches the API server of the cluster that it runs in."""

import ipaddress
import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from jobferry.clock import Clock
from jobferry.errors import BadInput
from jobferry.kube import material
from jobferry.kube.access import Access, Server
from jobferry.kube.credentials import Papers, credentials_from
from jobferry.kube.material import Material

FOLDER = Path("/var/run/secrets/kubernetes.io/serviceaccount")
"""Where the kubelet puts the service account's token, CA and namespace."""

_PLACE = "in-cluster configuration"


def access(
    *, clock: Clock, environ: Mapping[str, str] = os.environ, folder: Path = FOLDER
) -> Access:
    """Return how this pod reaches its cluster; raises `BadInput` outside of one."""
    token = Material(_PLACE, folder / "token")
    return Access(
        server=Server(
            url=_url(environ), ca=material.certificates(Material(_PLACE, folder / "ca.crt"))
        ),
        credentials=credentials_from(Papers(tokens=(token,)), clock),
        namespace=environ.get("POD_NAMESPACE") or _namespace(folder) or "default",
    )


def _url(environ: Mapping[str, str]) -> str:
    host = _variable(environ, "KUBERNETES_SERVICE_HOST")
    port = _variable(environ, "KUBERNETES_SERVICE_PORT")
    if not port.isdecimal() or not 0 < int(port) < 2**16:
        raise BadInput(f"{_PLACE}: KUBERNETES_SERVICE_PORT: not a port number")
    with suppress(ValueError):
        host = f"[{ipaddress.IPv6Address(host)}]"
    return f"https://{host}:{port}"


def _variable(environ: Mapping[str, str], name: str) -> str:
    if value := environ.get(name):
        return value
    raise BadInput(f"{_PLACE}: {name} is not set", hint="Outside of a pod, name a kubeconfig.")


def _namespace(folder: Path) -> str:
    try:
        return material.read_file(folder / "namespace").decode().strip()
    except (OSError, UnicodeDecodeError):
        return ""  # the rights of the account decide, not this default
