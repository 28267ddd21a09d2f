"""What is said of kinds that a worker serves and does not show us: on its Worker, from where commands read it back."""

import re
from collections.abc import Collection, Mapping

from jobferry.errors import Error
from jobferry.kube import errors
from jobferry.objects import Obj, conditions
from jobferry.objects.resource import Resource

UNSEEN = "KindsUnseen"
"""The reason of the condition Connected that says so."""

_SAID = "Connected, but not for: "
_NAME = re.compile(r"(?:^|; )([A-Z][A-Za-z0-9]*(?:\.[a-z0-9.-]+)?): ")


def why_hidden(kind: Resource, trouble: Error | None, only: Collection[str]) -> str:
    """Say why a kind is out of sight, and which command has the rights if they are missing."""
    if not isinstance(trouble, errors.Forbidden):
        return str(trouble or "not listed yet")
    within = f" --namespaces {','.join(only)}" if only else ""
    command = f"jobferry manifests worker --kinds {kind.kind}{within}"
    return f"we have no rights on it there; `{command}` has them"


def told(hidden: Mapping[str, str]) -> str:
    """Name the kinds that are out of sight, and why."""
    return _SAID + "; ".join(f"{name}: {why}" for name, why in hidden.items())


def recall(status: Obj) -> dict[str, str]:
    """Read from the status of a Worker which kinds are out of sight there, and why."""
    connected = conditions.find(status.get("conditions"), "Connected") or {}
    if connected.get("reason") != UNSEEN:
        return {}
    _, *said = _NAME.split(str(connected.get("message")).removeprefix(_SAID))
    return dict(zip(said[::2], said[1::2], strict=True))
