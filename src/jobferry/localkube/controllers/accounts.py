"""Gives each namespace what its pods start with: the account `default`, and the cluster's certificate."""

from contextlib import suppress

from jobferry.kube import errors
from jobferry.kube.cache import Change
from jobferry.kube.client import Client
from jobferry.kube.informer import Informer
from jobferry.kube.items import Key
from jobferry.kube.resources import CONFIG_MAPS, NAMESPACES, SERVICE_ACCOUNTS
from jobferry.localkube.controllers.controller import Controller
from jobferry.localkube.controllers.heads import Object
from jobferry.localkube.controllers.informers import Informers
from jobferry.objects import Obj
from jobferry.objects.resource import Resource
from jobferry.runtime.reconcile import DONE, Outcome

ACCOUNT = "default"
CERTIFICATE = "kube-root-ca.crt"
DESCRIPTION = "kubernetes.io/description"
SAID = (
    "Contains a CA bundle that can be used to verify the kube-apiserver when using internal endpoints such as "
    "the internal service IP or kubernetes.default.svc. No other usage is guaranteed across distributions of "
    "Kubernetes clusters."
)


class AccountController:
    """Makes what is missing in each namespace that is not on its way out."""

    def __init__(self, client: Client, informers: Informers, *, root_ca: str) -> None:
        self._client = client
        self._root_ca = root_ca
        self._namespaces = informers.of(NAMESPACES)
        self._accounts = informers.named(SERVICE_ACCOUNTS, ACCOUNT)
        self._certificates = informers.named(CONFIG_MAPS, CERTIFICATE)
        self._controller: Controller[str] = Controller("accounts", client, self._pass)
        self._namespaces.listen(lambda change: self._controller.add(change.item.key.name))
        self._accounts.listen(self._note)
        self._certificates.listen(self._note)
        self.run = self._controller.run

    def _note(self, change: Change[Object]) -> None:
        self._controller.add(change.item.key.namespace)

    async def _pass(self, name: str) -> Outcome:
        namespace = self._namespaces.get(Key("", name))
        if namespace is None or namespace.head.metadata.is_deleted:
            return DONE
        try:
            await self._ensure_account(name)
            await self._ensure_certificate(name)
        except errors.Forbidden as error:
            if not error.is_of_a_vanishing_namespace:
                raise
        except errors.NotFound:
            pass  # the namespace is gone meanwhile
        return DONE

    async def _ensure_account(self, namespace: str) -> None:
        if self._accounts.get(Key(namespace, ACCOUNT)) is None:
            await self._create(self._accounts, SERVICE_ACCOUNTS, namespace, _account())

    async def _ensure_certificate(self, namespace: str) -> None:
        if not self._root_ca:
            return
        known = self._certificates.get(Key(namespace, CERTIFICATE))
        if known is None:
            wanted = certificate(self._root_ca)
            await self._create(self._certificates, CONFIG_MAPS, namespace, wanted)
            return
        body = correction(known.object(), self._root_ca)
        if body is not None:
            answer = await self._client.patch(
                CONFIG_MAPS, CERTIFICATE, body, namespace=namespace
            )
            self._certificates.absorb(answer)

    async def _create(
        self, informer: Informer[Object], resource: Resource, namespace: str, obj: Obj
    ) -> None:
        with suppress(errors.AlreadyExists):  # the watch is about to say so
            informer.absorb(await self._client.create(resource, obj, namespace=namespace))


def _account() -> Obj:
    return {"metadata": {"name": ACCOUNT}}


def certificate(root_ca: str) -> Obj:
    """Return the ConfigMap by which pods trust the API server."""
    return {
        "metadata": {"name": CERTIFICATE, "annotations": {DESCRIPTION: SAID}},
        "data": {"ca.crt": root_ca},
    }


def correction(found: Obj, root_ca: str) -> Obj | None:
    """Return the patch that undoes what somebody did to that ConfigMap; None if it is in order."""
    data = found.get("data") or {}
    described = (found["metadata"].get("annotations") or {}).get(DESCRIPTION)
    if data == {"ca.crt": root_ca} and described:
        return None
    others = {key: None for key in data if key != "ca.crt"}
    return {
        "metadata": {"annotations": {DESCRIPTION: SAID}},
        "data": {**others, "ca.crt": root_ca},
    }
