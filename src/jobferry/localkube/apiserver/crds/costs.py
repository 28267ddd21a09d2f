"""What a rule may cost at most, roughly: kube-apiserver refuses rules that could take too long.

It reckons with the largest object that a request has room for. So do we, but only to warn: what multiplies
are loops, the place of a rule below lists and maps, and texts that are compared or searched.
"""

from collections.abc import Iterator, Mapping

from jobferry.localkube.apiserver.crds import pruning
from jobferry.localkube.apiserver.crds.cel import declared, syntax, texts
from jobferry.localkube.apiserver.crds.rules import RULES
from jobferry.objects import Obj

LIMIT = 10_000_000
"""What one rule may cost, for kube-apiserver."""

_REQUEST = 3 * 1024 * 1024
_PER_BYTE = 0.1
_SHORT = 40
"""No text with a format is longer than that."""

_LOOPS = frozenset(
    [
        *("all", "exists", "exists_one", "existsOne", "filter", "map", "sortBy"),
        *("transformList", "transformMap", "transformMapEntry"),
    ]
)
_SEARCHES = frozenset(
    [
        *("contains", "find", "findAll", "indexOf", "lastIndexOf", "lowerAscii", "matches"),
        *("replace", "split", "substring", "trim", "upperAscii"),
    ]
)
_COMPARES = frozenset(("_==_", "_!=_", "_<_", "_<=_", "_>_", "_>=_"))

Env = Mapping[str, Obj | None]
"""What the names in a rule stand for; None: nobody knows."""


def too_costly(schema: Obj, path: str, times: float = 1.0) -> Iterator[str]:
    """Yield where the rules are that a real server would refuse; each is evaluated so many times."""
    for index, rule in enumerate(schema.get(RULES) or ()):
        if of(rule.get("rule") or "", schema) * times > LIMIT:
            yield f"{path}.{RULES}[{index}].rule"
    for name, inner in (schema.get("properties") or {}).items():
        yield from too_costly(inner, f"{path}.properties[{name}]", times)
    for name in ("items", "additionalProperties"):
        inner = schema.get(name)
        if isinstance(inner, dict):
            # No more of them fit into a request, however they are nested.
            most = min(times * _length(schema), _REQUEST / _least(inner))
            yield from too_costly(inner, f"{path}.{name}", most)


def of(rule: str, schema: Obj) -> float:
    """Return what one evaluation of a rule may cost."""
    try:
        node = syntax.parse(rule)
    except (texts.SyntaxProblem, RecursionError):
        return 0.0
    return _cost(node, {"self": schema, "oldSelf": schema})


def _cost(node: syntax.Node, env: Env) -> float:
    if isinstance(node, syntax.Call):
        return _call(node, env)
    return 1.0 + sum(_cost(each, env) for each in _parts(node))


def _parts(node: syntax.Node) -> Iterator[syntax.Node]:
    if isinstance(node, syntax.Select):
        yield node.operand
    elif isinstance(node, syntax.Items):
        yield from node.elements
    elif isinstance(node, syntax.Entries):
        for key, value, _ in node.entries:
            yield from (key, value)


def _call(node: syntax.Call, env: Env) -> float:
    if node.name in _LOOPS and node.target is not None and len(node.args) > 1:
        return _loop(node, node.target, env)
    around = [node.target] if node.target is not None else []
    cost = 1.0 + sum(_cost(each, env) for each in (*around, *node.args))
    if node.name in _COMPARES:
        return cost + min(_extent(_schema(each, env)) for each in node.args)
    if node.name == "@in":
        return cost + _extent(_schema(node.args[1], env))
    if node.name in _SEARCHES and node.target is not None:
        return cost + _extent(_schema(node.target, env))
    return cost


def _loop(node: syntax.Call, target: syntax.Node, env: Env) -> float:
    over = _schema(target, env)
    item = (over or {}).get("items") or pruning.additional_of(over or {})[1]
    is_list = (over or {}).get("type") == "array"
    names = [each.name for each in node.args[:-1] if isinstance(each, syntax.Ident)]
    # Of two variables the second is the item; the only one is the item of a list and the key of a map.
    found = [None, item] if len(names) > 1 else [item if is_list else None]
    inner = {**env, **dict(zip(names, found, strict=False))}
    rounds = 1.0 if over is None else _length(over)
    return _cost(target, env) + rounds * _cost(node.args[-1], inner)


def _schema(node: syntax.Node, env: Env) -> Obj | None:
    """Return what describes the value of an expression; None: it is made by the rule itself, or nobody knows."""
    if isinstance(node, syntax.Ident):
        return env.get(node.name)
    if isinstance(node, syntax.Select):
        around = _schema(node.operand, env) or {}
        for name, inner in (around.get("properties") or {}).items():
            if node.field in (name, declared.escaped(name)):
                found: Obj = inner
                return found
        return pruning.additional_of(around)[1]
    if isinstance(node, syntax.Call):
        if node.name == "_[_]":
            around = _schema(node.args[0], env) or {}
            return around.get("items") or pruning.additional_of(around)[1]
        if node.name == "filter" and node.target is not None:
            return _schema(node.target, env)
    return None


def _length(schema: Obj) -> float:
    """Return how many items a list may have, or members a map."""
    bound = schema.get("maxItems" if schema.get("type") == "array" else "maxProperties")
    if bound is not None:
        return float(bound)
    inner = schema.get("items") or pruning.additional_of(schema)[1]
    if not isinstance(inner, dict):
        return 1.0
    name = 0 if schema.get("type") == "array" else 4
    return _REQUEST / (_least(inner) + name)


def _extent(schema: Obj | None) -> float:
    """Return what it costs to look at all of a value."""
    if schema is None:
        return 1.0
    if schema.get("type") == "array":
        return _length(schema)
    if schema.get("type") != "string":
        return 1.0
    longest = schema.get("maxLength")
    if schema.get("enum"):
        longest = max(len(str(each)) for each in schema["enum"])
    elif schema.get("format") not in (None, "", "password"):
        longest = _SHORT if longest is None else longest
    return _PER_BYTE * (_REQUEST if longest is None else min(4 * longest, _REQUEST))


_LEAST = {"boolean": 5, "integer": 2, "number": 2, "string": 3, "array": 3}
"""The fewest bytes that values take, with the comma after them."""


def _least(schema: Obj) -> int:
    if schema.get("type") != "object":
        return _LEAST.get(schema.get("type") or "", 3)
    members = schema.get("properties") or {}
    needed = [name for name in schema.get("required") or () if name in members]
    return 3 + sum(len(name) + 3 + _least(members[name]) for name in needed)
