"""The log of the dispatchers, in the virtual time of a history, among all else that happens."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager

from jobferry import log
from jobferry.testing.simulation.record import Journal

SOURCES = ("jobferry.dispatch", "jobferry.workers", "jobferry.kube.lease", "jobferry.runtime")


@contextmanager
def logged(journal: Journal) -> Iterator[None]:
    """Write what dispatchers log during the block into a journal."""
    handler = _Handler(journal)
    loggers = [logging.getLogger(name) for name in SOURCES]
    levels = [logger.level for logger in loggers]
    for logger in loggers:
        logger.addHandler(handler)
        logger.setLevel(logging.DEBUG)
        logger.propagate = False
    try:
        yield
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.removeHandler(handler)
            logger.setLevel(level)
            logger.propagate = True


class _Handler(logging.Handler):
    """Writes lines into a journal."""

    def __init__(self, journal: Journal) -> None:
        super().__init__()
        self._journal = journal
        self._formatter = log.HumanFormatter()

    def emit(self, record: logging.LogRecord) -> None:
        """Write a line, without the time of day on this machine."""
        self._journal.say(f"  {self._formatter.format(record).partition(' ')[2]}")
