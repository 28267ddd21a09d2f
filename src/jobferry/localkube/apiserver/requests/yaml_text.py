"""YAML as Kubernetes reads it: YAML 1.1 by and large, turned into JSON."""

import base64
import math
import re
from typing import Any

import yaml

from jobferry.localkube.apiserver.requests import aliases
from jobferry.localkube.apiserver.requests.aliases import BadYAML
from jobferry.objects.gotext import quote

try:
    from yaml import CSafeLoader as Base
except ImportError:  # PyYAML was built without libyaml
    from yaml import SafeLoader as Base  # type: ignore[assignment]

_TAG = "tag:yaml.org,2002:"

_BOOL = re.compile(
    r"(?:y|Y|yes|Yes|YES|n|N|no|No|NO|true|True|TRUE|false|False|FALSE|on|On|ON|off|Off|OFF)\Z"
)
_INT = re.compile(r"[-+]?(?:0b[01_]+|0x[0-9a-fA-F_]+|0o?[0-7_]+|(?:0|[1-9][0-9_]*))\Z")
_FLOAT = re.compile(
    r"(?:[-+]?(?:\.[0-9]+|[0-9][0-9_]*(?:\.[0-9_]*)?)(?:[eE][-+]?[0-9]+)?"
    r"|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN))\Z"
)
_TRUE = frozenset({"y", "yes", "true", "on"})
_FIRST = "-+0123456789."
_VERSION = re.compile(rb"\A(?:#[^\n]*\n|\s)*%YAML[ \t]+(\d+)\.(\d+)")
_ALIAS = re.compile(r"\*([\w-]+)")
_NUMBERS = {"inf": "+Inf", "+inf": "+Inf", "-inf": "-Inf", "nan": "NaN"}

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
_Loader.add_implicit_resolver(f"{_TAG}bool", _BOOL, list("yYnNtTfFoO"))
_Loader.add_implicit_resolver(f"{_TAG}int", _INT, list(_FIRST))
_Loader.add_implicit_resolver(f"{_TAG}float", _FLOAT, list(_FIRST))


def _checked(node: yaml.ScalarNode, pattern: re.Pattern[str], tag: str) -> str:
    """Return the text of a scalar, whose tag may have been given to a text that does not fit it."""
    text: str = node.value
    if not pattern.match(text):
        raise BadYAML(f"yaml: cannot decode !!str `{text}` as a !!{tag}")
    return text


def _bool(_loader: _Loader, node: yaml.ScalarNode) -> bool:
    return _checked(node, _BOOL, "bool").lower() in _TRUE


def _int(_loader: _Loader, node: yaml.ScalarNode) -> int | float | str:
    _checked(node, _INT, "int")
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
    text = _checked(node, _FLOAT, "float").replace("_", "").lower()
    if text.endswith(("inf", "nan")):
        raise BadYAML(f"json: unsupported value: {_NUMBERS[text.replace('.', '')]}")
    number = float(text)
    if math.isinf(number):  # as in Go, what is too large for a number is text
        return str(node.value)
    return int(number) if number.is_integer() and abs(number) < 1 << 63 else number


def _literal(_loader: _Loader, node: yaml.ScalarNode) -> str:
    return str(node.value)


def _binary(_loader: _Loader, node: yaml.ScalarNode) -> str:
    try:
        data = base64.b64decode("".join(node.value.split()), validate=True)
    except ValueError as error:
        raise BadYAML("yaml: !!binary value contains invalid base64 data") from error
    return data.decode(errors="replace")


def _map(loader: _Loader, node: yaml.MappingNode) -> dict[str, Any]:
    loader.flatten_mapping(node)
    found = {}
    for key, value in node.value:
        member = loader.construct_object(value, deep=True)
        found[_key(loader.construct_object(key, deep=True), member)] = member
    return found


def _any(loader: _Loader, node: yaml.Node) -> Any:
    """Read what has a tag that nobody knows, or one of another sort of node: as if it had none."""
    if isinstance(node, yaml.MappingNode):
        return _map(loader, node)
    if isinstance(node, yaml.SequenceNode):
        return [loader.construct_object(each, deep=True) for each in node.value]
    return str(node.value)


def _key(key: object, member: object) -> str:
    """Return a key as the text that it is in JSON."""
    if isinstance(key, str):
        return key
    if isinstance(key, bool):
        return "true" if key else "false"
    if key is None:
        shown = quote(member) if isinstance(member, str) else member
        raise BadYAML(f"unsupported map key of type: %!s(<nil>), key: <nil>, value: {shown}")
    if isinstance(key, int | float):
        return str(key)
    raise BadYAML(f"unsupported map key of type {type(key).__name__}")


_Loader.add_constructor(f"{_TAG}bool", _bool)
_Loader.add_constructor(f"{_TAG}int", _int)
_Loader.add_constructor(f"{_TAG}float", _float)
for _tag in (f"{_TAG}map", f"{_TAG}set", f"{_TAG}seq", None):
    _Loader.add_constructor(_tag, _any)
_Loader.add_constructor(f"{_TAG}timestamp", _literal)
_Loader.add_constructor(f"{_TAG}binary", _binary)


def read(text: bytes) -> tuple[Any, list[str]]:
    """Return what the first document of a text says, and which keys are in it twice."""
    try:
        loader = _Loader(text)
        try:
            _check_version(text)
            # What follows the first document is not looked at, as by Go's reader.
            root = loader.get_node() if loader.check_node() else None
            return (None, []) if root is None else _document(loader, root, text)
        finally:
            loader.dispose()
    except yaml.MarkedYAMLError as error:
        raise BadYAML(f"yaml: {_go_words(error, text)}") from error
    except yaml.reader.ReaderError as error:
        raise BadYAML(f"yaml: {error.reason}") from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise BadYAML(f"yaml: {error}") from error
    except RecursionError:
        raise BadYAML("exceeded max depth") from None


def _document(loader: _Loader, root: yaml.Node, text: bytes) -> tuple[Any, list[str]]:
    is_shared = b"*" in text and aliases.are_used(root)
    repeated = _repeated(root)  # before merge keys are put in the place of what they name
    found = loader.construct_document(root)
    # Whoever changes an object must not change another part of it thereby.
    return aliases.unshared(found) if is_shared else found, repeated


def _check_version(text: bytes) -> None:
    """Refuse a document that says it is of another version: libyaml has come to know 1.2, Go has not."""
    found = _VERSION.match(text)
    if found and found.groups() != (b"1", b"1"):
        line = text[: found.start(1)].count(b"\n")
        where = f"line {line}: " if line else ""
        raise BadYAML(f"yaml: {where}found incompatible YAML document")


def _go_words(error: yaml.MarkedYAMLError, text: bytes) -> str:
    """Say what is wrong as Go's parser does, which is libyaml too but counts lines in its own way."""
    problem, mark = str(error.problem), error.problem_mark
    if mark is not None and isinstance(error, yaml.composer.ComposerError):
        line = text.decode(errors="replace").split("\n")[mark.line]
        if alias := _ALIAS.match(line, mark.column):
            return f"unknown anchor '{alias[1]}' referenced"
    if mark is not None and mark.line:
        return f"line {mark.line + isinstance(error, yaml.scanner.ScannerError)}: {problem}"
    mark = error.context_mark
    return f"line {mark.line}: {problem}" if mark is not None and mark.line else problem


def _repeated(root: yaml.Node) -> list[str]:
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
