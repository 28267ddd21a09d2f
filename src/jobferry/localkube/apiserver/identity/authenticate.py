"""Who is calling: a certificate, a bearer token, or nobody in particular."""

import contextlib
import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

from jobferry.localkube.apiserver import status
from jobferry.localkube.apiserver.identity import user as users
from jobferry.localkube.apiserver.identity.proof import BadToken, Holder, decoded
from jobferry.localkube.apiserver.identity.tokens import Tokens
from jobferry.localkube.apiserver.identity.user import User

BEARER_PROTOCOL = "base64url.bearer.authorization.k8s.io."
"""A WebSocket client in a browser cannot set headers: it offers its token as a protocol."""

INVALID = "invalid bearer token"
IGNORED = "the provided Authorization header contains extra space before the bearer token, and is ignored"

_USER_UID = "1.3.6.1.4.1.57683.2"
"""The part of a certificate's subject that holds the UID of a user."""


class Authenticator:
    """Knows users by what they show."""

    def __init__(
        self,
        *,
        tokens: Tokens | None = None,
        static: Mapping[str, User] | None = None,
        audiences: Sequence[str] = (),
        anonymous: bool = True,
    ) -> None:
        self._tokens = tokens
        self._static = {
            token: users.authenticated(user) for token, user in (static or {}).items()
        }
        self.audiences = tuple(audiences) or (tokens.audiences if tokens else ())
        self._anonymous = anonymous

    def caller(
        self,
        *,
        in_process: User | None = None,
        peer: User | None = None,
        authorization: str = "",
        protocols: Sequence[str] = (),
    ) -> User:
        """Return who is calling; raise 401 for proof that is not accepted.

        `peer` is whom the client certificate stands for (`user_from_certificate`, once per connection),
        `protocols` are those that a WebSocket client offers. Whoever calls from within the process is
        who they say; a certificate goes before a token; a wrong token is never taken for none.
        """
        if in_process is not None:
            return users.authenticated(in_process)
        if peer is not None:
            return peer
        shown = (*_bearer(authorization), *_offered(protocols))
        for token in shown:
            with contextlib.suppress(BadToken):
                return self.holder(token).user
        if shown or not self._anonymous:
            raise status.unauthorized()
        return users.ANONYMOUS

    def holder(self, token: str, audiences: Sequence[str] | None = None) -> Holder:
        """Return whom a token stands for; raise `BadToken` if for nobody."""
        user = self._static.get(token)
        if user is not None:
            # These tokens know no audience: they are for this server.
            wanted = self.audiences if audiences is None else audiences
            common = tuple(each for each in wanted if each in self.audiences)
            if common or not self.audiences:
                return Holder(user, common)
        holder = self._tokens.holder(token, audiences) if self._tokens else None
        if holder is None:
            raise BadToken(INVALID)
        return holder


def user_from_certificate(
    certificate: Mapping[str, Any] | None, der: bytes | None = None
) -> User | None:
    """Return whom a client certificate stands for, given what `ssl` knows of a peer that it trusts.

    `certificate` is what `getpeercert()` gives, `der` the same in binary form.
    """
    name, groups, uids = "", [], []
    for part in (certificate or {}).get("subject", ()):
        for key, value in part:
            if key == "commonName":
                name = value
            elif key == "organizationName":
                groups.append(value)
            elif key == _USER_UID:
                uids.append(value)
    if not name or len(uids) > 1:
        return None
    proof = f"X509SHA256={hashlib.sha256(der).hexdigest()}" if der else ""
    extra = {users.CREDENTIAL_ID: (proof,)} if proof else {}
    return users.authenticated(User(name, "".join(uids), tuple(groups), extra))


def is_ignored(authorization: str) -> bool:
    """Tell whether an Authorization header has a token where none is looked for."""
    parts = authorization.strip().split(" ", 2)
    return len(parts) == 3 and parts[0].lower() == "bearer" and not parts[1]


def without_bearer(protocols: Sequence[str]) -> list[str]:
    """Return the protocols that a WebSocket client offers, less those that hold its token."""
    return [each for each in protocols if not each.startswith(BEARER_PROTOCOL)]


def _bearer(authorization: str) -> Sequence[str]:
    """Return the token in an Authorization header, if any."""
    parts = authorization.strip().split(" ", 2)
    if len(parts) < 2 or parts[0].lower() != "bearer" or not parts[1]:
        return ()
    return (parts[1],)


def _offered(protocols: Sequence[str]) -> Sequence[str]:
    """Return the token among the protocols of a WebSocket client, if any."""
    found = [each for each in protocols if each.startswith(BEARER_PROTOCOL)]
    if not found:
        return ()
    content = decoded(found[0].removeprefix(BEARER_PROTOCOL))
    # There must be another protocol, for the server to choose.
    if len(found) > 1 or content is None or (content and len(protocols) == 1):
        raise status.unauthorized()
    try:
        token = content.decode()
    except UnicodeDecodeError:
        raise status.unauthorized() from None
    return (token,) if token else ()
