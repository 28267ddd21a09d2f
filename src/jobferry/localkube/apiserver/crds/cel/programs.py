"""From the text of an expression to what evaluates it."""

from collections.abc import Mapping

from jobferry.localkube.apiserver.crds.cel import (
    literals,
    macros,
    operators,
    syntax,
    texts,
    types,
)
from jobferry.localkube.apiserver.crds.cel.compiler import Compiler, Program, Refused, Unusable
from jobferry.localkube.apiserver.crds.cel.types import Type


def compile_text(text: str, variables: Mapping[str, tuple[Type, int]]) -> Program:
    """Compile an expression in which `variables` (with their places in the frame) are known."""
    compiler = Compiler(variables, macros.find, operators.find, literals.check)
    try:
        typed = compiler.visit(syntax.parse(text))
    except texts.SyntaxProblem as problem:
        raise Refused(syntax.shown(text, problem.at, str(problem))) from problem
    except RecursionError:
        raise Refused(syntax.shown(text, -1, "max recursion depth exceeded")) from None
    if compiler.problems:
        ordered = sorted(compiler.problems, key=lambda each: each[0])
        raise Refused("\n".join(syntax.shown(text, at, words) for at, words in ordered))
    if compiler.unusable:
        raise Unusable(compiler.unusable)
    result = types.substituted(compiler.bindings, typed.type, closed=True)
    return Program(result, typed.run, compiler.slots, frozenset(compiler.uses))
