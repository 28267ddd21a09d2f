"""How Go names and prints JSON values: API servers quote them so in their error messages."""

from typing import Any

_NAMES: dict[type, tuple[str, str]] = {
    dict: ("object", "map[string]interface {}"),
    list: ("array", "[]interface {}"),
    str: ("string", "string"),
    bool: ("bool", "bool"),
    int: ("number", "int64"),
    float: ("number", "float64"),
}


def json_kind(value: Any) -> str:
    """Return what Go's JSON decoder calls a value that is not null, as in "cannot unmarshal number"."""
    return _NAMES[type(value)][0]


def go_type(value: Any) -> str:
    """Return the Go type that holds a value."""
    return "%!s(<nil>)" if value is None else _NAMES[type(value)][1]


def text(value: Any) -> str:
    """Return a value as Go prints it by default (%v)."""
    match value:
        case None:
            return "<nil>"
        case bool():
            return str(value).lower()
        case dict():
            return f"map[{' '.join(f'{key}:{text(value[key])}' for key in sorted(value))}]"
        case list():
            return f"[{' '.join(map(text, value))}]"
        case float():
            return repr(value).removesuffix(".0")
        case _:
            return str(value)


def text_as_string(value: Any) -> str:
    """Return a value as Go prints it where it expects a string (%s)."""
    if isinstance(value, str):
        return value
    return "%!s(<nil>)" if value is None else f"%!s({go_type(value)}={text(value)})"
