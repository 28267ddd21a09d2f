"""Checks the types of an expression as cel-go does, and compiles it to closures on a frame of variables."""

from collections.abc import Callable, Mapping
from typing import NamedTuple

from jobferry.localkube.apiserver.crds.cel import (  # noqa: F401  # they declare functions
    calls,
    declared,
    extensions,
    formatting,
    kinds,
    library,
    optionals,
    semvers,
    standard,
    syntax,
    types,
    values,
)
from jobferry.localkube.apiserver.crds.cel.calls import Run
from jobferry.localkube.apiserver.crds.cel.library import Overload
from jobferry.localkube.apiserver.crds.cel.types import Type

FIRST_SLOT = 3
"""Below: self, oldSelf, and the budget."""


_OPEN = frozenset(("dyn", "param", "error", "null"))
"""Types that do not tell which overload a value fits."""


class Refused(Exception):
    """An expression that cannot be compiled, in the words of cel-go."""


class Unusable(Refused):
    """An expression that compiles, but of which a part has no value."""


class Typed(NamedTuple):
    """A compiled part: its type, and what evaluates it."""

    type: Type
    run: Run


class Program(NamedTuple):
    """A compiled expression."""

    type: Type
    run: Run
    frame_size: int
    uses: frozenset[str]
    """The variables it refers to."""


Macro = Callable[["Compiler", syntax.Call], Typed]
Special = Callable[["Compiler", syntax.Call, list[Typed]], Typed]
"""An operator whose types follow rules of their own."""
Check = Callable[["Compiler", syntax.Call, Typed], None]
"""Looks at a call of a function that was compiled."""


class Compiler:
    """Visits the tree once: types and closures are made together."""

    def __init__(
        self,
        variables: Mapping[str, tuple[Type, int]],
        find_macro: Callable[[syntax.Call], Macro | None],
        find_special: Callable[[syntax.Call], Special | None],
        check_call: Check,
    ) -> None:
        self.find_macro = find_macro
        self.find_special = find_special
        self.check_call = check_call
        self.scopes: list[dict[str, tuple[Type, int]]] = [dict(variables)]
        self.problems: list[tuple[int, str]] = []
        self.bindings: types.Bindings = {}
        self.slots = FIRST_SLOT
        self.uses: set[str] = set()
        self.unusable = ""
        """Why what compiles cannot be evaluated all the same."""
        self._fresh = 0
        self.mixed = False
        """Whether a list may have items of several types: what is to be formatted may."""

    def visit(self, node: syntax.Node) -> Typed:
        """Compile any node."""
        match node:
            case syntax.Literal(_, kind, value):
                constant = values.UInt(value) if kind == "uint" else value
                return Typed(types.BY_NAME[kind], calls.constant(constant))
            case syntax.Ident():
                return self.ident(node)
            case syntax.Select():
                return self.select(node)
            case syntax.Items():
                return self.items(node)
            case syntax.Entries():
                return self.entries(node)
            case syntax.Call():
                return self.call(node)
        raise AssertionError(node)

    def refuse(self, at: int, words: str) -> Typed:
        """Note a problem, and go on as if the part could be anything."""
        self.problems.append((at, words))
        return Typed(types.ERROR, calls.constant(None))

    def known(self, type_: Type) -> Type:
        """Return what is known of a type by now."""
        return types.substituted(self.bindings, type_)

    def assignable(self, one: Type, other: Type) -> bool:
        """Tell whether a type can stand for another; parameters remember what they stand for."""
        found = types.agree(self.bindings, [one], [other])
        if found is not None:
            self.bindings = found
        return found is not None

    def variable(self) -> Type:
        """Return a type parameter that is used nowhere else."""
        self._fresh += 1
        return types.param(f"_var{self._fresh}")

    def lookup(self, name: str) -> tuple[Type, int] | None:
        """Find a variable, the innermost first."""
        for scope in reversed(self.scopes):
            if name in scope:
                return scope[name]
        return None

    def ident(self, node: syntax.Ident) -> Typed:
        """Compile a name: a variable, or a type."""
        found = self.lookup(node.name)
        if found is not None:
            self.uses.add(node.name)
            return Typed(found[0], calls.slot(found[1]))
        if node.name in standard.CONSTANTS:
            constant = standard.type_named(node.name)
            return Typed(types.type_of(standard.CONSTANTS[node.name]), calls.constant(constant))
        return self.undeclared(node.at, node.name)

    def undeclared(self, at: int, name: str) -> Typed:
        """Note a name that stands for nothing."""
        return self.refuse(at, f"undeclared reference to '{name}' (in container '')")

    def select(self, node: syntax.Select) -> Typed:
        """Compile the choice of a member."""
        qualified = _qualified(node)
        if qualified in standard.CONSTANTS and not node.test:
            type_ = types.type_of(standard.CONSTANTS[qualified])
            return Typed(type_, calls.constant(standard.type_named(qualified)))
        operand = self.visit(node.operand)
        target, is_optional = types.unwrapped(self.known(operand.type))
        member, result = self.member(node, target)
        if node.test:
            return Typed(types.BOOL, calls.presence(operand.run, member.has))
        if node.optional:
            return Typed(types.optional_of(result), calls.optional_member(operand.run, member))
        if is_optional:
            return Typed(
                types.optional_of(result), calls.inside_optional(operand.run, member.get)
            )
        return Typed(result, calls.member(operand.run, member.get))

    def member(self, node: syntax.Select, target: Type) -> tuple[calls.Member, Type]:
        """Return how a member is got, and its type."""
        match target.kind:
            case "map":
                return calls.map_member(node.field), target.params[1]
            case "struct":
                field = target.fields.get(node.field)
                if field is None and node.field in syntax.RESERVED:
                    field = target.fields.get(f"__{node.field}__")
                if field is None:
                    self.refuse(node.at, f"undefined field '{node.field}'")
                    return calls.map_member(node.field), types.ERROR
                return calls.field_member(node.field, field), field.type
            case "param":
                self.assignable(types.DYN, target)
            case "dyn" | "error":
                pass
            case _:
                self.refuse(node.at, f"type '{target}' does not support field selection")
        return calls.map_member(node.field), types.DYN

    def items(self, node: syntax.Items) -> Typed:
        """Compile a list that is written down: its items have one type."""
        inner: Type | None = None
        runs: list[tuple[Run, bool]] = []
        for index, each in enumerate(node.elements):
            optional = index in node.optional
            typed = self.element(each, optional)
            inner = self.joined(each.at, inner, typed.type)
            runs.append((typed.run, optional))
        type_ = types.list_of(inner or self.variable())
        if node.elements and all(isinstance(each, syntax.Literal) for each in node.elements):
            return Typed(type_, calls.constant([run([]) for run, _ in runs]))
        return Typed(type_, calls.items(runs))

    def element(self, node: syntax.Node, optional: bool) -> Typed:
        """Compile an item; if it is optional, what counts is what it is about."""
        typed = self.visit(node)
        if not optional:
            return typed
        inner, is_optional = types.unwrapped(self.known(typed.type))
        if not is_optional and not types.is_open(inner):
            words = f"expected type '{types.optional_of(inner)}' but found '{inner}'"
            self.refuse(node.at, words)
        return Typed(inner, typed.run)

    def joined(self, at: int, previous: Type | None, current: Type) -> Type:
        """Return the type that covers both."""
        if previous is None:
            return current
        if self.assignable(previous, current):
            return previous if types.less_specific(previous, current) else current
        if self.mixed:
            return types.DYN
        words = f"expected type '{self.known(previous)}' but found '{self.known(current)}'"
        self.refuse(at, words)
        return types.ERROR

    def entries(self, node: syntax.Entries) -> Typed:
        """Compile a map that is written down."""
        key_type: Type | None = None
        value_type: Type | None = None
        runs: list[tuple[Run, Run, bool]] = []
        for key, value, optional in node.entries:
            key_typed, value_typed = self.visit(key), self.element(value, optional)
            # Each that does not fit the first one is told of: unlike in a list.
            key_type = self.joined(key.at, key_type, key_typed.type).or_else(key_type)
            value_type = self.joined(value.at, value_type, value_typed.type).or_else(value_type)
            runs.append((key_typed.run, value_typed.run, optional))
        type_ = types.map_of(key_type or self.variable(), value_type or self.variable())
        return Typed(type_, calls.entries(runs))

    def call(self, node: syntax.Call) -> Typed:
        """Compile a macro, an operator, or a function."""
        macro = self.find_macro(node)
        if macro is not None:
            return macro(self, node)
        if node.target is not None:
            qualified = f"{_qualified(node.target)}.{node.name}"
            if qualified in library.FUNCTIONS:
                args = [self.visit(each) for each in node.args]
                return self.resolved(node, qualified, None, args)
        mixed = self.mixed
        self.mixed = mixed or (node.name == "format" and node.target is not None)
        args = [self.visit(each) for each in node.args]
        self.mixed = mixed
        if node.target is None and (special := self.find_special(node)):
            return special(self, node, args)
        target = self.visit(node.target) if node.target is not None else None
        if node.name not in library.FUNCTIONS:
            return self.undeclared(node.at, node.name)
        found = self.resolved(node, node.name, target, args)
        self.check_call(self, node, found)
        return found

    def resolved(
        self, node: syntax.Call, name: str, target: Typed | None, args: list[Typed]
    ) -> Typed:
        """Find the overloads that fit, and compile a call of them."""
        operands = [target, *args] if target is not None else args
        given = [operand.type for operand in operands]
        result: Type | None = None
        fitting: list[Overload] = []
        for overload in library.FUNCTIONS[name]:
            if overload.member != (target is not None):
                continue
            wanted, returned = self.instantiated(overload)
            found = types.agree(self.bindings, given, wanted)
            if found is None:
                continue
            self.bindings = found
            fitting.append(overload)
            returned = self.known(returned)
            if result is None:
                result = returned
            elif not types.is_open(result) and not returned.exactly(result):
                result = types.DYN
        if result is None:
            return self.no_overload(node.at, name, given, member=target is not None)
        open_args = any(self.known(each).kind in _OPEN for each in given)
        runs = [operand.run for operand in operands]
        return Typed(result, calls.dispatched(name, fitting, runs, guarded=open_args))

    def instantiated(self, overload: Overload) -> tuple[list[Type], Type]:
        """Return an overload's types with parameters of their own."""
        self._fresh += 1
        renamed = _Renaming(self._fresh)
        wanted = [types.substituted(renamed, each) for each in overload.args]
        return wanted, types.substituted(renamed, overload.result)

    def no_overload(self, at: int, name: str, given: list[Type], *, member: bool) -> Typed:
        """Note a call that fits nothing."""
        shown = [str(types.substituted(self.bindings, each, closed=True)) for each in given]
        signature = f"({', '.join(shown)})"
        if member:
            signature = f"{shown[0]}.({', '.join(shown[1:])})"
        return self.refuse(
            at, f"found no matching overload for '{name}' applied to '{signature}'"
        )

    def bind(self, name: str, type_: Type) -> int:
        """Add a variable of a macro to the innermost scope; return its place."""
        place = self.slots
        self.slots += 1
        self.scopes[-1][name] = (type_, place)
        return place


class _Renaming(dict[str, Type]):
    """Gives each parameter of an overload a name of its own."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self.suffix = f"#{number}"

    def __contains__(self, name: object) -> bool:
        return not str(name).endswith(self.suffix)

    def __getitem__(self, name: str) -> Type:
        return types.param(f"{name}{self.suffix}")


def _qualified(node: syntax.Node) -> str:
    match node:
        case syntax.Ident():
            return node.name
        case syntax.Select(test=False, optional=False):
            return f"{_qualified(node.operand)}.{node.field}"
    return "?"
