"""A write that changes nothing but times in managedFields changes nothing."""

from jobferry.objects import Obj
from jobferry.objects.equality import same


def steady(new: Obj, old: Obj) -> list[Obj] | None:
    """Return the managedFields to store: those of `old`, if `new` differs from it only in their times.

    To be asked last, when the strategy has prepared the object.
    """
    ours, theirs = _entries(new), _entries(old)
    if not ours or ours is theirs or len(ours or ()) != len(theirs or ()):
        return ours
    if not same(_timeless(ours), _timeless(theirs or [])):
        return ours
    return theirs if _alike(new, old) else ours


def _entries(obj: Obj) -> list[Obj] | None:
    entries: list[Obj] | None = obj.get("metadata", {}).get("managedFields")
    return entries


def _timeless(entries: list[Obj]) -> list[Obj]:
    return [{key: entry[key] for key in entry if key != "time"} for entry in entries]


def _alike(new: Obj, old: Obj) -> bool:
    return same(_unmanaged(new), _unmanaged(old))


def _unmanaged(obj: Obj) -> Obj:
    metadata = obj["metadata"]
    kept = {key: metadata[key] for key in metadata if key != "managedFields"}
    return {**obj, "metadata": kept}
