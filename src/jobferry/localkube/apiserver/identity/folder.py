"""The folder in which a server keeps its keys and certificates from one start to the next."""

import os
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import orjson

from jobferry.localkube.apiserver.identity import kubeconfig
from jobferry.localkube.apiserver.identity.pair import Pair
from jobferry.localkube.apiserver.identity.user import MASTERS

if TYPE_CHECKING:
    from jobferry.localkube.apiserver.identity.certificates import Authority

ADMIN = "kubernetes-admin"
NAMES = (
    "localhost",
    "kubernetes",
    "kubernetes.default",
    "kubernetes.default.svc",
    "kubernetes.default.svc.cluster.local",
)
_NAME = "localkube"
ADDRESSES = ("127.0.0.1", "::1")

LIFETIME = timedelta(days=3650)
RENEWED = timedelta(days=30)
"""Certificates with less time than this left are issued anew at the next start; the authority is kept."""


@dataclass(frozen=True, slots=True)
class Keys:
    """Where the files are; all are PEM."""

    folder: Path

    @property
    def authority(self) -> Path:
        """The certificate by which everything issued here is known."""
        return self.folder / "ca.crt"

    @property
    def server(self) -> Path:
        """The certificate of the server; its key is `server_key`."""
        return self.folder / "server.crt"

    @property
    def server_key(self) -> Path:
        """The key of the server."""
        return self.folder / "server.key"

    @property
    def tokens(self) -> Path:
        """The key that signs service account tokens."""
        return self.folder / "service-accounts.key"

    @property
    def tokens_public(self) -> Path:
        """The key by which service account tokens are checked."""
        return self.folder / "service-accounts.pub"

    def admin_kubeconfig(self, url: str, *, name: str = _NAME) -> str:
        """Return a kubeconfig for somebody who may do everything."""
        return kubeconfig.with_certificate(
            url, self.authority.read_bytes(), _read(self.folder, "admin"), name=name
        )

    def issue(self, now: datetime, user: str, groups: Iterable[str] = ()) -> Pair:
        """Issue a client certificate."""
        return _authority(self.folder, now).client(user, groups)


def prepare(
    folder: Path,
    now: datetime,
    *,
    names: Iterable[str] = NAMES,
    addresses: Iterable[str] = ADDRESSES,
) -> Keys:
    """Make what is missing or out of date in the folder; what is there is used as it is."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    keys = Keys(folder)
    served = {"names": sorted(names), "addresses": sorted(addresses)}
    if not _is_current(folder, served, now):
        _issue_all(folder, served, now)
    if not (keys.tokens.exists() and keys.tokens_public.exists()):
        from jobferry.localkube.apiserver.identity import certificates  # noqa: PLC0415 (heavy)

        pair = certificates.signing_key()
        _write(keys.tokens_public, pair.certificate)
        _write(keys.tokens, pair.key)
    return keys


def _is_current(folder: Path, served: dict[str, list[str]], now: datetime) -> bool:
    """Tell by the note that is written last whether all certificates are there and hold on."""
    try:
        note = orjson.loads((folder / "issued.json").read_bytes())
        until = datetime.fromisoformat(note.pop("until"))
    except (FileNotFoundError, ValueError, KeyError, AttributeError):
        return False
    return bool(note == served) and until - now > RENEWED


def _issue_all(folder: Path, served: dict[str, list[str]], now: datetime) -> None:
    note = folder / "issued.json"
    note.unlink(missing_ok=True)
    authority = _authority(folder, now)
    _save(folder, "server", authority.server(served["names"], served["addresses"]))
    _save(folder, "admin", authority.client(ADMIN, [MASTERS]))
    _write(note, orjson.dumps({**served, "until": (now + LIFETIME).isoformat()}))


def _authority(folder: Path, now: datetime) -> "Authority":
    """Return the authority of the folder; a new one where there is none."""
    from jobferry.localkube.apiserver.identity import certificates  # noqa: PLC0415 (heavy)

    if not (folder / "ca.crt").exists():
        # It outlives all that it issues: a client that trusts it need never be told again.
        new = certificates.Authority(now, name=_NAME, lifetime=10 * LIFETIME)
        _save(folder, "ca", new.pair)
    pair = _read(folder, "ca")
    return certificates.Authority(now, name=_NAME, lifetime=LIFETIME, pair=pair)


def _save(folder: Path, name: str, pair: Pair) -> None:
    _write(folder / f"{name}.key", pair.key)
    _write(folder / f"{name}.crt", pair.certificate)


def _read(folder: Path, name: str) -> Pair:
    return Pair((folder / f"{name}.crt").read_bytes(), (folder / f"{name}.key").read_bytes())


def _write(path: Path, content: bytes) -> None:
    """Write a file that only we can read: all of it, or none if we are killed."""
    draft = path.with_name(f"{path.name}.new")
    draft.unlink(missing_ok=True)
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    draft.replace(path)
