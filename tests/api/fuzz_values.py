"""Hostile values, and objects changed at random."""

import copy
import json
from random import Random
from typing import Any

import orjson

from jobferry.objects import Obj

TEXTS = (
    *("", " ", "a", "A", "a-b", "a.b", "-", ".", "..", "/", "a/b", "/a", "a//b", "%", "%2f"),
    *(
        "default",
        "kube-system",
        "example.com/x",
        "kubernetes.io/x",
        "a" * 63,
        "a" * 64,
        "a" * 254,
    ),
    *("0", "1", "-1", "01", "1.5", "1e3", "1Gi", "100m", "1e400", "-1Ki", "0x10", "1_000", "٣"),
    *(
        "true",
        "null",
        "None",
        "nil",
        "{}",
        "[]",
        "{",
        "$(A)",
        "${A}",
        "$$(A)",
        "\x00",
        "\n",
        "\r\n",
    ),
    *(
        "é",
        "\u2028",
        "\ufeff",
        "\U0001f600",
        "\u202e",
        "\uff21",
        "ﬀ",
        "İ",
        "ß",
        "\x7f",
        "\x1b[0m",
    ),
    *(
        "2026-01-01T00:00:00Z",
        "2026-13-01T00:00:00Z",
        "0000-00-00T00:00:00Z",
        "-1-01-01T00:00:00Z",
    ),
    *("9999-12-31T23:59:60Z", "2026-01-01T00:00:00.123456789+14:00", "* * * * *", "@every 1ns"),
    *(
        "*/0 * * * *",
        "0-99999 * * * *",
        "127.0.0.1",
        "::1",
        "10.0.0.0/24",
        "999.1.1.1",
        "fe80::1%1",
    ),
    *(
        "Always",
        "Never",
        "OnFailure",
        "Indexed",
        "ClusterIP",
        "None",
        "TCP",
        "Exists",
        "In",
        "Equal",
    ),
    *("YQ==", "YQ", "====", "(a+)+$", "[", "(?P<", "a{1,99999}", "self.x == 1", "x" * 5000),
    *(
        "f:spec",
        "k:{}",
        'k:{"a":1}',
        "v:",
        "i:0",
        ".",
        "metadata.name=a",
        "a in (b",
        "!a",
        "a==b,,",
    ),
    *(
        "system:masters",
        "system:serviceaccount:a:b",
        "*",
        "{.a}",
        "{.a[?(@.b==1)]}",
        "{range .a}",
    ),
)
NUMBERS = (
    *(0, 1, -1, 2, 3, 63, 64, 255, 256, 65535, 65536, 2**31 - 1, 2**31, -(2**31), -(2**31) - 1),
    *(2**53, 2**53 + 1, 2**63 - 1, -(2**63), 2**63, 2**64 - 1),
    *(0.0, -0.0, 0.5, 1e-9, 1e18, 1e19, 1e300, -1e300, 1.0, 3.0000000000000004),
)


def leaf(rng: Random) -> Any:
    """Return a value without parts."""
    chance = rng.random()
    if chance < 0.5:
        return rng.choice(TEXTS)
    if chance < 0.8:
        return rng.choice(NUMBERS)
    return rng.choice((None, True, False))


def value(rng: Random, depth: int = 3) -> Any:
    """Return any value."""
    chance = rng.random()
    if depth <= 0 or chance < 0.6:
        return leaf(rng)
    if chance < 0.8:
        return [value(rng, depth - 1) for _ in range(rng.randrange(4))]
    return {rng.choice(TEXTS): value(rng, depth - 1) for _ in range(rng.randrange(4))}


def deep(rng: Random, depth: int) -> Any:
    """Return something nested deep."""
    found: Any = leaf(rng)
    for _ in range(depth):
        found = [found] if rng.random() < 0.5 else {rng.choice(("a", "spec", "items")): found}
    return found


def places(obj: Any) -> list[tuple[Any, Any]]:
    """Return all containers in a value with their keys."""
    found: list[tuple[Any, Any]] = []
    waiting = [obj]
    while waiting:
        each = waiting.pop()
        keys = list(each) if isinstance(each, dict) else range(len(each))
        for key in keys:
            found.append((each, key))
            if isinstance(each[key], dict | list):
                waiting.append(each[key])
    return found


def mutated(rng: Random, obj: Obj, changes: int = 0) -> Obj:
    """Return a changed copy."""
    found = copy.deepcopy(obj)
    for _ in range(changes or rng.choice((1, 1, 1, 2, 3, 8))):
        where = places(found)
        if where:
            _change(rng, *rng.choice(where), where)
    return found


def _change(rng: Random, container: Any, key: Any, where: list[tuple[Any, Any]]) -> None:
    """Change one place."""
    old = container[key]
    match rng.randrange(9):
        case 0:
            del container[key]
        case 1 | 2:
            container[key] = leaf(rng)
        case 3:
            container[key] = value(rng)
        case 4:
            container[key] = [old] if rng.random() < 0.5 else {"a": old}
        case 5:
            other, name = rng.choice(where)  # what is fine elsewhere is wrong here
            container[key] = copy.deepcopy(other[name])
        case 6 if isinstance(old, list):
            old.extend(copy.deepcopy(old) or [leaf(rng)])
        case 6 | 7 if isinstance(container, dict):
            container[rng.choice(TEXTS)] = old
        case 8 if isinstance(old, str):
            container[key] = bent(rng, old)
        case _:
            container[key] = None


def bent(rng: Random, text: str) -> str:
    """Return a text with something else in it."""
    at = rng.randrange(len(text) + 1)
    return text[:at] + rng.choice(TEXTS) + text[at + rng.randrange(3) :]


def bent_bytes(rng: Random, data: bytes) -> bytes:
    """Return bytes with some of them changed, lost, doubled or cut off."""
    found = bytearray(data)
    for _ in range(rng.choice((1, 1, 2, 5))):
        at = rng.randrange(len(found) + 1)
        match rng.randrange(5):
            case 0:
                found[at : at + 1] = bytes((rng.randrange(256),))
            case 1:
                del found[at : at + rng.choice((1, 2, 10))]
            case 2:
                found[at:at] = found[at : at + rng.choice((1, 4, 100))]
            case 3:
                found[at:at] = rng.choice(
                    (b"\x00", b"\xff\xfe", b'"', b"}", b"[", b"\\ud800", b"\n- &a *a")
                )
            case 4:
                del found[at:]
    return bytes(found)


def dumps(value: Any) -> bytes:
    """Write JSON, numbers beyond 64 bits too."""
    try:
        return orjson.dumps(value, option=orjson.OPT_NON_STR_KEYS)
    except TypeError:
        return json.dumps(value).encode("utf-8", "replace")
