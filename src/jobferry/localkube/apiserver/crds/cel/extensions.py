"""The functions that Kubernetes adds to CEL: on texts, lists and sets."""

import functools
import itertools
from collections.abc import Callable, Iterator
from typing import Any

from jobferry.localkube.apiserver.crds import patterns
from jobferry.localkube.apiserver.crds.cel import standard, values
from jobferry.localkube.apiserver.crds.cel.library import declare
from jobferry.localkube.apiserver.crds.cel.values import (
    LARGEST,
    CelError,
    Duration,
    OutOfBudget,
    UInt,
)

_UPPER = {code: code - 32 for code in range(ord("a"), ord("z") + 1)}
_COMPARABLE = frozenset(("bool", "int", "uint", "double", "string", "bytes", *standard.MOMENTS))
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
    if offset < 0:
        raise _out_of_range(offset)
    return text.find(part, offset)


def _last_index_of(text: str, part: str) -> int:
    if not part:
        return len(text)
    return text.rfind(part)


def _last_index_from(text: str, part: str, offset: int) -> int:
    if not part:
        return offset
    if offset < 0:
        raise _out_of_range(offset)
    return text.rfind(part, 0, offset + len(part)) if offset < len(text) else -1


def _replaced(text: str, part: str, by: str, limit: int = -1) -> str:
    if (text.count(part) + 1) * len(by) > LARGEST:
        raise OutOfBudget
    return text.replace(part, by, limit)


def _split_at_most(text: str, separator: str, limit: int) -> list[str]:
    if limit == 0:
        return []
    parts = text.split(separator) if separator else list(text)
    if limit < 0 or len(parts) <= limit:
        return parts
    return [*parts[: limit - 1], separator.join(parts[limit - 1 :])]


def _joined(texts: list[Any], by: str = "") -> str:
    if any(each.__class__ is not str for each in texts):
        raise CelError("no such overload")
    return by.join(texts)


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


_QUOTED = {"\a": "\\a", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t"}
_QUOTED |= {"\v": "\\v", "\\": "\\\\", '"': '\\"'}


def _quoted(text: str) -> str:
    return '"' + "".join(_QUOTED.get(each, each) for each in text) + '"'


def _matches(text: str, pattern: str) -> Iterator[str]:
    try:
        return patterns.compiled(pattern).all_in(text)
    except (patterns.BadPattern, patterns.Untranslatable) as error:
        raise CelError(f"Illegal regex: {error}") from error


def _find(text: str, pattern: str) -> str:
    return next(_matches(text, pattern), "")


def _find_all(text: str, pattern: str, limit: int = -1) -> list[str]:
    return list(itertools.islice(_matches(text, pattern), None if limit < 0 else limit))


def _text_functions() -> None:
    declare("charAt", "string.(int) -> string", _char_at)
    declare("indexOf", "string.(string) -> int", _index_of)
    declare("indexOf", "string.(string, int) -> int", _index_of)
    declare("lastIndexOf", "string.(string) -> int", _last_index_of)
    declare("lastIndexOf", "string.(string, int) -> int", _last_index_from)
    declare("lowerAscii", "string.() -> string", lambda text: text.translate(_LOWER))
    declare("upperAscii", "string.() -> string", lambda text: text.translate(_UPPER))
    declare("replace", "string.(string, string) -> string", _replaced)
    declare("replace", "string.(string, string, int) -> string", _replaced)
    declare(
        "split",
        "string.(string) -> list(string)",
        lambda text, by: _split_at_most(text, by, -1),
    )
    declare("split", "string.(string, int) -> list(string)", _split_at_most)
    declare("substring", "string.(int) -> string", _substring)
    declare("substring", "string.(int, int) -> string", _substring_to)
    declare("trim", "string.() -> string", str.strip)
    declare("join", "list(string).() -> string", _joined)
    declare("join", "list(string).(string) -> string", _joined)
    declare("strings.quote", "string -> string", _quoted)
    declare("find", "string.(string) -> string", _find)
    declare("findAll", "string.(string) -> list(string)", _find_all)
    declare("findAll", "string.(string, int) -> list(string)", _find_all)


def _ordered(items: list[Any]) -> list[Any]:
    """Return items that can be compared with each other; raises `CelError`."""
    if items and values.kind_of(items[0]) not in _COMPARABLE:
        raise CelError("list elements must be comparable")
    if len({each.__class__ for each in items}) > 1:
        raise CelError("list elements must have the same type")
    return items


def _sorted(items: list[Any]) -> list[Any]:
    return sorted(_ordered(items))


def _is_sorted(items: list[Any]) -> bool:
    return all(not later < earlier for earlier, later in itertools.pairwise(_ordered(items)))


def _extreme(name: str, choose: Callable[[list[Any]], Any]) -> Callable[[list[Any]], Any]:
    def run(items: list[Any]) -> Any:
        if not items:
            raise CelError(f"{name} called on empty list")
        return choose(_ordered(items))

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


def _range(count: int) -> list[int]:
    if count > LARGEST:
        raise OutOfBudget
    return list(range(count))


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
    order = sorted(range(len(items)), key=_ordered(keys).__getitem__)
    return [items[index] for index in order]


def _contains(items: list[Any], others: list[Any]) -> bool:
    return all(_position(items, other) >= 0 for other in others)


def _list_functions() -> None:
    zeros: dict[str, Any] = {"int": 0, "uint": UInt(0), "double": 0.0, "duration": Duration(0)}
    for kind in standard.COMPARABLE:
        declare("isSorted", f"list({kind}).() -> bool", _is_sorted)
        declare("max", f"list({kind}).() -> {kind}", _MAX)
        declare("min", f"list({kind}).() -> {kind}", _MIN)
        declare("sort", f"list({kind}).() -> list({kind})", _sorted)
        declare("@sortByAssociatedKeys", f"list(T).(list({kind})) -> list(T)", _sort_by)
    for kind, zero in zeros.items():
        declare("sum", f"list({kind}).() -> {kind}", functools.partial(_total, zero))
    declare("indexOf", "list(A).(A) -> int", _position)
    declare("lastIndexOf", "list(A).(A) -> int", _last_position)
    declare("slice", "list(T).(int, int) -> list(T)", _slice)
    declare("flatten", "list(list(T)).() -> list(T)", _flatten)
    declare("flatten", "list(dyn).(int) -> list(dyn)", _flatten)
    declare("lists.range", "int -> list(int)", _range)
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
    """Add up; which kind of numbers they are, only they may tell: `dyn([1.0]).sum()`."""
    kinds = {each.__class__ for each in items} or {zero.__class__}
    kind = kinds.pop()
    if kinds or kind not in (int, UInt, float, Duration):
        raise CelError("no such overload")
    total = sum(each.ns for each in items) if kind is Duration else sum(items)
    if kind is not float and not -(2**63) <= total < (2**64 if kind is UInt else 2**63):
        raise CelError("unsigned integer overflow" if kind is UInt else "integer overflow")
    return kind(total)


_MAX = _extreme("max", max)
_MIN = _extreme("min", min)
_text_functions()
_list_functions()
