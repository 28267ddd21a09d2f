"""What is wrong with requests and limits."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from functools import lru_cache

from jobferry.localkube.apiserver import problems
from jobferry.localkube.apiserver.problems import Named, Problem
from jobferry.localkube.apiserver.validation import names, values
from jobferry.objects import Obj, gotext, quantities
from jobferry.objects.demand import Demand
from jobferry.objects.quantities import Format, Quantity

HUGE_PAGES = "hugepages-"
_COMPUTE = ("cpu", "memory")
_CONTAINER = frozenset({"cpu", "memory", "ephemeral-storage"})
_COUNTED = frozenset(
    {
        *("pods", "resourcequotas", "services", "replicationcontrollers", "secrets"),
        *("configmaps", "persistentvolumeclaims", "services.nodeports"),
        "services.loadbalancers",
    }
)
_STANDARD = (
    _CONTAINER
    | _COUNTED
    | {f"{kind}.{name}" for kind in ("requests", "limits") for name in _CONTAINER}
    | {"storage", "requests.storage"}
)
_POD_LEVEL = ("cpu", HUGE_PAGES, "memory")

NameRule = Callable[[str, str], Iterator[Problem]]
"""(name, field): what is wrong with the name of a resource."""

parse = lru_cache(maxsize=4096)(quantities.parse)
"""Read a quantity; the same few come again and again."""


def is_huge_pages(name: str) -> bool:
    """Tell whether a resource is huge pages of some size."""
    return name.startswith(HUGE_PAGES)


def is_native(name: str) -> bool:
    """Tell whether a resource is one of Kubernetes's own."""
    return "/" not in name or "kubernetes.io/" in name


def is_overcommittable(name: str) -> bool:
    """Tell whether a limit may be above the request."""
    return is_native(name) and not is_huge_pages(name)


def is_standard(name: str) -> bool:
    """Tell whether a name without a domain is that of some resource."""
    return name in _STANDARD or name.startswith((HUGE_PAGES, f"requests.{HUGE_PAGES}"))


def is_integer(name: str) -> bool:
    """Tell whether a resource comes in whole pieces only."""
    return name in _COUNTED or _is_extended(name)


_TOO_MANY = (1 << 63) - 1
_TOO_MANY_DIGITS = 19
_LONG = 10**18


def is_whole(quantity: Quantity) -> bool:
    """Tell whether a quantity has no fraction, as far as Kubernetes looks."""
    if quantity.scale > _TOO_MANY_DIGITS:
        if quantity.unscaled < 0:
            return True
    elif (thousandths := quantity.scaled(quantities.MILLI)) < _TOO_MANY:
        return thousandths % 1000 == 0
    # Upstream has no room for them: of a short decimal number it sees none at all, of others the most that it can.
    return quantity.format is not Format.BINARY_SI and abs(quantity.unscaled) < _LONG


@lru_cache(maxsize=1024)
def _is_extended(name: str) -> bool:
    if is_native(name) or name.startswith("requests."):
        return False
    return not names.qualified_problems(f"requests.{name}")


def name_problems(name: str, field: str) -> Iterator[Problem]:
    """Say what is wrong with the name of any resource."""
    if complaints := names.qualified_problems(name):
        yield from values.each(field, Named(name), complaints)
    elif "/" not in name and not is_standard(name):
        what = "must be a standard resource type or fully qualified"
        yield problems.invalid(field, Named(name), what)


def container_name_problems(name: str, field: str) -> Iterator[Problem]:
    """Say what is wrong with the name of a resource that a container asks for."""
    if name in _CONTAINER:
        return
    yield from name_problems(name, field)
    if "/" not in name:
        if not is_huge_pages(name):
            what = "must be a standard resource for containers"
            yield problems.invalid(field, Named(name), what)
    elif not is_native(name) and not _is_extended(name):
        what = "doesn't follow extended resource name standard"
        yield problems.invalid(field, Named(name), what)


def pod_name_problems(name: str, field: str) -> Iterator[Problem]:
    """Say what is wrong with the name of a resource that a pod asks for as a whole."""
    found = list(name_problems(name, field))
    yield from found
    if not found and name not in _COMPUTE and not is_huge_pages(name):
        yield problems.not_in_enum(field, name, _POD_LEVEL)


def amount_problems(name: str, text: str, field: str) -> Iterator[Problem]:
    """Say what is wrong with how much of a resource is asked for."""
    amount = parse(text)
    if amount.unscaled < 0:
        yield problems.invalid(field, text, values.NEGATIVE)
    if name not in _CONTAINER and is_integer(name) and not is_whole(amount):
        yield problems.invalid(field, text, "must be an integer")


def requirements_problems(
    requirements: Obj | None,
    field: str,
    *,
    claims: Set[str] = frozenset(),
    name_rule: NameRule = container_name_problems,
) -> Iterator[Problem]:
    """Say what is wrong with requests, limits and claims, those of a pod being `claims`."""
    if not requirements:
        return
    limits, requests = requirements.get("limits") or {}, requirements.get("requests") or {}
    for kind, amounts in (("limits", limits), ("requests", requests)):
        for name, text in amounts.items():
            path = f"{field}.{kind}[{name}]"
            yield from name_rule(name, path)
            yield from amount_problems(name, text, path)
            if kind == "requests":
                yield from _limit_problems(name, text, limits.get(name), field)
            if is_huge_pages(name):
                yield from _pages_problems(name, text, path)
    asked = [*limits, *requests]
    if any(map(is_huge_pages, asked)) and not any(name in _COMPUTE for name in asked):
        yield problems.forbidden(field, "HugePages require cpu or memory")
    if wanted := requirements.get("claims"):
        yield from _claims_problems(wanted, claims, f"{field}.claims")


def _limit_problems(name: str, text: str, limit: str | None, field: str) -> Iterator[Problem]:
    if limit is None:
        if not is_overcommittable(name):
            what = "Limit must be set for non overcommitable resources"
            yield problems.required(f"{field}.limits", what)
        return
    if text == limit:
        return
    wanted, most = parse(text), parse(limit)
    if wanted != most and not is_overcommittable(name):
        what = f"must be equal to {name} limit of {limit}"
        yield problems.invalid(f"{field}.requests", text, what)
    elif wanted > most:
        what = f"must be less than or equal to {name} limit of {limit}"
        yield problems.invalid(f"{field}.requests", text, what)


def _pages_problems(name: str, text: str, field: str) -> Iterator[Problem]:
    if not _is_divisible(name, text):
        what = f"{text} is not positive integer multiple of {name}"
        yield problems.invalid(field, text, what)


def _is_divisible(name: str, text: str) -> bool:
    try:
        page = parse(name.removeprefix(HUGE_PAGES))
    except quantities.BadQuantity:
        return False
    if page <= quantities.ZERO or not is_whole(page):
        return False
    return parse(text).scaled() % page.scaled() == 0


def _claims_problems(wanted: Sequence[Obj], claims: Set[str], field: str) -> Iterator[Problem]:
    seen: set[str] = set()
    for index, claim in enumerate(wanted):
        path, name = f"{field}[{index}]", claim.get("name") or ""
        if not name:
            yield problems.required(path)
            continue
        if name in seen:
            yield problems.duplicate(path, name)
        else:
            yield from _request_problems(name, claim.get("request") or "", seen, path)
        if name not in claims:
            known = f": {', '.join(sorted(claims))}" if claims else " which is empty"
            body = (
                f"Not found: {gotext.quote(name)}: must be one of the names in "
                f"pod.spec.resourceClaims{known}"
            )
            yield Problem("FieldValueNotFound", path, body)


def _request_problems(name: str, request: str, seen: set[str], field: str) -> Iterator[Problem]:
    key = f"{name}/{request}" if request else name
    if request:
        yield from values.dns_label(f"{field}.request", request)
    if key in seen:
        yield problems.duplicate(field, key)
    elif not request:
        for other in seen:
            if other.partition("/")[0] == name and "/" in other:
                yield problems.duplicate(field, name)
    seen.add(key)


def total(spec: Obj, kind: str) -> Demand:
    """Return what the containers of a pod need together (`requests` or `limits`)."""
    running: Demand = {}
    for container in spec.get("containers") or ():
        _add(running, _amounts(container, kind))
    sidecars: Demand = {}
    peak: Demand = {}
    for container in spec.get("initContainers") or ():
        beside = dict(sidecars)
        _add(beside, _amounts(container, kind))
        if container.get("restartPolicy") == "Always":
            _add(running, _amounts(container, kind))
            sidecars = beside
        _raise(peak, beside)
    _raise(running, peak)
    return running


def _amounts(container: Obj, kind: str) -> Mapping[str, Quantity]:
    listed = (container.get("resources") or {}).get(kind) or {}
    return {name: parse(text) for name, text in listed.items()}


def _add(sum_: Demand, more: Mapping[str, Quantity]) -> None:
    for name, amount in more.items():
        sum_[name] = sum_[name] + amount if name in sum_ else amount


def _raise(most: Demand, other: Mapping[str, Quantity]) -> None:
    for name, amount in other.items():
        if name not in most or amount > most[name]:
            most[name] = amount


_PLAIN = re.compile(r"[0-9]+([mkMGTPE]|[KMGTPE]i)?").fullmatch


def rounded(text: str) -> str:
    """Return an amount without anything finer than a milli, which no resource list keeps."""
    if _PLAIN(text):
        return text
    return str(parse(text).rounded_up(quantities.MILLI))
