"""One kubeconfig for all clusters of a fleet, a context for each."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from jobferry.localkube.apiserver.identity import private

_KEYS = {"clusters": "cluster", "users": "user"}


def merged(configs: Mapping[str, str]) -> str:
    """Return the kubeconfigs of single clusters as one, under the names they have here; the first is current."""
    result: dict[str, Any] = {"apiVersion": "v1", "kind": "Config"}
    for name, text in configs.items():
        config = yaml.safe_load(text)
        for section, key in _KEYS.items():
            entry = {"name": name, key: config[section][0][key]}
            result.setdefault(section, []).append(entry)
        context = {"name": name, "context": {"cluster": name, "user": name}}
        result.setdefault("contexts", []).append(context)
    result["current-context"] = next(iter(configs))
    return json.dumps(result, indent=2)


def write(path: Path, configs: Mapping[str, str]) -> None:
    """Write such a kubeconfig, for its owner's eyes only, whole or not at all."""
    private.write(path, merged(configs).encode())
