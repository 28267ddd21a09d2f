"""Operators whose types follow rules of their own: logic, choice, equality, membership, types."""

from collections.abc import Mapping

from jobferry.localkube.apiserver.crds.cel import (
    calls,
    declared,
    standard,
    syntax,
    types,
    values,
)
from jobferry.localkube.apiserver.crds.cel.compiler import Compiler, Special, Typed


def find(node: syntax.Call) -> Special | None:
    """Return what compiles an operator, or None: it is a function like any other."""
    return _SPECIAL.get(node.name)


def _logical(compiler: Compiler, node: syntax.Call, args: list[Typed]) -> Typed:
    failed = False
    for each, typed in zip(node.args, args, strict=True):
        if not compiler.assignable(typed.type, types.BOOL):
            found = compiler.known(typed.type)
            compiler.refuse(each.at, f"expected type 'bool' but found '{found}'")
            failed = True
    if failed:
        return Typed(types.ERROR, calls.constant(None))
    make = calls.both if node.name == "_&&_" else calls.either
    return Typed(types.BOOL, make(args[0].run, args[1].run))


def _conditional(compiler: Compiler, node: syntax.Call, args: list[Typed]) -> Typed:
    choice = compiler.variable()
    given = [each.type for each in args]
    found = types.agree(compiler.bindings, given, [types.BOOL, choice, choice])
    if found is None:
        return compiler.no_overload(node.at, node.name, given, member=False)
    compiler.bindings = found
    return Typed(compiler.known(choice), calls.choice(*(each.run for each in args)))


def _equality(compiler: Compiler, node: syntax.Call, args: list[Typed]) -> Typed:
    common = compiler.variable()
    given = [each.type for each in args]
    found = types.agree(compiler.bindings, given, [common, common])
    if found is None:
        return compiler.no_overload(node.at, node.name, given, member=False)
    compiler.bindings = found
    left, right = (compiler.known(each) for each in given)
    compare = calls.equality_of(left, right)
    make = calls.compared if node.name == "_==_" else calls.differing
    return Typed(types.BOOL, make(compare, args[0].run, args[1].run))


def _membership(compiler: Compiler, node: syntax.Call, args: list[Typed]) -> Typed:
    common, value = compiler.variable(), compiler.variable()
    given = [each.type for each in args]
    for container in (types.list_of(common), types.map_of(common, value)):
        found = types.agree(compiler.bindings, given, [common, container])
        if found is not None:
            compiler.bindings = found
            item = compiler.known(given[0])
            run = calls.membership(calls.equality_of(item, item), args[0].run, args[1].run)
            return Typed(types.BOOL, run)
    return compiler.no_overload(node.at, node.name, given, member=False)


def _type_value(compiler: Compiler, node: syntax.Call, args: list[Typed]) -> Typed:
    if len(args) != 1:
        given = [each.type for each in args]
        return compiler.no_overload(node.at, node.name, given, member=False)
    run = args[0].run
    return Typed(
        types.type_of(args[0].type), lambda env: standard.type_named(values.kind_of(run(env)))
    )


def _forgotten(compiler: Compiler, node: syntax.Call, args: list[Typed]) -> Typed:
    if args and declared.loses_types(compiler.known(args[0].type)):
        return compiler.refuse(
            node.at,
            "this server cannot evaluate dyn() of objects with dates, durations or bytes",
        )
    return compiler.resolved(node, node.name, None, args)


def _sum(compiler: Compiler, node: syntax.Call, args: list[Typed]) -> Typed:
    typed = compiler.resolved(node, node.name, None, args)
    left = compiler.known(args[0].type)
    if left.union is None or typed.type.kind != "list":
        return typed
    return Typed(left, calls.united(left.union, args[0].run, args[1].run))


_SPECIAL: Mapping[str, Special] = {
    "_&&_": _logical,
    "_||_": _logical,
    "_?_:_": _conditional,
    "_==_": _equality,
    "_!=_": _equality,
    "@in": _membership,
    "_+_": _sum,
    "type": _type_value,
    "dyn": _forgotten,
}
