"""What is wrong with selectors of objects and of nodes."""

from collections.abc import Iterator

from jobferry.localkube.apiserver import problems
from jobferry.localkube.apiserver.problems import Named, Problem
from jobferry.localkube.apiserver.validation import metadata, names, values
from jobferry.objects import Obj

_NEEDED = "must be specified when `operator` is 'In' or 'NotIn'"
_NOT_ALLOWED = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
_BAD_OPERATOR = "not a valid selector operator"


def selector_problems(selector: Obj | None, field: str) -> Iterator[Problem]:
    """Say what is wrong with a LabelSelector; none at all is fine."""
    if not selector:
        return
    yield from metadata.labels_problems(selector.get("matchLabels"), f"{field}.matchLabels")
    for index, expression in enumerate(selector.get("matchExpressions") or ()):
        path = f"{field}.matchExpressions[{index}]"
        yield from _operator_problems(expression, path, comparisons=False)
        yield from _key_and_values_problems(expression, path)


def node_term_problems(term: Obj, field: str, *, any_values: bool) -> Iterator[Problem]:
    """Say what is wrong with a term that selects nodes; preferences may have `any_values`."""
    for index, expression in enumerate(term.get("matchExpressions") or ()):
        path = f"{field}.matchExpressions[{index}]"
        yield from _operator_problems(expression, path, comparisons=True)
        yield from _key_and_values_problems(expression, path, any_values=any_values)
    for index, expression in enumerate(term.get("matchFields") or ()):
        yield from _node_field_problems(expression, f"{field}.matchFields[{index}]")


def _operator_problems(expression: Obj, field: str, *, comparisons: bool) -> Iterator[Problem]:
    operator, wanted = expression.get("operator") or "", expression.get("values") or ()
    if operator in ("In", "NotIn"):
        if not wanted:
            yield problems.required(f"{field}.values", _NEEDED)
    elif operator in ("Exists", "DoesNotExist"):
        if wanted:
            yield problems.forbidden(f"{field}.values", _NOT_ALLOWED)
    elif comparisons and operator in ("Gt", "Lt"):
        if len(wanted) != 1:
            what = "must be specified single value when `operator` is 'Lt' or 'Gt'"
            yield problems.required(f"{field}.values", what)
    else:
        yield problems.invalid(f"{field}.operator", Named(operator), _BAD_OPERATOR)


def _key_and_values_problems(
    expression: Obj, field: str, *, any_values: bool = False
) -> Iterator[Problem]:
    yield from values.qualified(f"{field}.key", expression.get("key") or "")
    if any_values:
        return
    for index, value in enumerate(expression.get("values") or ()):
        complaints = names.label_value_problems(value)
        yield from values.each(f"{field}.values[{index}]", value, complaints)


def _node_field_problems(expression: Obj, field: str) -> Iterator[Problem]:
    operator, wanted = expression.get("operator") or "", expression.get("values") or ()
    if operator not in ("In", "NotIn"):
        yield problems.invalid(f"{field}.operator", Named(operator), _BAD_OPERATOR)
    elif len(wanted) != 1:
        what = (
            "must be only one value when `operator` is 'In' or 'NotIn' for node field selector"
        )
        yield problems.required(f"{field}.values", what)
    key = expression.get("key") or ""
    if key != "metadata.name":
        yield problems.invalid(f"{field}.key", key, "not a valid field selector key")
        return
    for index, value in enumerate(wanted):
        yield from values.subdomain(f"{field}.values[{index}]", value)
