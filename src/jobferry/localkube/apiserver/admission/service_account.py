"""ServiceAccount: every pod runs as a service account, whose token it finds in a file."""

from collections.abc import Callable

from jobferry import clock as clocks
from jobferry.clock import Clock, Seconds
from jobferry.localkube.apiserver.admission import secret_references
from jobferry.localkube.apiserver.admission.cluster import Cluster
from jobferry.localkube.apiserver.admission.plugin import Plugin
from jobferry.localkube.apiserver.admission.request import (
    CREATE,
    UPDATE,
    Request,
    Topic,
    forbidden,
)
from jobferry.objects import Obj

DEFAULT = "default"
"""The account of pods that name none."""

MOUNT_PATH = "/var/run/secrets/kubernetes.io/serviceaccount"

_VOLUME = "kube-api-access-"
_MIRROR = "kubernetes.io/config.mirror"

# A controller makes the default account of a new namespace: pods that come sooner wait for it, as
# long as they do upstream (there 9 times 100 to 200 ms).
_WAIT: Seconds = 0.05
_TRIES = 28

_EXPIRATION_SECONDS = 3607
_MODE = 0o644


def plugin(cluster: Cluster, clock: Clock, suffix: Callable[[], str]) -> Plugin:
    """Return the plugin; `suffix` draws the random end of a volume's name."""
    accounts = _Accounts(cluster, clock, suffix)
    return Plugin(
        name="ServiceAccount",
        handles=_handles,
        admit=accounts.admit,
        validate=accounts.validate,
    )


class _Accounts:
    """The service accounts that pods run as."""

    def __init__(self, cluster: Cluster, clock: Clock, suffix: Callable[[], str]) -> None:
        self._cluster = cluster
        self._clock = clock
        self._suffix = suffix

    async def admit(self, request: Request) -> None:
        """Give a new pod its account, and the account's token."""
        if request.operation != CREATE:
            return
        pod = request.obj or {}
        # The kubelet wants the pods that mirror its own just as it made them.
        if not _is_mirror(pod):
            await self._complete(request, pod.setdefault("spec", {}))
        await self.validate(request)

    async def validate(self, request: Request) -> None:
        """Refuse a pod that its account does not allow."""
        pod = request.obj or {}
        spec = pod.get("spec") or {}
        if request.operation == CREATE and _is_mirror(pod):
            problem = _mirror_problem(spec)
        else:
            problem = await self._problem(request, pod.get("metadata") or {}, spec)
        if problem:
            raise forbidden(request, problem)

    async def _complete(self, request: Request, spec: Obj) -> None:
        name = spec.get("serviceAccountName") or spec.get("serviceAccount") or DEFAULT
        # The second is the old name of the first.
        spec["serviceAccountName"] = spec["serviceAccount"] = name
        account = await self._find(request, name)
        if _wants_token(account, spec):
            _mount(spec, self._suffix)
        if not spec.get("imagePullSecrets") and account.get("imagePullSecrets"):
            references = account["imagePullSecrets"]
            spec["imagePullSecrets"] = [dict(reference) for reference in references]

    async def _problem(self, request: Request, metadata: Obj, spec: Obj) -> str | None:
        name = spec.get("serviceAccountName")
        if not name:
            where = f"{request.namespace}/{metadata.get('name', '')}"
            return f"no service account specified for pod {where}"
        account = await self._find(request, name)
        return secret_references.problem(account, spec, request.subresource)

    async def _find(self, request: Request, name: str) -> Obj:
        for attempt in range(_TRIES if name == DEFAULT else 1):
            if attempt:
                await clocks.sleep(self._clock, _WAIT)
            account = self._cluster.get("", "serviceaccounts", request.namespace, name)
            if account is not None:
                return account
        where = f"error looking up service account {request.namespace}/{name}"
        raise forbidden(request, f'{where}: serviceaccount "{name}" not found')


def _handles(topic: Topic) -> bool:
    if topic == ("", "pods", "ephemeralcontainers", UPDATE):
        return True
    return topic.creates("", "pods")


def _is_mirror(pod: Obj) -> bool:
    return _MIRROR in (pod.get("metadata", {}).get("annotations") or ())


def _mirror_problem(spec: Obj) -> str | None:
    if spec.get("serviceAccountName"):
        return "a mirror pod may not reference service accounts"
    if secret_references.any_in(spec):
        return "a mirror pod may not reference secrets"
    for volume in spec.get("volumes") or ():
        sources = (volume.get("projected") or {}).get("sources") or ()
        if any(source.get("serviceAccountToken") is not None for source in sources):
            return "a mirror pod may not use ServiceAccountToken volume projections"
    return None


def _wants_token(account: Obj, spec: Obj) -> bool:
    for wish in (spec, account):
        automount = wish.get("automountServiceAccountToken")
        if automount is not None:
            return bool(automount)
    return True


def _mount(spec: Obj, suffix: Callable[[], str]) -> None:
    volumes = spec.get("volumes") or []
    names = (volume.get("name", "") for volume in volumes)
    existing = next((name for name in names if name.startswith(_VOLUME)), None)
    name = existing or _VOLUME + suffix()
    is_needed = False
    for field in ("initContainers", "containers"):
        for container in spec.get(field) or ():
            mounts = container.get("volumeMounts") or []
            # Who mounts something else there does not want the token.
            if all(mount.get("mountPath") != MOUNT_PATH for mount in mounts):
                own = {"name": name, "readOnly": True, "mountPath": MOUNT_PATH}
                container["volumeMounts"] = [*mounts, own]
                is_needed = True
    if is_needed and not existing:
        spec["volumes"] = [*volumes, _token_volume(name)]


def _token_volume(name: str) -> Obj:
    token = {"expirationSeconds": _EXPIRATION_SECONDS, "path": "token"}
    authority = {"name": "kube-root-ca.crt", "items": [{"key": "ca.crt", "path": "ca.crt"}]}
    namespace = {"apiVersion": "v1", "fieldPath": "metadata.namespace"}
    sources = [
        {"serviceAccountToken": token},
        {"configMap": authority},
        {"downwardAPI": {"items": [{"path": "namespace", "fieldRef": namespace}]}},
    ]
    return {"name": name, "projected": {"sources": sources, "defaultMode": _MODE}}
