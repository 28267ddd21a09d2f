"""Secret: named bytes; some types of secrets need certain names."""

import base64
import binascii
import re
from collections.abc import Callable, Iterator, Mapping, Sequence

import orjson

from jobferry.localkube.apiserver import problems
from jobferry.localkube.apiserver.problems import Problem
from jobferry.localkube.apiserver.strategies import config_map
from jobferry.localkube.apiserver.strategy import Strategy
from jobferry.localkube.apiserver.types import json_words
from jobferry.localkube.apiserver.validation import metadata, names, values
from jobferry.objects import Obj

OPAQUE = "Opaque"
TLS = "kubernetes.io/tls"
SERVICE_ACCOUNT_NAME = "kubernetes.io/service-account.name"

_JSON_KEYS = {
    "kubernetes.io/dockercfg": ".dockercfg",
    "kubernetes.io/dockerconfigjson": ".dockerconfigjson",
}
_REDACTED = "<secret contents redacted>"
_PEM_BLOCK = re.compile(rb"-----BEGIN ([^\n]*?)-----\s.*?-----END \1-----", re.DOTALL)


def _default(secret: Obj) -> None:
    if not secret.get("type"):
        secret["type"] = OPAQUE
    config_map.fill_bytes(secret, "data")
    texts = secret.pop("stringData", None)
    if texts:
        written = {
            key: base64.b64encode((text or "").encode()).decode() for key, text in texts.items()
        }
        secret["data"] = {**(secret.get("data") or {}), **written}


def _problems(secret: Obj) -> Iterator[Problem]:
    yield from metadata.create_problems(
        secret, namespaced=True, name_problems=names.is_subdomain
    )
    data = secret.get("data") or {}
    for key in data:
        yield from values.each(f"data[{key}]", key, names.config_key_problems(key))
    if sum(map(config_map.decoded_size, data.values())) > config_map.MAX_SIZE:
        yield problems.too_long("data", config_map.MAX_SIZE)
    if rule := _TYPE_RULES.get(secret.get("type", "")):
        yield from rule(secret, data)


def _token_problems(secret: Obj, _data: Mapping[str, str]) -> Iterator[Problem]:
    if not (secret["metadata"].get("annotations") or {}).get(SERVICE_ACCOUNT_NAME):
        yield problems.required(f"metadata.annotations[{SERVICE_ACCOUNT_NAME}]")


def _docker_problems(secret: Obj, data: Mapping[str, str]) -> Iterator[Problem]:
    key = _JSON_KEYS[secret["type"]]
    field = f"data[{key}]"
    if key not in data:
        yield problems.required(field)
    elif complaint := _no_object(_decoded(data[key])):
        yield problems.invalid(field, _REDACTED, complaint)


def _basic_problems(_secret: Obj, data: Mapping[str, str]) -> Iterator[Problem]:
    if "username" not in data and "password" not in data:
        yield problems.required("data[username]")
        yield problems.required("data[password]")


def _ssh_problems(_secret: Obj, data: Mapping[str, str]) -> Iterator[Problem]:
    if not data.get("ssh-privatekey"):
        yield problems.required("data[ssh-privatekey]")


def _tls_problems(_secret: Obj, data: Mapping[str, str]) -> Iterator[Problem]:
    for key in ("tls.crt", "tls.key"):
        if key not in data:
            yield problems.required(f"data[{key}]")


_TYPE_RULES: Mapping[str, Callable[[Obj, Mapping[str, str]], Iterator[Problem]]] = {
    "kubernetes.io/basic-auth": _basic_problems,
    "kubernetes.io/dockercfg": _docker_problems,
    "kubernetes.io/dockerconfigjson": _docker_problems,
    "kubernetes.io/service-account-token": _token_problems,
    "kubernetes.io/ssh-auth": _ssh_problems,
    TLS: _tls_problems,
}


def _no_object(text: bytes) -> str:
    """Say, as Go would, why a text is no JSON object."""
    try:
        value = orjson.loads(text)
    except orjson.JSONDecodeError:
        return json_words.problem(text)
    if value is None or isinstance(value, dict):
        return ""
    kind = {list: "array", str: "string", bool: "bool"}.get(type(value), "number")
    return f"json: cannot unmarshal {kind} into Go value of type map[string]interface {{}}"


def _decoded(text: str | None) -> bytes:
    try:
        return base64.b64decode(text or "")
    except binascii.Error:
        return b""


def _validate_create(secret: Obj) -> Sequence[Problem]:
    return list(_problems(secret))


def _validate_update(new: Obj, old: Obj) -> Sequence[Problem]:
    return [
        *metadata.update_problems(new, old),
        *values.immutable("type", new.get("type", ""), old.get("type", "")),
        *config_map.frozen_problems(new, old, ("data",)),
        *_problems(new),
    ]


def _warnings(secret: Obj) -> Sequence[str]:
    """Warn of what is no pair of certificate and key at first sight; whether they fit is not looked at."""
    if secret.get("type") != TLS:
        return ()
    data = secret.get("data") or {}
    certificate = _pem_types(_decoded(data.get("tls.crt")))
    key = _pem_types(_decoded(data.get("tls.key")))
    warning = _certificate_warning(certificate) or _key_warning(key)
    return (warning,) if warning else ()


def _pem_types(text: bytes) -> list[str]:
    return [each.decode(errors="replace") for each in _PEM_BLOCK.findall(text)]


def _certificate_warning(types: list[str]) -> str:
    if not types:
        return "tls: failed to find any PEM data in certificate input"
    if "CERTIFICATE" in types:
        return ""
    if len(types) == 1 and types[0].endswith("PRIVATE KEY"):
        return (
            "tls: failed to find certificate PEM data in certificate input, but did find a "
            "private key; PEM inputs may have been switched"
        )
    return (
        'tls: failed to find "CERTIFICATE" PEM block in certificate input after skipping PEM '
        f"blocks of the following types: [{' '.join(types)}]"
    )


def _key_warning(types: list[str]) -> str:
    if not types:
        return "tls: failed to find any PEM data in key input"
    if any(each == "PRIVATE KEY" or each.endswith(" PRIVATE KEY") for each in types):
        return ""
    if types == ["CERTIFICATE"]:
        return "tls: found a certificate rather than a key in the PEM for the private key"
    return (
        'tls: failed to find PEM block with type ending in "PRIVATE KEY" in key input after '
        f"skipping PEM blocks of the following types: [{' '.join(types)}]"
    )


def _warnings_update(new: Obj, _old: Obj) -> Sequence[str]:
    return _warnings(new)


def _fields(secret: Obj) -> Mapping[str, str]:
    return {"type": secret.get("type", "")}


STRATEGY = Strategy(
    default=_default,
    validate_create=_validate_create,
    validate_update=_validate_update,
    warn_create=_warnings,
    warn_update=_warnings_update,
    name_problems=names.is_subdomain,
    versioned=None,
    fields=_fields,
    field_names=frozenset({"type"}),
    unknown_field="field label not supported: {0}",
)
"""Secrets."""
