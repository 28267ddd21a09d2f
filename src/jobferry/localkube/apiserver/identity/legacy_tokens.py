"""Tokens in Secrets of type kubernetes.io/service-account-token, which a controller signs with our key.

They name no time and no audience: they hold as long as the Secret has them and the account is there.
"""

from base64 import b64encode
from hmac import compare_digest

from jobferry.localkube.apiserver.identity import user as users
from jobferry.localkube.apiserver.identity.proof import BadToken, Get
from jobferry.localkube.apiserver.identity.user import User
from jobferry.objects import Obj, gotext

ISSUER = "kubernetes/serviceaccount"

_CLAIM = "kubernetes.io/serviceaccount/"
_NEEDED = {
    "namespace": "namespace",
    "secret.name": "secretName",
    "service-account.name": "serviceAccountName",
    "service-account.uid": "serviceAccountUID",
}
_INVALID_SINCE = "kubernetes.io/legacy-token-invalid-since"


def user(claims: Obj) -> User:
    """Return whom a token stands for; what it lacks is told by `hold`."""
    namespace, name, uid = (
        claims.get(_CLAIM + part, "")
        for part in ("namespace", "service-account.name", "service-account.uid")
    )
    return users.service_account(namespace, name, uid)


def hold(claims: Obj, token: str, get: Get) -> None:
    """Raise unless a token is still the one in its Secret, for an account that is still there."""
    if not claims.get("sub"):
        raise BadToken("sub claim is missing")
    for part, known_as in _NEEDED.items():
        if not claims.get(_CLAIM + part):
            raise BadToken(f"{known_as} claim is missing")
    namespace, secret, name, uid = (claims[_CLAIM + part] for part in _NEEDED)
    if users.account_of(claims["sub"]) != (namespace, name):
        raise BadToken("sub claim is invalid")
    labels = _labels_of(get("", "secrets", namespace, secret), token)
    _hold_account(get("", "serviceaccounts", namespace, name), f"{namespace}/{name}", uid)
    if labels.get(_INVALID_SINCE):
        raise BadToken(_marked(f"{namespace}/{secret}", f"{namespace}/{name}"))


def _labels_of(secret: Obj | None, token: str) -> Obj:
    """Return the labels of the Secret, provided that it still has the token."""
    if secret is None or secret["metadata"].get("deletionTimestamp"):
        raise BadToken("Token has been invalidated")
    kept = (secret.get("data") or {}).get("token", "")
    if not compare_digest(kept.encode(), b64encode(token.encode())):
        raise BadToken("Token does not match server's copy")
    return secret["metadata"].get("labels") or {}


def _hold_account(account: Obj | None, name: str, uid: str) -> None:
    if account is None:
        raise BadToken(f"serviceaccounts {gotext.quote(name.partition('/')[2])} not found")
    if account["metadata"].get("deletionTimestamp"):
        raise BadToken(f"ServiceAccount {name} has been deleted")
    if account["metadata"]["uid"] != uid:
        mine = account["metadata"]["uid"]
        raise BadToken(f"ServiceAccount UID ({mine}) does not match claim ({uid})")


def _marked(secret: str, account: str) -> str:
    what = f"the token in secret {secret} for service account {account} has been marked invalid"
    use = "Use tokens from the TokenRequest API or manually created secret-based tokens"
    label = f"remove the '{_INVALID_SINCE}' label from the secret"
    return f"{what}. {use}, or {label} to temporarily allow use of this token"
