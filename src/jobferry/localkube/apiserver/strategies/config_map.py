"""ConfigMap: named texts and bytes, together no more than a mebibyte."""

from collections.abc import Iterator, Sequence

from jobferry.localkube.apiserver import problems
from jobferry.localkube.apiserver.problems import Problem
from jobferry.localkube.apiserver.strategy import Strategy
from jobferry.localkube.apiserver.validation import metadata, names, values
from jobferry.objects import Obj

MAX_SIZE = 1 << 20
"""Bytes, for ConfigMaps and Secrets alike."""

FROZEN = "field is immutable when `immutable` is set"


def fill_bytes(obj: Obj, member: str) -> None:
    """Make empty bytes of those that are null."""
    given = obj.get(member)
    if given and None in given.values():
        obj[member] = {key: "" if text is None else text for key, text in given.items()}


def _default(config_map: Obj) -> None:
    fill_bytes(config_map, "binaryData")


def decoded_size(text: str | None) -> int:
    """Return how many bytes a text in base64 stands for."""
    if not text:
        return 0
    return len(text) // 4 * 3 - text.count("=", -2)


def frozen_problems(new: Obj, old: Obj, members: Sequence[str]) -> Iterator[Problem]:
    """Say what was changed in an object that is immutable."""
    if not old.get("immutable"):
        return
    if not new.get("immutable"):
        yield problems.forbidden("immutable", FROZEN)
    for member in members:
        if (new.get(member) or {}) != (old.get(member) or {}):
            yield problems.forbidden(member, FROZEN)


def _problems(config_map: Obj) -> Iterator[Problem]:
    yield from metadata.create_problems(
        config_map, namespaced=True, name_problems=names.is_subdomain
    )
    texts, binaries = config_map.get("data") or {}, config_map.get("binaryData") or {}
    for key in texts:
        yield from values.each(f"data[{key}]", key, names.config_key_problems(key))
        if key in binaries:
            what = "duplicate of key present in binaryData"
            yield problems.invalid(f"data[{key}]", key, what)
    for key in binaries:
        yield from values.each(f"binaryData[{key}]", key, names.config_key_problems(key))
    if sum(map(names.size, texts.values())) + sum(map(decoded_size, binaries.values())) > (
        MAX_SIZE
    ):
        yield problems.too_long("[]", MAX_SIZE)


def _validate_create(config_map: Obj) -> Sequence[Problem]:
    return list(_problems(config_map))


def _validate_update(new: Obj, old: Obj) -> Sequence[Problem]:
    return [
        *metadata.update_problems(new, old),
        *frozen_problems(new, old, ("data", "binaryData")),
        *_problems(new),
    ]


STRATEGY = Strategy(
    default=_default,
    validate_create=_validate_create,
    validate_update=_validate_update,
    name_problems=names.is_subdomain,
    versioned=None,
)
"""ConfigMaps."""
