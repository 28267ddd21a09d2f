"""A gang of three, for tests of how they go together."""

from typing import Any

from jobferry.core.gangs import Gangs
from jobferry.core.line import Wish
from jobferry.core.room import Amounts
from tests.unit.core.lines import CPU, YOUNG, crew, gangs, wish

ONE: Amounts = (("cpu", CPU),)


def three(size: int = 3, **terms: Any) -> list[Wish[Any]]:
    """Wishes of p1, p2 and p3, of which each is a little younger than the one before."""
    return [
        wish(f"p{n}", since=YOUNG + n, gang=crew(size), **{"placement": "Ordered", **terms})
        for n in (1, 2, 3)
    ]


def placed(worker: str = "a", **cpus: int) -> Gangs[Any]:
    """Three of a gang that are placed on a worker."""
    account = gangs(**(cpus or {"a": 3, "b": 3}))
    for each in three():
        account.note(each.workload, each.gang)
        account.place(each.workload, worker, ONE)
    return account


def where(account: Gangs[Any]) -> list[str | None]:
    return [account.reservation(f"p{n}") for n in (1, 2, 3)]


def held(account: Gangs[Any], workload: str = "p1") -> str:
    found = account.held(workload)
    assert found is not None
    return found.now
