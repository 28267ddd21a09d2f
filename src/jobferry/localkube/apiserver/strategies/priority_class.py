"""PriorityClass: a name for how much a pod matters."""

from collections.abc import Iterator, Sequence

from jobferry.localkube.apiserver import problems
from jobferry.localkube.apiserver.problems import Problem
from jobferry.localkube.apiserver.strategy import Strategy
from jobferry.localkube.apiserver.validation import metadata, names, values
from jobferry.objects import Obj

HIGHEST = 1_000_000_000
"""The highest value that users may give."""

SYSTEM = {
    "system-node-critical": 2 * HIGHEST + 1000,
    "system-cluster-critical": 2 * HIGHEST,
}
"""The classes of the system itself, and their values."""

_RESERVED = "priority class names with 'system-' prefix are reserved for system use only"
_POLICIES = ("PreemptLowerPriority", "Never")


def _default(priority_class: Obj) -> None:
    if priority_class.get("preemptionPolicy") is None:
        priority_class["preemptionPolicy"] = "PreemptLowerPriority"


def _validate(priority_class: Obj) -> Sequence[Problem]:
    return list(_problems(priority_class))


def _problems(priority_class: Obj) -> Iterator[Problem]:
    yield from metadata.create_problems(
        priority_class, namespaced=False, name_problems=names.is_subdomain
    )
    name = priority_class["metadata"].get("name", "")
    if name.startswith("system-"):
        if error := _system_problem(name, priority_class):
            yield problems.forbidden("metadata.name", f"{_RESERVED}. error: {error}")
    elif priority_class.get("value", 0) > HIGHEST:
        what = f"maximum allowed value of a user defined priority is {HIGHEST}"
        yield problems.forbidden("value", what)
    if "preemptionPolicy" in priority_class:
        policy = priority_class["preemptionPolicy"]
        yield from values.one_of("preemptionPolicy", policy, _POLICIES)


def _system_problem(name: str, priority_class: Obj) -> str | None:
    if name not in SYSTEM:
        return f"{name} is not a known system priority class"
    if priority_class.get("value", 0) != SYSTEM[name]:
        return f"value of {name} PriorityClass must be {SYSTEM[name]}"
    if priority_class.get("globalDefault"):
        return f"globalDefault of {name} PriorityClass must be false"
    return None


def _validate_update(new: Obj, old: Obj) -> Sequence[Problem]:
    found = [*metadata.update_problems(new, old)]
    if new.get("value", 0) != old.get("value", 0):
        found.append(problems.forbidden("value", "may not be changed in an update."))
    policies = (each.get("preemptionPolicy") for each in (new, old))
    return [*found, *values.immutable("preemptionPolicy", *policies)]


STRATEGY = Strategy(
    default=_default,
    validate_create=_validate,
    validate_update=_validate_update,
    name_problems=names.is_subdomain,
    # It has a generation, but what could make a second one cannot be changed.
    versioned=lambda _priority_class: None,
    undeletable=dict.fromkeys(SYSTEM, "this is a system priority class and cannot be deleted"),
)
