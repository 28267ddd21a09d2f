"""The folder in which a server keeps its keys and certificates from one start to the next."""

import ipaddress
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import orjson

from jobferry.errors import BadInput
from jobferry.localkube.apiserver.identity import kubeconfig, private
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

MOST_PORT = 65535

NEEDED = ("ca.crt", "server.crt", "server.key")
"""What there is in any folder of keys."""
NOTE, PORT, KUBECONFIG = "issued.json", "port", "kubeconfig"
_PAIRS = ("ca", "server", "admin")
_SECRETS = (*(f"{name}.key" for name in _PAIRS), "service-accounts.key", KUBECONFIG)
_OTHERS = (*(f"{name}.crt" for name in _PAIRS), "service-accounts.pub", NOTE, PORT)


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

    def signing(self) -> Pair:
        """Read the key that signs service account tokens, with the one by which they are checked."""
        return Pair(self.tokens_public.read_bytes(), self.tokens.read_bytes())

    def admin_kubeconfig(self, url: str, *, name: str = _NAME) -> str:
        """Return a kubeconfig for somebody who may do everything."""
        return kubeconfig.with_certificate(
            url, self.authority.read_bytes(), _read(self.folder, "admin"), name=name
        )

    def issue(self, now: datetime, user: str, groups: Iterable[str] = ()) -> Pair:
        """Issue a client certificate."""
        return _authority(self.folder, now).client(user, groups)


def prepare(folder: Path, now: datetime, host: str = ADDRESSES[0]) -> Keys:
    """Make what is missing or out of date in the folder, for a server at `host`; use what is there.

    Raises `BadInput` if somebody else could have put it there, or if it cannot be used.
    """
    keys = Keys(folder)
    private.check_files((folder / each for each in _SECRETS), secret=True)
    private.check_files((folder / each for each in _OTHERS), secret=False)
    try:
        if not _is_current(folder, _served(host), now):
            _issue_all(folder, _served(host), now)
        if not _can_sign(keys):
            _make_signing_key(keys)
    except (ValueError, TypeError) as error:  # of cryptography
        raise unusable(folder, error) from error
    return keys


def is_complete(folder: Path, now: datetime, host: str = ADDRESSES[0]) -> bool:
    """Tell whether `prepare` would find all that it wants."""
    return _is_current(folder, _served(host), now) and _can_sign(Keys(folder))


def unusable(folder: Path, error: Exception) -> BadInput:
    """Say that keys cannot be used, and what to do."""
    said = error.strerror if isinstance(error, OSError) and error.strerror else error
    return BadInput(
        f"{folder}: the keys cannot be used: {said}",
        hint="Remove issued.json there to have new ones made, ca.crt too to have a new authority; "
        "or give another folder.",
    )


def kept_port(folder: Path) -> int | None:
    """Return the port that the server of a folder had last."""
    try:
        port = int((folder / PORT).read_bytes())
    except (OSError, ValueError):
        return None
    return port if 0 < port <= MOST_PORT else None


def keep_port(folder: Path, port: int) -> None:
    """Remember a port: running controllers and copied kubeconfigs look there."""
    if kept_port(folder) != port:
        private.write(folder / PORT, b"%d\n" % port)


def leave_kubeconfig(keys: Keys, url: str, name: str = _NAME) -> Path:
    """Write a kubeconfig for somebody who may do everything, with a context of that name."""
    path = keys.folder / KUBECONFIG
    private.write(path, keys.admin_kubeconfig(url, name=name).encode())
    return path


def _served(host: str) -> dict[str, list[str]]:
    """Return the names and addresses that a server answers under."""
    names, addresses = {*NAMES}, {*ADDRESSES}
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        names.add(host)
    else:
        if not address.is_unspecified:  # any of the machine's: it tells the client nothing
            addresses.add(str(address))
    return {"names": sorted(names), "addresses": sorted(addresses)}


def _can_sign(keys: Keys) -> bool:
    return keys.tokens.exists() and keys.tokens_public.exists()


def _make_signing_key(keys: Keys) -> None:
    from jobferry.localkube.apiserver.identity import certificates  # noqa: PLC0415 (heavy)

    pair = certificates.signing_key()
    private.write(keys.tokens_public, pair.certificate)
    private.write(keys.tokens, pair.key)


def _is_current(folder: Path, served: dict[str, list[str]], now: datetime) -> bool:
    """Tell by the note that is written last whether all certificates are there and hold on."""
    try:
        note = orjson.loads((folder / NOTE).read_bytes())
        until = datetime.fromisoformat(note["until"])
        has_all = all({*served[part]} <= {*note[part]} for part in served)
        return has_all and until - now > RENEWED
    except (OSError, ValueError, KeyError, TypeError):
        return False


def _issue_all(folder: Path, served: dict[str, list[str]], now: datetime) -> None:
    note = folder / NOTE
    note.unlink(missing_ok=True)
    authority = _authority(folder, now)
    _save(folder, "server", authority.server(served["names"], served["addresses"]))
    _save(folder, "admin", authority.client(ADMIN, [MASTERS]))
    private.write(note, orjson.dumps({**served, "until": (now + LIFETIME).isoformat()}))


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
    private.write(folder / f"{name}.key", pair.key)
    private.write(folder / f"{name}.crt", pair.certificate)


def _read(folder: Path, name: str) -> Pair:
    return Pair((folder / f"{name}.crt").read_bytes(), (folder / f"{name}.key").read_bytes())
