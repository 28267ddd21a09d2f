"""What pods are given from the cluster: ConfigMaps, Secrets, and tokens of their service accounts."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

from jobferry.clock import Clock
from jobferry.errors import Transient
from jobferry.kube import errors
from jobferry.kube.client import Client
from jobferry.kube.resources import CONFIG_MAPS, SECRETS, SERVICE_ACCOUNTS
from jobferry.localkube.runner.backend import CannotStart
from jobferry.localkube.runner.volumes import Found, Ref, Token
from jobferry.objects import Obj

AUTHORITY = Ref("configmap", "kube-root-ca.crt")

_RESOURCES = {"configmap": CONFIG_MAPS, "secret": SECRETS}


@dataclass(frozen=True, slots=True)
class _Held:
    token: str
    until: datetime
    account: str
    """The UID of the account that it is for."""


class Sources:
    """Asks the cluster. Tokens are shared by the pods of an account, and renewed in time."""

    def __init__(self, client: Client, authority: str) -> None:
        self._client = client
        self._authority = authority
        self._held: dict[tuple[str, str, Token], _Held] = {}

    @property
    def clock(self) -> Clock:
        """The clock of the client."""
        return self._client.clock

    async def find(self, namespace: str, refs: Iterable[Ref]) -> Found:
        """Return the objects that are there."""
        return {ref: await self._find(namespace, ref) for ref in refs}

    async def token(self, namespace: str, account: str, wish: Token) -> str:
        """Return a token that lasts for a while yet."""
        key = namespace, account or "default", wish
        try:
            # One of its name may have been there before, whose tokens nobody takes any more.
            found = await self._client.get(SERVICE_ACCOUNTS, key[1], namespace)
            uid, now = found["metadata"]["uid"], self.clock.now()
            held = self._held.get(key)
            if held is None or held.until <= now or held.account != uid:
                held = await self._request(*key, uid, now)
                fresh = {each: old for each, old in self._held.items() if old.until > now}
                self._held = {**fresh, key: held}
        except (errors.NotFound, Transient) as error:
            raise CannotStart("ContainerCreating", f"no token: {error}") from error
        return held.token

    async def _request(
        self, namespace: str, account: str, wish: Token, uid: str, now: datetime
    ) -> _Held:
        spec: Obj = {"expirationSeconds": max(600, wish.seconds), "audiences": []}
        if wish.audience:
            spec["audiences"] = [wish.audience]
        body = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": spec}
        answer = await self._client.create(
            SERVICE_ACCOUNTS, body, namespace=namespace, name=account, subresource="token"
        )
        half = timedelta(seconds=max(600, wish.seconds) / 2)
        return _Held(answer["status"]["token"], now + half, uid)

    async def _find(self, namespace: str, ref: Ref) -> Obj | None:
        if ref == AUTHORITY and self._authority:
            return {"data": {"ca.crt": self._authority}}
        try:
            return await self._client.get(_RESOURCES[ref.kind], ref.name, namespace)
        except errors.NotFound:
            return None
        except Transient as error:
            raise CannotStart("ContainerCreating", str(error)) from error
