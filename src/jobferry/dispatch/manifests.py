"""What is applied to a cluster before the dispatcher can work there: CRDs, and who may do what."""

from importlib import resources
from types import MappingProxyType

import yaml

from jobferry.objects import Obj

_FILES = MappingProxyType(
    {
        "crds": ("crd-worker.yaml", "crd-queue.yaml"),
        "hub": ("hub.yaml",),
        "worker": ("worker.yaml",),
    }
)

NAMES = tuple(_FILES)
"""The sets of manifests that there are."""


def text(name: str) -> str:
    """Return a set of manifests as YAML, with the comments that say why each part is there."""
    folder = resources.files("jobferry.dispatch").joinpath("data")
    return "---\n".join(folder.joinpath(file).read_text("utf-8") for file in _FILES[name])


def objects(name: str) -> list[Obj]:
    """Return a set of manifests as objects."""
    return list(yaml.safe_load_all(text(name)))
