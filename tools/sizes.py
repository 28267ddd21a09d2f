"""Fail when a module or function has grown too large to be read in one go (`make check`)."""

import ast
import sys
from pathlib import Path

MODULE_LINES = 400
FUNCTION_LINES = 60
SOURCES = ("src", "tests", "bench", "tools")

EXCEPTIONS: dict[str, str] = {
    "tests/api/crd_definition_cases.py": "a table of cases, not code",
    "tests/api/crd_object_cases.py": "a table of cases, not code",
    "tests/api/pod_bodies.py": "a table of cases, not code",
}
"""Path, or path:function, to the reason why it may be larger."""


def too_large(path: str, source: str) -> list[str]:
    """List what is over its limit in one file, exceptions apart."""
    found = []
    lines = source.count("\n")
    if lines > MODULE_LINES and path not in EXCEPTIONS:
        found.append(
            f"{path}: {lines} lines, at most {MODULE_LINES}: split it by what it knows"
        )
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            length = (node.end_lineno or node.lineno) - node.lineno + 1
            if length > FUNCTION_LINES and f"{path}:{node.name}" not in EXCEPTIONS:
                found.append(
                    f"{path}:{node.lineno}: {node.name} has {length} lines, at most {FUNCTION_LINES}"
                )
    return found


def main() -> int:
    """Check every file; print what is too large."""
    root = Path(__file__).parent.parent
    found = [
        complaint
        for folder in SOURCES
        for file in sorted((root / folder).rglob("*.py"))
        for complaint in too_large(file.relative_to(root).as_posix(), file.read_text())
    ]
    print("\n".join(found) or "Sizes: every module and function is within its limit.")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
