"""LimitRange: what containers, pods and claims of a namespace may ask for."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from jobferry.localkube.apiserver import problems
from jobferry.localkube.apiserver.problems import Problem
from jobferry.localkube.apiserver.strategies.resource_quota import rounded
from jobferry.localkube.apiserver.strategy import Strategy
from jobferry.localkube.apiserver.validation import metadata, names, resources
from jobferry.objects import Obj
from jobferry.objects.quantities import MILLI, Quantity

_LISTS = ("max", "min", "default", "defaultRequest", "maxLimitRequestRatio")
_TYPES = ("Pod", "Container", "PersistentVolumeClaim")
_MAX_MILLI_VALUE = (2**63 - 1) // 1000
_ONE = Quantity(1)


def _default(limit_range: Obj) -> None:
    for limit in (limit_range.get("spec") or {}).get("limits") or ():
        if limit.get("type") == "Container":
            _derive(limit)
        for field in _LISTS:
            if limit.get(field):
                limit[field] = rounded(limit[field])


def _derive(limit: Obj) -> None:
    """Take what may be had for what is meant where nothing is said."""
    most = limit.get("max") or {}
    maximums = most | (limit.get("default") or {})
    least = limit.get("min") or {}
    requests = least | maximums | (limit.get("defaultRequest") or {})
    for field, amounts in (("default", maximums), ("defaultRequest", requests)):
        if amounts:
            limit[field] = amounts


def _validate(limit_range: Obj) -> Sequence[Problem]:
    found = list(
        metadata.create_problems(limit_range, namespaced=True, name_problems=names.is_subdomain)
    )
    seen: set[str] = set()
    for index, limit in enumerate((limit_range.get("spec") or {}).get("limits") or ()):
        path, type = f"spec.limits[{index}]", limit.get("type", "")
        found += _type_problems(type, f"{path}.type")
        if type in seen:
            found.append(problems.duplicate(f"{path}.type", type))
        seen.add(type)
        found += _names_problems(limit, type, path)
        for name in _names(limit):
            found += _Amounts.of(limit, name).problems(name, path)
    return found


def _type_problems(type: str, field: str) -> Iterator[Problem]:
    complaints = names.qualified_problems(type)
    for complaint in complaints:
        yield problems.invalid(field, type, complaint)
    if not complaints and "/" not in type and type not in _TYPES:
        what = "must be a standard limit type or fully qualified"
        yield problems.invalid(field, type, what)


def _names_problems(limit: Obj, type: str, path: str) -> Iterator[Problem]:
    """Say what is wrong with what is limited, and with what is missing."""
    is_of_pods = type in ("Pod", "Container")
    rule = resources.container_name_problems if is_of_pods else resources.name_problems
    for field in _LISTS:
        if type == "Pod" and field in ("default", "defaultRequest"):
            if limit.get(field):
                what = "may not be specified when `type` is 'Pod'"
                yield problems.forbidden(f"{path}.{field}", what)
        else:
            for name in limit.get(field) or ():
                yield from rule(name, f"{path}.{field}[{name}]")
    bounds = (limit.get("min") or {}) | (limit.get("max") or {})
    if type == "PersistentVolumeClaim" and "storage" not in bounds:
        what = "either minimum or maximum storage value is required, but neither was provided"
        yield problems.required(f"{path}.limits", what)


def _names(limit: Obj) -> Sequence[str]:
    return list(
        dict.fromkeys(name for field in _fields(limit) for name in limit.get(field) or ())
    )


def _fields(limit: Obj) -> Sequence[str]:
    """Return what counts: pods have no defaults."""
    return [field for field in _LISTS if limit.get("type") != "Pod" or "default" not in field]


class _Amounts(NamedTuple):
    """All that is said about one resource."""

    max: Quantity | None
    min: Quantity | None
    default: Quantity | None
    request: Quantity | None
    ratio: Quantity | None

    @classmethod
    def of(cls, limit: Obj, name: str) -> "_Amounts":
        known = _fields(limit)
        said = (
            (limit.get(field) or {}).get(name) if field in known else None for field in _LISTS
        )
        return cls(*(None if text is None else resources.parse(text) for text in said))

    def problems(self, name: str, path: str) -> Iterator[Problem]:
        """Say what contradicts what."""
        pairs = (
            (self.min, self.max, "min", self.min, "min value", "max value"),
            (
                self.min,
                self.request,
                "defaultRequest",
                self.request,
                "min value",
                "default request value",
            ),
            (
                self.request,
                self.max,
                "defaultRequest",
                self.request,
                "default request value",
                "max value",
            ),
            (
                self.request,
                self.default,
                "defaultRequest",
                self.request,
                "default request value",
                "default limit value",
            ),
            (self.min, self.default, "default", self.min, "min value", "default value"),
            (self.default, self.max, "default", self.max, "default value", "max value"),
        )
        for low, high, field, shown, of_low, of_high in pairs:
            if low is not None and high is not None and low > high:
                what = f"{of_low} {low} is greater than {of_high} {high}"
                yield problems.invalid(f"{path}.{field}[{name}]", str(shown), what)
        yield from self._ratio_problems(f"{path}.maxLimitRequestRatio[{name}]")
        yield from self._overcommit_problems(name, f"{path}.defaultRequest[{name}]")

    def _ratio_problems(self, field: str) -> Iterator[Problem]:
        ratio = self.ratio
        if ratio is None:
            return
        if ratio < _ONE:
            yield problems.invalid(field, str(ratio), f"ratio {ratio} is less than 1")
        if self.min is None or self.max is None:
            return
        three = (ratio, self.min, self.max)
        if max(each.scaled() for each in three) < _MAX_MILLI_VALUE:
            allowed, least, most = (each.scaled(MILLI) for each in three)
            wanted = allowed / 1000
        else:
            allowed, least, most = (each.scaled() for each in three)
            wanted = float(allowed)
        highest = most / least if least else float("inf")
        if wanted > highest:
            what = f"ratio {ratio} is greater than max/min = {highest:f}"
            yield problems.invalid(field, str(ratio), what)

    def _overcommit_problems(self, name: str, field: str) -> Iterator[Problem]:
        if resources.is_overcommittable(name) or None in (self.default, self.request):
            return
        if self.default != self.request:
            said = f"default value {self.default} must equal to defaultRequest value {self.request}"
            yield problems.invalid(field, str(self.request), f"{said} in {name}")


def _prepare_create(limits: Obj) -> None:
    """Name what has no name: of all kinds, this one gets one, which nobody can foresee."""
    about = limits["metadata"]
    about["name"] = about.get("name") or about["uid"]


def _validate_update(new: Obj, _old: Obj) -> Sequence[Problem]:
    return _validate(new)


STRATEGY = Strategy(
    default=_default,
    prepare_create=_prepare_create,
    validate_create=_validate,
    validate_update=_validate_update,
    name_problems=names.is_subdomain,
    versioned=None,
    create_on_update=True,
)
