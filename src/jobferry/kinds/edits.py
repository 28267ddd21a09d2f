"""What changed on a workload that is a row of a table since its mirror was made, or on the mirror.

A row names what of the spec may change later. The rest is one value: that it changed is said, and not forwarded.
"""

from collections.abc import Iterable, Iterator
from typing import Any

from jobferry.kinds import forwarding, statuses
from jobferry.kinds.forwarding import NOTHING, Edits, Fields
from jobferry.kinds.paths import Path, found, without
from jobferry.kinds.table import SPEC, Row
from jobferry.objects import Obj

BY_NAME = "=*"
"""At the end of a step: the entries of a list, each by the member of that name."""


class Forwarding:
    """What of one workload is forwarded, and when."""

    def __init__(self, row: Row, hub: Obj) -> None:
        self._row = row
        grows = () if row.elastic and found(hub, row.elastic) else row.grows
        self._always = (*row.forwards, *grows)
        self._patterns = (*self._always, *row.forwards_stopped)

    def fields(self, obj: Obj) -> Fields:
        """Return what may be edited and forwarded of a draft, or of a mirror; of the rest of the spec, one value."""
        fields: Fields = {}
        rest: Any = _take(obj, [*self._patterns], (), fields)
        if self._row.suspend:
            fields[self._row.suspend] = bool(found(obj, self._row.suspend))
            rest = without(rest, self._row.suspend)
        travelling = {"metadata": forwarding.metadata(obj)}
        return {**dict(forwarding.leaves((), travelling)), **fields, SPEC: rest.get("spec")}

    def edits(self, hub: Obj, draft: Obj, mirror: Obj) -> Edits:
        """Compare a workload with its mirror and with what was forwarded; `draft` is what the mirror would be now."""
        if forwarding.is_untouched(hub, mirror):
            return NOTHING
        now, there = self.fields(draft), self.fields(mirror)
        noted = forwarding.forwarded(mirror)
        if noted is None:
            # Somebody removed the note. What is different may be anybody's doing, so nothing is forwarded.
            traces = forwarding.traces(now)
            patch = forwarding.merge(mirror, {}, forwarding.notes(hub, traces))
            return Edits(patch, drift=tuple(self._drift(now, there, traces, ())))
        edited = self._edited(hub, mirror, now, noted)
        refused = {path: why for path in edited if (why := self._refusal(path, now, mirror))}
        late = self._late(set(edited) - refused.keys(), now, mirror)
        sent = {path: now.get(path) for path in edited if path not in {*refused, *late}}
        is_whole = not refused and not late
        return Edits(
            patch=self._patch(hub, mirror, sent, noted, is_whole=is_whole) if sent else None,
            refusals=tuple(
                f"{forwarding.pointer(path)}: {why}" for path, why in refused.items()
            ),
            drift=tuple(self._drift(now, there, noted, edited)),
        )

    def _edited(self, hub: Obj, mirror: Obj, now: Fields, noted: Fields) -> list[Path]:
        traces = forwarding.traces(now)
        is_edited = forwarding.is_edited(hub, mirror)
        return [
            path
            for path in sorted(traces.keys() | noted.keys())
            if traces.get(path) != noted.get(path) and (is_edited or path[0] == "metadata")
        ]

    def _refusal(self, path: Path, now: Fields, mirror: Obj) -> str | None:
        """Say why an edit cannot be forwarded, if it cannot."""
        if path == SPEC:
            named = ", ".join(".".join(each) for each in self._forwarded())
            return (
                f"of its spec only {named} can be forwarded"
                if named
                else "nothing of it can be forwarded"
            )
        if not self._needs_stop(path):
            return None
        suspend = self._row.suspend
        is_stopped = suspend is None or found(mirror, suspend) or now.get(suspend)
        return None if is_stopped else "the mirror is not suspended"

    def _needs_stop(self, path: Path) -> bool:
        return any(_fits(path, each) for each in self._row.forwards_stopped)

    def _late(self, edited: set[Path], now: Fields, mirror: Obj) -> set[Path]:
        """Return which edits wait until nothing of the mirror runs any more; without them it does not go on."""
        row = self._row
        waiting = {path for path in edited if row.forwards_still and self._needs_stop(path)}
        if not waiting or row.suspend is None:
            return set()
        if found(mirror, row.suspend) and not statuses.is_any(mirror, row.busy):
            return set()
        return waiting if now[row.suspend] else {*waiting, row.suspend}

    def _forwarded(self) -> Iterable[Path]:
        return (*((self._row.suspend,) if self._row.suspend else ()), *self._patterns)

    def _patch(
        self, hub: Obj, mirror: Obj, sent: Fields, noted: Fields, *, is_whole: bool
    ) -> Obj:
        kept = {path: each for path, each in noted.items() if path not in sent}
        traces = forwarding.traces(
            {path: each for path, each in sent.items() if each is not None}
        )
        notes = forwarding.notes(hub, kept | traces, is_whole=is_whole)
        return forwarding.merge(mirror, _whole(mirror, sent), notes)

    def _drift(
        self, now: Fields, there: Fields, noted: Fields, edited: Iterable[Path]
    ) -> Iterator[str]:
        """Yield what somebody changed on the mirror; what was added there is no drift, nor is the rest of the spec."""
        paths = {
            path for path in noted.keys() - set(edited) - {SPEC} if not self._needs_stop(path)
        }
        return forwarding.drift(now, there, noted, paths)


# Entries of lists, by their names


def _take(value: Any, patterns: Iterable[Path], before: Path, taken: Fields) -> Any:
    """Take what is found where patterns say, by its own path, in which entries of lists have names; return what is left.

    All of it in one go: a list may have thousands of entries.
    """
    below: dict[str, list[Path]] = {}
    for step, *rest in patterns:
        below.setdefault(step, []).append(tuple(rest))
    if isinstance(value, list):
        for step, inner in below.items():
            if step.endswith(BY_NAME):
                key = step.removesuffix(BY_NAME)
                value = [_take_entry(each, key, inner, before, taken) for each in value]
        return value
    left = dict(value) if isinstance(value, dict) else value
    for step in below.keys() & (left.keys() if isinstance(left, dict) else ()):
        if left[step] is not None and () in below[step]:
            taken[*before, step] = left.pop(step)
        elif left[step] is not None:
            left[step] = _take(left[step], below[step], (*before, step), taken)
    return left


def _take_entry(entry: Any, key: str, patterns: list[Path], before: Path, taken: Fields) -> Any:
    if not isinstance(entry, dict) or not isinstance(name := entry.get(key), str):
        return entry
    at = (*before, f"{key}={name}")
    if () in patterns:
        taken[at] = entry
        return None
    return _take(entry, patterns, at, taken)


def _fits(path: Path, pattern: Path) -> bool:
    return len(path) == len(pattern) and all(
        step.startswith(wanted[:-1]) if wanted.endswith(BY_NAME) else step == wanted
        for step, wanted in zip(path, pattern, strict=True)
    )


def _whole(mirror: Obj, sent: Fields) -> Fields:
    """Return what is sent with lists as wholes: a merge patch cannot change one entry of a list."""
    whole: Fields = {}
    entries: dict[Path, Fields] = {}
    for path, value in sent.items():
        place = next((n for n, step in enumerate(path) if "=" in step), None)
        if place is None or path[0] == "metadata":
            whole[path] = value
        else:
            entries.setdefault(path[:place], {})[path[place:]] = value
    return whole | {at: _set(found(mirror, at) or [], each) for at, each in entries.items()}


def _set(value: Any, fields: Fields) -> Any:
    """Return a value with what is at some paths replaced, or dropped if it becomes None; the rest is shared."""
    if () in fields:
        return fields[()]
    below: dict[str, Fields] = {}
    for (step, *rest), new in fields.items():
        below.setdefault(step, {})[tuple(rest)] = new
    if isinstance(value, list):
        keys = {step.partition("=")[0] for step in below}
        return [_set_entry(each, keys, below) for each in value]
    kept = dict(value) if isinstance(value, dict) else {}
    for step, inner in below.items():
        if step in kept or any(new is not None for new in inner.values()):
            kept[step] = _set(kept.get(step), inner)
    return {key: each for key, each in kept.items() if each is not None or key not in below}


def _set_entry(entry: Any, keys: Iterable[str], below: dict[str, Fields]) -> Any:
    """Return an entry of a list with what is said of those of its name."""
    for key in keys if isinstance(entry, dict) else ():
        name = entry.get(key)
        if isinstance(name, str) and f"{key}={name}" in below:
            return _set(entry, below[f"{key}={name}"])
    return entry
