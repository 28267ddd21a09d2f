"""JSON with characters that are none: Go's decoder puts a replacement character in their place."""

import json
import math
import re
from typing import Any

_SURROGATES = re.compile("[\ud800-\udfff]")
_REPLACEMENT = "\ufffd"


def parse(text: bytes) -> Any:
    """Read a text that is JSON but for its characters, or for numbers that are too large."""
    try:
        return _mended(json.loads(text.decode(errors="replace"), parse_int=_integer))
    except RecursionError:
        raise ValueError("exceeded max depth") from None


def _integer(digits: str) -> int | float:
    """Read an integer; what has no room in 64 bits is a float, as for Go."""
    if len(digits) > 20:
        return float(digits)
    number = int(digits)
    return number if -(1 << 63) <= number < 1 << 63 else float(number)


def _mended(value: Any) -> Any:
    if isinstance(value, str):
        return _SURROGATES.sub(_REPLACEMENT, value)
    if isinstance(value, list):
        return list(map(_mended, value))
    if isinstance(value, dict):
        return {_mended(key): _mended(each) for key, each in value.items()}
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError("json: cannot unmarshal number into Go value of type float64")
    return value
