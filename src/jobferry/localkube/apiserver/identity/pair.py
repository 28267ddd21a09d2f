"""A certificate with its key, as files hold them."""

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Pair:
    """A certificate with its private key, both PEM."""

    certificate: bytes
    key: bytes = field(repr=False)
