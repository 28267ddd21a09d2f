"""How one cluster is reached: where its API server is, and who we are there.

The contract between what reads credentials (`kubeconfig`, `credentials`) and what uses them (`transport`).
"""

from dataclasses import dataclass, field
from typing import Protocol


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    """Where an API server is and how it proves itself."""

    url: str
    """Scheme, host, port and an optional path prefix; no slash at the end."""

    ca: bytes | None = None
    """PEM certificates that may sign the server's; None: those that this machine trusts."""

    tls_server_name: str | None = None
    """The name that its certificate must bear, where that is not the host of the URL."""

    proxy_url: str | None = field(default=None, repr=False)
    """Never printed: it may hold a password."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """Who we are for one request. Never printed: its fields are secrets."""

    authorization: str | None = field(default=None, repr=False)
    """The whole header, as in "Bearer abc"."""

    certificate: bytes | None = field(default=None, repr=False)
    key: bytes | None = field(default=None, repr=False)


ANONYMOUS = Identity()


class Credentials(Protocol):
    """Where the identity comes from: fixed, a file that rotates, a program that is asked."""

    async def identity(self) -> Identity:
        """Return who we are now; raises `BadInput` or `Transient` when that cannot be found out."""
        ...

    def reject(self, identity: Identity) -> bool:
        """Take note that the server answered 401 to `identity`; True if asking again may help."""
        ...


@dataclass(frozen=True, slots=True)
class Fixed:
    """An identity that never changes."""

    who: Identity = ANONYMOUS

    async def identity(self) -> Identity:
        """Return it."""
        return self.who

    def reject(self, identity: Identity) -> bool:
        """There is no other."""
        return False


NOBODY = Fixed()
"""For servers that ask no one who they are."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    """All it takes to talk to one cluster."""

    server: Server
    credentials: Credentials = NOBODY
    headers: tuple[tuple[str, str], ...] = ()
    """Sent with every request; impersonation lives here."""

    namespace: str = "default"
    """What the kubeconfig context says; used where a person names none."""
