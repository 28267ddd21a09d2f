"""CEL's grammar: from text to a tree."""

import re
from dataclasses import dataclass
from typing import Any

RESERVED = frozenset(
    [
        "as",
        "break",
        "const",
        "continue",
        "else",
        "false",
        "for",
        "function",
        "if",
        "import",
        "in",
        "let",
        "loop",
        "package",
        "namespace",
        "null",
        "return",
        "true",
        "var",
        "void",
        "while",
    ]
)

_TOKENS = re.compile(
    r"""
    (?P<space>[ \t\r\n\f]+|//[^\n]*)
  | (?P<bytes>[bB](?P<bq>[rR]?(?:\"\"\"[\s\S]*?\"\"\"|'''[\s\S]*?'''|"(?:[^"\\\n\r]|\\.)*"|'(?:[^'\\\n\r]|\\.)*')))
  | (?P<string>[rR](?:\"\"\"[\s\S]*?\"\"\"|'''[\s\S]*?'''|"[^"\n\r]*"|'[^'\n\r]*')
        |\"\"\"(?:[^\\]|\\.)*?\"\"\"|'''(?:[^\\]|\\.)*?'''|"(?:[^"\\\n\r]|\\.)*"|'(?:[^'\\\n\r]|\\.)*')
  | (?P<float>[0-9]+\.[0-9]+(?:[eE][+-]?[0-9]+)?|[0-9]+[eE][+-]?[0-9]+|\.[0-9]+(?:[eE][+-]?[0-9]+)?)
  | (?P<uint>(?:0x[0-9a-fA-F]+|[0-9]+)[uU])
  | (?P<int>0x[0-9a-fA-F]+|[0-9]+)
  | (?P<name>[A-Za-z_][A-Za-z0-9_]*)
  | (?P<quoted>`[A-Za-z0-9_.\-/ ]+`)
  | (?P<op>==|!=|<=|>=|&&|\|\||[<>\[\]{}().,\-!?:+*/%])
    """,
    re.VERBOSE,
)
_ESCAPES = {
    "a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v",
    '"': '"', "'": "'", "\\": "\\", "?": "?", "`": "`",
}  # fmt: skip
_RELATIONS = ("<", "<=", ">=", ">", "==", "!=", "in")
_MOST_DEPTH = 250


class SyntaxProblem(Exception):
    """Text that is no expression; `at` is where it stops being one."""

    def __init__(self, at: int, message: str) -> None:
        super().__init__(message)
        self.at = at


@dataclass(frozen=True, slots=True)
class Node:
    """Part of an expression, and where it is in the text."""

    at: int


@dataclass(frozen=True, slots=True)
class Literal(Node):
    """A value written down; `kind` is its CEL type."""

    kind: str
    value: Any


@dataclass(frozen=True, slots=True)
class Ident(Node):
    """A name."""

    name: str


@dataclass(frozen=True, slots=True)
class Select(Node):
    """A member of an object or map; `test` only asks whether it is there."""

    operand: Node
    field: str
    test: bool = False
    optional: bool = False


@dataclass(frozen=True, slots=True)
class Call(Node):
    """A function or operator with its arguments."""

    name: str
    target: Node | None
    args: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Items(Node):
    """A list written down; what is at `optional` is left out when it has no value."""

    elements: tuple[Node, ...]
    optional: frozenset[int]


@dataclass(frozen=True, slots=True)
class Entries(Node):
    """A map written down: keys, values, and whether an entry is left out when it has no value."""

    entries: tuple[tuple[Node, Node, bool], ...]


@dataclass(frozen=True, slots=True)
class _Token:
    kind: str
    text: str
    at: int


def _tokens(text: str) -> list[_Token]:
    found: list[_Token] = []
    at = 0
    while at < len(text):
        match = _TOKENS.match(text, at)
        if match is None:
            raise SyntaxProblem(at, f"Syntax error: token recognition error at: '{text[at]}'")
        kind = match.lastgroup or ""
        if kind == "bq":
            kind = "bytes"
        if kind != "space":
            found.append(_Token(kind, match[0], at))
        at = match.end()
    found.append(_Token("end", "<EOF>", len(text)))
    return found


def _unquoted(token: _Token, *, as_bytes: bool = False) -> Any:
    text = token.text[1:] if as_bytes else token.text
    raw = text[0] in "rR"
    text = text[1:] if raw else text
    size = 3 if text[:3] in ('"""', "'''") else 1
    body = text[size:-size]
    if raw:
        return body.encode() if as_bytes else body
    return _unescaped(body, token.at, as_bytes)


def _unescaped(body: str, at: int, as_bytes: bool) -> Any:
    parts: list[bytes] = []
    position = 0
    pattern = re.compile(
        r"\\(?:([abfnrtv\"'\\?`])|[xX]([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|([0-3][0-7]{2}))"
    )
    while position < len(body):
        if body[position] != "\\":
            parts.append(body[position].encode("utf-8", "surrogatepass"))
            position += 1
            continue
        match = pattern.match(body, position)
        if match is None:
            raise SyntaxProblem(at, "Syntax error: unable to unescape string")
        position = match.end()
        plain, short, unicode, long, octal = match.groups()
        if plain:
            parts.append(_ESCAPES[plain].encode())
            continue
        code = int(octal, 8) if octal else int(short or unicode or long, 16)
        byte = as_bytes and bool(short or octal)
        parts.append(bytes([code]) if byte else chr(code).encode("utf-8", "surrogatepass"))
    whole = b"".join(parts)
    return whole if as_bytes else whole.decode("utf-8", "replace")


def parse(text: str) -> Node:
    """Read an expression; raises `SyntaxProblem`."""
    parser = _Parser(_tokens(text))
    node = parser.expression()
    parser.expect("<EOF>")
    return node


class _Parser:
    def __init__(self, tokens: list[_Token]) -> None:
        self.tokens = tokens
        self.position = 0
        self.depth = 0

    @property
    def token(self) -> _Token:
        return self.tokens[self.position]

    def accept(self, *texts: str) -> _Token | None:
        token = self.token
        if token.text in texts and token.kind in ("op", "name", "end"):
            self.position += token.kind != "end"
            return token
        return None

    def expect(self, text: str) -> _Token:
        if token := self.accept(text):
            return token
        found = self.token
        raise SyntaxProblem(
            found.at, f"Syntax error: mismatched input '{found.text}' expecting '{text}'"
        )

    def expression(self) -> Node:
        self.depth += 1
        if self.depth > _MOST_DEPTH:
            raise SyntaxProblem(
                self.token.at, f"expression recursion limit exceeded: {_MOST_DEPTH}"
            )
        node = self.disjunction()
        if question := self.accept("?"):
            first = self.disjunction()
            self.expect(":")
            node = Call(question.at, "_?_:_", None, (node, first, self.expression()))
        self.depth -= 1
        return node

    def disjunction(self) -> Node:
        node = self.conjunction()
        while operator := self.accept("||"):
            node = Call(operator.at, "_||_", None, (node, self.conjunction()))
        return node

    def conjunction(self) -> Node:
        node = self.relation()
        while operator := self.accept("&&"):
            node = Call(operator.at, "_&&_", None, (node, self.relation()))
        return node

    def relation(self) -> Node:
        node = self.sum()
        while operator := self.accept(*_RELATIONS):
            name = "@in" if operator.text == "in" else f"_{operator.text}_"
            node = Call(operator.at, name, None, (node, self.sum()))
        return node

    def sum(self) -> Node:
        node = self.product()
        while operator := self.accept("+", "-"):
            node = Call(operator.at, f"_{operator.text}_", None, (node, self.product()))
        return node

    def product(self) -> Node:
        node = self.unary()
        while operator := self.accept("*", "/", "%"):
            node = Call(operator.at, f"_{operator.text}_", None, (node, self.unary()))
        return node

    def unary(self) -> Node:
        if (operator := self.accept("!", "-")) is None:
            return self.member(self.primary())
        if operator.text == "-" and self.token.kind in ("int", "float"):
            return self.member(self.number(negative=True, at=operator.at))
        count = 1
        while self.accept(operator.text):
            count += 1
        node = self.member(self.primary())
        return Call(operator.at, f"{operator.text}_", None, (node,)) if count % 2 else node

    def member(self, node: Node) -> Node:
        while True:
            if dot := self.accept("."):
                node = self.selection(node, dot)
            elif bracket := self.accept("["):
                optional = self.accept("?") is not None
                index = self.expression()
                self.expect("]")
                name = "_[?_]" if optional else "_[_]"
                node = Call(bracket.at, name, None, (node, index))
            else:
                return node

    def selection(self, node: Node, dot: _Token) -> Node:
        optional = self.accept("?") is not None
        token = self.token
        if token.kind not in ("name", "quoted"):
            raise SyntaxProblem(
                token.at, f"Syntax error: no viable alternative at input '.{token.text}'"
            )
        self.position += 1
        if token.kind == "name" and not optional and (opening := self.accept("(")):
            return Call(opening.at, token.text, node, self.arguments(")"))
        return Select(dot.at, node, token.text.strip("`"), optional=optional)

    def arguments(self, closing: str) -> tuple[Node, ...]:
        found: list[Node] = []
        while not self.accept(closing):
            if found:
                self.expect(",")
            found.append(self.expression())
        return tuple(found)

    def primary(self) -> Node:
        token = self.token
        if token.kind in ("int", "uint", "float"):
            return self.number()
        self.position += token.kind != "end"
        match token.kind:
            case "string":
                return Literal(token.at, "string", _unquoted(token))
            case "bytes":
                return Literal(token.at, "bytes", _unquoted(token, as_bytes=True))
            case "name":
                return self.named(token)
        match token.text:
            case "(":
                node = self.expression()
                self.expect(")")
                return node
            case "[":
                return self.items(token.at)
            case "{":
                return self.entries(token.at)
            case ".":
                return self.named(self.name())
        raise SyntaxProblem(
            token.at, f"Syntax error: mismatched input '{token.text}' expecting an expression"
        )

    def name(self) -> _Token:
        token = self.token
        if token.kind != "name":
            raise SyntaxProblem(token.at, f"Syntax error: unexpected '{token.text}'")
        self.position += 1
        return token

    def named(self, token: _Token) -> Node:
        constants = {"true": ("bool", True), "false": ("bool", False), "null": ("null", None)}
        if token.text in constants:
            return Literal(token.at, *constants[token.text])
        if token.text in RESERVED:
            raise SyntaxProblem(token.at, f"reserved identifier: {token.text}")
        if opening := self.accept("("):
            return Call(opening.at, token.text, None, self.arguments(")"))
        return Ident(token.at, token.text)

    def number(self, *, negative: bool = False, at: int | None = None) -> Node:
        token = self.token
        self.position += 1
        start = token.at if at is None else at
        text = token.text.rstrip("uU") if token.kind == "uint" else token.text
        if token.kind == "float":
            value = float(text)
            return Literal(start, "double", -value if negative else value)
        number = int(text, 16) if text.startswith("0x") else int(text)
        number = -number if negative else number
        limits = (0, 2**64) if token.kind == "uint" else (-(2**63), 2**63)
        if not limits[0] <= number < limits[1]:
            raise SyntaxProblem(start, f"invalid {token.kind} literal")
        return Literal(start, token.kind, number)

    def items(self, at: int) -> Node:
        elements: list[Node] = []
        optional: set[int] = set()
        while not self.accept("]"):
            if elements:
                self.expect(",")
                if self.accept("]"):
                    break
            if self.accept("?"):
                optional.add(len(elements))
            elements.append(self.expression())
        return Items(at, tuple(elements), frozenset(optional))

    def entries(self, at: int) -> Node:
        found: list[tuple[Node, Node, bool]] = []
        while not self.accept("}"):
            if found:
                self.expect(",")
                if self.accept("}"):
                    break
            optional = self.accept("?") is not None
            key = self.expression()
            self.expect(":")
            found.append((key, self.expression(), optional))
        return Entries(at, tuple(found))


def shown(text: str, at: int, message: str) -> str:
    """Return a problem with the line it is in, and a mark below its place."""
    line_number = text.count("\n", 0, at) + 1
    start = text.rfind("\n", 0, at) + 1
    line = text[start:].split("\n", 1)[0].replace("\t", " ")
    column = at - start
    dots = "".join("." if character.isascii() else "\uff0e" for character in line[:column])
    mark = "^" if line[column : column + 1].isascii() else "\uff3e"
    return f"ERROR: <input>:{line_number}:{column + 1}: {message}\n | {line}\n | {dots}{mark}"
