"""YAML as Kubernetes reads it: YAML 1.1 by and large, turned into JSON."""

import base64
import math
import re
from typing import Any

import yaml

from jobferry.localkube.apiserver.requests import aliases
from jobferry.localkube.apiserver.requests.aliases import BadYAML

try:
    from yaml import CSafeLoader as Base
except ImportError:  # PyYAML was built without libyaml
    from yaml import SafeLoader as Base  # type: ignore[assignment]

_TAG = "tag:yaml.org,2002:"

BOOL = re.compile(
    r"(?:y|Y|yes|Yes|YES|n|N|no|No|NO|true|True|TRUE|false|False|FALSE|on|On|ON|off|Off|OFF)\Z"
)
INT = re.compile(r"[-+]?(?:0b[01_]+|0x[0-9a-fA-F_]+|0o?[0-7_]+|(?:0|[1-9][0-9_]*))\Z")
FLOAT = re.compile(
    r"(?:[-+]?(?:\.[0-9]+|[0-9][0-9_]*(?:\.[0-9_]*)?)(?:[eE][-+]?[0-9]+)?"
    r"|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN))\Z"
)
_TRUE = frozenset({"y", "yes", "true", "on"})
_FIRST = "-+0123456789."

DEPTH = 1000
"""The deepest nesting that is read at all."""


class _Loader(Base):
    """Reads scalars as Kubernetes does: dates and times of day are text."""

    depth = 0

    def descend_resolver(self, parent: Any, index: Any) -> None:
        """Go a level down, but not so far that the C code within PyYAML has no stack left."""
        self.depth += 1
        if self.depth > DEPTH:
            raise BadYAML("exceeded max depth")

    def ascend_resolver(self) -> None:
        """Go a level up."""
        self.depth -= 1


_KEPT = ("null", "merge")
_Loader.yaml_implicit_resolvers = {
    first: kept
    for first, resolvers in Base.yaml_implicit_resolvers.items()
    if (kept := [each for each in resolvers if each[0].removeprefix(_TAG) in _KEPT])
}
_Loader.add_implicit_resolver(f"{_TAG}bool", BOOL, list("yYnNtTfFoO"))
_Loader.add_implicit_resolver(f"{_TAG}int", INT, list(_FIRST))
_Loader.add_implicit_resolver(f"{_TAG}float", FLOAT, list(_FIRST))


def _bool(_loader: _Loader, node: yaml.ScalarNode) -> bool:
    return node.value.lower() in _TRUE


def _int(_loader: _Loader, node: yaml.ScalarNode) -> int | float | str:
    try:
        number = _number(node.value.replace("_", ""))
        # As in Go, what has no room in 64 bits is a float.
        return number if -(1 << 63) <= number < 1 << 64 else float(number)
    except (ValueError, OverflowError):
        text: str = node.value
        return text


def _number(text: str) -> int:
    sign = -1 if text.startswith("-") else 1
    text = text.lstrip("+-")
    for prefix, base in (("0b", 2), ("0x", 16), ("0o", 8)):
        if text.startswith(prefix):
            return sign * int(text[2:], base)
    is_octal = len(text) > 1 and text.startswith("0")
    return sign * int(text, 8 if is_octal else 10)


def _float(_loader: _Loader, node: yaml.ScalarNode) -> float | int | str:
    text = node.value.replace("_", "").lower()
    if text.endswith(("inf", "nan")):
        raise BadYAML(f"json: unsupported value: {text}")
    number = float(text)
    if math.isinf(number):  # as in Go, what is too large for a number is text
        return str(node.value)
    return int(number) if number.is_integer() and abs(number) < 1e15 else number


def _literal(_loader: _Loader, node: yaml.ScalarNode) -> str:
    return str(node.value)


def _binary(_loader: _Loader, node: yaml.ScalarNode) -> str:
    try:
        return base64.b64decode(node.value).decode()
    except ValueError as error:
        raise BadYAML("!!binary value contains invalid base64 data") from error


def _map(loader: _Loader, node: yaml.MappingNode) -> dict[str, Any]:
    loader.flatten_mapping(node)
    return {
        _key(loader.construct_object(key, deep=True)): loader.construct_object(value, deep=True)
        for key, value in node.value
    }


def _key(key: object) -> str:
    """Return a key as the text that it is in JSON."""
    if isinstance(key, str):
        return key
    if isinstance(key, bool):
        return "true" if key else "false"
    if key is None:
        return "null"
    if isinstance(key, int | float):
        return str(key)
    raise BadYAML(f"unsupported map key of type {type(key).__name__}")


_Loader.add_constructor(f"{_TAG}bool", _bool)
_Loader.add_constructor(f"{_TAG}int", _int)
_Loader.add_constructor(f"{_TAG}float", _float)
_Loader.add_constructor(f"{_TAG}map", _map)
_Loader.add_constructor(f"{_TAG}set", _map)
_Loader.add_constructor(f"{_TAG}timestamp", _literal)
_Loader.add_constructor(f"{_TAG}binary", _binary)


def parse(text: bytes) -> Any:
    """Read the first document of a text."""
    try:
        loader = _Loader(text)
        try:
            # What follows the first document is not looked at, as by Go's reader.
            root = loader.get_node() if loader.check_node() else None
            if root is None:
                return None
            is_shared = b"*" in text and aliases.are_used(root)
            found = loader.construct_document(root)
            # Whoever changes an object must not change another part of it thereby.
            return aliases.unshared(found) if is_shared else found
        finally:
            loader.dispose()
    except yaml.MarkedYAMLError as error:
        raise BadYAML(f"yaml: {_go_words(error)}") from error
    except yaml.reader.ReaderError as error:
        raise BadYAML(f"yaml: {error.reason}") from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise BadYAML(f"yaml: {error}") from error
    except RecursionError:
        raise BadYAML("exceeded max depth") from None


def _go_words(error: yaml.MarkedYAMLError) -> str:
    """Say what is wrong as Go's parser does, which is libyaml too but counts lines in its own way."""
    line = 0
    for mark in (error.context_mark, error.problem_mark):
        if not line and mark is not None and mark.line:
            line = mark.line + isinstance(error, yaml.scanner.ScannerError)
    return f"line {line}: {error.problem}" if line else str(error.problem)


def repeated(text: bytes) -> list[str]:
    """Return what a strict reader finds: keys that are there twice, in its words."""
    try:
        root = yaml.compose(text, Loader=_Loader)
    except (yaml.YAMLError, ValueError, RecursionError):
        return []
    found: list[str] = []
    waiting = [root]
    known: set[int] = set()
    while waiting:
        node = waiting.pop()
        if id(node) in known:  # an alias; it may be within itself
            continue
        known.add(id(node))
        if isinstance(node, yaml.SequenceNode):
            waiting.extend(node.value)
        elif isinstance(node, yaml.MappingNode):
            seen: set[str] = set()
            for key, value in node.value:
                waiting.append(value)
                if not isinstance(key, yaml.ScalarNode):
                    continue
                if key.value in seen:
                    line = key.start_mark.line + 1
                    found.append(f'line {line}: key "{key.value}" already set in map')
                seen.add(key.value)
    return found
