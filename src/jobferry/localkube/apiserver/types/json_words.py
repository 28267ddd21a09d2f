"""What is wrong with a JSON text, in the words of Go's decoder."""

_END = "unexpected end of JSON input"
_SPACE = b" \t\r\n"
_DIGITS = b"0123456789"
_HEX = b"0123456789abcdefABCDEF"
_ESCAPES = b'"\\/bfnrt'
_LITERALS = {ord("t"): b"true", ord("f"): b"false", ord("n"): b"null"}


class _Wrong(Exception):
    """Found what is wrong."""


def problem(text: bytes) -> str:
    """Say what is wrong with a text that is not JSON; nothing if all is well."""
    try:
        _Scanner(text).scan()
    except _Wrong as error:
        return str(error)
    return ""


class _Scanner:
    """Reads a text up to the first thing that is wrong with it."""

    def __init__(self, text: bytes) -> None:
        self._text = text
        self._at = 0

    def scan(self) -> None:
        open_: list[int] = []
        """The brackets that are open."""
        self._skip()
        is_open = self._value(open_)
        while open_:
            self._skip()
            is_open = self._first(open_) if is_open else self._inside(open_)
        self._skip()
        if self._at < len(self._text):
            raise self._wrong("after top-level value")

    def _value(self, open_: list[int]) -> bool:
        """Read a value; of an object or array just the bracket that opens it (True)."""
        first = self._peek()
        if first in b"{[":
            self._at += 1
            open_.append(first)
            return True
        self._scalar(first)
        return False

    def _first(self, open_: list[int]) -> bool:
        """Read what follows an opening bracket."""
        in_object = open_[-1] == ord("{")
        if self._peek() == (ord("}") if in_object else ord("]")):
            self._at += 1
            open_.pop()
            return False
        return self._member(open_) if in_object else self._value(open_)

    def _scalar(self, first: int) -> None:
        if first == ord('"'):
            self._string()
        elif first in _LITERALS:
            self._literal(_LITERALS[first])
        elif first in b"-0123456789":
            self._number()
        else:
            raise self._wrong("looking for beginning of value")

    def _member(self, open_: list[int]) -> bool:
        if self._peek() != ord('"'):
            raise self._wrong("looking for beginning of object key string")
        self._string()
        self._skip()
        if self._peek() != ord(":"):
            raise self._wrong("after object key")
        self._at += 1
        self._skip()
        return self._value(open_)

    def _inside(self, open_: list[int]) -> bool:
        """Read what follows a value: a comma and the next one, or the end."""
        in_object = open_[-1] == ord("{")
        found = self._peek()
        if found == (ord("}") if in_object else ord("]")):
            self._at += 1
            open_.pop()
            return False
        if found != ord(","):
            where = "object key:value pair" if in_object else "array element"
            raise self._wrong(f"after {where}")
        self._at += 1
        self._skip()
        return self._member(open_) if in_object else self._value(open_)

    def _string(self) -> None:
        self._at += 1
        while (found := self._peek()) != ord('"'):
            if found < 0x20:
                raise self._wrong("in string literal")
            self._at += 1
            if found == ord("\\"):
                self._escape()
        self._at += 1

    def _escape(self) -> None:
        found = self._peek()
        if found != ord("u") and found not in _ESCAPES:
            raise self._wrong("in string escape code")
        self._at += 1
        for _ in range(4 if found == ord("u") else 0):
            if self._peek() not in _HEX:
                raise self._wrong("in \\u hexadecimal character escape")
            self._at += 1

    def _literal(self, word: bytes) -> None:
        for expected in word:
            if self._peek() != expected:
                raise self._wrong(f"in literal {word.decode()} (expecting '{chr(expected)}')")
            self._at += 1

    def _number(self) -> None:
        if self._peek() == ord("-"):
            self._at += 1
            if self._peek() not in _DIGITS:
                raise self._wrong("in numeric literal")
        if self._text[self._at] == ord("0"):
            self._at += 1
        else:
            self._digits()
        if self._follows(b"."):
            self._need_digits("after decimal point in numeric literal")
        if self._follows(b"eE"):
            self._follows(b"+-")
            self._need_digits("in exponent of numeric literal")

    def _follows(self, any_of: bytes) -> bool:
        is_there = self._at < len(self._text) and self._text[self._at] in any_of
        self._at += is_there
        return is_there

    def _need_digits(self, where: str) -> None:
        if self._peek() not in _DIGITS:
            raise self._wrong(where)
        self._digits()

    def _digits(self) -> None:
        while self._at < len(self._text) and self._text[self._at] in _DIGITS:
            self._at += 1

    def _skip(self) -> None:
        while self._at < len(self._text) and self._text[self._at] in _SPACE:
            self._at += 1

    def _peek(self) -> int:
        if self._at >= len(self._text):
            raise _Wrong(_END)
        return self._text[self._at]

    def _wrong(self, where: str) -> _Wrong:
        return _Wrong(f"invalid character {_quoted(self._text[self._at])} {where}")


def _quoted(byte: int) -> str:
    """Return a byte as Go shows it: as the character of that number."""
    special = {ord("'"): r"'\''", ord('"'): "'\"'"}
    if byte in special:
        return special[byte]
    names = {7: "a", 8: "b", 9: "t", 10: "n", 11: "v", 12: "f", 13: "r", ord("\\"): "\\"}
    if byte in names:
        return f"'\\{names[byte]}'"
    character = chr(byte)
    if character.isprintable():
        return f"'{character}'"
    return f"'\\x{byte:02x}'" if byte < 0x80 else f"'\\u{byte:04x}'"
