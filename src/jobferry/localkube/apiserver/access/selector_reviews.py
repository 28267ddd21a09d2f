"""Selectors in access reviews: roles do not look at them, but what is wrong with them is said."""

from collections.abc import Callable, Iterator, Mapping, Sequence

from jobferry.localkube.apiserver import problems
from jobferry.localkube.apiserver.problems import Problem
from jobferry.objects import Obj, fields, labels

_PATH = "spec.resourceAttributes"
_SETS = ("In", "NotIn")
_UNARY = ("Exists", "DoesNotExist")


def problems_of(wanted: Obj) -> list[Problem]:
    """Say what is wrong with the selectors in `spec.resourceAttributes`."""
    return [
        *_found(wanted, "fieldSelector", _field_problems),
        *_found(wanted, "labelSelector", _label_problems),
    ]


def parse_errors(wanted: Obj) -> str:
    """Say which selectors are not understood; an answer then is as if they were not there."""
    doubts = [
        f"{_PATH}.{name} {extent} due to parse error"
        for name, understand in (
            ("fieldSelector", _field_doubt),
            ("labelSelector", _label_doubt),
        )
        if (extent := understand(wanted.get(name) or {}))
    ]
    return "; ".join(doubts)


def _found(
    wanted: Obj, name: str, check: Callable[[str, Obj], Iterator[Problem]]
) -> Iterator[Problem]:
    selector = wanted.get(name)
    if selector is None:
        return
    path = f"{_PATH}.{name}"
    raw, requirements = selector.get("rawSelector", ""), selector.get("requirements") or ()
    if raw and requirements:
        why = "may not specified at the same time as requirements"
        yield problems.invalid(f"{path}.rawSelector", raw, why)
    if not raw and not requirements:
        why = f"when {path} is specified, requirements or rawSelector is required"
        yield problems.required(f"{path}.requirements", why)
    for index, requirement in enumerate(requirements):
        yield from check(f"{path}.requirements[{index}]", requirement)


def _field_problems(path: str, requirement: Obj) -> Iterator[Problem]:
    if not requirement.get("key"):
        yield problems.required(f"{path}.key", "must be specified")
    yield from _operator_problems(path, requirement)


def _label_problems(path: str, requirement: Obj) -> Iterator[Problem]:
    yield from _operator_problems(path, requirement)
    key = requirement.get("key", "")
    for why in labels.key_problems(key):
        yield problems.invalid(f"{path}.key", key, why)
    for index, value in enumerate(requirement.get("values") or ()):
        for why in labels.value_problems(value):
            yield problems.invalid(f"{path}.values[{index}]", value, why)


def _operator_problems(path: str, requirement: Obj) -> Iterator[Problem]:
    operator, values = requirement.get("operator", ""), requirement.get("values")
    if operator in _SETS and not values:
        why = "must be specified when `operator` is 'In' or 'NotIn'"
        yield problems.required(f"{path}.values", why)
    if operator in _UNARY and values:
        why = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
        yield problems.forbidden(f"{path}.values", why)


def _label_doubt(selector: Obj) -> str:
    requirements = selector.get("requirements") or ()
    if requirements:
        return _extent([_is_label_requirement(each) for each in requirements])
    return _extent([_parses(labels.parse, selector.get("rawSelector", ""))])


def _field_doubt(selector: Obj) -> str:
    requirements = selector.get("requirements") or ()
    if requirements:
        return _extent([_is_field_requirement(each) for each in requirements])
    return _extent([_parses(fields.parse, selector.get("rawSelector", ""))])


def _extent(understood: Sequence[bool]) -> str:
    if all(understood):
        return ""
    return "partially ignored" if any(understood) else "ignored"


def _is_label_requirement(requirement: Mapping[str, object]) -> bool:
    try:
        labels.from_object({"matchExpressions": [requirement]})
    except labels.BadSelector:
        return False
    return True


def _is_field_requirement(requirement: Obj) -> bool:
    values = requirement.get("values") or ()
    return requirement.get("operator") in _SETS and len(values) == 1


def _parses(parse: Callable[[str], object], text: str) -> bool:
    try:
        parse(text)
    except (labels.BadSelector, fields.BadSelector):
        return False
    return True
