"""What one admission pass costs: 10,000 workloads that wait, 50 workers (`make bench BENCHES=admission`).

The limit in the same run is what bare checks of every workload against every worker take, with no order, no account and
no reasons. A change is a workload that ends, or comes, with all that follows from it.
"""

import sys
from collections.abc import Callable
from random import Random
from statistics import median
from time import process_time
from typing import Any

from jobferry.core.gangs import Gangs
from jobferry.core.line import Place, Terms, Wish
from jobferry.core.room import Room

WAITING, WORKERS, SHAPES, CHANGES = 10_000, 50, 100, 500
CPU = 10**9
NOW = 1_000_000.0
FULL_PASS_AIM, CHANGE_AIM = 0.2, 0.001


def main() -> int:
    """Measure, print, and fail if an aim is missed."""
    random = Random(7)  # noqa: S311 (the same work in every run)
    names = tuple(f"worker-{n}" for n in range(WORKERS))
    shapes = [
        Terms(
            queue=f"queue-{n % 8}",
            workers=names[n % 5 :],
            placement=("Spread", "Pack", "Ordered")[n % 3],
            demand=(("cpu", (1 + n % 16) * CPU), ("memory", (1 + n % 7) * 4 * CPU)),
        )
        for n in range(SHAPES)
    ]
    wishes = [
        Wish(
            n,
            Place(NOW - random.uniform(0, 3600), f"{n:05}"),
            random.choice((0, 0, 0, 100)),
            each,
        )
        for n, each in enumerate(random.choices(shapes, k=WAITING))
    ]
    bare = _bare_checks(wishes, names)
    none, all_in = _full_pass(wishes, names, cpus=0), _full_pass(wishes, names, cpus=10**6)
    changes = _changes(wishes, names, random)
    worst = sorted(changes)[int(len(changes) * 0.99)]
    print(f"{WAITING} waiting, {WORKERS} workers, {SHAPES} shapes")
    print(f"  bare checks of all                 {bare * 1e3:8.1f} ms")
    print(f"  full pass, nobody finds room       {none * 1e3:8.1f} ms")
    print(
        f"  full pass, everybody finds room    {all_in * 1e3:8.1f} ms   aim {FULL_PASS_AIM * 1e3:g}"
    )
    print(f"  one change, median                 {median(changes) * 1e3:8.3f} ms")
    print(
        f"  one change, 99th percentile        {worst * 1e3:8.3f} ms   aim {CHANGE_AIM * 1e3:g}"
    )
    return int(max(none, all_in) > FULL_PASS_AIM or worst > CHANGE_AIM)


def _timed(act: Callable[[], object]) -> float:
    began = process_time()
    act()
    return process_time() - began


def _bare_checks(wishes: list[Wish[Any]], names: tuple[str, ...]) -> float:
    rooms = [Room(name, True, None, {"cpu": CPU, "memory": CPU}) for name in names]
    return _timed(lambda: [room.fits(each.terms.demand) for each in wishes for room in rooms])


def _line_up(wishes: list[Wish[Any]], names: tuple[str, ...], *, cpus: int) -> Gangs[Any]:
    admission = Gangs[Any]()
    for each in wishes:
        admission.want(each)
    for name in names:
        admission.open(name, capacity={"cpu": cpus * CPU})
    return admission


def _full_pass(wishes: list[Wish[Any]], names: tuple[str, ...], *, cpus: int) -> float:
    admission = _line_up(wishes, names, cpus=cpus)
    return _timed(lambda: admission.admit(NOW))


def _changes(wishes: list[Wish[Any]], names: tuple[str, ...], random: Random) -> list[float]:
    """Let workloads end one by one in a full fleet, each making room for others, and as many come."""
    admission = _line_up(wishes, names, cpus=64)
    running: list[object] = []

    def step(wish: Wish[Any] | None, ending: object) -> None:
        if wish is not None:
            admission.want(wish)
        if ending is not None:
            admission.remove(ending)
        for made in admission.admit(NOW).admitted:
            admission.place(made.workload, made.worker, by_workload[made.workload].terms.demand)
            running.append(made.workload)

    by_workload: dict[object, Wish[Any]] = {each.workload: each for each in wishes}
    step(None, None)
    taken = []
    for n in range(CHANGES):
        new = Wish(
            WAITING + n, Place(NOW + n, f"{WAITING + n}"), 0, random.choice(wishes).terms
        )
        by_workload[new.workload] = new
        ending = running.pop(random.randrange(len(running)))
        taken.append(_timed(lambda new=new, ending=ending: step(new, ending)) / 2)  # type: ignore[misc]
    return taken


if __name__ == "__main__":
    sys.exit(main())
