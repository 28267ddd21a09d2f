"""JSON patch (RFC 6902), with the liberties that API servers take.

They differ from the RFC where a member of an object is missing: it reads as null, so that it can be
replaced, copied, and tested for null. Negative indexes count from the end of a list.
"""

from typing import Any

import orjson

from jobferry.objects import Obj, gotext, govalues
from jobferry.objects.equality import same
from jobferry.objects.patch_errors import (
    DoesNotApply,
    Malformed,
    TestFailed,
    TooManyOperations,
    depth_limited,
)

MAX_OPERATIONS = 10_000
MAX_COPIED_BYTES = 3 * 1024 * 1024
"""How much all copies of one patch may add: copies of copies would grow without bounds."""

Container = dict[str, Any] | list[Any]


@depth_limited()
def apply(document: Any, operations: Any) -> Any:
    """Return `document` as `operations` change it; what is not changed is shared with it."""
    patching = _Patching(document)
    for number, operation in enumerate(_checked(operations), 1):
        try:
            patching.step(operation)
        except DoesNotApply as error:
            what = f"{operation.get('op')} {operation.get('path')}"
            raise type(error)(f"operation {number} ({what}): {error}") from None
    return patching.document


def _checked(operations: Any) -> list[Obj]:
    if operations is None:
        return []
    if not isinstance(operations, list):
        raise _undecodable(operations, "value of type []handlers.jsonPatchOp")
    checked: list[Obj] = [{} if operation is None else operation for operation in operations]
    for operation in checked:
        if not isinstance(operation, dict):
            raise _undecodable(operation, "value of type handlers.jsonPatchOp")
        for name, value in operation.items():
            if name in ("op", "path", "from") and not isinstance(value, str | None):
                raise _undecodable(value, f"struct field jsonPatchOp.{name} of type string")
    if len(checked) > MAX_OPERATIONS:
        raise TooManyOperations(
            "Request entity too large: The allowed maximum operations in a JSON patch is"
            f" {MAX_OPERATIONS}, got {len(checked)}"
        )
    return checked


def _undecodable(value: Any, into: str) -> Malformed:
    kind = govalues.json_kind(value)
    return Malformed(f"error decoding patch: json: cannot unmarshal {kind} into Go {into}")


class _Patching:
    """A document on its way through the operations."""

    def __init__(self, document: Any) -> None:
        self.document = document
        self._copied = 0

    def step(self, operation: Obj) -> None:
        """Carry out one operation."""
        value = operation.get("value")
        match operation.get("op"):
            case "add":
                self._add(_pointer(operation), value)
            case "remove":
                self._remove(_pointer(operation))
            case "replace":
                self._replace(_pointer(operation), value)
            case "test":
                self._test(_pointer(operation), value)
            case "move":
                self._move(_pointer(operation, "from"), _pointer(operation))
            case "copy":
                self._copy(_pointer(operation, "from"), _pointer(operation))
            case _:
                raise DoesNotApply("there is no such operation")

    def _add(self, pointer: str, value: Any) -> None:
        spine, keys = self._spine(pointer)
        parent, key = spine[-1], keys[-1]
        if isinstance(parent, dict):
            self._put(spine, keys, parent | {key: value})
        else:
            at = len(parent) if key == "-" else _index(key, len(parent) + 1)
            self._put(spine, keys, [*parent[:at], value, *parent[at:]])

    def _remove(self, pointer: str) -> None:
        spine, keys = self._spine(pointer)
        parent, key = spine[-1].copy(), keys[-1]
        if isinstance(parent, list):
            del parent[_index(key, len(parent))]
        elif key in parent:
            del parent[key]
        else:
            raise DoesNotApply("there is nothing to remove")
        self._put(spine, keys, parent)

    def _replace(self, pointer: str, value: Any) -> None:
        if pointer:
            spine, keys = self._spine(pointer)
            self._put(spine, keys, _with(spine[-1], keys[-1], value))
        elif isinstance(value, dict | list):
            self.document = value
        else:
            raise DoesNotApply("the whole document can only become an object or a list")

    def _test(self, pointer: str, expected: Any) -> None:
        value = self._read(pointer) if pointer else self.document
        if not same(value, expected):
            raise TestFailed("the value is another")

    def _move(self, origin: str, target: str) -> None:
        value = self._read(origin)
        self._remove(origin)
        self._add(target, value)

    def _copy(self, origin: str, target: str) -> None:
        value = self._read(origin)
        self._copied += _size(value)
        if self._copied > MAX_COPIED_BYTES:
            raise DoesNotApply(f"the copies add more than {MAX_COPIED_BYTES} bytes")
        self._add(target, value)

    def _read(self, pointer: str) -> Any:
        spine, keys = self._spine(pointer)
        return _get(spine[-1], keys[-1])

    def _spine(self, pointer: str) -> tuple[list[Container], list[str]]:
        """Return the containers from the root to where `pointer` ends, and the steps between."""
        _, *escaped = pointer.split("/")
        if not escaped:
            raise DoesNotApply(f"{pointer!r} leads nowhere")
        keys = [key.replace("~1", "/").replace("~0", "~") for key in escaped]
        spine = [_container(self.document)]
        for key in keys[:-1]:
            spine.append(_container(_get(spine[-1], key)))
        return spine, keys

    def _put(self, spine: list[Container], keys: list[str], changed: Container) -> None:
        """Replace the last container, and so each one that leads to it by a copy."""
        for container, key in zip(spine[-2::-1], keys[-2::-1], strict=True):
            changed = _with(container, key, changed)
        self.document = changed


def _pointer(operation: Obj, name: str = "path") -> str:
    pointer = operation.get(name)
    if pointer is None:
        raise DoesNotApply(f"it has no {name!r}")
    return str(pointer)


def _container(value: Any) -> Container:
    if isinstance(value, dict | list):
        return value
    raise DoesNotApply("the path is missing")


def _get(container: Container, key: str) -> Any:
    if isinstance(container, dict):
        return container.get(key)
    return container[_index(key, len(container))]


def _with(container: Container, key: str, value: Any) -> Container:
    if isinstance(container, dict):
        return container | {key: value}
    changed = container.copy()
    changed[_index(key, len(container))] = value
    return changed


def _index(key: str, length: int) -> int:
    index = gotext.parse_int(key)
    if index is None:
        raise DoesNotApply(f"{key!r} is not an index")
    if not -length <= index < length:
        raise DoesNotApply(f"index {key} is out of range")
    return index % length


def _size(value: Any) -> int:
    try:
        return len(orjson.dumps(value))
    except orjson.JSONEncodeError:  # its own limit on depth
        raise DoesNotApply("the value is nested too deeply to be copied") from None
