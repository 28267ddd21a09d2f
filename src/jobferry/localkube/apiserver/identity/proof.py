"""What a token proves, or that it does not."""

import re
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable
from typing import NamedTuple

from jobferry import errors
from jobferry.localkube.apiserver.identity.user import User
from jobferry.objects import Obj

Get = Callable[[str, str, str, str], Obj | None]
"""(group, resource, namespace, name): return an object, or None if there is none."""


_BASE64URL = re.compile(r"[A-Za-z0-9_-]*", re.ASCII)


class BadToken(errors.BadInput):
    """A token that does not hold, in the words of an API server."""


class Holder(NamedTuple):
    """Whom a token stands for, and to which of the audiences asked for it speaks."""

    user: User
    audiences: tuple[str, ...]


def decoded(text: str) -> bytes | None:
    """Decode base64url as tokens have it, without padding; None if it is something else."""
    if not _BASE64URL.fullmatch(text) or len(text) % 4 == 1:
        return None
    return urlsafe_b64decode(text + "=" * (-len(text) % 4))


def encoded(content: bytes) -> str:
    """Encode as base64url, as tokens have it, without padding."""
    return urlsafe_b64encode(content).rstrip(b"=").decode()
