"""Objects of every built-in kind, put together at random from the tables of types: as JSON and as protobuf."""

from random import Random
from typing import Any

from jobferry.localkube.apiserver.types import tables
from jobferry.localkube.apiserver.types.tables import Structure, Type
from jobferry.objects import Obj
from tests.api import fuzz_values

_CUSTOM: dict[str, tuple[Any, ...]] = {
    "Quantity": ("1", "1Gi", "100m", 1, 1.5, "-1", "1e3", "0", "x", "", "9" * 40, "1e99999"),
    "Time": ("2026-01-01T00:00:00Z", None, "", "x", 1, "2026-02-30T00:00:00Z"),
    "MicroTime": ("2026-01-01T00:00:00.000001Z", None, "", "2026-01-01T00:00:00Z"),
    "IntOrString": (1, "a", "50%", -1, "", 2**31, 1.5, None),
    "Duration": ("1s", "", "x", 1),
}


def typed(rng: Random, name: str, depth: int = 0) -> Any:
    """Return a value of a struct, by its name in the tables, mostly of the right types."""
    struct = tables.structure(name)
    if struct.custom and struct.go in _CUSTOM:
        return rng.choice(_CUSTOM[struct.go])
    if struct.custom or depth > 12:
        return fuzz_values.value(rng)
    return _members(rng, struct, depth)


def _members(rng: Random, struct: Structure, depth: int) -> Obj:
    chance = 0.6 if depth < 3 else 0.35 if depth < 6 else 0.15
    found: Obj = {}
    for field in struct.fields:
        if rng.random() > (0.95 if field.required else chance):
            continue
        if field.inline:
            inner = _typed(rng, field.type, {}, depth)
            found.update(inner if isinstance(inner, dict) else {})
        else:
            found[field.name] = _typed(rng, field.type, field.marks, depth)
    return found


def _typed(rng: Random, kind: Type, marks: Any, depth: int) -> Any:
    if rng.random() < 0.02:
        return fuzz_values.value(rng)
    if kind.is_bytes:
        return rng.choice(("YQ==", "", "x", "YQ==" * 50))
    match kind.kind:
        case "pointer":
            return _typed(rng, kind.element, marks, depth)
        case "slice":
            return [_typed(rng, kind.element, {}, depth + 1) for _ in range(rng.randrange(3))]
        case "map":
            keys = (rng.choice(fuzz_values.TEXTS) for _ in range(rng.randrange(3)))
            return {key: _typed(rng, kind.element, {}, depth + 1) for key in keys}
        case "struct":
            return typed(rng, kind.name, depth + 1)
        case "string":
            return rng.choice((*marks.get("enum", ()), *rng.choices(fuzz_values.TEXTS, k=3)))
        case "bool":
            return rng.random() < 0.5
        case "int32":
            return rng.choice((0, 1, 2, 3, 80, -1, 2**31 - 1, 65536))
        case _:
            return rng.choice((0, 1, 2, 1000, -1, 2**63 - 1))


# -- protobuf -------------------------------------------------------------------------------------


def protobuf(rng: Random, api_version: str, kind: str) -> bytes:
    """Return an object as a Go client would send it, whatever it holds."""
    struct = tables.type_of(api_version, kind)
    assert struct is not None
    about = _bytes(1, _bytes(1, api_version.encode()) + _bytes(2, kind.encode()))
    return b"k8s\x00" + about + _bytes(2, _message(rng, struct, 0))


def _message(rng: Random, struct: Structure, depth: int) -> bytes:
    if struct.custom or depth > 10:
        return _any(rng)
    chance = 0.5 if depth < 3 else 0.2
    parts = [
        _field(rng, field.number or rng.randrange(1, 50), field.type, depth)
        for field in struct.fields
        if rng.random() < chance
    ]
    if rng.random() < 0.05:
        parts.append(_any(rng))
    return b"".join(parts)


def _any(rng: Random) -> bytes:
    """Return some fields that may mean anything: times, quantities, numbers or texts are made of them."""
    parts = (
        _varint(rng.randrange(1, 5) << 3)
        + _varint(rng.choice((0, 1, 2, 2**31, 2**63, 2**64 - 1))),
        _bytes(rng.randrange(1, 5), rng.choice(fuzz_values.TEXTS).encode()),
        _bytes(rng.randrange(1, 5), rng.randbytes(rng.randrange(9))),
        _varint(1 << 3 | rng.randrange(8)),
    )
    return b"".join(rng.choices(parts, k=rng.randrange(4)))


def _field(rng: Random, number: int, kind: Type, depth: int) -> bytes:
    if kind.is_bytes:
        return _bytes(number, rng.randbytes(rng.randrange(5)))
    match kind.kind:
        case "pointer":
            return _field(rng, number, kind.element, depth)
        case "slice":
            count = rng.randrange(3)
            return b"".join(_field(rng, number, kind.element, depth + 1) for _ in range(count))
        case "map":
            entry = _bytes(1, rng.choice(fuzz_values.TEXTS).encode())
            return _bytes(number, entry + _field(rng, 2, kind.element, depth + 1))
        case "struct":
            return _bytes(number, _message(rng, tables.structure(kind.name), depth + 1))
        case "string":
            return _bytes(number, rng.choice(fuzz_values.TEXTS).encode())
        case "float64":
            return _varint(number << 3 | 1) + rng.randbytes(8)
        case _:
            return _varint(number << 3) + _varint(rng.choice((0, 1, 7, 2**31, 2**64 - 1)))


def _bytes(number: int, content: bytes) -> bytes:
    return _varint(number << 3 | 2) + _varint(len(content)) + content


def _varint(number: int) -> bytes:
    found = bytearray()
    while number > 0x7F:
        found.append(number & 0x7F | 0x80)
        number >>= 7
    found.append(number)
    return bytes(found)
