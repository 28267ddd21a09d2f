"""Names of container images: which tag they ask for, and so how often they are pulled."""

import re
from functools import lru_cache

_DOMAIN_PART = r"(?:[a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9-]*[a-zA-Z0-9])"
_HOST = rf"(?:{_DOMAIN_PART}(?:\.{_DOMAIN_PART})*|\[[a-fA-F0-9:]+\])"
_PATH_PART = r"[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*"
_DIGEST = r"[A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*:[0-9a-fA-F]{32,}"
_IMAGE = re.compile(
    rf"{_HOST}(?::[0-9]+)?/(?P<path>{_PATH_PART}(?:/{_PATH_PART})*)"
    rf"(?::(?P<tag>\w[\w.-]{{0,127}}))?(?:@(?P<digest>{_DIGEST}))?",
    re.ASCII,
).fullmatch
_DIGEST_SIZES = {"sha256": 64, "sha384": 96, "sha512": 128}
_is_id = re.compile(r"[a-f0-9]{64}").fullmatch
_MAX_PATH = 255
_MAX_IMAGE = 4096


@lru_cache(maxsize=1024)
def pull_policy(image: str) -> str:
    """Return how often an image is pulled unless its container says so."""
    return "Always" if tag(image) == "latest" else "IfNotPresent"


def tag(image: str) -> str:
    """Return the tag that an image asks for; none if its name cannot be understood."""
    if len(image) > _MAX_IMAGE or _is_id(image):
        return ""
    domain, path = _split(image)
    name = path.partition(":")[0]
    if name.lower() != name or not (found := _IMAGE(f"{domain}/{path}")):
        return ""
    digest = found["digest"]
    if len(found["path"]) > _MAX_PATH or (digest and not _is_digest(digest)):
        return ""
    return found["tag"] or ("" if digest else "latest")


def _split(image: str) -> tuple[str, str]:
    """Return the registry and the rest; what looks like no registry belongs to the default one."""
    domain, slash, path = image.partition("/")
    if not slash:
        return "docker.io", f"library/{image}"
    if domain == "index.docker.io":
        domain = "docker.io"
    elif not (
        domain == "localhost" or "." in domain or ":" in domain or domain.lower() != domain
    ):
        domain, path = "docker.io", image
    if domain == "docker.io" and "/" not in path:
        path = f"library/{path}"
    return domain, path


def _is_digest(digest: str) -> bool:
    algorithm, _, code = digest.partition(":")
    return len(code) == _DIGEST_SIZES.get(algorithm) and code.lower() == code
