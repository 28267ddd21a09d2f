"""What is wrong with the policies of a Job: when it fails, when it succeeds, what is replaced."""

from collections.abc import Iterator, Sequence, Set

from jobferry.localkube.apiserver import problems
from jobferry.localkube.apiserver.problems import Problem
from jobferry.localkube.apiserver.validation import names, values
from jobferry.objects import Obj, indexes

_ACTIONS = ("Count", "FailIndex", "FailJob", "Ignore")
_OPERATORS = ("In", "NotIn")
_STATUSES = ("False", "True", "Unknown")
_MAX_RULES = 20
_MAX_CODES = 255
_MAX_PATTERNS = 20
_MAX_INDEXES = 64 * 1024


def failure_problems(spec: Obj, field: str) -> Iterator[Problem]:
    """Say what is wrong with `podFailurePolicy`."""
    rules = spec["podFailurePolicy"].get("rules") or ()
    if len(rules) > _MAX_RULES:
        yield problems.too_many(f"{field}.rules", len(rules), _MAX_RULES)
    pod = (spec.get("template") or {}).get("spec") or {}
    containers = {
        container.get("name") or ""
        for kind in ("containers", "initContainers")
        for container in pod.get(kind) or ()
    }
    for index, rule in enumerate(rules):
        yield from _rule_problems(spec, rule, f"{field}.rules[{index}]", containers)


def _rule_problems(spec: Obj, rule: Obj, field: str, containers: Set[str]) -> Iterator[Problem]:
    yield from _action_problems(spec, rule.get("action") or "", f"{field}.action")
    codes, patterns = rule.get("onExitCodes"), rule.get("onPodConditions") or ()
    if codes is not None:
        yield from _codes_problems(codes, f"{field}.onExitCodes", containers)
    if patterns:
        yield from _patterns_problems(patterns, f"{field}.onPodConditions")
    if codes is not None and patterns:
        what = "specifying both OnExitCodes and OnPodConditions is not supported"
        yield problems.invalid_here(field, what)
    if codes is None and not patterns:
        what = "specifying one of OnExitCodes and OnPodConditions is required"
        yield problems.invalid_here(field, what)


def _action_problems(spec: Obj, action: str, field: str) -> Iterator[Problem]:
    if not action:
        yield problems.required(field, _valid(_ACTIONS))
    elif action == "FailIndex":
        if spec.get("backoffLimitPerIndex") is None:
            what = "requires the backoffLimitPerIndex to be set"
            yield problems.invalid(field, action, what)
    elif action not in _ACTIONS:
        yield problems.not_in_enum(field, action, _ACTIONS)


def _codes_problems(codes: Obj, field: str, containers: Set[str]) -> Iterator[Problem]:
    operator, name = codes.get("operator") or "", codes.get("containerName")
    if not operator:
        yield problems.required(f"{field}.operator", _valid(_OPERATORS))
    elif operator not in _OPERATORS:
        yield problems.not_in_enum(f"{field}.operator", operator, _OPERATORS)
    if name is not None and name not in containers:
        what = "must be one of the container or initContainer names in the pod template"
        yield problems.invalid(f"{field}.containerName", name, what)
    wanted = codes.get("values")
    if not wanted:
        yield problems.invalid(
            f"{field}.values", wanted or [], "at least one value is required"
        )
        return
    if len(wanted) > _MAX_CODES:
        yield problems.too_many(f"{field}.values", len(wanted), _MAX_CODES)
    seen: set[int] = set()
    for index, code in enumerate(wanted):
        path = f"{field}.values[{index}]"
        if operator == "In" and code == 0:
            yield problems.invalid(path, code, "must not be 0 for the In operator")
        if code in seen:
            yield problems.duplicate(path, code)
        seen.add(code)
    if wanted != sorted(wanted):
        yield problems.invalid(f"{field}.values", wanted, "must be ordered")


def _patterns_problems(patterns: Sequence[Obj], field: str) -> Iterator[Problem]:
    if len(patterns) > _MAX_PATTERNS:
        yield problems.too_many(field, len(patterns), _MAX_PATTERNS)
    for index, pattern in enumerate(patterns):
        path, status = f"{field}[{index}]", pattern.get("status") or ""
        yield from values.qualified(f"{path}.type", pattern.get("type") or "")
        if not status:
            yield problems.required(f"{path}.status", _valid(_STATUSES))
        elif status not in _STATUSES:
            yield problems.not_in_enum(f"{path}.status", status, _STATUSES)


def success_problems(spec: Obj, field: str) -> Iterator[Problem]:
    """Say what is wrong with `successPolicy`."""
    rules = spec["successPolicy"].get("rules") or ()
    if not rules:
        what = "at least one rules must be specified when the successPolicy is specified"
        yield problems.required(f"{field}.rules", what)
    if len(rules) > _MAX_RULES:
        yield problems.too_many(f"{field}.rules", len(rules), _MAX_RULES)
    completions = spec.get("completions")
    for index, rule in enumerate(rules):
        yield from _success_rule_problems(rule, completions, f"{field}.rules[{index}]")


def _success_rule_problems(rule: Obj, completions: int | None, field: str) -> Iterator[Problem]:
    count, chosen = rule.get("succeededCount"), rule.get("succeededIndexes")
    if count is None and chosen is None:
        what = "at least one of succeededCount or succeededIndexes must be specified"
        yield problems.required(field, what)
    # Without completions (reported elsewhere) upstream fails here with a panic.
    if completions is None:
        return
    size = 0
    if chosen is not None:
        path = f"{field}.succeededIndexes"
        if names.size(chosen) > _MAX_INDEXES:
            yield problems.too_long(path, _MAX_INDEXES)
        try:
            size = len(indexes.parse(chosen, completions))
        except indexes.BadIndexes as error:
            what = f"error parsing succeededIndexes: {error}"
            yield problems.invalid(path, chosen, what)
    if count is not None:
        most = size if chosen is not None else None
        yield from _count_problems(count, completions, most, f"{field}.succeededCount")


def _count_problems(
    count: int, completions: int, most: int | None, field: str
) -> Iterator[Problem]:
    yield from values.not_negative(field, count)
    if count > completions:
        what = (
            f"must be less than or equal to {completions} (the number of specified completions)"
        )
        yield problems.invalid(field, count, what)
    if most is not None and count > most:
        what = (
            f"must be less than or equal to {most} "
            "(the number of indexes in the specified succeededIndexes field)"
        )
        yield problems.invalid(field, count, what)


def replacement_problems(spec: Obj, field: str) -> Iterator[Problem]:
    """Say what is wrong with `podReplacementPolicy`."""
    policy = spec.get("podReplacementPolicy")
    only_failed = spec.get("podFailurePolicy") is not None
    supported = ("Failed",) if only_failed else ("Failed", "TerminatingOrFailed")
    if policy is not None and policy not in supported:
        yield problems.not_in_enum(field, policy, supported)


def _valid(known: Sequence[str]) -> str:
    return f"valid values: [{' '.join(f'{chr(34)}{each}{chr(34)}' for each in known)}]"
