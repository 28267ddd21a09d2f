"""Hearing of changes inside the server, before their writers do, and without harm to them."""

from collections.abc import Callable, Iterable

from jobferry import log
from jobferry.localkube.apiserver.storage.entry import Change
from jobferry.localkube.apiserver.storage.errors import Closed
from jobferry.localkube.apiserver.storage.reader import Reader
from jobferry.localkube.apiserver.storage.watch import Watch

Take = Callable[[Change], None]

_log = log.get(__name__)


def follow(storage: Reader, prefix: str, take: Take, *, after: int | None = None) -> Watch:
    """Hand every durable change below `prefix` to `take`, until the watch is closed.

    Without `after` it begins with what is there, each as if it were new. A change that `take` cannot
    deal with is logged and left out: it stops neither the writer, nor other changes, nor a start.
    """
    if after is None:
        after = storage.revision
        found = storage.range(prefix).entries
        _hand_over((Change(entry, None) for entry in found), take)

    def hand_over() -> None:
        try:
            changes = watch.take()
        except Closed:
            return  # nothing comes any more
        _hand_over(changes, take)

    watch = storage.watch(prefix, after=after, notify=hand_over)
    return watch


def _hand_over(changes: Iterable[Change], take: Take) -> None:
    for change in changes:
        try:
            take(change)
        except Exception as error:  # noqa: BLE001 (storage calls us: it must be able to go on)
            _log.failure("A change could not be taken in", error, key=change.entry.key)
