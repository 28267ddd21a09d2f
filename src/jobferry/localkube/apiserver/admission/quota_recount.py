"""What the objects of a namespace use of a quota, counted anew: what its status should say."""

from collections.abc import Callable, Iterable
from datetime import datetime

from jobferry.localkube.apiserver.admission import amounts
from jobferry.localkube.apiserver.admission.quota_check import Book
from jobferry.localkube.apiserver.admission.quota_evaluators import MEASURED, evaluator_of
from jobferry.objects import Obj, demand
from jobferry.objects.quantities import ZERO

_COUNT = "count/"


def recount(
    quota: Obj, objects: Callable[[str, str], Iterable[Obj] | None], now: datetime
) -> Obj:
    """Return the status of a quota; `objects` lists those of its namespace by (group, resource).

    As upstream's controller does it: what nobody measures, or is not served (None), is not in `used`.
    """
    hard = amounts.read((quota.get("spec") or {}).get("hard"))
    scopes = Book(quota, hard, {}).scopes()
    used: amounts.Amounts = {}
    for group, resource in sorted(kinds(hard)):
        evaluator = evaluator_of(group, resource)
        tracked = list(filter(evaluator.tracks, hard))
        found = objects(group, resource) if tracked else None
        if found is None:
            continue
        used = dict.fromkeys(tracked, ZERO) | used
        for obj in found:
            if all(evaluator.in_scope(scope, obj) for scope in scopes):
                used = demand.add(used, amounts.only(evaluator.usage(obj, now), tracked))
    return {
        "hard": {name: str(amount) for name, amount in hard.items()},
        "used": {name: str(used[name]) for name in hard if name in used},
    }


def kinds(hard: Iterable[str]) -> set[tuple[str, str]]:
    """Return the (group, resource) of all that a quota with these resources may measure."""
    found = {("", resource) for resource in MEASURED}
    for name in hard:
        if name.startswith(_COUNT):
            resource, _, group = name.removeprefix(_COUNT).partition(".")
            found.add((group, resource))
    return found
