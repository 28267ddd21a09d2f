"""Makes a cluster a worker: an account there with the least rights, and a Worker on the hub that uses it."""

import asyncio
import base64
import json
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

from jobferry.cli.preflight import NAMESPACE_ROLE
from jobferry.cli.rights import Right
from jobferry.clock import Seconds, timeout
from jobferry.dispatch import manifests
from jobferry.errors import BadInput
from jobferry.kube import errors
from jobferry.kube.access import Server
from jobferry.kube.cache import Change
from jobferry.kube.calls import PatchKind, Scope
from jobferry.kube.client import Client
from jobferry.kube.informer import Informer
from jobferry.kube.items import Head
from jobferry.kube.resources import NAMESPACES, SECRETS, SERVICE_ACCOUNTS
from jobferry.objects import Obj
from jobferry.objects.resource import Resource
from jobferry.runtime import supervise
from jobferry.workers.resource import WORKERS

SYSTEM = "jobferry-system"
ACCOUNT = "jobferry-worker"
"""As the manifest names them."""

TOKEN_WITHIN: Seconds = 5.0
"""A cluster's own controller fills the Secret in no time, where it has one."""

A_YEAR = 365 * 86400
KEY = "kubeconfig"

_RBAC = "rbac.authorization.k8s.io"
KINDS = {
    resource.kind: resource
    for resource in (
        NAMESPACES,
        SERVICE_ACCOUNTS,
        SECRETS,
        Resource(_RBAC, "v1", "clusterroles", "ClusterRole", namespaced=False),
        Resource(_RBAC, "v1", "clusterrolebindings", "ClusterRoleBinding", namespaced=False),
    )
}
"""What the manifest of a worker is made of."""


@dataclass(frozen=True, slots=True)
class Token:
    """What the dispatcher shows on a worker."""

    text: str
    ends: str | None
    """When it is void; None: when its Secret is deleted."""


def to_make() -> list[Right]:
    """Return the rights that it takes to make the account."""
    found = []
    for kind in KINDS.values():
        within = SYSTEM if kind.namespaced else ""
        found += [Right(verb, kind.group, kind.plural, within) for verb in ("create", "patch")]
    return [*found, Right("get", "", "secrets", SYSTEM)]


def kubeconfig(server: Server, token: str) -> str:
    """Return the kubeconfig that reaches a server with a token."""
    where: Obj = {"server": server.url}
    if server.ca is not None:
        where["certificate-authority-data"] = base64.b64encode(server.ca).decode()
    if server.tls_server_name is not None:
        where["tls-server-name"] = server.tls_server_name
    if server.proxy_url is not None:
        where["proxy-url"] = server.proxy_url
    name = "worker"
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": name, "cluster": where}],
        "users": [{"name": name, "user": {"token": token}}],
        "contexts": [{"name": name, "context": {"cluster": name, "user": name}}],
        "current-context": name,
    }
    return json.dumps(config)


def secret(name: str, config: str) -> Obj:
    """Return the Secret that holds the kubeconfig of a worker, for the hub."""
    encoded = base64.b64encode(config.encode()).decode()
    return {"metadata": {"name": name, "namespace": SYSTEM}, "data": {KEY: encoded}}


def worker(name: str, *, creates_namespaces: bool = False) -> Obj:
    """Return the Worker that uses it."""
    where = {"secret": {"namespace": SYSTEM, "name": name, "key": KEY}}
    more: Obj = {"namespaces": {"create": True}} if creates_namespaces else {}
    return {"metadata": {"name": name}, "spec": {"kubeconfig": where, **more}}


def account(
    *,
    creates_namespaces: bool,
    kinds: Sequence[Resource] = (),
    referred: Sequence[Resource] = (),
) -> list[Obj]:
    """Return what the account is made of; what is beyond Jobs is given only if it is asked for."""
    found = manifests.objects("worker", (), kinds, referred=referred)
    if creates_namespaces:
        usual = next(each for each in found if each["kind"] == "ClusterRoleBinding")
        role = {**usual["roleRef"], "name": NAMESPACE_ROLE}
        found.append({**usual, "metadata": {"name": NAMESPACE_ROLE}, "roleRef": role})
    return found


async def rehearse(hub: Client, name: str) -> None:
    """Raise what the hub has against a Worker of that name, before anything is done."""
    try:
        await hub.create(WORKERS, worker(name), dry_run=True)
        await hub.create(SECRETS, secret(name, "{}"), dry_run=True)
    except errors.AlreadyExists as error:
        raise BadInput(
            f"the name is taken: {error.words}",
            hint="Choose another, or remove what has it: `jobferry workers remove` for a Worker.",
        ) from None
    except errors.NotFound as error:
        raise BadInput(
            f"the hub is not prepared: {error.words}",
            hint="Apply what `jobferry manifests crds` and `jobferry manifests hub` print.",
        ) from None


async def make_account(
    client: Client,
    *,
    creates_namespaces: bool = False,
    kinds: Sequence[Resource] = (),
    referred: Sequence[Resource] = (),
) -> Token:
    """Make the account on a worker, or bring it up to date, and return its token."""
    for obj in account(creates_namespaces=creates_namespaces, kinds=kinds, referred=referred):
        meta = obj["metadata"]
        await client.patch(
            KINDS[obj["kind"]],
            meta["name"],
            obj,
            namespace=meta.get("namespace"),
            kind=PatchKind.APPLY,
            field_manager="jobferry",
            force=True,
        )
    return Token(lasting, None) if (lasting := await _lasting(client)) else await _ask(client)


async def write(
    hub: Client, name: str, config: str, *, creates_namespaces: bool = False
) -> None:
    """Write Secret and Worker to the hub, both or none; the Secret goes when the Worker does."""
    held = await hub.create(SECRETS, secret(name, config))
    try:
        made = await hub.create(WORKERS, worker(name, creates_namespaces=creates_namespaces))
    except BaseException:
        await hub.delete(SECRETS, name, SYSTEM, uid=held["metadata"]["uid"])
        raise
    owner = {
        "apiVersion": WORKERS.api_version,
        "kind": WORKERS.kind,
        "name": name,
        "uid": made["metadata"]["uid"],
    }
    body = {"metadata": {"ownerReferences": [owner]}}
    with suppress(errors.Forbidden):  # then it stays, and does no harm
        await hub.patch(SECRETS, name, body, namespace=SYSTEM)


async def _lasting(client: Client) -> str | None:
    """Wait for the token that the cluster puts into the Secret of the account; None: it does not."""
    scope = Scope(resource=SECRETS, namespace=SYSTEM, fields=f"metadata.name={ACCOUNT}")
    informer = Informer(client, scope, Head)
    filled: asyncio.Future[str] = asyncio.get_running_loop().create_future()

    def hear(change: Change[Head]) -> None:
        data = (change.after.object().get("data") or {}) if change.after else {}
        if data.get("token") and not filled.done():
            filled.set_result(base64.b64decode(data["token"]).decode())

    informer.listen(hear)
    try:
        async with (
            timeout(client.clock, TOKEN_WITHIN),
            supervise.tasks("token", clock=client.clock) as tasks,
        ):
            tasks.start("informer", informer.run)
            return await filled
    except TimeoutError:
        return None


async def _ask(client: Client) -> Token:
    """Ask for a token that ends some day: clusters without that controller give no other."""
    body = {"spec": {"expirationSeconds": A_YEAR}}
    answer = await client.create(
        SERVICE_ACCOUNTS, body, namespace=SYSTEM, name=ACCOUNT, subresource="token"
    )
    status = answer["status"]
    return Token(str(status["token"]), str(status["expirationTimestamp"]))
