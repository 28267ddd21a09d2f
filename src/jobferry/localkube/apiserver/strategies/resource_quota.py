"""ResourceQuota: how much a namespace may use of everything."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import orjson

from jobferry.localkube.apiserver import problems
from jobferry.localkube.apiserver.problems import Problem
from jobferry.localkube.apiserver.strategy import Strategy
from jobferry.localkube.apiserver.validation import metadata, names, resources, values
from jobferry.objects import Obj, quantities

_EXISTS = frozenset(
    {
        "Terminating",
        "NotTerminating",
        "BestEffort",
        "NotBestEffort",
        "CrossNamespacePodAffinity",
    }
)
"""Scopes that one is in or not."""
_SCOPES = _EXISTS | {"PriorityClass", "VolumeAttributesClass"}
_OPPOSITES = (("BestEffort", "NotBestEffort"), ("NotTerminating", "Terminating"))

_POD_RESOURCES = frozenset(
    {"pods"}
    | {f"{kind}{name}" for kind in ("", "limits.", "requests.") for name in ("cpu", "memory")}
)
_VALID_IN = dict.fromkeys(_EXISTS | {"PriorityClass"}, _POD_RESOURCES) | {
    "BestEffort": frozenset({"pods"}),
    "VolumeAttributesClass": frozenset({"persistentvolumeclaims", "requests.storage"}),
}
"""Which resources can be told apart by a scope."""

_MUST_EXIST = (
    "must be 'Exists' when scope is any of ResourceQuotaScopeTerminating, "
    "ResourceQuotaScopeNotTerminating, ResourceQuotaScopeBestEffort, "
    "ResourceQuotaScopeNotBestEffort or ResourceQuotaScopeCrossNamespacePodAffinity"
)
_NO_VALUES = "must be no value when `operator` is 'Exist' or 'DoesNotExist' for scope selector"
_SOME_VALUE = "must be at least one value when `operator` is 'In' or 'NotIn' for scope selector"


def _default(quota: Obj) -> None:
    for part, field in (("spec", "hard"), ("status", "hard"), ("status", "used")):
        amounts = (quota.get(part) or {}).get(field)
        if amounts:
            quota[part][field] = rounded(amounts)


def rounded(amounts: Mapping[str, Any]) -> Obj:
    """Return amounts without anything finer than a milli."""
    return {
        name: str(quantities.parse(amount).rounded_up(quantities.MILLI))
        for name, amount in amounts.items()
    }


def _prepare_create(quota: Obj) -> None:
    quota["status"] = {}


def _prepare_update(new: Obj, old: Obj) -> None:
    new["status"] = old.get("status", {})


def _prepare_status(new: Obj, old: Obj) -> None:
    new["spec"] = old.get("spec", {})


def _validate_create(quota: Obj) -> Sequence[Problem]:
    return [
        *metadata.create_problems(quota, namespaced=True, name_problems=names.is_subdomain),
        *_spec_problems(quota.get("spec") or {}),
    ]


def _validate_update(new: Obj, old: Obj) -> Sequence[Problem]:
    spec, before = new.get("spec") or {}, old.get("spec") or {}
    found = [*metadata.update_problems(new, old), *_spec_problems(spec)]
    if set(spec.get("scopes") or ()) != set(before.get("scopes") or ()):
        found.append(problems.invalid("spec.scopes", spec.get("scopes"), values.IMMUTABLE))
    return found


def _validate_status(new: Obj, old: Obj) -> Sequence[Problem]:
    status = new.get("status") or {}
    return [
        *metadata.update_problems(new, old),
        *_status_problems(status),
    ]


def _status_problems(status: Obj) -> Sequence[Problem]:
    return [
        problem
        for field in ("hard", "used")
        for problem in _amounts_problems(status.get(field), f"status.{field}")
    ]


def _spec_problems(spec: Obj) -> Iterator[Problem]:
    yield from _amounts_problems(spec.get("hard"), "spec.hard")
    yield from _scopes_problems(spec)
    yield from _selector_problems(spec)


def _amounts_problems(amounts: Mapping[str, str] | None, field: str) -> Iterator[Problem]:
    for name, amount in (amounts or {}).items():
        path = f"{field}[{name}]"
        yield from resources.name_problems(name, path)
        if "/" not in name and not _is_standard(name):
            yield problems.invalid(path, name, "must be a standard resource for quota")
        yield from resources.amount_problems(name, amount, path)


def _is_standard(name: str) -> bool:
    """Tell whether a quota can limit a resource by this plain name."""
    return name != "storage" and resources.is_standard(name)


def _scopes_problems(spec: Obj) -> Iterator[Problem]:
    scopes, field = spec.get("scopes") or [], "spec.scopes"
    for scope in scopes:
        if scope not in _SCOPES:
            yield problems.invalid(field, scopes, "unsupported scope")
        for _ in _resources_outside(scope, spec):
            yield problems.invalid(field, scopes, "unsupported scope applied to resource")
    yield from _conflicts(scopes, scopes, field)


def _selector_problems(spec: Obj) -> Iterator[Problem]:
    selector, field = spec.get("scopeSelector"), "spec.scopeSelector.matchExpressions"
    if selector is None:
        return
    requirements = selector.get("matchExpressions") or []
    for requirement in requirements:
        scope = requirement.get("scopeName", "")
        if scope not in _SCOPES:
            yield problems.invalid(f"{field}.scopeName", scope, "unsupported scope")
        for _ in _resources_outside(scope, spec):
            what = "unsupported scope applied to resource"
            shown = f"Invalid value: {_as_go_shows(requirements)}: {what}"
            yield Problem("FieldValueInvalid", field, shown)
        yield from _requirement_problems(requirement, field)
    scopes = [requirement.get("scopeName") for requirement in requirements]
    yield from _conflicts(scopes, spec.get("scopes"), field)


def _requirement_problems(requirement: Obj, field: str) -> Iterator[Problem]:
    operator, given = requirement.get("operator", ""), requirement.get("values") or []
    if requirement.get("scopeName") in _EXISTS and operator != "Exists":
        yield problems.invalid(f"{field}.operator", operator, _MUST_EXIST)
    if operator in ("In", "NotIn"):
        if not given:
            yield problems.required(f"{field}.values", _SOME_VALUE)
    elif operator in ("Exists", "DoesNotExist"):
        if given:
            yield problems.invalid(f"{field}.values", given, _NO_VALUES)
    else:
        yield problems.invalid(f"{field}.operator", operator, "not a valid selector operator")


def _resources_outside(scope: str, spec: Obj) -> Iterator[str]:
    """Yield the resources of a quota that a scope cannot tell apart."""
    valid = _VALID_IN.get(scope)
    for name in spec.get("hard") or {} if valid is not None else ():
        if _is_standard(name) and name not in (valid or ()):
            yield name


def _conflicts(
    scopes: Sequence[str | None], shown: Sequence[str] | None, field: str
) -> Iterator[Problem]:
    for one, other in _OPPOSITES:
        if one in scopes and other in scopes:
            yield problems.invalid(field, shown, "conflicting scopes")


def _as_go_shows(requirements: Sequence[Obj]) -> str:
    """Show a selector as upstream does, whose own types have other names for their fields."""
    shown = [
        {
            "ScopeName": requirement.get("scopeName", ""),
            "Operator": requirement.get("operator", ""),
            "Values": requirement.get("values"),
        }
        for requirement in requirements
    ]
    return orjson.dumps({"MatchExpressions": shown}).decode()


_LIMITED = ("cpu", "memory", "storage", "ephemeral-storage")


def _warn_create(quota: Obj) -> Sequence[str]:
    """Warn of requests that the limits never let anybody reach."""
    hard = (quota.get("spec") or {}).get("hard") or {}
    warnings = []
    for name in _LIMITED:
        request, limit = f"requests.{name}", f"limits.{name}"
        if request not in hard and name in ("cpu", "memory"):
            request = name
        if request not in hard or limit not in hard:
            continue
        if resources.parse(hard[request]) > resources.parse(hard[limit]):
            warnings.append(
                f"ResourceQuota {request} ({hard[request]}) should be less than "
                f"{limit} ({hard[limit]})"
            )
    return warnings


STRATEGY = Strategy(
    returns_deleted=True,
    default=_default,
    prepare_create=_prepare_create,
    prepare_update=_prepare_update,
    validate_create=_validate_create,
    validate_update=_validate_update,
    warn_create=_warn_create,
    name_problems=names.is_subdomain,
    versioned=None,
    reset_fields=("status",),
)

STATUS = Strategy(
    default=_default,
    prepare_update=_prepare_status,
    validate_update=_validate_status,
    name_problems=names.is_subdomain,
    versioned=None,
    reset_fields=("spec",),
)
