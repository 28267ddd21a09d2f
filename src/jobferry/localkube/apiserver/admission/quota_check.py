"""Whether a request fits into the quotas of its namespace, and what it adds to them."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Self

from jobferry.localkube.apiserver.admission.quota_evaluators import Evaluator
from jobferry.localkube.apiserver.admission.request import UPDATE, Request, forbidden
from jobferry.localkube.apiserver.status import StatusError
from jobferry.objects import Obj, amounts, demand, labels, quotas
from jobferry.objects.amounts import Amounts


@dataclass(frozen=True, slots=True)
class Book:
    """One quota: what is allowed, and what is used."""

    quota: Obj
    hard: Amounts
    used: Amounts

    @classmethod
    def of(cls, quota: Obj) -> Self:
        """Open the book of a quota: its status counts, not its spec."""
        status = quota.get("status") or {}
        return cls(quota, amounts.read(status.get("hard")), amounts.read(status.get("used")))

    @property
    def name(self) -> str:
        """Return the name of the quota."""
        return str(self.quota["metadata"]["name"])

    def written(self) -> Obj:
        """Return the quota with what is used now."""
        used = {name: str(amount) for name, amount in self.used.items()}
        return self.quota | {"status": (self.quota.get("status") or {}) | {"used": used}}


def charge(
    books: Sequence[Book], request: Request, evaluator: Evaluator, now: datetime
) -> Sequence[Book]:
    """Return the books with what a request uses added, or refuse it if that is more than allowed."""
    obj = request.obj or {}
    pertinent = [book for book in books if _matches(book, obj, evaluator)]
    for book in pertinent:
        _check_terms(book, request, evaluator)
    if not pertinent:
        return books
    usage = evaluator.measure.usage(obj, now)
    negative = sorted(name for name, amount in usage.items() if amount.unscaled < 0)
    if negative:
        why = f"quota usage is negative for resource(s): {','.join(negative)}"
        raise forbidden(request, why)
    growth = _growth(request, usage, evaluator, now)
    added = {
        id(book): usage if not _counted_before(book, request, evaluator) else growth
        for book in pertinent
    }
    return [
        _charged(book, request, added[id(book)]) if id(book) in added else book
        for book in books
    ]


def _matches(book: Book, obj: Obj, evaluator: Evaluator) -> bool:
    if not any(map(evaluator.measure.tracks, book.hard)):
        return False
    return all(
        _is_in_scope(book, requirement, obj, evaluator)
        for requirement in quotas.scopes(book.quota)
    )


def _is_in_scope(book: Book, requirement: Obj, obj: Obj, evaluator: Evaluator) -> bool:
    try:
        return evaluator.measure.in_scope(requirement, obj)
    except labels.BadSelector as bad:
        # A quota is not asked for the syntax of its values; who meets it finds out.
        values = " ".join(requirement.get("values") or ())
        shown = f"{{{requirement.get('scopeName')} {requirement.get('operator')} [{values}]}}"
        what = f"error on matching scope {shown}: failed to parse and convert selector: {bad}"
        why = f"error matching scopes of quota {book.name}, err: {what}"
        raise StatusError(500, "", why) from bad


def _check_terms(book: Book, request: Request, evaluator: Evaluator) -> None:
    tracked = list(filter(evaluator.measure.tracks, book.hard))
    problem = evaluator.measure.missing(tracked, request.obj or {})
    if problem:
        raise forbidden(request, f"failed quota: {book.name}: {problem}")
    if any(name not in book.used for name in tracked):
        names = ",".join(sorted(tracked))
        raise forbidden(request, f"status unknown for quota: {book.name}, resources: {names}")


def _counted_before(book: Book, request: Request, evaluator: Evaluator) -> bool:
    """Tell whether the object, as it was, is in the quota already."""
    if request.operation != UPDATE or not _is_stored(request.old):
        return False
    return _matches(book, request.old or {}, evaluator)


def _growth(request: Request, usage: Amounts, evaluator: Evaluator, now: datetime) -> Amounts:
    """Return how much more an object uses than it did; what it uses less, nobody gets back here."""
    if request.operation != UPDATE:
        return usage
    if request.old is None:
        why = "unable to get previous usage since prior version of object was not found"
        raise forbidden(request, why)
    if not _is_stored(request.old):
        return usage
    before = evaluator.measure.usage(request.old, now)
    return {
        name: amount - before[name] if name in before else amount
        for name, amount in usage.items()
    }


def _is_stored(old: Obj | None) -> bool:
    return bool(((old or {}).get("metadata") or {}).get("resourceVersion"))


def _charged(book: Book, request: Request, usage: Amounts) -> Book:
    requested = {
        name: amount
        for name, amount in usage.items()
        if name in book.hard and amount.unscaled > 0
    }
    if not requested:
        return book
    used = demand.add(book.used, requested)
    exceeded = [name for name in requested if used[name] > book.hard[name]]
    # What a controller reports has happened: it is counted, but cannot be refused.
    if exceeded and request.subresource != "status":
        parts = (requested, book.used, book.hard)
        asked, so_far, most = (amounts.show(amounts.only(part, exceeded)) for part in parts)
        why = (
            f"exceeded quota: {book.name}, requested: {asked}, used: {so_far}, limited: {most}"
        )
        raise forbidden(request, why)
    return replace(book, used=used)
