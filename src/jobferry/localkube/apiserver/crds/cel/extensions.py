"""The functions that Kubernetes adds to CEL: on texts, lists and sets."""

import functools
import itertools
import math
from collections.abc import Callable
from typing import Any

from jobferry.localkube.apiserver.crds import patterns
from jobferry.localkube.apiserver.crds.cel import standard, values
from jobferry.localkube.apiserver.crds.cel.library import declare
from jobferry.localkube.apiserver.crds.cel.values import CelError, Duration, Timestamp, UInt
from jobferry.objects.gotext import quote

_UPPER = {code: code - 32 for code in range(ord("a"), ord("z") + 1)}
_LOWER = {code: code + 32 for code in range(ord("A"), ord("Z") + 1)}


def _out_of_range(index: int) -> CelError:
    return CelError(f"index out of range: {index}")


def _char_at(text: str, index: int) -> str:
    if not 0 <= index <= len(text):
        raise _out_of_range(index)
    return text[index : index + 1]


def _index_of(text: str, part: str, offset: int = 0) -> int:
    if not part:
        return offset
    if not 0 <= offset < max(len(text), 1):
        raise _out_of_range(offset)
    return text.find(part, offset)


def _last_index_of(text: str, part: str) -> int:
    if not part:
        return len(text)
    return text.rfind(part)


def _last_index_from(text: str, part: str, offset: int) -> int:
    if not part:
        return offset
    if not 0 <= offset < len(text):
        raise _out_of_range(offset)
    return text.rfind(part, 0, offset + len(part))


def _split_at_most(text: str, separator: str, limit: int) -> list[str]:
    if limit == 0:
        return []
    parts = text.split(separator) if separator else list(text)
    if limit < 0 or len(parts) <= limit:
        return parts
    return [*parts[: limit - 1], separator.join(parts[limit - 1 :])]


def _substring(text: str, start: int) -> str:
    if not 0 <= start <= len(text):
        raise _out_of_range(start)
    return text[start:]


def _substring_to(text: str, start: int, end: int) -> str:
    if start > end:
        raise CelError(f"invalid substring range. start: {start}, end: {end}")
    for index in (start, end):
        if not 0 <= index <= len(text):
            raise _out_of_range(index)
    return text[start:end]


def _formatted(text: str, args: list[Any]) -> str:
    """Put values in a text: %s %d %f %e %x %X %o %b %%."""
    parts: list[str] = []
    used = 0
    pieces = text.split("%")
    parts.append(pieces[0])
    index = 1
    while index < len(pieces):
        piece = pieces[index]
        if not piece:
            parts.append("%" + (pieces[index + 1] if index + 1 < len(pieces) else ""))
            index += 2
            continue
        precision, rest = _precision(piece)
        if used >= len(args):
            raise CelError(f"index {used} out of range")
        parts.append(_clause(rest[:1], args[used], precision) + rest[1:])
        used += 1
        index += 1
    return "".join(parts)


def _precision(piece: str) -> tuple[int, str]:
    if not piece.startswith("."):
        return 6, piece
    digits = ""
    for character in piece[1:]:
        if not character.isdecimal():
            break
        digits += character
    return int(digits or 0), piece[1 + len(digits) :]


def _clause(verb: str, value: Any, precision: int) -> str:
    match verb:
        case "s":
            return _shown(value)
        case "d" if isinstance(value, int) and not isinstance(value, bool):
            return str(int(value))
        case "f" if isinstance(value, int | float) and math.isfinite(value):
            return f"{value:,.{precision}f}".replace(",", "")
        case "e" if isinstance(value, int | float):
            return f"{value:.{precision}e}"
        case "b" if isinstance(value, int):
            return f"{int(value):b}"
        case "o" if isinstance(value, int) and not isinstance(value, bool):
            return f"{value:o}"
        case "x" | "X" if isinstance(value, int | str | bytes) and not isinstance(value, bool):
            return _hexadecimal(value, upper=verb == "X")
    raise CelError(
        f'could not parse formatting clause: unrecognized formatting clause "{verb}"'
    )


def _hexadecimal(value: int | str | bytes, *, upper: bool) -> str:
    if isinstance(value, int):
        text = f"{value:x}"
    else:
        text = (value.encode() if isinstance(value, str) else value).hex()
    return text.upper() if upper else text


def _shown(value: Any) -> str:
    match value:
        case None:
            return "null"
        case list():
            return f"[{', '.join(map(_nested, value))}]"
        case dict():
            entries = sorted((_nested(key), _nested(each)) for key, each in value.items())
            return "{" + ", ".join(f"{key}:{each}" for key, each in entries) + "}"
        case UInt() | bool() | int() | float() | str() | bytes() | Timestamp() | Duration():
            return standard.text_of(value)
        case _ if hasattr(value, "kind"):
            return str(value)
    raise CelError(
        f"string clause can only be used on strings, bools, bytes, ints, doubles, maps, lists, types, durations, and timestamps, was given {values.kind_of(value)}"
    )


def _nested(value: Any) -> str:
    return quote(value) if isinstance(value, str) else _shown(value)


def _pattern(text: str) -> Any:
    try:
        return patterns.compiled(text)
    except (patterns.BadPattern, patterns.Untranslatable) as error:
        raise CelError(f"Illegal regex: {error}") from error


def _find(text: str, pattern: str) -> str:
    found = _pattern(pattern).search(text)
    return found[0] if found else ""


def _find_all(text: str, pattern: str, limit: int = -1) -> list[str]:
    found = [match[0] for match in _pattern(pattern).finditer(text)]
    return found if limit < 0 else found[:limit]


def _text_functions() -> None:
    declare("charAt", "string.(int) -> string", _char_at)
    declare("indexOf", "string.(string) -> int", _index_of)
    declare("indexOf", "string.(string, int) -> int", _index_of)
    declare("lastIndexOf", "string.(string) -> int", _last_index_of)
    declare("lastIndexOf", "string.(string, int) -> int", _last_index_from)
    declare("lowerAscii", "string.() -> string", lambda text: text.translate(_LOWER))
    declare("upperAscii", "string.() -> string", lambda text: text.translate(_UPPER))
    declare("replace", "string.(string, string) -> string", str.replace)
    declare("replace", "string.(string, string, int) -> string", str.replace)
    declare(
        "split",
        "string.(string) -> list(string)",
        lambda text, by: _split_at_most(text, by, -1),
    )
    declare("split", "string.(string, int) -> list(string)", _split_at_most)
    declare("substring", "string.(int) -> string", _substring)
    declare("substring", "string.(int, int) -> string", _substring_to)
    declare("trim", "string.() -> string", str.strip)
    declare("join", "list(string).() -> string", "".join)
    declare("join", "list(string).(string) -> string", lambda texts, by: by.join(texts))
    declare("format", "string.(list(dyn)) -> string", _formatted)
    declare("strings.quote", "string -> string", quote)
    declare("find", "string.(string) -> string", _find)
    declare("findAll", "string.(string) -> list(string)", _find_all)
    declare("findAll", "string.(string, int) -> list(string)", _find_all)


def _sorted(items: list[Any]) -> list[Any]:
    try:
        return sorted(items)
    except TypeError:
        raise CelError("list elements must have the same type") from None


def _is_sorted(items: list[Any]) -> bool:
    return all(not later < earlier for earlier, later in itertools.pairwise(items))


def _extreme(name: str, choose: Callable[[list[Any]], Any]) -> Callable[[list[Any]], Any]:
    def run(items: list[Any]) -> Any:
        if not items:
            raise CelError(f"{name} called on empty list")
        return choose(items)

    return run


def _position(items: list[Any], item: Any) -> int:
    return next((index for index, each in enumerate(items) if values.equal(each, item)), -1)


def _last_position(items: list[Any], item: Any) -> int:
    return max(
        (index for index, each in enumerate(items) if values.equal(each, item)), default=-1
    )


def _slice(items: list[Any], start: int, end: int) -> list[Any]:
    if start < 0 or end < 0:
        raise CelError(f"cannot slice({start}, {end}), negative indexes not supported")
    if start > end:
        raise CelError(
            f"cannot slice({start}, {end}), start index must be less than or equal to end index"
        )
    if end > len(items):
        raise CelError(f"cannot slice({start}, {end}), list is length {len(items)}")
    return items[start:end]


def _flatten(items: list[Any], depth: int = 1) -> list[Any]:
    if depth < 0:
        raise CelError("level must be non-negative")
    flat: list[Any] = []
    for item in items:
        if isinstance(item, list) and depth:
            flat += _flatten(item, depth - 1)
        else:
            flat.append(item)
    return flat


def _distinct(items: list[Any]) -> list[Any]:
    found: list[Any] = []
    for item in items:
        if _position(found, item) < 0:
            found.append(item)
    return found


def _sort_by(items: list[Any], keys: list[Any]) -> list[Any]:
    order = sorted(range(len(items)), key=keys.__getitem__)
    return [items[index] for index in order]


def _contains(items: list[Any], others: list[Any]) -> bool:
    return all(_position(items, other) >= 0 for other in others)


def _list_functions() -> None:
    zeros: dict[str, Any] = {"int": 0, "uint": UInt(0), "double": 0.0}
    for kind in standard.COMPARABLE:
        declare("isSorted", f"list({kind}).() -> bool", _is_sorted)
        declare("max", f"list({kind}).() -> {kind}", _MAX)
        declare("min", f"list({kind}).() -> {kind}", _MIN)
        declare("sort", f"list({kind}).() -> list({kind})", _sorted)
        declare("@sortByAssociatedKeys", f"list(T).(list({kind})) -> list(T)", _sort_by)
    for kind, zero in zeros.items():
        declare("sum", f"list({kind}).() -> {kind}", functools.partial(_total, zero))
    declare(
        "sum",
        "list(duration).() -> duration",
        lambda spans: Duration(sum(span.ns for span in spans)),
    )
    declare("indexOf", "list(A).(A) -> int", _position)
    declare("lastIndexOf", "list(A).(A) -> int", _last_position)
    declare("slice", "list(T).(int, int) -> list(T)", _slice)
    declare("flatten", "list(list(T)).() -> list(T)", _flatten)
    declare("flatten", "list(dyn).(int) -> list(dyn)", _flatten)
    declare("lists.range", "int -> list(int)", lambda count: list(range(count)))
    declare("reverse", "list(T).() -> list(T)", lambda items: items[::-1])
    declare("distinct", "list(T).() -> list(T)", _distinct)
    declare("sets.contains", "list(T), list(T) -> bool", _contains)
    declare(
        "sets.equivalent",
        "list(T), list(T) -> bool",
        lambda a, b: _contains(a, b) and _contains(b, a),
    )
    declare(
        "sets.intersects",
        "list(T), list(T) -> bool",
        lambda a, b: any(_position(a, each) >= 0 for each in b),
    )


def _total(zero: Any, items: list[Any]) -> Any:
    total = sum(items)
    if isinstance(zero, float):
        return float(total)
    if not -(2**63) <= total < 2**64 or (not isinstance(zero, UInt) and total >= 2**63):
        raise CelError("integer overflow")
    return UInt(total) if isinstance(zero, UInt) else total


_MAX = _extreme("max", max)
_MIN = _extreme("min", min)
_text_functions()
_list_functions()
