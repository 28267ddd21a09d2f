"""Reads the kubeconfig of a worker from where its Worker object says.

Whoever may write a Worker, or the Secret that it names, is not trusted with the dispatcher's own files and
programs: a token file sent to a server of theirs would be theirs.
"""

import base64
from dataclasses import dataclass
from pathlib import Path

from jobferry.clock import Clock
from jobferry.errors import BadInput
from jobferry.kube import errors, kubeconfig
from jobferry.kube.access import Access
from jobferry.kube.client import Client
from jobferry.kube.document import ANYTHING, Trust
from jobferry.kube.kubeconfig import Kubeconfig
from jobferry.kube.resources import SECRETS
from jobferry.workers import resource
from jobferry.workers.resource import SecretKey

NOTHING = Trust(files=None, programs=frozenset())


class SecretNotFound(BadInput):
    """There is no Secret of the name that a Worker gives."""

    hint = "Create the Secret; it is noticed."


class SecretForbidden(BadInput):
    """The dispatcher may not read the Secret that a Worker names."""

    hint = "Put it into the dispatcher's own namespace, or grant the right to get it there."


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """Which kubeconfigs of Workers are accepted."""

    policy: Trust = NOTHING
    """For kubeconfig files, and for what a kubeconfig names, wherever it is."""

    trusted: frozenset[Path] = frozenset()
    """Files that the operator named, written just like this; they may name anything."""


STRICT = Rules()


async def access(hub: Client, where: resource.Kubeconfig, clock: Clock, rules: Rules) -> Access:
    """Return how to reach a worker; raises `BadInput` that names the file or Secret and the key."""
    if where.secret is not None:
        label = f"Secret {where.secret.namespace}/{where.secret.name}, key {where.secret.key}"
        content = await _secret(hub, where.secret, label)
        config = kubeconfig.from_bytes(content, label, rules.policy)
    elif where.file is not None:
        config = _file(where.file, rules)
    else:
        raise BadInput("spec.kubeconfig names neither a secret nor a file")
    return config.access(where.context, clock=clock)


def _file(name: str, rules: Rules) -> Kubeconfig:
    path = Path(name)
    if path in rules.trusted:
        return kubeconfig.from_file(path, ANYTHING)
    if not path.is_absolute() or "\0" in name:
        raise BadInput("spec.kubeconfig.file: not an absolute path")
    if refusal := rules.policy.refusal_to_read(path):
        raise BadInput(f"spec.kubeconfig.file: {refusal}")
    return kubeconfig.from_file(path, rules.policy)


async def _secret(hub: Client, where: SecretKey, label: str) -> bytes:
    try:
        secret = await hub.get(SECRETS, where.name, where.namespace)
    except errors.NotFound as error:
        raise SecretNotFound(f"{label}: there is no such Secret on the hub") from error
    except errors.Forbidden as error:
        raise SecretForbidden(f"{label}: {error}") from error
    encoded = (secret.get("data") or {}).get(where.key)
    if encoded is None:
        raise BadInput(f"{label}: there is no such key")
    return base64.b64decode(encoded)
