"""What was forwarded to a mirror, noted on it field by field: so that later only what changed on the hub is.

Three states meet: forwarded, hub, mirror. What changed on the hub is forwarded; what changed on the mirror alone (by
Kueue, a policy, a person) stays, and is drift.
"""

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import orjson

from jobferry.core import marks
from jobferry.kinds.metadata import travelling
from jobferry.objects import Obj

Path = tuple[str, ...]
Fields = dict[Path, Any]
"""The leaves of an object that an edit may change, by where they are."""

SHORT = 64
"""How long a noted value may be as JSON; of a longer one only the hash is noted."""


@dataclass(frozen=True, slots=True)
class Edits:
    """What to do about the differences between a workload and its mirror."""

    patch: Obj | None
    """The merge patch that forwards what changed on the hub."""

    refusals: tuple[str, ...] = ()
    """What cannot be forwarded, and why."""

    drift: tuple[str, ...] = ()
    """What somebody changed on the mirror."""


NOTHING = Edits(None)


def metadata(obj: Obj) -> Obj:
    """Return the labels and annotations of a workload, or of its mirror, that travel."""
    kept = obj["metadata"]
    return {
        "labels": travelling(kept.get("labels")),
        "annotations": travelling(kept.get("annotations")),
    }


def leaves(path: Path, value: Any) -> Iterator[tuple[Path, Any]]:
    """Yield what is in an object and in the objects within it."""
    if isinstance(value, dict):
        for key, member in value.items():
            yield from leaves((*path, key), member)
    elif value is not None:
        yield path, value


# Traces


def trace(value: Any) -> Any:
    """Return the value, or what stands for it where it is too long to be noted."""
    text = orjson.dumps(value, option=orjson.OPT_SORT_KEYS)
    return value if len(text) <= SHORT else f"sha256:{hashlib.sha256(text).hexdigest()[:40]}"


def traces(fields: Fields) -> Fields:
    """Return the traces of all fields."""
    return {path: trace(value) for path, value in fields.items()}


def pointer(path: Path) -> str:
    """Write where a field is, as a JSON pointer."""
    return "".join("/" + step.replace("~", "~0").replace("/", "~1") for step in path)


@lru_cache(maxsize=1024)  # the same few fields are noted on every mirror
def _path(pointer: str) -> Path:
    steps = pointer.split("/")[1:]
    return tuple(step.replace("~1", "/").replace("~0", "~") for step in steps)


# Notes


def note(mirror: Obj, hub: Obj, fields: Fields) -> Obj:
    """Return the mirror with a note of everything that is forwarded by creating it."""
    kept = mirror["metadata"]
    annotations = {**kept.get("annotations", {}), **notes(hub, traces(fields))}
    return {**mirror, "metadata": {**kept, "annotations": annotations}}


def notes(hub: Obj, noted: Fields, *, is_whole: bool = True) -> dict[str, str]:
    """Return the annotations that say what was forwarded, given its traces.

    Unless that is the whole of this generation, the one of before stays: what was refused is to be told next time, too.
    """
    record = {pointer(path): each for path, each in noted.items()}
    text = orjson.dumps(record, option=orjson.OPT_SORT_KEYS).decode()
    whole = {marks.HUB_GENERATION: generation(hub)} if is_whole else {}
    return {marks.FORWARDED: text, **whole}


def generation(hub: Obj) -> str:
    """Write the generation of a workload; empty for a Pod of an API server that counts none."""
    return str(hub["metadata"].get("generation") or "")


def forwarded(mirror: Obj) -> Fields | None:
    """Return the traces of what was forwarded; None if somebody removed the note."""
    text = (mirror["metadata"].get("annotations") or {}).get(marks.FORWARDED, "")
    try:
        record = orjson.loads(text)
    except orjson.JSONDecodeError:
        return None
    if not isinstance(record, dict) or not all(key.startswith("/") for key in record):
        return None
    return {_path(key): each for key, each in record.items()}


def is_edited(hub: Obj, mirror: Obj) -> bool:
    """Tell whether somebody may have edited the spec on the hub since it was forwarded.

    With the generation unchanged nobody did, even if a newer API server reads it with more defaults than before.
    """
    noted = (mirror["metadata"].get("annotations") or {}).get(marks.HUB_GENERATION)
    return not noted or noted != generation(hub)


def is_first(hub: Obj, mirror: Obj) -> bool:
    """Tell whether the specs of both are as they were when the mirror was made.

    The first generation of a mirror is what its worker made of what we sent; status does not count.
    """
    return mirror["metadata"].get("generation") == 1 and not is_edited(hub, mirror)


def is_untouched(hub: Obj, mirror: Obj) -> bool:
    """Tell whether it is certain, without looking closer, that nobody has changed anything."""
    return is_first(hub, mirror) and metadata(hub) == metadata(mirror)


# What is sent and said


def merge(mirror: Obj, sent: Fields, noted: Mapping[str, str]) -> Obj:
    """Return a merge patch for the mirror as it was compared: if it has changed since, a conflict."""
    version = mirror["metadata"]["resourceVersion"]
    patch: Obj = {"metadata": {"resourceVersion": version, "annotations": dict(noted)}}
    for path, value in sent.items():
        inner = patch
        for step in path[:-1]:
            inner = inner.setdefault(step, {})
        inner[path[-1]] = value
    return patch


def drift(now: Fields, found: Fields, noted: Fields, paths: Iterable[Path]) -> Iterator[str]:
    """Yield which of these fields are not on the mirror as they were forwarded."""
    for path in sorted(paths):
        if trace(found.get(path)) != noted.get(path):
            yield f"{pointer(path)}: {shown(now.get(path))} became {shown(found.get(path))}"


def shown(value: Any) -> str:
    """Write a value as a person may want to read it."""
    text = orjson.dumps(value, option=orjson.OPT_SORT_KEYS).decode()
    if value is None:
        return "nothing"
    return text if len(text) <= SHORT else f"{text[:SHORT]}..."
