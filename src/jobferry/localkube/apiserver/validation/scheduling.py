"""What is wrong with where a pod wants to run: tolerations, affinity, topology spread."""

from collections.abc import Iterator, Sequence

from jobferry.localkube.apiserver import problems
from jobferry.localkube.apiserver.problems import Named, Problem
from jobferry.localkube.apiserver.validation import names, selectors, values
from jobferry.objects import Obj

_EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")
_ACTIONS = ("DoNotSchedule", "ScheduleAnyway")
_POLICIES = ("Honor", "Ignore")
_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
_BAD_WEIGHT = "must be in the range 1-100"
_WITHOUT_SELECTOR = "must not be specified when labelSelector is not set"


def tolerations_problems(tolerations: Sequence[Obj], field: str) -> Iterator[Problem]:
    """Say what is wrong with tolerations."""
    for index, toleration in enumerate(tolerations):
        path = f"{field}[{index}]"
        key, operator = toleration.get("key") or "", toleration.get("operator") or ""
        effect = toleration.get("effect") or ""
        if key:
            yield from values.qualified(f"{path}.key", key)
        elif operator != "Exists":
            what = (
                "operator must be Exists when `key` is empty, which means "
                '"match all values and all keys"'
            )
            yield problems.invalid(f"{path}.operator", Named(operator), what)
        if toleration.get("tolerationSeconds") is not None and effect != "NoExecute":
            what = "effect must be 'NoExecute' when `tolerationSeconds` is set"
            yield problems.invalid(f"{path}.effect", Named(effect), what)
        yield from _toleration_value_problems(toleration, operator, f"{path}.operator")
        if effect and effect not in _EFFECTS:
            yield problems.not_in_enum(f"{path}.effect", effect, _EFFECTS)


def _toleration_value_problems(toleration: Obj, operator: str, field: str) -> Iterator[Problem]:
    value = toleration.get("value") or ""
    if operator in ("", "Equal"):
        if complaints := names.label_value_problems(value):
            yield problems.invalid(field, value, ";".join(complaints))
    elif operator == "Exists":
        if value:
            what = "value must be empty when `operator` is 'Exists'"
            yield problems.invalid(field, value, what)
    else:
        known = ("Equal", "Exists")
        if operator in ("Lt", "Gt"):
            known = ("Equal", "Exists", "Lt", "Gt")  # type: ignore[assignment]
        yield problems.not_in_enum(field, operator, known)


def affinity_problems(affinity: Obj | None, field: str) -> Iterator[Problem]:
    """Say what is wrong with affinity, to nodes and to other pods."""
    if not affinity:
        return
    if nodes := affinity.get("nodeAffinity"):
        yield from _node_affinity_problems(nodes, f"{field}.nodeAffinity")
    for kind in ("podAffinity", "podAntiAffinity"):
        if pods := affinity.get(kind):
            yield from _pod_affinity_problems(pods, f"{field}.{kind}")


def _node_affinity_problems(affinity: Obj, field: str) -> Iterator[Problem]:
    required = affinity.get(_REQUIRED)
    if required is not None:
        path = f"{field}.{_REQUIRED}.nodeSelectorTerms"
        terms = required.get("nodeSelectorTerms") or ()
        if not terms:
            yield problems.required(path, "must have at least one node selector term")
        for index, term in enumerate(terms):
            yield from selectors.node_term_problems(term, f"{path}[{index}]", any_values=False)
    for index, term in enumerate(affinity.get(_PREFERRED) or ()):
        path = f"{field}.{_PREFERRED}[{index}]"
        if not 1 <= term.get("weight", 0) <= 100:
            yield problems.invalid(f"{path}.weight", term.get("weight", 0), _BAD_WEIGHT)
        yield from selectors.node_term_problems(
            term.get("preference") or {}, f"{path}.preference", any_values=True
        )


def _pod_affinity_problems(affinity: Obj, field: str) -> Iterator[Problem]:
    for index, term in enumerate(affinity.get(_REQUIRED) or ()):
        yield from _pod_term_problems(term, f"{field}.{_REQUIRED}[{index}]")
    for index, term in enumerate(affinity.get(_PREFERRED) or ()):
        path = f"{field}.{_PREFERRED}[{index}]"
        if not 1 <= term.get("weight", 0) <= 100:
            yield problems.invalid(f"{path}.weight", term.get("weight", 0), _BAD_WEIGHT)
        yield from _pod_term_problems(
            term.get("podAffinityTerm") or {}, f"{path}.podAffinityTerm"
        )


def _pod_term_problems(term: Obj, field: str) -> Iterator[Problem]:
    for member in ("labelSelector", "namespaceSelector"):
        yield from selectors.selector_problems(term.get(member), f"{field}.{member}")
    for namespace in term.get("namespaces") or ():
        yield from values.dns_label(f"{field}.namespace", namespace)
    yield from _label_keys_problems(term, field)
    key = term.get("topologyKey") or ""
    if not key:
        yield problems.required(f"{field}.topologyKey", "can not be empty")
    yield from values.qualified(f"{field}.topologyKey", key)


def _label_keys_problems(term: Obj, field: str) -> Iterator[Problem]:
    """Say what is wrong with labels of the pod itself that become part of its selector."""
    selector = term.get("labelSelector")
    wanted, unwanted = term.get("matchLabelKeys") or [], term.get("mismatchLabelKeys") or []
    for member in ("matchLabelKeys", "mismatchLabelKeys"):
        keys = term.get(member) or ()
        if keys and selector is None:
            yield problems.forbidden(f"{field}.{member}", _WITHOUT_SELECTOR)
            continue
        for index, key in enumerate(keys):
            yield from values.qualified(f"{field}.{member}[{index}]", key)
    seen = {*((selector or {}).get("matchLabels") or ())}
    for expression in (selector or {}).get("matchExpressions") or ():
        key = expression.get("key") or ""
        if key in wanted and key in seen:
            what = "exists in both matchLabelKeys and labelSelector"
            index = len(wanted) - 1 - wanted[::-1].index(key)
            yield problems.invalid(f"{field}[{index}]", key, what)
        seen.add(key)
    for index, key in enumerate(wanted):
        if key in unwanted:
            what = "exists in both matchLabelKeys and mismatchLabelKeys"
            yield problems.invalid(f"{field}.matchLabelKeys[{index}]", key, what)


def spread_problems(constraints: Sequence[Obj], field: str) -> Iterator[Problem]:
    """Say what is wrong with how pods are spread over a topology."""
    for index, constraint in enumerate(constraints):
        path = f"{field}[{index}]"
        key, action = _key_and_action(constraint)
        yield from values.positive(f"{path}.maxSkew", constraint.get("maxSkew", 0))
        if not key:
            yield problems.required(f"{path}.topologyKey", "can not be empty")
        if action not in _ACTIONS:
            yield problems.not_in_enum(f"{path}.whenUnsatisfiable", action, _ACTIONS)
        if (key, action) in map(_key_and_action, constraints[index + 1 :]):
            both = f"{path}.{{topologyKey, whenUnsatisfiable}}"
            yield problems.duplicate(both, f"{{{key}, {action}}}")
        yield from _domains_problems(constraint, action, f"{path}.minDomains")
        for member in ("nodeAffinityPolicy", "nodeTaintsPolicy"):
            policy = constraint.get(member)
            if policy is not None and policy not in _POLICIES:
                yield problems.not_in_enum(f"{path}.{member}", policy, _POLICIES)
        yield from _label_keys_problems(constraint, path)
        selector = constraint.get("labelSelector")
        yield from selectors.selector_problems(selector, f"{path}.labelSelector")


def _key_and_action(constraint: Obj) -> tuple[str, str]:
    return constraint.get("topologyKey") or "", constraint.get("whenUnsatisfiable") or ""


def _domains_problems(constraint: Obj, action: str, field: str) -> Iterator[Problem]:
    domains = constraint.get("minDomains")
    if domains is None:
        return
    yield from values.positive(field, domains)
    if action != "DoNotSchedule":
        what = f"can only use minDomains if whenUnsatisfiable=DoNotSchedule, not {action}"
        yield problems.invalid(field, domains, what)


def only_added_problems(
    new: Sequence[Obj], old: Sequence[Obj], field: str
) -> Iterator[Problem]:
    """Complain where tolerations of a pod went away or were changed, but for their seconds."""
    kept = [_untimed(toleration) for toleration in new]
    if any(_untimed(toleration) not in kept for toleration in old):
        what = "existing toleration can not be modified except its tolerationSeconds"
        yield problems.forbidden(field, what)
        return
    yield from tolerations_problems(new, field)


def _untimed(toleration: Obj) -> Obj:
    return {
        key: value for key, value in toleration.items() if key != "tolerationSeconds" and value
    }
