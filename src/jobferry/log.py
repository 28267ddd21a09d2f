"""Structured logging on the standard library: constant sentences with the facts beside them.

    _log = log.get(__name__)
    _log.bind(workload="ml/train").info("Created mirror", worker="east")

Importing this configures nothing; `configure` is for the command line alone.
"""

import json
import logging
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import UTC, datetime
from types import MappingProxyType
from typing import TextIO

from jobferry.errors import Error

Facts = Mapping[str, object]

_NO_FACTS: Facts = MappingProxyType({})
_context: ContextVar[Facts] = ContextVar("jobferry.log", default=_NO_FACTS)

_HIDDEN = "***"
_SECRET_NAME = re.compile(r"token|password|authorization|private_key", re.IGNORECASE)
# A second net, for what slips in through an error message or a traceback. No pattern can eat a quote
# or split an escape, so JSON stays JSON.
_SECRET_TEXT = re.compile(
    r"(?<=\bBearer )[\w.~+/=-]+|(?<=\bBasic )[\w+/=-]{8,}"
    r"|\beyJ[\w-]{8,}\.[\w.-]+"
    r"|(?<=://)[^\s/@\"\\]+(?=@)"
    r"|-----BEGIN [A-Z ]*PRIVATE KEY-----(?:\\+[nr]|[\w+/=\s])*",
    re.IGNORECASE,
)


class Logger:
    """Writes sentences under one name; the facts bound to it go with each."""

    __slots__ = ("_facts", "_logger")

    def __init__(self, logger: logging.Logger, facts: Facts = _NO_FACTS) -> None:
        self._logger = logger
        self._facts = facts

    def bind(self, **facts: object) -> "Logger":
        """Return a logger that adds these facts to each line."""
        return Logger(self._logger, {**self._facts, **facts})

    def debug(self, sentence: str, /, **facts: object) -> None:
        """Say what only a developer wants to know."""
        self._write(logging.DEBUG, sentence, facts)

    def info(self, sentence: str, /, **facts: object) -> None:
        """Say what happened."""
        self._write(logging.INFO, sentence, facts)

    def warning(self, sentence: str, /, **facts: object) -> None:
        """Say what went wrong and is being dealt with."""
        self._write(logging.WARNING, sentence, facts)

    def error(self, sentence: str, /, **facts: object) -> None:
        """Say what went wrong and needs a person."""
        self._write(logging.ERROR, sentence, facts)

    def failure(self, sentence: str, error: BaseException, /, **facts: object) -> None:
        """Say what failed: an error of ours as a warning with its hint, any other with its traceback."""
        if isinstance(error, Error):
            self.warning(sentence, error=error, hint=error.hint, **facts)
        else:
            self._write(logging.ERROR, sentence, {"error": repr(error), **facts}, error)

    def _write(
        self, level: int, sentence: str, facts: Facts, exc: BaseException | None = None
    ) -> None:
        if self._logger.isEnabledFor(level):
            extra = {"facts": {**_context.get(), **self._facts, **facts}}
            self._logger.log(level, sentence, exc_info=exc, extra=extra, stacklevel=3)


def get(name: str) -> Logger:
    """Return the logger of a module: `log.get(__name__)`."""
    return Logger(logging.getLogger(name))


@contextmanager
def context(**facts: object) -> Iterator[None]:
    """Add these facts to whatever is logged inside the block, in whichever module."""
    token = _context.set({**_context.get(), **facts})
    try:
        yield
    finally:
        _context.reset(token)


class HumanFormatter(logging.Formatter):
    """One line to read: time, level, sentence, facts; a traceback below it."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line."""
        facts = "".join(f" {name}={_plain(value)}" for name, value in _facts(record).items())
        line = f"{_time(record)} {record.levelname:<7} {record.getMessage()}{facts}"
        if record.exc_info:
            line += "\n" + self.formatException(record.exc_info)
        return _SECRET_TEXT.sub(_HIDDEN, line)


class JsonFormatter(logging.Formatter):
    """One JSON object a line, for machines."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line."""
        head = {"ts": _time(record), "level": record.levelname.lower()}
        head |= {"logger": record.name, "msg": record.getMessage()}
        if record.exc_info:
            head["traceback"] = self.formatException(record.exc_info)
        # Twice: the head comes first for the eye, and no fact can take its place.
        line = json.dumps({**head, **_facts(record), **head}, default=str)
        return _SECRET_TEXT.sub(_HIDDEN, line)


def configure(
    *, level: str = "INFO", as_json: bool = False, stream: TextIO | None = None
) -> None:
    """Send the log of the whole process to `stream` (standard error if None)."""
    handler = logging.StreamHandler(stream)
    handler.setFormatter(JsonFormatter() if as_json else HumanFormatter())
    logging.basicConfig(level=level, handlers=[handler], force=True)


def _facts(record: logging.LogRecord) -> dict[str, object]:
    """Return what goes beside the sentence: no secrets, and nothing that is None."""
    facts: Facts = getattr(record, "facts", _NO_FACTS)
    hidden = {name: _HIDDEN for name in facts if _SECRET_NAME.search(name)}
    return {name: value for name, value in {**facts, **hidden}.items() if value is not None}


def _plain(value: object) -> str:
    """Return a value as one word, quoted where needed: it may come from a stranger."""
    text = str(value)
    if text.isprintable() and re.fullmatch(r"[^\s\"=]+", text):
        return text
    return json.dumps(text, ensure_ascii=not text.isprintable())


def _time(record: logging.LogRecord) -> str:
    when = datetime.fromtimestamp(record.created, UTC).replace(tzinfo=None)
    return when.isoformat(timespec="milliseconds") + "Z"
