"""What an API server silently dropped of an object that it was given.

Old servers do not know every field, and fields behind a switched-off feature vanish without a word.
"""

from collections.abc import Iterator
from typing import Any

from jobferry.objects import Obj

FEW = 8
"""As many entries of a list as are compared with one another: a tenant may write a hundred thousand."""


def dropped_fields(sent: Obj, answer: Obj) -> list[str]:
    """Return the fields of the spec that were sent and are not in the answer.

    What the server (or a webhook) added or changed is no loss, nor is something empty.
    """
    return sorted(set(_lost("spec", sent["spec"], answer.get("spec"))))


def substance(value: Any) -> Any:
    """Return a value without the members that are zero to Go, or have nothing else in them."""
    if isinstance(value, list):
        return [substance(each) for each in value]
    if not isinstance(value, dict):
        return value
    members = {key: substance(each) for key, each in value.items()}
    return {key: each for key, each in members.items() if each}


def _lost(path: str, sent: Any, kept: Any) -> list[str]:
    if sent is None or sent == {} or sent == []:
        return []
    if kept is None:
        return [path]
    if isinstance(sent, dict) and isinstance(kept, dict):
        return [
            field
            for key, value in sent.items()
            for field in _lost(f"{path}.{key}", value, kept.get(key))
        ]
    if isinstance(sent, list) and isinstance(kept, list):
        return _lost_entries(f"{path}[]", sent, kept)
    return []


def _lost_entries(path: str, sent: list[Any], kept: list[Any]) -> list[str]:
    """Return what is lost of the entries of a list, each if it is the one there that it is most like."""
    lost: list[str] = []
    there = _by_name(kept)
    for name, entries in _by_name(sent).items():
        alike = there.get(name, [])
        for place, entry in enumerate(entries):
            lost += _least(path, entry, _candidates(alike, place, place - len(entries)))
    return lost


def _by_name(entries: list[Any]) -> dict[Any, list[Obj]]:
    """Return the objects of a list by their names; those that have none are alike, too."""
    found: dict[Any, list[Obj]] = {}
    for each in entries:
        if isinstance(each, dict):
            name = each.get("name")
            found.setdefault(name if isinstance(name, str) else None, []).append(each)
    return found


def _candidates(alike: list[Obj], *places: int) -> Iterator[Obj]:
    """Yield what may be an entry of a list: first what is in its place, from the front or from the end.

    Servers keep the order, and whoever adds something adds it before or after the others. If there are few, any may be it.
    """
    yield from (alike[place] for place in places if -len(alike) <= place < len(alike))
    if len(alike) <= FEW:
        yield from alike


def _least(path: str, entry: Obj, candidates: Iterator[Obj]) -> list[str]:
    """Return what is lost of an entry if it is the candidate that it is most like."""
    least: list[str] | None = None
    for each in candidates:
        lost = _lost(path, entry, each)
        if not lost:
            return []
        least = lost if least is None else min(least, lost, key=len)
    return [path] if least is None else least
