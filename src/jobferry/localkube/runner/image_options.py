"""What images mean, as a person says it: `host`, or `python:*=venv:DIR`."""

from collections.abc import Iterable
from pathlib import Path

from jobferry.errors import BadInput
from jobferry.localkube.runner.images import HOST, Engine, Host, Images, Place, Root, Venv

NONE = "none"
"""Run no pods at all."""


def read(texts: Iterable[str]) -> Images | None:
    """Return which image is what; None if no pods are to be run. Where nothing is said, all are the host.

    Each text is one entry, or some with commas between them.
    """
    given = [entry.strip() for text in texts for entry in text.split(",")] or ["host"]
    if given == [NONE]:
        return None
    table: list[tuple[str, Place]] = []
    for entry in given:
        if entry == "host":
            table += HOST.table
        else:
            table.append(_entry(entry))
    return Images(tuple(table))


def _entry(text: str) -> tuple[str, Place]:
    pattern, _, said = text.rpartition("=")
    kind, _, rest = said.partition(":")
    if pattern and kind == "host" and not rest:
        return pattern, Host()
    if pattern and kind == "root" and rest:
        return pattern, Root(_folder(rest))
    if pattern and kind == "venv" and rest:
        return pattern, Venv(_folder(rest))
    if pattern and kind == "engine":
        return pattern, Engine(rest or pattern)
    raise BadInput(
        f"--images: {text!r} does not say what an image is",
        hint="Give host, or IMAGE=host, IMAGE=root:DIR, IMAGE=venv:DIR, IMAGE=engine; IMAGE may end with *.",
    )


def _folder(text: str) -> str:
    """Return a folder as every process finds it, wherever it runs."""
    path = Path(text).absolute()
    if not path.is_dir():
        raise BadInput(f"--images: {path} is no folder")
    return str(path)
