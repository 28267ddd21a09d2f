"""What is applied to a cluster before the dispatcher can work there: CRDs, and who may do what."""

from collections.abc import Collection, Iterable, Sequence
from importlib import resources
from types import MappingProxyType

import yaml

from jobferry.objects import Obj
from jobferry.objects.resource import Resource

_FILES = MappingProxyType(
    {
        "crds": ("crd-worker.yaml", "crd-queue.yaml", "crd-placement.yaml"),
        "hub": ("hub.yaml",),
        "worker": ("worker-account.yaml", "worker-everywhere.yaml"),
    }
)
_SOMEWHERE = ("worker-account.yaml", "worker-somewhere.yaml")
_NAMESPACE = "worker-namespace.yaml"

NAMES = tuple(_FILES)
"""The sets of manifests that there are."""

READ = ("get", "list", "watch")
MIRROR = (*READ, "create", "patch", "delete")


def text(
    name: str,
    namespaces: Collection[str] = (),
    kinds: Collection[Resource] = (),
    expiring: Collection[Resource] = (),
) -> str:
    """Return a set of manifests as YAML, with the comments that say why each part is there.

    If namespaces are given, the rights of "worker" are for workloads in these alone. Jobs are in it anyway; `kinds` are
    those besides them, and `expiring` those of them that we are to delete on the hub when their time is over.
    """
    parts = [_read(file) for file in (_SOMEWHERE if namespaces else _FILES[name])]
    parts += [_read(_NAMESPACE).replace("NAMESPACE", each) for each in namespaces]
    if kinds:
        parts += _of_kinds(name, namespaces, kinds, expiring)
    return "---\n".join(parts)


def objects(
    name: str,
    namespaces: Collection[str] = (),
    kinds: Collection[Resource] = (),
    expiring: Collection[Resource] = (),
) -> list[Obj]:
    """Return a set of manifests as objects."""
    return list(yaml.safe_load_all(text(name, namespaces, kinds, expiring)))


def _of_kinds(
    name: str,
    namespaces: Collection[str],
    kinds: Collection[Resource],
    expiring: Collection[Resource],
) -> list[str]:
    """Return the rights that further kinds need, each kind a row."""
    if name == "hub":
        rows = [*_rows(kinds, READ), *_rows(kinds, ("patch",), "/status")]
        parts = [_read("hub-kinds.yaml").replace("  # ROWS\n", "".join(rows))]
        if expiring:
            rows = _rows(expiring, ("delete",))
            parts.append(_read("hub-ttl.yaml").replace("  # ROWS\n", "".join(rows)))
        return parts
    if name == "worker":
        rows = _rows(kinds, MIRROR)
        files = ["worker-kinds-namespace.yaml"] * len(namespaces) or ["worker-kinds.yaml"]
        spaces = [*namespaces] or [""]
        filled = (_read(file).replace("  # ROWS\n", "".join(rows)) for file in files)
        return [
            part.replace("NAMESPACE", each) for part, each in zip(filled, spaces, strict=True)
        ] + [_read("worker-definitions.yaml")]
    return []


def _rows(kinds: Iterable[Resource], verbs: Sequence[str], subresource: str = "") -> list[str]:
    """Return the rules that allow something with kinds, one for each group."""
    groups: dict[str, list[str]] = {}
    for kind in kinds:
        groups.setdefault(kind.group, []).append(f"{kind.plural}{subresource}")
    return [
        f"  - apiGroups: [{group or chr(34) * 2}]\n    resources: [{', '.join(plurals)}]\n"
        f"    verbs: [{', '.join(verbs)}]\n"
        for group, plurals in groups.items()
    ]


def _read(file: str) -> str:
    return resources.files("jobferry.dispatch").joinpath("data", file).read_text("utf-8")
