"""Text as Go reads and prints it, where Kubernetes lets that be seen."""

import re

_INTEGER = re.compile(r"(?P<sign>[+-]?)0*(?P<digits>[0-9]{1,19})")
_ESCAPES = str.maketrans(
    {
        '"': r"\"",
        "\\": r"\\",
        "\a": r"\a",
        "\b": r"\b",
        "\f": r"\f",
        "\n": r"\n",
        "\r": r"\r",
        "\t": r"\t",
        "\v": r"\v",
    }
)


def quote(text: str) -> str:
    """Put `text` in double quotes as Go's `%q` does."""
    return '"' + "".join(map(_visible, text.translate(_ESCAPES))) + '"'


def quote_bytes(text: str) -> str:
    """Put `text` in double quotes as Go's package for times does."""
    quoted = ""
    for character in text:
        if character in '"\\':
            quoted += "\\" + character
        elif " " <= character < "\x80":
            quoted += character
        else:
            quoted += "".join(f"\\x{byte:02x}" for byte in character.encode(errors="replace"))
    return f'"{quoted}"'


def parse_int(text: str) -> int | None:
    """Read a decimal 64-bit integer as Go does (no blanks, no underscores), or return None."""
    parts = _INTEGER.fullmatch(text)
    if parts is None:
        return None
    number = int(parts["sign"] + parts["digits"])
    return number if -(2**63) <= number < 2**63 else None


def _visible(character: str) -> str:
    if character.isprintable():
        return character
    code = ord(character)
    if code < 0x80:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
