"""A kubeconfig as a tree in which every value knows where it was written, so that errors can say so."""

import base64
import os
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

import orjson
import yaml

from jobferry.errors import BadInput
from jobferry.kube.command import Command
from jobferry.kube.material import Material, one_line

try:
    from yaml import CSafeLoader as Loader
except ImportError:  # PyYAML was built without libyaml
    from yaml import SafeLoader as Loader  # type: ignore[assignment]

T = TypeVar("T")

_MAX_DEPTH = 50
_WORDS = {
    dict: "a map",
    list: "a list",
    str: "text",
    bool: "true or false",
    int: "a number",
    float: "a number",
}


@dataclass(frozen=True, slots=True)
class Trust:
    """What a kubeconfig may make us read and run; by default anything, as that of a person is theirs."""

    files: Path | None = Path("/")
    """The folder that files must be in; None: no files."""

    programs: frozenset[Command] | None = None
    """The exec plugins, with all that they may be told; None: any, with anything."""

    def refusal_to_read(self, file: Path) -> str | None:
        """Say why a file may not be read, if so; what counts is where links lead."""
        if self.files is None:
            return "refused: files are not allowed here"
        if not Path(os.path.realpath(file)).is_relative_to(os.path.realpath(self.files)):
            return f"refused: not in the folder {self.files}"
        return None


ANYTHING = Trust()


@dataclass(frozen=True, slots=True)
class Source:
    """Where a kubeconfig came from, and by that what its entries may refer to."""

    label: str
    """How messages name it."""

    folder: Path | None = None
    """What relative paths start from; None: they are refused."""

    policy: Trust = ANYTHING


@dataclass(frozen=True, slots=True)
class Node:
    """One value of a kubeconfig. As in client-go, null and absent are the same as empty."""

    source: Source
    path: str
    value: object = field(repr=False)

    @property
    def place(self) -> str:
        """File and key, as in "config: users[name=ci].user.token"."""
        return f"{self.source.label}: {self.path}" if self.path else self.source.label

    def wrong(self, what: str, hint: str | None = None) -> BadInput:
        """Make the error that says what is wrong here, without showing the value: it may be secret."""
        return BadInput(one_line(f"{self.place}: {what}"), hint=hint)

    def __getitem__(self, key: str) -> "Node":
        path = f"{self.path}.{key}" if self.path else key
        return Node(self.source, path, self.map().get(key))

    def map(self) -> dict[object, object]:
        """Return it as a map."""
        return self._as(dict, {})

    def items(self) -> "list[Node]":
        """Return the items of a list."""
        values: list[object] = self._as(list, [])
        return [Node(self.source, f"{self.path}[{i}]", value) for i, value in enumerate(values)]

    def named(self, key: str) -> "dict[str, Node]":
        """Return what a list of `{name: …, <key>: …}` holds, by name."""
        found: dict[str, Node] = {}
        for item in self.items():
            name = item["name"].text()
            if name in found:
                raise self.wrong(
                    f"the name {name!r} is there twice", "Remove or rename one of them."
                )
            found[name] = Node(
                self.source, f"{self.path}[name={name}].{key}", item.map().get(key)
            )
        return found

    def text(self) -> str:
        """Return it as text."""
        text = self._as(str, "")
        try:
            text.encode()
        except UnicodeEncodeError:
            raise self.wrong("not valid Unicode") from None
        if "\0" in text:
            raise self.wrong("holds a NUL character")
        return text

    def texts(self) -> tuple[str, ...]:
        """Return it as a list of texts."""
        return tuple(item.text() for item in self.items())

    def flag(self) -> bool:
        """Return it as true or false."""
        return self._as(bool, False)

    def data(self) -> bytes:
        """Return the bytes that it holds in base64."""
        try:
            return base64.b64decode(self.text().translate({10: None, 13: None}), validate=True)
        except ValueError:
            raise self.wrong("not valid base64", "Encode it with `base64 -w0`.") from None

    def material(self, key: str) -> Material | None:
        """Return what `<key>-data` holds or else the file that `<key>` names, the order of client-go."""
        inline = self[f"{key}-data"]
        content = inline.data()
        return Material(inline.place, content) if content else self[key].file()

    def file(self) -> Material | None:
        """Return the file that it names, if the policy lets us read it."""
        if not (name := self.text()):
            return None
        path = self.resolve(name)
        if refusal := self.source.policy.refusal_to_read(path):
            raise self.wrong(refusal)
        # The path as it is, not where it leads now: Kubernetes renews mounted Secrets by moving a link.
        return Material(self.place, path)

    def resolve(self, name: str) -> Path:
        """Return the path of a file or program that is named here, relative to the kubeconfig's folder."""
        if self.source.folder is None and not os.path.isabs(name):
            raise self.wrong(
                "a relative path", "This kubeconfig is not a file: write an absolute path."
            )
        return Path(os.path.normpath(os.path.join(self.source.folder or "", name)))

    def _as(self, kind: type[T], empty: T) -> T:
        if self.value is None:
            return empty
        if isinstance(self.value, kind):
            return self.value
        found = _WORDS.get(type(self.value), "something else")
        hint = (
            "Put it in quotes." if kind is str and isinstance(self.value, int | float) else None
        )
        raise self.wrong(f"expected {_WORDS[kind]}, found {found}", hint)


def parse(content: bytes, source: Source) -> Node:
    """Read a kubeconfig, YAML or JSON."""
    root = Node(source, "", _decode(content, source))
    kind, version = root["kind"].text() or "Config", root["apiVersion"].text() or "v1"
    if (kind, version) != ("Config", "v1"):
        raise root.wrong(f"holds kind {kind!r} of {version!r}, not a kubeconfig (Config of v1)")
    return root


def _decode(content: bytes, source: Source) -> object:
    # YAML that is indented by tabs is wrong, JSON is not; so JSON is tried by itself.
    with suppress(orjson.JSONDecodeError):
        return orjson.loads(content)
    try:
        _refuse_deep(content)
        loader = _Loader(content)
        try:
            return loader.get_data()  # of the first document, as kubectl does
        finally:
            loader.dispose()
    except yaml.MarkedYAMLError as error:
        raise BadInput(
            f"{source.label}: not valid YAML{_where(error)}: {_problem(error)}"
        ) from None
    # Reader errors have no line; a wrong explicit tag such as "!!int x" raises whatever int() raises.
    except (yaml.YAMLError, ValueError, LookupError, AttributeError, TypeError):
        raise BadInput(f"{source.label}: not valid YAML") from None


class _Loader(Loader):
    """YAML as kubectl reads it, without what would let a small file grow without end."""

    # client-go takes what looks like a date for text.
    yaml_implicit_resolvers = {  # noqa: RUF012 - the base class declares it like this
        first: [(tag, shape) for tag, shape in rules if not tag.endswith(":timestamp")]
        for first, rules in Loader.yaml_implicit_resolvers.items()
    }

    def flatten_mapping(self, node: yaml.MappingNode) -> None:
        """Leave merge keys (`<<`) as they are, which is an error: nested ones multiply."""


def _refuse_deep(content: bytes) -> None:
    """Refuse deep nesting before a tree is built: libyaml's loader overflows the C stack on it."""
    depth = 0
    for event in yaml.parse(content, Loader):
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
        if depth > _MAX_DEPTH:
            raise yaml.parser.ParserError(None, None, "nested too deeply", event.start_mark)


def _where(error: yaml.MarkedYAMLError) -> str:
    return f", line {error.problem_mark.line + 1}" if error.problem_mark else ""


def _problem(error: yaml.MarkedYAMLError) -> str:
    # What the later stages say quotes the text, which may be part of a password that nobody put in quotes.
    if isinstance(error, yaml.scanner.ScannerError | yaml.parser.ParserError):
        return error.problem or "cannot be understood"
    return "an alias, tag or key that a kubeconfig cannot have"
