"""What an API server silently dropped of an object that it was given.

Old servers do not know every field, and fields behind a switched-off feature vanish without a word.
"""

from collections.abc import Iterable
from typing import Any

from jobferry.objects import Obj


def dropped_fields(sent: Obj, answer: Obj) -> list[str]:
    """Return the fields of the spec that were sent and are not in the answer.

    What the server (or a webhook) added or changed is no loss, nor is something empty.
    """
    return sorted(set(_lost("spec", sent["spec"], answer.get("spec"))))


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
        return [field for item in sent for field in _least(f"{path}[]", item, kept)]
    return []


def _least(path: str, item: Any, kept: Iterable[Any]) -> list[str]:
    """Return what is lost of an item of a list, if it is the one there that it is most like."""
    if not isinstance(item, dict):
        return []
    alike = [
        each for each in kept if isinstance(each, dict) and each.get("name") == item.get("name")
    ]
    return min((_lost(path, item, each) for each in alike), key=len, default=[path])
