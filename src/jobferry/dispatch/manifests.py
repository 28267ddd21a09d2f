"""What is applied to a cluster before the dispatcher can work there: CRDs, and who may do what."""

from collections.abc import Collection, Sequence
from importlib import resources
from itertools import chain
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

ON_WORKERS = "jobferry.io/rights=worker"
"""The label of rights on a worker that are given for some kinds, or in some namespaces: it finds all of them."""

FOLLOW = ("list", "watch")
READ = ("get", *FOLLOW)
MIRROR = (*READ, "create", "patch", "delete")


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
    """Return the rights that further kinds need, each kind a role of its own: to apply one leaves the others alone."""
    if name == "hub":
        return [
            *(_of_hub(each) for each in _once(kinds)),
            *(
                _filled("hub-lookup.yaml", each, _rule(each, FOLLOW))
                for each in _once(referred)
            ),
            _read("hub-multikueue.yaml"),
            *(
                _filled("hub-ttl.yaml", each, _rule(each, ("delete",)))
                for each in _once(expiring)
            ),
        ]
    if name == "worker":
        given = [_given("worker-kind", each, MIRROR, namespaces) for each in _once(kinds)]
        return [*chain.from_iterable(given), _read("worker-definitions.yaml")]
    return []


def _of_hub(kind: Resource) -> str:
    rules = _rule(kind, READ) + _rule(kind, ("patch",), "/status")
    return _filled("hub-kind.yaml", kind, rules)


def _of_references(namespaces: Collection[str], referred: Collection[Resource]) -> list[str]:
    """Return the rights to look for what workloads refer to; what is in no namespace is looked for in all cases."""
    given = (
        _given("worker-reference", each, ("get",), namespaces if each.namespaced else ())
        for each in _once(referred)
    )
    return [*chain.from_iterable(given)]


def _given(
    file: str, kind: Resource, verbs: Sequence[str], namespaces: Collection[str]
) -> list[str]:
    """Return a right everywhere or, if namespaces are given, in each of these."""
    rule = _rule(kind, verbs)
    if not namespaces:
        return [_filled(f"{file}.yaml", kind, rule)]
    somewhere = _filled(f"{file}-namespace.yaml", kind, rule)
    return [somewhere.replace("NAMESPACE", each) for each in namespaces]


def _once(kinds: Collection[Resource]) -> Collection[Resource]:
    """Return each kind once, in whatever versions it was named: RBAC knows no versions."""
    return {str(each): each for each in kinds}.values()


def _filled(file: str, kind: Resource, rules: str) -> str:
    """Return a file about a kind, with the rules that belong there."""
    return _read(file).replace("RESOURCE", str(kind)).replace("  # RULES\n", rules)


def _rule(kind: Resource, verbs: Sequence[str], subresource: str = "") -> str:
    """Return the rule that allows something with a kind."""
    return (
        f"  - apiGroups: [{kind.group or chr(34) * 2}]\n    resources: [{kind.plural}{subresource}]\n"
        f"    verbs: [{', '.join(verbs)}]\n"
    )


def _read(file: str) -> str:
    return resources.files("jobferry.dispatch").joinpath("data", file).read_text("utf-8")
