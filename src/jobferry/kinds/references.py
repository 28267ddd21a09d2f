"""What a workload refers to: objects that must be where it runs."""

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from jobferry.objects import Obj


class Reference(NamedTuple):
    """An object that a workload needs; it is in the workload's namespace, unless it is in none."""

    group: str
    kind: str
    name: str
    is_namespaced: bool = True

    def __str__(self) -> str:
        return (
            f"{self.kind}.{self.group} {self.name}"
            if self.group
            else f"{self.kind} {self.name}"
        )


def config_map(name: str) -> Reference:
    """Name a ConfigMap."""
    return Reference("", "ConfigMap", name)


def secret(name: str) -> Reference:
    """Name a Secret."""
    return Reference("", "Secret", name)


def service_account(name: str) -> Reference:
    """Name a ServiceAccount."""
    return Reference("", "ServiceAccount", name)


def claim(name: str) -> Reference:
    """Name a PersistentVolumeClaim."""
    return Reference("", "PersistentVolumeClaim", name)


def storage_class(name: str) -> Reference:
    """Name a StorageClass."""
    return Reference("storage.k8s.io", "StorageClass", name, is_namespaced=False)


def priority_class(name: str) -> Reference:
    """Name a PriorityClass."""
    return Reference("scheduling.k8s.io", "PriorityClass", name, is_namespaced=False)


BUILT_IN_CLASSES = frozenset({"system-cluster-critical", "system-node-critical"})
"""PriorityClasses that every cluster has."""

VOLUME_SECRETS = {
    "azureFile": "secretName",
    "cephfs": "secretRef",
    "flexVolume": "secretRef",
    "iscsi": "secretRef",
    "rbd": "secretRef",
    "scaleIO": "secretRef",
    "storageos": "secretRef",
}
"""Volumes that need a Secret, and the member that names it."""


def distinct(references: Iterable[Reference]) -> list[Reference]:
    """Return each once, in the order in which they came, without those that name nothing."""
    return [each for each in dict.fromkeys(references) if each.name]


def readable(found: Iterable[Reference]) -> Iterator[Reference]:
    """Yield references as far as they can be read: of what makes no sense the worker will tell."""
    try:
        for each in found:
            if isinstance(each.name, str):
                yield each
    except (AttributeError, TypeError):
        return


def of_pod(spec: Obj) -> Iterator[Reference]:
    """Yield what a pod needs: without it, it is not made or does not start."""
    yield from _of_scheduling(spec)
    for pulled in spec.get("imagePullSecrets") or ():
        yield secret(pulled.get("name") or "")
    for resource in spec.get("resourceClaims") or ():
        for member, kind in _CLAIMS.items():
            yield Reference("resource.k8s.io", kind, resource.get(member) or "")
    for volume in spec.get("volumes") or ():
        yield from of_volume(volume)
    for member in ("initContainers", "containers"):
        for container in spec.get(member) or ():
            yield from of_environment(container)


def of_volume(volume: Obj) -> Iterator[Reference]:
    """Yield what a volume of a pod needs."""
    yield from _of_source(volume)
    for source in (volume.get("projected") or {}).get("sources") or ():
        yield from _of_source(source)
    yield claim((volume.get("persistentVolumeClaim") or {}).get("claimName") or "")
    yield secret(
        ((volume.get("csi") or {}).get("nodePublishSecretRef") or {}).get("name") or ""
    )
    for type, member in VOLUME_SECRETS.items():
        named = (volume.get(type) or {}).get(member)
        yield secret(_name(named))
    template = (volume.get("ephemeral") or {}).get("volumeClaimTemplate") or {}
    yield from of_claim_template(template)


def of_claim_template(template: Obj) -> Iterator[Reference]:
    """Yield the class of the storage that is claimed by a template."""
    yield storage_class((template.get("spec") or {}).get("storageClassName") or "")


def of_environment(container: Obj) -> Iterator[Reference]:
    """Yield what the environment of a container is read from."""
    for variable in container.get("env") or ():
        source = variable.get("valueFrom") or {}
        yield from _required(source.get("configMapKeyRef"), "ConfigMap")
        yield from _required(source.get("secretKeyRef"), "Secret")
    for source in container.get("envFrom") or ():
        yield from _required(source.get("configMapRef"), "ConfigMap")
        yield from _required(source.get("secretRef"), "Secret")


_CLAIMS = {
    "resourceClaimName": "ResourceClaim",
    "resourceClaimTemplateName": "ResourceClaimTemplate",
}


def _of_scheduling(spec: Obj) -> Iterator[Reference]:
    account = spec.get("serviceAccountName") or ""
    if account != "default":  # every namespace has that one
        yield service_account(account)
    name = spec.get("priorityClassName") or ""
    if name not in BUILT_IN_CLASSES:
        yield priority_class(name)
    runtime = spec.get("runtimeClassName") or ""
    yield Reference("node.k8s.io", "RuntimeClass", runtime, is_namespaced=False)


def _of_source(source: Obj) -> Iterator[Reference]:
    """Yield the ConfigMap or Secret of a volume, or of a part of one that is projected."""
    yield from _required(source.get("configMap"), "ConfigMap")
    kept = source.get("secret")
    if kept is not None:
        yield from _required({"name": kept.get("secretName"), **kept}, "Secret")


def _required(reference: Obj | None, kind: str) -> Iterator[Reference]:
    if reference is not None and not reference.get("optional"):
        yield Reference("", kind, reference.get("name") or "")


def _name(named: Any) -> str:
    """Return the name in a reference, or the reference that is a name."""
    return (named.get("name") if isinstance(named, dict) else named) or ""
