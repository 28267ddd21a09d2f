"""What is served, in the forms in which clients ask: aggregated, and group by group."""

import base64
import hashlib
from collections.abc import Iterable, Iterator

from jobferry.localkube.apiserver.registry import Registry
from jobferry.localkube.apiserver.resource import Resource, Subresource
from jobferry.localkube.apiserver.version_order import rank
from jobferry.objects import Obj

_GROUPS = (
    *("", "apps", "events.k8s.io", "authentication.k8s.io", "authorization.k8s.io", "batch"),
    *("policy", "rbac.authorization.k8s.io", "storage.k8s.io", "apiextensions.k8s.io"),
    *("scheduling.k8s.io", "coordination.k8s.io", "resource.k8s.io"),
)
"""Built-in groups, the most important first; those of custom resources follow by name."""


_HASHED_AS = {"customresourcedefinitions": "apiextensions.k8s.io/v1beta1"}
"""What upstream still stores in an older version."""


def aggregated(registry: Registry, *, core: bool, version: str) -> Obj:
    """Return everything of the core group, or of all other groups, in one list."""
    groups = [""] if core else [group for group in _groups(registry) if group]
    return {
        "kind": "APIGroupDiscoveryList",
        "apiVersion": f"apidiscovery.k8s.io/{version}",
        "metadata": {},
        "items": [_aggregated_group(registry, group) for group in groups],
    }


def core_versions(address: str) -> Obj:
    """Return the versions of the core group."""
    return {
        "kind": "APIVersions",
        "versions": ["v1"],
        "serverAddressByClientCIDRs": [
            {"clientCIDR": "0.0.0.0/0", "serverAddress": address},
        ],
    }


def group_list(registry: Registry) -> Obj:
    """Return all groups but the core group."""
    groups = [_group(registry, group) for group in _groups(registry) if group]
    return {"kind": "APIGroupList", "apiVersion": "v1", "groups": groups}


def one_group(registry: Registry, group: str) -> Obj | None:
    """Return one group, or None if nothing of it is served."""
    if not _versions(registry, group):
        return None
    return {"kind": "APIGroup", "apiVersion": "v1", **_group(registry, group)}


def resource_list(registry: Registry, group: str, version: str) -> Obj | None:
    """Return the resources of one version with their subresources, or None if it is not served."""
    served = registry.in_version(group, version)
    if not served:
        return None
    resources = [row for _, resource in sorted(served.items()) for row in _rows(resource)]
    return {
        "kind": "APIResourceList",
        **({"apiVersion": "v1"} if group else {}),  # the core group's is older than that
        "groupVersion": f"{group}/{version}" if group else version,
        "resources": resources,
    }


def _groups(registry: Registry) -> list[str]:
    """Return all groups in the order of an API server: kubectl looks for short names in that order."""
    found = {group for group, _ in registry.group_versions()}
    last = len(_GROUPS)
    ranks = {group: rank for rank, group in enumerate(_GROUPS)}
    return sorted(found, key=lambda group: (ranks.get(group, last), group))


def _versions(registry: Registry, group: str) -> list[str]:
    """Return the versions of a group, the preferred one first."""
    found = [version for each, version in registry.group_versions() if each == group]
    return sorted(found, key=rank)


def _group(registry: Registry, group: str) -> Obj:
    versions = [
        {"groupVersion": f"{group}/{version}", "version": version}
        for version in _versions(registry, group)
    ]
    return {"name": group, "versions": versions, "preferredVersion": versions[0]}


def _rows(resource: Resource) -> Iterator[Obj]:
    row: Obj = {
        "name": resource.plural,
        "singularName": resource.singular,
        "namespaced": resource.namespaced,
        "kind": resource.kind,
        "verbs": list(resource.verbs),
    }
    if "get" in resource.verbs:
        row["storageVersionHash"] = _storage_hash(resource)
    if resource.short_names:
        row["shortNames"] = list(resource.short_names)
    if resource.categories:
        row["categories"] = list(resource.categories)
    if resource.verbs:
        yield row
    for name, subresource in sorted(resource.subresources.items()):
        yield {
            "name": f"{resource.plural}/{name}",
            "singularName": "",
            "namespaced": resource.namespaced,
            **_foreign(subresource),
            "kind": subresource.kind or resource.kind,
            "verbs": list(subresource.verbs),
        }


def _storage_hash(resource: Resource) -> str:
    """Return by what clients may tell that two resources hold the same objects."""
    version = resource.stored_version or resource.api_version
    version = _HASHED_AS.get(resource.plural, version) if resource.built_in else version
    text = f"{version}/{resource.kind}" if "/" in version else f"/{version}/{resource.kind}"
    return base64.b64encode(hashlib.sha256(text.encode()).digest()[:8]).decode()


def _foreign(subresource: Subresource) -> Obj:
    """Say where the kind of a subresource comes from, if it is from elsewhere."""
    if not subresource.version:
        return {}
    return {"group": subresource.group, "version": subresource.version}


def _aggregated_group(registry: Registry, group: str) -> Obj:
    return {
        "metadata": {"name": group} if group else {},
        "versions": [
            {
                "version": version,
                "resources": _aggregated_resources(
                    registry.in_version(group, version).values()
                ),
                "freshness": "Current",
            }
            for version in _versions(registry, group)
        ],
    }


def _aggregated_resources(resources: Iterable[Resource]) -> list[Obj]:
    return [_aggregated(each) for each in sorted(resources, key=lambda each: each.plural)]


def _aggregated(resource: Resource) -> Obj:
    found: Obj = {
        "resource": resource.plural,
        "responseKind": _own_kind(resource, resource.kind),
        "scope": "Namespaced" if resource.namespaced else "Cluster",
        "singularResource": resource.singular,
        "verbs": list(resource.verbs),
    }
    if resource.short_names:
        found["shortNames"] = list(resource.short_names)
    if resource.categories:
        found["categories"] = list(resource.categories)
    if resource.subresources:
        found["subresources"] = [
            {
                "subresource": name,
                "responseKind": _kind(each.group, each.version, each.kind)
                if each.version
                else _own_kind(resource, each.kind or resource.kind),
                "verbs": list(each.verbs),
            }
            for name, each in sorted(resource.subresources.items())
        ]
    return found


def _own_kind(resource: Resource, kind: str) -> Obj:
    """Return a kind of the group and version that a resource is in; built-in ones need not say which."""
    if resource.built_in:
        return _kind("", "", kind)
    return _kind(resource.group, resource.version, kind)


def _kind(group: str, version: str, kind: str) -> Obj:
    return {"group": group, "version": version, "kind": kind}
