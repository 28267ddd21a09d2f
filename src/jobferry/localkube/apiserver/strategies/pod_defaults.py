"""What an API server fills in that a pod, or a template for pods, leaves out."""

from collections.abc import Callable, Iterable

from jobferry.localkube.apiserver.strategies import images
from jobferry.localkube.apiserver.validation import resources, volumes
from jobferry.objects import Obj

_OLD_ANNOTATIONS = (
    "pod.beta.kubernetes.io/init-containers",
    "pod.alpha.kubernetes.io/init-containers",
    "pod.beta.kubernetes.io/init-container-statuses",
    "pod.alpha.kubernetes.io/init-container-statuses",
)
_CONTAINERS = ("initContainers", "containers", "ephemeralContainers")
_PROBES = ("livenessProbe", "readinessProbe", "startupProbe")
_FILE_MODE = 0o644


def default_template(template: Obj) -> None:
    """Fill in a template for pods."""
    drop_old_annotations(template.setdefault("metadata", {}))
    default_spec(template.setdefault("spec", {}))


def default_pod(pod: Obj) -> None:
    """Fill in a pod: all of a template, and what only a pod gets."""
    spec = pod.setdefault("spec", {})
    drop_old_annotations(pod["metadata"])
    default_spec(spec)
    for container in _each(spec, ("containers", "initContainers")):
        _request_limits(container.get("resources") or {})
    if spec.get("resources"):
        _default_pod_level(spec, spec["resources"])
    spec.setdefault("enableServiceLinks", True)
    if spec.get("hostNetwork"):
        for container in _each(spec, ("containers", "initContainers")):
            for port in container.get("ports") or ():
                if not port.get("hostPort") and port.get("containerPort"):
                    port["hostPort"] = port["containerPort"]
    if spec["terminationGracePeriodSeconds"] < 0:
        spec["terminationGracePeriodSeconds"] = 1


def default_spec(spec: Obj) -> None:
    """Fill in a spec of pods."""
    for member, value in (
        ("dnsPolicy", "ClusterFirst"),
        ("restartPolicy", "Always"),
        ("schedulerName", "default-scheduler"),
    ):
        if not spec.get(member):
            spec[member] = value
    if spec.get("securityContext") is None:
        spec["securityContext"] = {}
    if spec.get("terminationGracePeriodSeconds") is None:
        spec["terminationGracePeriodSeconds"] = 30
    # The old name of the account is kept beside the new one, which wins.
    if account := spec.get("serviceAccountName") or spec.get("serviceAccount"):
        spec["serviceAccountName"] = spec["serviceAccount"] = account
    for volume in spec.get("volumes") or ():
        _default_volume(volume)
    for container in _each(spec, _CONTAINERS):
        _default_container(container)
    _round(spec.get("overhead"))
    _round_all(spec.get("resources"))


def drop_old_annotations(metadata: Obj) -> None:
    """Take away annotations of the time before init containers had a field."""
    annotations = metadata.get("annotations")
    if not annotations:
        return
    for key in _OLD_ANNOTATIONS:
        annotations.pop(key, None)
    if not annotations:
        del metadata["annotations"]


def _each(spec: Obj, kinds: Iterable[str]) -> Iterable[Obj]:
    for kind in kinds:
        yield from spec.get(kind) or ()


def _default_container(container: Obj) -> None:
    if not container.get("imagePullPolicy"):
        container["imagePullPolicy"] = images.pull_policy(container.get("image") or "")
    if not container.get("terminationMessagePath"):
        container["terminationMessagePath"] = "/dev/termination-log"
    if not container.get("terminationMessagePolicy"):
        container["terminationMessagePolicy"] = "File"
    for port in container.get("ports") or ():
        if not port.get("protocol"):
            port["protocol"] = "TCP"
    for variable in container.get("env") or ():
        if source := variable.get("valueFrom"):
            _default_source(source)
    _round_all(container.get("resources"))
    for kind in _PROBES:
        _default_probe(container.get(kind))
    lifecycle = container.get("lifecycle") or {}
    for hook in ("postStart", "preStop"):
        _default_http((lifecycle.get(hook) or {}).get("httpGet"))


def _default_source(source: Obj) -> None:
    _default_field_ref(source.get("fieldRef"))
    file = source.get("fileKeyRef")
    if file is not None and file.get("optional") is None:
        file["optional"] = False


def _default_probe(probe: Obj | None) -> None:
    if probe is None:
        return
    for member, number in (
        ("timeoutSeconds", 1),
        ("periodSeconds", 10),
        ("successThreshold", 1),
        ("failureThreshold", 3),
    ):
        if not probe.get(member):
            probe[member] = number
    _default_http(probe.get("httpGet"))
    if (grpc := probe.get("grpc")) is not None and grpc.get("service") is None:
        grpc["service"] = ""


def _default_http(action: Obj | None) -> None:
    if action is None:
        return
    if not action.get("path"):
        action["path"] = "/"
    if not action.get("scheme"):
        action["scheme"] = "HTTP"


def _default_field_ref(ref: Obj | None) -> None:
    if ref is not None and not ref.get("apiVersion"):
        ref["apiVersion"] = "v1"


def _round(amounts: Obj | None) -> None:
    for name, text in (amounts or {}).items():
        amounts[name] = resources.rounded(text)  # type: ignore[index]


def _round_all(requirements: Obj | None) -> None:
    if requirements:
        _round(requirements.get("limits"))
        _round(requirements.get("requests"))


def _request_limits(requirements: Obj) -> None:
    """Ask for what is the limit, where nothing else is asked for."""
    if limits := requirements.get("limits"):
        requirements["requests"] = limits | (requirements.get("requests") or {})


def _default_pod_level(spec: Obj, wanted: Obj) -> None:
    limits, requests = dict(wanted.get("limits") or {}), dict(wanted.get("requests") or {})
    if limits or requests:
        for name, amount in resources.total(spec, "limits").items():
            if resources.is_huge_pages(name) and name not in requests:
                limits.setdefault(name, str(amount))
    if limits:
        wanted["limits"] = limits
        for name, amount in resources.total(spec, "requests").items():
            if name in ("cpu", "memory"):
                requests.setdefault(name, str(amount))
        for name, text in limits.items():
            if name in ("cpu", "memory") or resources.is_huge_pages(name):
                requests.setdefault(name, text)
    if requests:
        wanted["requests"] = requests


def _default_volume(volume: Obj) -> None:
    found = [kind for kind in volume if kind in volumes.SOURCES and volume[kind] is not None]
    if not found:
        volume["emptyDir"] = {}
    for kind in found:
        if kind in _VOLUME_DEFAULTS:
            _VOLUME_DEFAULTS[kind](volume[kind])


def _default_mode(source: Obj) -> None:
    if source.get("defaultMode") is None:
        source["defaultMode"] = _FILE_MODE


def _default_downward(source: Obj) -> None:
    _default_mode(source)
    for file in source.get("items") or ():
        _default_field_ref(file.get("fieldRef"))


def _default_projected(source: Obj) -> None:
    _default_mode(source)
    for part in source.get("sources") or ():
        for file in (part.get("downwardAPI") or {}).get("items") or ():
            _default_field_ref(file.get("fieldRef"))
        token = part.get("serviceAccountToken")
        if token is not None and token.get("expirationSeconds") is None:
            token["expirationSeconds"] = 3600


def _default_ephemeral(source: Obj) -> None:
    template = source.get("volumeClaimTemplate")
    if template is None:
        return
    spec = template.setdefault("spec", {})
    if spec.get("volumeMode") is None:
        spec["volumeMode"] = "Filesystem"
    _round_all(spec.get("resources"))


def _default_image(source: Obj) -> None:
    if not source.get("pullPolicy"):
        source["pullPolicy"] = images.pull_policy(source.get("reference") or "")


def _members(**members: str | bool) -> Callable[[Obj], None]:
    """Return what fills in fixed values where a member is missing or empty."""

    def default(source: Obj) -> None:
        for member, value in members.items():
            if source.get(member) in (None, "") and not (
                value is False and source.get(member) is False
            ):
                source[member] = value

    return default


def _default_host_path(source: Obj) -> None:
    if source.get("type") is None:
        source["type"] = ""


_VOLUME_DEFAULTS: dict[str, Callable[[Obj], None]] = {
    "hostPath": _default_host_path,
    "secret": _default_mode,
    "configMap": _default_mode,
    "downwardAPI": _default_downward,
    "projected": _default_projected,
    "ephemeral": _default_ephemeral,
    "image": _default_image,
    "iscsi": _members(iscsiInterface="default"),
    "rbd": _members(pool="rbd", user="admin", keyring="/etc/ceph/keyring"),
    "azureDisk": _members(
        cachingMode="ReadWrite", fsType="ext4", readOnly=False, kind="Shared"
    ),
    "scaleIO": _members(storageMode="ThinProvisioned", fsType="xfs"),
}
