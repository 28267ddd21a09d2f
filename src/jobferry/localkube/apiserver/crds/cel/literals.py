"""What can be seen of calls before they are evaluated: literals that no value can be made of."""

from collections.abc import Callable
from typing import Any

from jobferry.localkube.apiserver.crds import patterns
from jobferry.localkube.apiserver.crds.cel import formatting, standard, syntax
from jobferry.localkube.apiserver.crds.cel.compiler import Compiler, Typed
from jobferry.localkube.apiserver.crds.cel.values import CelError

_CONVERSIONS = frozenset(
    ("bool", "bytes", "double", "duration", "int", "string", "timestamp", "uint")
)


def check(compiler: Compiler, node: syntax.Call, typed: Typed) -> None:
    """Note what cannot be with a call that was compiled."""
    if not node.args:
        return
    if node.name == "format" and node.target is not None:
        _check_format(compiler, node)
    if isinstance(node.args[-1], syntax.Literal):
        _check_literal(compiler, node.name, node.args[-1])
    _try_constants(compiler, node, typed)


def _check_literal(compiler: Compiler, name: str, literal: syntax.Literal) -> None:
    """Refuse texts that can be seen to be no pattern, duration or moment."""
    read = _READERS.get((name, literal.kind))
    try:
        if read is not None:
            read(literal.value)
    except patterns.Untranslatable as error:
        compiler.refuse(literal.at, str(error))
    except (patterns.BadPattern, CelError):
        compiler.refuse(literal.at, f"invalid {name} argument")


def _try_constants(compiler: Compiler, node: syntax.Call, typed: Typed) -> None:
    """Evaluate what cel-go evaluates beforehand: a value that cannot be made is told of then."""
    if compiler.problems or compiler.unusable:
        return
    first = node.args[0]
    try:
        if node.name in ("find", "findAll") and isinstance(first, syntax.Literal):
            patterns.compiled(first.value)
        elif node.name in _CONVERSIONS and isinstance(first, syntax.Literal):
            typed.run([])
    except (CelError, patterns.BadPattern, patterns.Untranslatable) as error:
        compiler.unusable = str(error)


def _check_format(compiler: Compiler, node: syntax.Call) -> None:
    """Refuse a text to be formatted that can be seen not to fit its arguments."""
    target, given = node.target, node.args[0]
    if compiler.problems or not isinstance(target, syntax.Literal):
        return
    if target.kind != "string" or not isinstance(given, syntax.Items):
        return
    mixed, compiler.mixed = compiler.mixed, True
    found = [compiler.known(compiler.visit(each).type) for each in given.elements]
    compiler.mixed = mixed
    try:
        _, used = formatting.rendered(
            target.value,
            len(found),
            lambda index, letter, _: formatting.check_type(index, letter, found[index]),
        )
    except formatting.Misfit as misfit:
        compiler.refuse(given.elements[misfit.index].at, str(misfit))
    except CelError as error:
        compiler.refuse(node.at, str(error))
    else:
        if used < len(found):
            words = f"(expected {used}, got {len(found)})"
            compiler.refuse(node.at, f"too many arguments supplied to string.format {words}")


def _none_fits(_value: Any) -> None:
    raise CelError("no such overload")


_READERS: dict[tuple[str, str], Callable[[Any], Any]] = {
    ("matches", "string"): patterns.compiled,
    ("duration", "string"): standard.duration_from_text,
    ("duration", "int"): _none_fits,
    ("duration", "null"): _none_fits,
    ("timestamp", "string"): standard.timestamp_from_text,
    ("timestamp", "int"): standard.timestamp_from_seconds,
    ("timestamp", "null"): _none_fits,
}
"""What reads the literals that functions are called with, by function and type."""
