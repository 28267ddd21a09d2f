"""Who a request comes from."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from jobferry.localkube.apiserver.validation import names
from jobferry.objects import Obj, gotext

ALL_AUTHENTICATED = "system:authenticated"
ALL_UNAUTHENTICATED = "system:unauthenticated"
MASTERS = "system:masters"
"""Whoever is in this group may do everything, whatever the roles say."""

ACCOUNT_PREFIX = "system:serviceaccount:"
ALL_ACCOUNTS = "system:serviceaccounts"

CREDENTIAL_ID = "authentication.kubernetes.io/credential-id"
POD_NAME = "authentication.kubernetes.io/pod-name"
POD_UID = "authentication.kubernetes.io/pod-uid"
NODE_NAME = "authentication.kubernetes.io/node-name"
NODE_UID = "authentication.kubernetes.io/node-uid"


@dataclass(frozen=True, slots=True)
class User:
    """Somebody whom the server knows, by name and by the groups that vouch for more."""

    name: str
    uid: str = ""
    groups: tuple[str, ...] = ()
    extra: Mapping[str, Sequence[str]] = field(default_factory=dict, hash=False)

    def info(self) -> Obj:
        """Return it as a `UserInfo` shows it."""
        parts: Obj = {"username": self.name}
        if self.uid:
            parts["uid"] = self.uid
        if self.groups:
            parts["groups"] = list(self.groups)
        if self.extra:
            parts["extra"] = {key: list(values) for key, values in self.extra.items()}
        return parts


ANONYMOUS = User("system:anonymous", groups=(ALL_UNAUTHENTICATED,))


def authenticated(user: User) -> User:
    """Put a user whose proof was accepted into the group of all such users."""
    if user.name == ANONYMOUS.name or {ALL_AUTHENTICATED, ALL_UNAUTHENTICATED} & {*user.groups}:
        return user
    return replace(user, groups=(*user.groups, ALL_AUTHENTICATED))


def account_name(namespace: str, name: str) -> str:
    """Return the user name of a service account."""
    return f"{ACCOUNT_PREFIX}{namespace}:{name}"


def account_groups(namespace: str) -> tuple[str, ...]:
    """Return the groups that every service account of a namespace is in."""
    return ALL_ACCOUNTS, f"{ALL_ACCOUNTS}:{namespace}"


def account_of(name: str) -> tuple[str, str] | None:
    """Return the namespace and name of the service account that a user name stands for, if any."""
    namespace, colon, account = name.removeprefix(ACCOUNT_PREFIX).partition(":")
    if not (colon and name.startswith(ACCOUNT_PREFIX)):
        return None
    if names.label_problems(namespace) or names.subdomain_problems(account):
        return None
    return namespace, account


def service_account(
    namespace: str, name: str, uid: str, extra: Iterable[tuple[str, str]] = ()
) -> User:
    """Return a service account as a user; empty values of `extra` are left out."""
    return User(
        account_name(namespace, name),
        uid,
        account_groups(namespace),
        {key: (value,) for key, value in extra if value},
    )


def quoted(texts: Iterable[str]) -> str:
    """Return a list of texts as Go prints it with %q."""
    return f"[{' '.join(map(gotext.quote, texts))}]"
