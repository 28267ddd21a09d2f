"""What can come of a step instead of what was wanted."""

from collections.abc import Iterator
from contextlib import contextmanager

from jobferry.errors import Error
from jobferry.kube import errors

FINAL = (errors.Forbidden, errors.Invalid, errors.BadRequest)
"""Answers that will be the same if the same is asked again soon."""


def is_refusal(error: errors.ApiError) -> bool:
    """Tell whether a cluster would not do something, and has not: as if an admission webhook there is broken.

    What else fails within a server may yet have been done.
    """
    is_broken = isinstance(error, errors.ServerFailure)
    return isinstance(error, FINAL) or (is_broken and "failed calling webhook" in str(error))


class Refused(Error):
    """A worker will not have this workload; another may."""


class NamespaceRefused(Refused):
    """A worker will have no workload of this namespace."""


class NotForwarded(Error):
    """A worker would not have a change of the workload that it runs."""


class NotTaken(Error):
    """The hub would not have what we had to write about a workload."""


@contextmanager
def taking(what: str) -> Iterator[None]:
    """Raise `NotTaken` where the hub refuses what is sent during the block."""
    try:
        yield
    except errors.ApiError as error:
        if not is_refusal(error):
            raise
        raise NotTaken(f"The hub refused its {what}: {error.words}") from error


class KindGone(Error):
    """The hub does not know a kind any more, so nothing is known of its workloads: not that they are gone, either."""


class Estranged(Error):
    """The mirror of a workload is there, and may run, but it bears another dispatcher's name."""

    def __init__(self, worker: str, other: str) -> None:
        super().__init__(
            f"Its mirror on worker {worker} was made by a dispatcher of the name {other}, so nothing is done about it."
            f" If that was this one before it was renamed, name it so again: setting dispatcher: {other}"
        )


class Deposed(Error):
    """It is not for us to write any more: we slept, and somebody else may lead by now."""
