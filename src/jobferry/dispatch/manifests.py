"""What is applied to a cluster before the dispatcher can work there: CRDs, and who may do what."""

from collections.abc import Collection
from importlib import resources
from types import MappingProxyType

import yaml

from jobferry.objects import Obj

_FILES = MappingProxyType(
    {
        "crds": ("crd-worker.yaml", "crd-queue.yaml"),
        "hub": ("hub.yaml",),
        "worker": ("worker-account.yaml", "worker-everywhere.yaml"),
    }
)
_SOMEWHERE = ("worker-account.yaml", "worker-somewhere.yaml")
_NAMESPACE = "worker-namespace.yaml"

NAMES = tuple(_FILES)
"""The sets of manifests that there are."""


def text(name: str, namespaces: Collection[str] = ()) -> str:
    """Return a set of manifests as YAML, with the comments that say why each part is there.

    If namespaces are given, the rights of "worker" are for Jobs in these alone.
    """
    parts = [_read(file) for file in (_SOMEWHERE if namespaces else _FILES[name])]
    parts += [_read(_NAMESPACE).replace("NAMESPACE", each) for each in namespaces]
    return "---\n".join(parts)


def objects(name: str, namespaces: Collection[str] = ()) -> list[Obj]:
    """Return a set of manifests as objects."""
    return list(yaml.safe_load_all(text(name, namespaces)))


def _read(file: str) -> str:
    return resources.files("jobferry.dispatch").joinpath("data", file).read_text("utf-8")
