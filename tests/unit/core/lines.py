"""Wishes, and workers with so much room, for tests of admission."""

from collections.abc import Iterable
from typing import Any

from jobferry.core.admission import Admission, Reservation
from jobferry.core.gangs import Gangs
from jobferry.core.kind import Gang
from jobferry.core.line import Place, Terms, Wish
from jobferry.core.room import Amounts

CPU = 10**9
NOW = 1_000_000.0
YOUNG = NOW - 10


def wish(
    name: str,
    *,
    since: float = YOUNG,
    queue: str = "q",
    priority: int = 0,
    cpu: int = 1,
    workers: tuple[str, ...] = ("a", "b"),
    placement: str = "Spread",
    gang: Gang | None = None,
) -> Wish[Any]:
    terms = Terms(queue, workers, placement, (("cpu", cpu * CPU),))
    return Wish(name, Place(since, name), priority, terms, gang)


def fleet(*wishes: Wish[Any], **cpus: int) -> Admission[Any]:
    admission = Admission[Any]()
    for worker, amount in cpus.items():
        admission.open(worker, capacity={"cpu": amount * CPU})
    for each in wishes:
        admission.want(each)
    return admission


def crew(size: int, name: str = "g") -> Gang:
    return Gang("ns", name, size)


def gangs(*wishes: Wish[Any], **cpus: int) -> Gangs[Any]:
    account = Gangs[Any]()
    for worker, amount in cpus.items():
        account.open(worker, capacity={"cpu": amount * CPU})
    for each in wishes:
        account.want(each)
    return account


def admitted(
    admission: Admission[Any] | Gangs[Any], now: float = NOW
) -> list[tuple[object, str]]:
    return [(each.workload, each.worker) for each in admission.admit(now).admitted]


def confirm(
    admission: Admission[Any] | Gangs[Any], made: Iterable[Reservation[Any]], demand: Amounts
) -> None:
    for each in made:
        admission.place(each.workload, each.worker, demand)
