"""Which secrets a pod refers to, and whether its service account lets it."""

from collections.abc import Iterator

from jobferry.objects import Obj

ENFORCE = "kubernetes.io/enforce-mountable-secrets"
"""An account with this annotation lets its pods use only the secrets that it lists."""

_TRUE = frozenset({"1", "t", "T", "TRUE", "true", "True"})
_CONTAINERS = (("init container", "initContainers"), ("container", "containers"))
_EPHEMERAL = (("ephemeral container", "ephemeralContainers"),)
_SECRET_REFS = ("cephfs", "cinder", "flexVolume", "rbd", "scaleIO", "iscsi", "storageos")


def problem(account: Obj, spec: Obj, subresource: str) -> str | None:
    """Say which secret a pod must not use; with the subresource, only new containers are looked at."""
    metadata = account["metadata"]
    if (metadata.get("annotations") or {}).get(ENFORCE) not in _TRUE:
        return None
    known = {reference.get("name", "") for reference in account.get("secrets") or ()}
    because = (
        f"is not allowed because service account {metadata['name']} does not reference that"
    )
    uses = _of_containers(spec, _EPHEMERAL) if subresource else _uses(spec)
    for what, name in uses:
        if name not in known:
            return f"{what} {because} secret"
    if subresource:
        return None
    pulls = {reference.get("name", "") for reference in account.get("imagePullSecrets") or ()}
    for index, reference in enumerate(spec.get("imagePullSecrets") or ()):
        name = reference.get("name", "")
        if name not in pulls:
            return f'imagePullSecrets[{index}].name="{name}" {because} imagePullSecret'
    return None


def any_in(spec: Obj) -> bool:
    """Tell whether a pod refers to any secret at all."""
    return any(_names(spec))


def _uses(spec: Obj) -> Iterator[tuple[str, str]]:
    """Yield each use of a secret, described, with the secret's name."""
    for volume in spec.get("volumes") or ():
        if volume.get("secret") is not None:
            name = volume["secret"].get("secretName", "")
            yield f'volume with secret.secretName="{name}"', name
    yield from _of_containers(spec, _CONTAINERS)


def _of_containers(spec: Obj, kinds: tuple[tuple[str, str], ...]) -> Iterator[tuple[str, str]]:
    for word, field in kinds:
        for container in spec.get(field) or ():
            who = f"{word} {container.get('name', '')}"
            for variable in container.get("env") or ():
                reference = (variable.get("valueFrom") or {}).get("secretKeyRef")
                if reference is not None:
                    name = reference.get("name", "")
                    what = f"envVar {variable.get('name', '')} referencing"
                    yield f'{who} with {what} secret.secretName="{name}"', name
            for source in container.get("envFrom") or ():
                if source.get("secretRef") is not None:
                    name = source["secretRef"].get("name", "")
                    yield f'{who} with envFrom referencing secret.secretName="{name}"', name


def _names(spec: Obj) -> Iterator[str]:
    for reference in spec.get("imagePullSecrets") or ():
        yield reference.get("name", "")
    for _, name in _of_containers(spec, _CONTAINERS + _EPHEMERAL):
        yield name
    for volume in spec.get("volumes") or ():
        yield (volume.get("secret") or {}).get("secretName", "")
        yield (volume.get("azureFile") or {}).get("secretName", "")
        yield ((volume.get("csi") or {}).get("nodePublishSecretRef") or {}).get("name", "")
        for source in (volume.get("projected") or {}).get("sources") or ():
            yield (source.get("secret") or {}).get("name", "")
        for field in _SECRET_REFS:
            yield ((volume.get(field) or {}).get("secretRef") or {}).get("name", "")
