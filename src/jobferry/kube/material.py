"""Certificates, keys and tokens as a person gave them: written in place, or in a file that may be replaced."""

import base64
import binascii
import re
import ssl
from dataclasses import dataclass, field
from pathlib import Path

from jobferry.errors import BadInput

MAX_SIZE = 10 * 2**20
"""Bytes. No certificate bundle or kubeconfig comes near it; a wrong path (a device, a log) may never end."""

_CERTIFICATE = re.compile(rb"-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----")
_KEY = re.compile(rb"-----BEGIN ([A-Z ]*PRIVATE KEY)-----(.+?)-----END \1-----", re.DOTALL)
_DER_SEQUENCE = b"\x30"


@dataclass(frozen=True, slots=True)
class Material:
    """Bytes that are given in place or by the path of a file."""

    place: str
    """Where a person wrote it, for messages."""

    content: bytes | Path = field(repr=False)

    @property
    def is_file(self) -> bool:
        """Whether it may change while we run."""
        return isinstance(self.content, Path)

    def read(self) -> bytes:
        """Return the bytes as they are now."""
        if isinstance(self.content, bytes):
            return self.content
        try:
            return read_file(self.content)
        except OSError as error:
            raise self.wrong(f"cannot read {self.content}: {error.strerror or error}") from None

    def wrong(self, what: str, hint: str | None = None) -> BadInput:
        """Make the error that says what is wrong with it, without showing it."""
        return BadInput(one_line(f"{self.place}: {what}"), hint=hint)


def read_file(path: Path) -> bytes:
    """Read a small file; raises `OSError`, also for one that is not small."""
    with path.open("rb") as file:
        content = file.read(MAX_SIZE + 1)
    if len(content) > MAX_SIZE:
        raise OSError(f"more than {MAX_SIZE} bytes")
    return content


def certificates(material: Material) -> bytes:
    """Read PEM certificates, leaving out whatever else is written around them."""
    found = b"\n".join(_CERTIFICATE.findall(material.read()))
    if not found:
        raise material.wrong(
            "holds no PEM certificate", "It must begin with BEGIN CERTIFICATE."
        )
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_verify_locations(
            cadata=found.decode("ascii")
        )
    except (ssl.SSLError, ValueError):
        raise material.wrong("not a valid certificate") from None
    return found + b"\n"


def private_key(material: Material) -> bytes:
    """Read a PEM private key, leaving out whatever else is written around it."""
    found = _KEY.search(material.read())
    if not found:
        raise material.wrong(
            "holds no PEM private key", "It must begin with BEGIN PRIVATE KEY."
        )
    kind, body = found.groups()
    if kind.startswith(b"ENCRYPTED") or b"ENCRYPTED" in body:
        raise material.wrong("the private key is encrypted", "Store it without a passphrase.")
    if not _decoded(body).startswith(_DER_SEQUENCE):
        raise material.wrong("not a valid private key")
    return found.group() + b"\n"


def _decoded(body: bytes) -> bytes:
    try:
        return base64.b64decode(b"".join(body.split()), validate=True)
    except binascii.Error:
        return b""


def token(material: Material) -> str:
    """Read a bearer token."""
    text = material.read().strip().decode("latin-1")
    if not text:
        raise material.wrong("the token is empty")
    if not is_header_value(text) or " " in text:
        raise material.wrong("the token holds characters that no token has")
    return text


def is_header_value(text: str) -> bool:
    """Whether an HTTP header can carry it."""
    return text.isascii() and text.isprintable()


def one_line(text: str) -> str:
    """Return text that others wrote as one line that is safe to print on a terminal."""
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())
