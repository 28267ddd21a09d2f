"""Reads the kubeconfig of a worker from where its Worker object says."""

import base64
from pathlib import Path

from jobferry.clock import Clock
from jobferry.errors import BadInput
from jobferry.kube import kubeconfig
from jobferry.kube.access import Access
from jobferry.kube.client import Client
from jobferry.kube.resources import SECRETS
from jobferry.workers.resource import Kubeconfig, SecretKey


async def access(hub: Client, where: Kubeconfig, clock: Clock) -> Access:
    """Return how to reach a worker; raises `BadInput` that names the file or Secret and the key."""
    if where.secret is not None:
        label = f"Secret {where.secret.namespace}/{where.secret.name}, key {where.secret.key}"
        config = kubeconfig.from_bytes(await _secret(hub, where.secret, label), label)
    elif where.file is not None:
        config = kubeconfig.from_file(Path(where.file))
    else:
        raise BadInput("spec.kubeconfig names neither a secret nor a file")
    return config.access(where.context, clock=clock)


async def _secret(hub: Client, where: SecretKey, label: str) -> bytes:
    secret = await hub.get(SECRETS, where.name, where.namespace)
    encoded = (secret.get("data") or {}).get(where.key)
    if encoded is None:
        raise BadInput(f"{label}: there is no such key")
    return base64.b64decode(encoded)
