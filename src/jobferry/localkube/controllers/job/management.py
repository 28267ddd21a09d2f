"""Which pods a Job that goes on wants to have more, and which fewer."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby

from jobferry.clock import Seconds
from jobferry.localkube.controllers.heads import Pod
from jobferry.localkube.controllers.job import backoff, pods
from jobferry.localkube.controllers.job.view import View
from jobferry.objects.indexes import IndexSet

MOST = 500
"""Pods that are created or deleted in one pass, so that large Jobs do not keep others waiting."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """What is to be done about a Job's pods: either of the two, or neither."""

    remove: Sequence[Pod] = ()
    """Pods that are too many; they are not accounted for."""

    create: Sequence[int | None] = ()
    """One pod for each: the index that it is for, or None."""

    after: Seconds | None = None
    """When it is time to create more."""


def wish(view: View) -> Wish:
    """Say which pods a Job wants to have more or fewer."""
    if view.job.spec.suspend:
        return Wish(remove=_surplus(view, len(view.active)))
    wanted = _wanted(view)
    surplus = _surplus(view, len(view.active) - wanted)
    if surplus:
        return Wish(remove=surplus[:MOST])
    awaited = len(view.terminating) if view.job.spec.replaces_only_failed else 0
    missing = wanted - awaited - len(view.active)
    return _creation(view, min(missing, MOST)) if missing > 0 else Wish()


def _wanted(view: View) -> int:
    """Return how many pods are to be active."""
    spec = view.job.spec
    if spec.completions is not None:
        return min(spec.parallelism, max(0, spec.completions - view.succeeded))
    # Pods that share a queue end by themselves once one of them has found it empty.
    return len(view.active) if view.succeeded else spec.parallelism


def _creation(view: View, missing: int) -> Wish:
    spec = view.job.spec
    if spec.backoff_limit_per_index is None:
        wait = backoff.remaining(view.next_record, view.now)
        if wait > 0:
            return Wish(after=wait)
    if not spec.is_indexed:
        return Wish(create=[None] * missing)
    chosen = _first(_free_indexes(view), missing)
    waits = {index: _wait(view, index) for index in chosen}
    later = [wait for wait in waits.values() if wait > 0]
    ready = [index for index in chosen if waits[index] <= 0]
    return Wish(create=ready, after=min(later, default=None))


def _wait(view: View, index: int) -> Seconds:
    return backoff.remaining_for_index(view.delayed.get(index), view.now)


def _free_indexes(view: View) -> IndexSet:
    """Return the indexes that are not done, given up or in work."""
    busy = _indexes(view.active)
    if view.job.spec.replaces_only_failed:
        busy |= _indexes(view.terminating)
    given_up = view.failed_indexes or IndexSet()
    return IndexSet.below(view.job.spec.size) - view.completed - busy - given_up


def _first(indexes: IndexSet, count: int) -> list[int]:
    return [index for index, _ in zip(indexes, range(count), strict=False)]


def _indexes(found: Iterable[Pod]) -> IndexSet:
    return IndexSet.of(index for pod in found if (index := pods.index(pod)) is not None)


def _surplus(view: View, too_many: int) -> list[Pod]:
    """Return the pods to remove: those that work for nothing, and then the most dispensable."""
    if view.job.spec.is_indexed:
        useless, useful = _without_duplicates(view.active, view.job.spec.size)
    else:
        useless, useful = [], view.active
    more = too_many - len(useless)
    return useless + (sorted(useful, key=pods.dispensability)[:more] if more > 0 else [])


def _without_duplicates(active: Sequence[Pod], size: int) -> tuple[list[Pod], list[Pod]]:
    """Part the pods that have no index, none below `size` or one that a better pod has, from the others."""
    useless: list[Pod] = []
    useful: list[Pod] = []
    ordered = sorted(active, key=_index_or_none)
    for index, same in groupby(ordered, key=_index_or_none):
        if 0 <= index < size:
            *worse, best = list(same)
            if worse:
                *worse, best = sorted([*worse, best], key=pods.dispensability)
            useless += worse
            useful.append(best)
        else:
            useless += same
    return useless, useful


def _index_or_none(pod: Pod) -> int:
    index = pods.index(pod)
    return -1 if index is None else index
