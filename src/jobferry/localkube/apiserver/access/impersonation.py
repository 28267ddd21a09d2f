"""Acting as somebody else: the `Impersonate-*` headers, and whether the caller may use them."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple
from urllib.parse import unquote

from jobferry.localkube.apiserver import status
from jobferry.localkube.apiserver.access.attributes import Attributes
from jobferry.localkube.apiserver.access.rbac import Decide, require
from jobferry.localkube.apiserver.identity import user as users
from jobferry.localkube.apiserver.identity.user import User
from jobferry.localkube.apiserver.requests.target import BAD_ESCAPE
from jobferry.localkube.apiserver.status import StatusError

_PREFIX = b"impersonate-"
_EXTRA = b"impersonate-extra-"
_GROUP = "authentication.k8s.io"

Headers = Iterable[tuple[bytes, bytes]]
"""As ASGI gives them: names in lower case, in the order of the request."""


class _Claim(NamedTuple):
    """One thing that the caller claims to be."""

    kind: str
    name: str
    namespace: str = ""
    extra: str = ""
    """The key, for an extra."""

    def __str__(self) -> str:
        """Show it as Go prints the reference that it is there."""
        version = f"{_GROUP}/v1" if self.kind in ("UserExtra", "UID") else ""
        return f"{{{self.kind} {self.namespace} {self.name}  {version}  {self.extra}}}"


def impersonated(headers: Headers, caller: User, decide: Decide) -> User:
    """Return the user as whom a request acts: the caller, unless headers ask for somebody else."""
    # Blanks around a value are no part of it; not every HTTP parser takes off those behind it.
    named = [(name, value.strip()) for name, value in headers if name.startswith(_PREFIX)]
    claims = _claims(named) if named else []
    if not claims:
        return caller
    for claim in claims:
        require(decide, _wanted(caller, claim))
    return _acting(claims)


def _claims(headers: Sequence[tuple[bytes, bytes]]) -> list[_Claim]:
    found: list[_Claim] = []
    if name := _first(headers, b"impersonate-user"):
        account = users.account_of(name)
        if account:
            found.append(_Claim("ServiceAccount", account[1], account[0]))
        else:
            found.append(_Claim("User", name))
    found += (
        _Claim("Group", value.decode(errors="replace"))
        for header, value in headers
        if header == b"impersonate-group"
    )
    found += (
        _Claim("UserExtra", value.decode(errors="replace"), extra=_extra_key(header))
        for header, value in headers
        if header.startswith(_EXTRA)
    )
    if uid := _first(headers, b"impersonate-uid"):
        found.append(_Claim("UID", uid))
    if found and not name:
        raise _without_user(found)
    return found


def _without_user(claims: Iterable[_Claim]) -> StatusError:
    listed = " ".join(map(str, claims))
    return status.bad_request(f"requested [{listed}] without impersonating a user")


def _first(headers: Iterable[tuple[bytes, bytes]], name: bytes) -> str:
    return next(
        (value.decode(errors="replace") for header, value in headers if header == name), ""
    )


def _extra_key(header: bytes) -> str:
    key = header.removeprefix(_EXTRA).decode(errors="replace").lower()
    return key if BAD_ESCAPE.search(key) else unquote(key)


def _wanted(caller: User, claim: _Claim) -> Attributes:
    match claim.kind:
        case "ServiceAccount":
            return _on(caller, "", "serviceaccounts", claim)
        case "User":
            return _on(caller, "", "users", claim)
        case "Group":
            return _on(caller, "", "groups", claim)
        case "UID":
            return _on(caller, _GROUP, "uids", claim)
        case _:
            return _on(caller, _GROUP, "userextras", claim)


def _on(caller: User, group: str, resource: str, claim: _Claim) -> Attributes:
    return Attributes(
        caller,
        "impersonate",
        group,
        "v1" if group else "",
        resource,
        claim.extra,
        claim.namespace,
        claim.name,
    )


def _acting(claims: Sequence[_Claim]) -> User:
    who = claims[0]
    name = who.name
    groups = [claim.name for claim in claims if claim.kind == "Group"]
    if who.kind == "ServiceAccount":
        name = users.account_name(who.namespace, who.name)
        groups = groups or [*users.account_groups(who.namespace)]
    extra: dict[str, list[str]] = {}
    for claim in claims:
        if claim.kind == "UserExtra":
            extra.setdefault(claim.extra, []).append(claim.name)
    uid = next((claim.name for claim in claims if claim.kind == "UID"), "")
    return User(name, uid, _groups(name, groups), extra)


def _groups(name: str, groups: Sequence[str]) -> tuple[str, ...]:
    if name == users.ANONYMOUS.name:
        known = users.ALL_UNAUTHENTICATED in groups
        return tuple(groups) if known else (*groups, users.ALL_UNAUTHENTICATED)
    if users.ALL_AUTHENTICATED in groups or users.ALL_UNAUTHENTICATED in groups:
        return tuple(groups)
    return (*groups, users.ALL_AUTHENTICATED)
