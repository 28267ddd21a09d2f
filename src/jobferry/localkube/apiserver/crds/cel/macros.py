"""CEL's macros: `has`, and the loops over lists and maps."""

from collections.abc import Callable
from typing import Any

from jobferry.localkube.apiserver.crds.cel import calls, syntax, types
from jobferry.localkube.apiserver.crds.cel.calls import Frame, Run, spend, truth
from jobferry.localkube.apiserver.crds.cel.compiler import Compiler, Typed
from jobferry.localkube.apiserver.crds.cel.types import Type
from jobferry.localkube.apiserver.crds.cel.values import NONE, CelError, Optional, OutOfBudget

Macro = Callable[[Compiler, syntax.Call], Typed]


def find(node: syntax.Call) -> Macro | None:
    """Return the macro that a call stands for, or None."""
    return _MACROS.get((node.name, node.target is not None, len(node.args)))


def _has(compiler: Compiler, node: syntax.Call) -> Typed:
    argument = node.args[0]
    if not isinstance(argument, syntax.Select) or argument.optional:
        return compiler.refuse(argument.at, "invalid argument to has() macro")
    return compiler.select(syntax.Select(node.at, argument.operand, argument.field, test=True))


class _Loop:
    """What a loop goes over, and how its variables get their values."""

    def __init__(self, compiler: Compiler, node: syntax.Call, names: int) -> None:
        assert node.target is not None  # noqa: S101  # macros are found by that
        self.ok = True
        self.over = compiler.visit(node.target)
        first, second = self._types(compiler, node.target.at, two=names == 2)
        compiler.scopes.append({})
        self.places: list[int] = []
        named = [each.name for each in node.args[:names] if isinstance(each, syntax.Ident)]
        if len(set(named)) < len(named):
            compiler.refuse(node.args[1].at, f"duplicate variable name: {named[1]}")
        for argument, type_ in zip(node.args[:names], (first, second), strict=False):
            if not isinstance(argument, syntax.Ident):
                compiler.refuse(argument.at, "argument must be a simple name")
                self.ok = False
            else:
                self.places.append(compiler.bind(argument.name, type_))

    def _types(self, compiler: Compiler, at: int, *, two: bool) -> tuple[Type, Type]:
        over = compiler.known(self.over.type)
        match over.kind:
            case "list":
                item = over.params[0]
                return (types.INT, item) if two else (item, item)
            case "map":
                return over.params[0], over.params[1]
            case "dyn" | "error":
                pass
            case "param":
                compiler.assignable(types.DYN, over)
            case _:
                words = f"expression of type '{over}' cannot be range of a comprehension"
                compiler.refuse(at, f"{words} (must be list, map, or dynamic)")
                return types.ERROR, types.ERROR
        return types.DYN, types.DYN

    def rounds(self) -> Callable[[Frame], Any]:
        """Return what yields once for each round, its variables set."""
        over = self.over.run
        if len(self.places) == 2:
            return _two_variables(over, *self.places)
        place = self.places[0] if self.places else 0

        def run(frame: Frame) -> Any:
            items = over(frame)
            if items.__class__ is not list and items.__class__ is not dict:
                raise CelError("no such overload")
            spend(frame, len(items))
            for item in items:
                frame[place] = item
                yield item

        return run


def _two_variables(over: Run, first: int, second: int) -> Callable[[Frame], Any]:
    def run(frame: Frame) -> Any:
        items = over(frame)
        pairs = items.items() if items.__class__ is dict else enumerate(items)
        spend(frame, len(items))
        for key, item in pairs:
            frame[first], frame[second] = key, item
            yield key

    return run


def _wants_bool(compiler: Compiler, at: int, typed: Typed) -> None:
    if not compiler.assignable(typed.type, types.BOOL):
        found = compiler.known(typed.type)
        compiler.refuse(at, f"expected type 'bool' but found '{found}'")


def _decides(compiler: Compiler, node: syntax.Call, names: int, verdict: bool) -> Typed:
    """Compile `all` or `exists`: `verdict` is what ends the loop early."""
    loop = _Loop(compiler, node, names)
    predicate = compiler.visit(node.args[names])
    _wants_bool(compiler, node.args[names].at, predicate)
    compiler.scopes.pop()
    rounds, test = loop.rounds(), predicate.run

    def run(frame: Frame) -> bool:
        failure: CelError | None = None
        for _ in rounds(frame):
            try:
                if truth(test(frame)) is verdict:
                    return verdict
            except OutOfBudget:
                raise
            except CelError as error:
                failure = failure or error
        if failure is not None:
            raise failure
        return not verdict

    return Typed(types.BOOL, run)


def _all(compiler: Compiler, node: syntax.Call) -> Typed:
    return _decides(compiler, node, len(node.args) - 1, verdict=False)


def _exists(compiler: Compiler, node: syntax.Call) -> Typed:
    return _decides(compiler, node, len(node.args) - 1, verdict=True)


def _exists_one(compiler: Compiler, node: syntax.Call) -> Typed:
    names = len(node.args) - 1
    loop = _Loop(compiler, node, names)
    predicate = compiler.visit(node.args[names])
    _wants_bool(compiler, node.args[names].at, predicate)
    compiler.scopes.pop()
    rounds, test = loop.rounds(), predicate.run

    def run(frame: Frame) -> bool:
        return sum(truth(test(frame)) for _ in rounds(frame)) == 1

    return Typed(types.BOOL, run)


def _filter(compiler: Compiler, node: syntax.Call) -> Typed:
    loop = _Loop(compiler, node, 1)
    predicate = compiler.visit(node.args[1])
    _wants_bool(compiler, node.args[1].at, predicate)
    compiler.scopes.pop()
    over = compiler.known(loop.over.type)
    item = over.params[0] if over.params else types.DYN
    rounds, test = loop.rounds(), predicate.run

    def run(frame: Frame) -> list[Any]:
        return [item for item in rounds(frame) if truth(test(frame))]

    return Typed(types.list_of(item), run)


def _mapped(compiler: Compiler, node: syntax.Call, names: int) -> tuple[Typed, Run]:
    """Compile a loop that makes a value of each round, of those that a condition lets pass."""
    loop = _Loop(compiler, node, names)
    *conditions, made = node.args[names:]
    tests = [compiler.visit(each) for each in conditions]
    for each, typed in zip(conditions, tests, strict=True):
        _wants_bool(compiler, each.at, typed)
    result = compiler.visit(made)
    compiler.scopes.pop()
    rounds, make = loop.rounds(), result.run
    test = tests[0].run if tests else calls.constant(True)

    def run(frame: Frame) -> list[tuple[Any, Any]]:
        return [(key, make(frame)) for key in rounds(frame) if truth(test(frame))]

    return result, run


def _map(compiler: Compiler, node: syntax.Call) -> Typed:
    result, pairs = _mapped(compiler, node, 1)
    return Typed(types.list_of(result.type), lambda frame: [each for _, each in pairs(frame)])


def _transform_list(compiler: Compiler, node: syntax.Call) -> Typed:
    result, pairs = _mapped(compiler, node, 2)
    return Typed(types.list_of(result.type), lambda frame: [each for _, each in pairs(frame)])


def _transform_map(compiler: Compiler, node: syntax.Call) -> Typed:
    assert node.target is not None  # noqa: S101  # macros are found by that
    over = compiler.known(compiler.visit(node.target).type)
    key = over.params[0] if over.kind == "map" else types.INT
    result, pairs = _mapped(compiler, node, 2)
    return Typed(types.map_of(key, result.type), lambda frame: dict(pairs(frame)))


def _transform_entries(compiler: Compiler, node: syntax.Call) -> Typed:
    result, pairs = _mapped(compiler, node, 2)
    made = compiler.known(result.type)
    if made.kind not in ("map", "dyn", "error"):
        words = f"expected type 'map(dyn, dyn)' but found '{made}'"
        return compiler.refuse(node.args[-1].at, words)

    def run(frame: Frame) -> dict[Any, Any]:
        whole: dict[Any, Any] = {}
        for _, entry in pairs(frame):
            for key, value in entry.items():
                if key in whole:
                    raise CelError(f"insert failed: key {key} already exists")
                whole[key] = value
        return whole

    return Typed(made, run)


def _sort_by(compiler: Compiler, node: syntax.Call) -> Typed:
    assert node.target is not None  # noqa: S101  # macros are found by that
    result, pairs = _mapped(compiler, node, 1)
    over = compiler.visit(node.target)
    operands = [
        over,
        Typed(types.list_of(result.type), lambda frame: [k for _, k in pairs(frame)]),
    ]
    return compiler.resolved(node, "@sortByAssociatedKeys", operands[0], operands[1:])


def _with_value(compiler: Compiler, node: syntax.Call) -> tuple[Typed, Typed, int]:
    assert node.target is not None  # noqa: S101  # macros are found by that
    over = compiler.visit(node.target)
    inner, is_optional = types.unwrapped(compiler.known(over.type))
    if not is_optional and not types.is_open(inner):
        compiler.no_overload(node.at, "hasValue", [over.type], member=True)
    compiler.scopes.append({})
    name = node.args[0]
    if not isinstance(name, syntax.Ident):
        compiler.refuse(name.at, f"{node.name}() variable name must be a simple identifier")
        place = 0
    else:
        place = compiler.bind(name.name, inner if is_optional else types.DYN)
    result = compiler.visit(node.args[1])
    compiler.scopes.pop()
    return over, result, place


def _opt_map(compiler: Compiler, node: syntax.Call) -> Typed:
    over, result, place = _with_value(compiler, node)

    def run(frame: Frame) -> Optional:
        value = calls.may_be_missing(over.run(frame))
        if not value.present:
            return NONE
        frame[place] = value.value
        return Optional(True, result.run(frame))

    return Typed(types.optional_of(result.type), run)


def _opt_flat_map(compiler: Compiler, node: syntax.Call) -> Typed:
    over, result, place = _with_value(compiler, node)

    def run(frame: Frame) -> Any:
        value = calls.may_be_missing(over.run(frame))
        if not value.present:
            return NONE
        frame[place] = value.value
        return result.run(frame)

    return Typed(result.type, run)


_MACROS: dict[tuple[str, bool, int], Macro] = {
    ("has", False, 1): _has,
    ("all", True, 2): _all,
    ("all", True, 3): _all,
    ("exists", True, 2): _exists,
    ("exists", True, 3): _exists,
    ("exists_one", True, 2): _exists_one,
    ("exists_one", True, 3): _exists_one,
    ("existsOne", True, 3): _exists_one,
    ("map", True, 2): _map,
    ("map", True, 3): _map,
    ("filter", True, 2): _filter,
    ("transformList", True, 3): _transform_list,
    ("transformList", True, 4): _transform_list,
    ("transformMap", True, 3): _transform_map,
    ("transformMap", True, 4): _transform_map,
    ("transformMapEntry", True, 3): _transform_entries,
    ("transformMapEntry", True, 4): _transform_entries,
    ("sortBy", True, 2): _sort_by,
    ("optMap", True, 2): _opt_map,
    ("optFlatMap", True, 2): _opt_flat_map,
}
