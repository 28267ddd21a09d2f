"""Service account tokens: signed statements (JWT, ES256) of who runs where, and until when.

A token that was checked once is remembered, but what can change is looked at on every use: the time, and
whether what the token is bound to is still there. A deleted pod's token is void at once.
"""

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import orjson

from jobferry.clock import Clock
from jobferry.localkube.apiserver.identity import legacy_tokens
from jobferry.localkube.apiserver.identity import user as users
from jobferry.localkube.apiserver.identity.pair import Pair
from jobferry.localkube.apiserver.identity.proof import BadToken, Get, Holder, decoded, encoded
from jobferry.localkube.apiserver.identity.user import User
from jobferry.objects import Obj, gotext

if TYPE_CHECKING:
    from jobferry.localkube.apiserver.identity.signatures import Signer, Verifier

ISSUER = "https://kubernetes.default.svc.cluster.local"

LEEWAY = 60
"""Seconds by which clocks may differ."""

KEPT = 4096
"""How many checked tokens are remembered."""

_ODD = "service account token claims could not be validated due to unexpected validation error"
_INVALIDATED = "service account token has been invalidated"


class _Checked(NamedTuple):
    """A token whose signature was found right."""

    claims: Obj
    audiences: tuple[str, ...]
    user: User


class Tokens:
    """Issues and checks tokens with one pair of keys, which `signing` is asked for when the first one comes."""

    def __init__(
        self,
        *,
        signing: Callable[[], Pair],
        get: Get,
        clock: Clock,
        issuer: str = ISSUER,
        audiences: Sequence[str] = (),
    ) -> None:
        self.issuer = issuer
        self.audiences = tuple(audiences) or (issuer,)
        """Whom tokens are for that say nothing else: this API server."""
        self._signing = signing
        self._get = get
        self._clock = clock
        self._checked: dict[str, _Checked] = {}

    def issue(self, claims: Obj) -> str:
        """Sign a token; its issuer is added."""
        signer = self._signer
        head = {"alg": "ES256", "kid": signer.key_id}
        message = ".".join(
            encoded(orjson.dumps(part)) for part in (head, {**claims, "iss": self.issuer})
        )
        return f"{message}.{encoded(signer.sign(message.encode()))}"

    def public_key(self) -> Obj:
        """Return the key that tokens can be checked with, as a JSON Web Key."""
        return self._verifier.jwk()

    def holder(self, token: str, audiences: Sequence[str] | None = None) -> Holder | None:
        """Return whom a token stands for; None if it is not ours; raise `BadToken` if it does not hold."""
        checked = self._checked.get(token) or self._check(token)
        if checked is None:
            return None
        wanted = self.audiences if audiences is None else tuple(audiences)
        common = tuple(each for each in wanted if each in checked.audiences)
        if not common:
            given = f"token audiences {users.quoted(checked.audiences)}"
            raise BadToken(
                f"{given} is invalid for the target audiences {users.quoted(wanted)}"
            )
        if checked.claims["iss"] == legacy_tokens.ISSUER:
            legacy_tokens.hold(checked.claims, token, self._get)
        else:
            self._hold(checked.claims)
        return Holder(checked.user, common)

    def _check(self, token: str) -> _Checked | None:
        """Check the signature of a token; None if it is none of ours."""
        parts = token.split(".")
        claims = _json(parts[1]) if len(parts) == 3 else None
        head = _json(parts[0]) if claims and self._is_issuer(claims.get("iss")) else None
        signature = decoded(parts[-1])
        if claims is None or head is None or signature is None:
            return None
        if head.get("kid", self._verifier.key_id) != self._verifier.key_id:
            raise BadToken("invalid signature, no keys found")
        message = f"{parts[0]}.{parts[1]}".encode()
        if head.get("alg") != "ES256" or not self._verifier.verifies(message, signature):
            raise BadToken("go-jose/go-jose: error in cryptographic primitive")
        return self._remember(token, claims)

    def _is_issuer(self, name: Any) -> bool:
        return name in (self.issuer, legacy_tokens.ISSUER)

    def _remember(self, token: str, claims: Obj) -> _Checked:
        audiences = claims.get("aud") or self.audiences
        listed = (audiences,) if isinstance(audiences, str) else tuple(audiences)
        find = legacy_tokens.user if claims["iss"] == legacy_tokens.ISSUER else _user
        try:
            user = find(claims)
        except (AttributeError, KeyError, TypeError):
            raise BadToken(_ODD) from None
        checked = _Checked(claims, listed, users.authenticated(user))
        if len(self._checked) >= KEPT:
            del self._checked[next(iter(self._checked))]
        self._checked[token] = checked
        return checked

    def _hold(self, claims: Obj) -> None:
        """Raise unless the token holds now, and all that it is bound to is there."""
        now = self._clock.now()
        _hold_at(claims, now.timestamp())
        about = claims["kubernetes.io"]
        namespace = about.get("namespace", "")
        account = about["serviceaccount"]
        self._need_account(namespace, account, now)
        if secret := about.get("secret"):
            what = "secret UID ({}) does not match service account secret ref claim ({})"
            self._need("secrets", namespace, secret, what, now)
        if pod := about.get("pod"):
            what = "pod UID ({}) does not match service account pod ref claim ({})"
            self._need("pods", namespace, pod, what, now)
        elif node := about.get("node"):
            what = "node UID ({}) does not match service account node ref claim ({})"
            self._need("nodes", "", node, what, now)

    def _need_account(self, namespace: str, reference: Obj, now: datetime) -> None:
        name = reference["name"]
        account = self._get("", "serviceaccounts", namespace, name)
        if account is None:
            raise BadToken(f"serviceaccounts {gotext.quote(name)} not found")
        metadata = account["metadata"]
        if metadata["uid"] != reference["uid"]:
            mine, theirs = metadata["uid"], reference["uid"]
            raise BadToken(f"service account UID ({mine}) does not match claim ({theirs})")
        if _is_gone(metadata, now):
            raise BadToken(f"service account {namespace}/{name} has been deleted")

    def _need(
        self, resource: str, namespace: str, reference: Obj, words: str, now: datetime
    ) -> None:
        found = self._get("", resource, namespace, reference["name"])
        if found is None:
            raise BadToken(_INVALIDATED)
        metadata = found["metadata"]
        if metadata["uid"] != reference["uid"]:
            raise BadToken(words.format(metadata["uid"], reference["uid"]))
        if _is_gone(metadata, now):
            raise BadToken(_INVALIDATED)

    @cached_property
    def _keys(self) -> Pair:
        return self._signing()

    @cached_property
    def _signer(self) -> "Signer":
        from jobferry.localkube.apiserver.identity.signatures import Signer  # noqa: PLC0415 (heavy)

        return Signer(self._keys.key)

    @cached_property
    def _verifier(self) -> "Verifier":
        from jobferry.localkube.apiserver.identity.signatures import Verifier  # noqa: PLC0415 (heavy)

        return Verifier(self._keys.certificate)


def _hold_at(claims: Obj, now: float) -> None:
    if now + LEEWAY < claims.get("nbf", now):
        raise BadToken("service account token is not valid yet")
    if now - LEEWAY > claims.get("exp", now):
        raise BadToken("service account token has expired")
    if now + LEEWAY < claims.get("iat", now):
        raise BadToken("service account token is issued in the future")


def _user(claims: Obj) -> User:
    about = claims["kubernetes.io"]
    account, pod, node = (
        about["serviceaccount"],
        about.get("pod") or {},
        about.get("node") or {},
    )
    jti = claims.get("jti", "")
    extra = [
        (users.POD_NAME, pod.get("name", "")),
        (users.POD_UID, pod.get("uid", "")),
        (users.CREDENTIAL_ID, f"JTI={jti}" if jti else ""),
        (users.NODE_NAME, node.get("name", "")),
        (users.NODE_UID, node.get("uid", "")),
    ]
    namespace = about.get("namespace", "")
    return users.service_account(namespace, account["name"], account["uid"], extra)


def _is_gone(metadata: Obj, now: datetime) -> bool:
    """Tell whether an object that is still there was deleted long enough ago."""
    deleted = metadata.get("deletionTimestamp")
    if not deleted:
        return False
    return datetime.fromisoformat(deleted) < now - timedelta(seconds=LEEWAY)


def _json(text: str) -> Any:
    """Read a part of a token; None if it is not an object."""
    try:
        found = orjson.loads(decoded(text) or b"")
    except orjson.JSONDecodeError:
        return None
    return found if isinstance(found, dict) else None
