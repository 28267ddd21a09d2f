"""How much work each worker has, and is about to get: many are placed at the same time."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager

from jobferry.dispatch.jobs import NOWHERE, JobHead, workers_of
from jobferry.kinds import job
from jobferry.kube.cache import Change
from jobferry.kube.items import Item, Key
from jobferry.objects import demand
from jobferry.objects.demand import Demand


class Loads:
    """How many unfinished Jobs each worker has: `count` says what is recorded."""

    def __init__(self, count: Callable[[str], int]) -> None:
        self._count = count
        self._expected: Counter[str] = Counter()

    def __getitem__(self, worker: str) -> int:
        return self._count(worker) + self._expected[worker]

    @contextmanager
    def expecting(self, workers: Iterable[str]) -> Iterator[None]:
        """Count one more for each, while its placement is being written."""
        chosen = list(workers)
        self._expected.update(chosen)
        try:
            yield
        finally:
            self._expected.subtract(chosen)


class Used:
    """What the unfinished Jobs of each worker need together."""

    def __init__(self) -> None:
        self._by_job: dict[Key, tuple[int, list[str], Demand]] = {}
        self._by_worker: dict[str, Demand] = {}

    def __getitem__(self, worker: str) -> Demand:
        return self._by_worker.get(worker, {})

    def note(self, change: Change[JobHead]) -> None:
        """Take note that a Job came, went, was placed, changed or ended."""
        key, item = change.item.key, change.after
        workers = _workers(item) if item else []
        known = self._by_job.get(key)
        if known and item and known[:2] == (item.head.metadata.generation, workers):
            return  # its status is another, as most of the time
        if known:
            del self._by_job[key]
            self._add(known[1], demand.times(known[2], -1))
        if item and workers:
            need = job.demand(item.object())
            self._by_job[key] = item.head.metadata.generation, workers, need
            self._add(workers, need)

    @contextmanager
    def expecting(self, workers: Iterable[str], need: Demand) -> Iterator[None]:
        """Count a Job that is not there yet, while its placement is being written."""
        chosen = list(workers)
        self._add(chosen, need)
        try:
            yield
        finally:
            self._add(chosen, demand.times(need, -1))

    def _add(self, workers: Iterable[str], need: Demand) -> None:
        for worker in workers:
            self._by_worker[worker] = demand.add(self[worker], need)


def _workers(item: Item[JobHead]) -> list[str]:
    return [worker for worker in workers_of(item) if worker != NOWHERE]
