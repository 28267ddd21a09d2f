"""CEL's grammar: from text to a tree."""

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from jobferry.localkube.apiserver.crds.cel.texts import SyntaxProblem, unquoted

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
_RELATIONS = ("<", "<=", ">=", ">", "==", "!=", "in")
_MOST_DEPTH = 250


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


def parse(text: str) -> Node:
    """Read an expression; raises `SyntaxProblem`."""
    parser = _Parser(_tokens(text))
    node = parser.expression()
    parser.expect("<EOF>")
    return node


def _balanced(name: str, terms: list[Node], places: list[int]) -> Node:
    """Join terms to a tree that is as flat as can be: there may be thousands."""
    if len(terms) == 1:
        return terms[0]
    middle = len(places) // 2
    left = _balanced(name, terms[: middle + 1], places[:middle])
    right = _balanced(name, terms[middle + 1 :], places[middle + 1 :])
    return Call(places[middle], name, None, (left, right))


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
        wanted = text if text == "<EOF>" else f"'{text}'"
        raise SyntaxProblem(
            found.at, f"Syntax error: mismatched input '{found.text}' expecting {wanted}"
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
        return self.logical("||", self.conjunction)

    def conjunction(self) -> Node:
        return self.logical("&&", self.relation)

    def logical(self, sign: str, term: Callable[[], Node]) -> Node:
        terms, places = [term()], []
        while operator := self.accept(sign):
            places.append(operator.at)
            terms.append(term())
        return _balanced(f"_{sign}_", terms, places)

    def relation(self) -> Node:
        return self.chain(_RELATIONS, self.sum)

    def sum(self) -> Node:
        return self.chain(("+", "-"), self.product)

    def product(self) -> Node:
        return self.chain(("*", "/", "%"), self.unary)

    def chain(self, signs: tuple[str, ...], term: Callable[[], Node]) -> Node:
        node = term()
        length = 0
        while operator := self.accept(*signs):
            length = self.longer(length)
            name = "@in" if operator.text == "in" else f"_{operator.text}_"
            node = Call(operator.at, name, None, (node, term()))
        return node

    def longer(self, length: int) -> int:
        """Count one more of what is chained: as in cel-go, that makes a tree as deep."""
        if length == _MOST_DEPTH:
            raise SyntaxProblem(-1, "max recursion depth exceeded")
        return length + 1

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
        length = 0
        while operator := self.accept(".", "["):
            length = self.longer(length)
            if operator.text == ".":
                node = self.selection(node, operator)
                continue
            name = "_[?_]" if self.accept("?") else "_[_]"
            index = self.expression()
            self.expect("]")
            node = Call(operator.at, name, None, (node, index))
        return node

    def selection(self, node: Node, dot: _Token) -> Node:
        optional = self.accept("?") is not None
        token = self.token
        if token.kind == "quoted":
            raise SyntaxProblem(token.at, "unsupported syntax: '`'")
        if token.text in ("true", "false", "null"):
            raise SyntaxProblem(
                token.at, f"Syntax error: mismatched input '{token.text}' expecting IDENTIFIER"
            )
        if token.kind != "name" or token.text == "in":
            raise SyntaxProblem(
                token.at, f"Syntax error: no viable alternative at input '.{token.text}'"
            )
        self.position += 1
        if not optional and (opening := self.accept("(")):
            return Call(opening.at, token.text, node, self.arguments(")"))
        return Select(dot.at, node, token.text, optional=optional)

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
                return Literal(token.at, "string", unquoted(token.text, token.at))
            case "bytes":
                return Literal(token.at, "bytes", unquoted(token.text, token.at, as_bytes=True))
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
            if math.isinf(value):
                raise SyntaxProblem(start, "invalid double literal")
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
    """Return a problem with the line it is in, and a mark below its place; one of all of it has none (-1)."""
    if at < 0:
        return f"ERROR: <input>:-1:0: {message}"
    line_number = text.count("\n", 0, at) + 1
    start = text.rfind("\n", 0, at) + 1
    line = text[start:].split("\n", 1)[0].replace("\t", " ")
    column = at - start
    dots = "".join("." if character.isascii() else "\uff0e" for character in line[:column])
    mark = "^" if line[column : column + 1].isascii() else "\uff3e"
    return f"ERROR: <input>:{line_number}:{column + 1}: {message}\n | {line}\n | {dots}{mark}"
