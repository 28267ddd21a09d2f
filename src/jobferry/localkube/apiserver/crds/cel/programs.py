"""From the text of an expression to what evaluates it."""

from collections.abc import Mapping

from jobferry.localkube.apiserver.crds.cel import macros, operators, syntax, types
from jobferry.localkube.apiserver.crds.cel.compiler import Compiler, Program, Refused
from jobferry.localkube.apiserver.crds.cel.types import Type


def compile_text(text: str, variables: Mapping[str, tuple[Type, int]]) -> Program:
    """Compile an expression in which `variables` (with their places in the frame) are known."""
    try:
        node = syntax.parse(text)
    except syntax.SyntaxProblem as problem:
        raise Refused(syntax.shown(text, problem.at, str(problem))) from problem
    except RecursionError:
        raise Refused(syntax.shown(text, 0, "expression recursion limit exceeded")) from None
    compiler = Compiler(variables, macros.find, operators.find)
    typed = compiler.visit(node)
    if compiler.problems:
        ordered = sorted(compiler.problems, key=lambda each: each[0])
        raise Refused("\n".join(syntax.shown(text, at, words) for at, words in ordered))
    result = types.substituted(compiler.bindings, typed.type, closed=True)
    return Program(result, typed.run, compiler.slots, frozenset(compiler.uses))
