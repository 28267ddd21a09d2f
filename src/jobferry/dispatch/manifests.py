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

FOLLOW = ("list", "watch")
READ = ("get", *FOLLOW)
MIRROR = (*READ, "create", "patch", "delete")


_LOOKED_UP = "  # What their workloads refer to: without this right it is not known how much these need.\n"


def text(
    name: str,
    namespaces: Collection[str] = (),
    kinds: Collection[Resource] = (),
    expiring: Collection[Resource] = (),
    *,
    referred: Collection[Resource] = (),
) -> str:
    """Return a set of manifests as YAML, with the comments that say why each part is there.

    If namespaces are given, the rights of "worker" are for workloads in these alone. Jobs are in it anyway; `kinds` are
    those besides them, and `expiring` those of them that we are to delete on the hub when their time is over.
    `referred` is what workloads refer to: on the hub, to know what they need; on a worker, to see whether it is there.
    """
    parts = [_read(file) for file in (_SOMEWHERE if namespaces else _FILES[name])]
    parts += [_read(_NAMESPACE).replace("NAMESPACE", each) for each in namespaces]
    if kinds:
        parts += _of_kinds(name, namespaces, kinds, expiring, referred)
    if referred and name == "worker":
        parts += _of_references(namespaces, referred)
    return "---\n".join(parts)


def objects(
    name: str,
    namespaces: Collection[str] = (),
    kinds: Collection[Resource] = (),
    expiring: Collection[Resource] = (),
    *,
    referred: Collection[Resource] = (),
) -> list[Obj]:
    """Return a set of manifests as objects."""
    return list(yaml.safe_load_all(text(name, namespaces, kinds, expiring, referred=referred)))


def _of_kinds(
    name: str,
    namespaces: Collection[str],
    kinds: Collection[Resource],
    expiring: Collection[Resource],
    referred: Collection[Resource],
) -> list[str]:
    """Return the rights that further kinds need, each kind a row."""
    if name == "hub":
        rows = [*_rows(kinds, READ), *_rows(kinds, ("patch",), "/status")]
        if referred:
            rows += [_LOOKED_UP, *_rows(referred, FOLLOW)]
        parts = [_filled("hub-kinds.yaml", rows)]
        if expiring:
            parts.append(_filled("hub-ttl.yaml", _rows(expiring, ("delete",))))
        return parts
    if name == "worker":
        rows = _rows(kinds, MIRROR)
        given = [_filled("worker-kinds-namespace.yaml", rows, each) for each in namespaces] or [
            _filled("worker-kinds.yaml", rows)
        ]
        return [*given, _read("worker-definitions.yaml")]
    return []


def _of_references(namespaces: Collection[str], referred: Collection[Resource]) -> list[str]:
    """Return the rights to look for what workloads refer to; what is in no namespace is looked for in all cases."""
    everywhere = [each for each in referred if not (namespaces and each.namespaced)]
    somewhere = _rows([each for each in referred if each.namespaced], ("get",))
    parts = [_filled("worker-references.yaml", _rows(everywhere, ("get",)))] * bool(everywhere)
    spaces = namespaces if somewhere else ()
    return parts + [
        _filled("worker-references-namespace.yaml", somewhere, each) for each in spaces
    ]


def _filled(file: str, rows: Iterable[str], namespace: str = "") -> str:
    """Return a file with the rules that belong there."""
    text = _read(file).replace("  # ROWS\n", "".join(rows))
    return text.replace("NAMESPACE", namespace) if namespace else text


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
