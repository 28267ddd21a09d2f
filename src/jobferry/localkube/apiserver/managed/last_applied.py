"""What client-side apply remembers in an annotation, and server-side apply makes of that."""

from typing import Any

import orjson

from jobferry.localkube.apiserver.managed import checking, sets
from jobferry.localkube.apiserver.managed.comparing import compare
from jobferry.localkube.apiserver.managed.endpoint import Endpoint
from jobferry.localkube.apiserver.managed.footprints import footprint
from jobferry.localkube.apiserver.managed.path_steps import Misfit
from jobferry.localkube.apiserver.managed.sets import FieldSet
from jobferry.objects import Obj

ANNOTATION = "kubectl.kubernetes.io/last-applied-configuration"
KUBECTL = "kubectl"
"""The only manager that this concerns: who uses another name has chosen not to."""

_MOST_BYTES = 256 * 1024
"""Of all annotations together."""


def allowed(live: Obj, endpoint: Endpoint) -> FieldSet | None:
    """Return the fields that were applied by the client and are still so: taking them is no conflict."""
    annotations = live.get("metadata", {}).get("annotations") or {}
    applied = _parsed(annotations.get(ANNOTATION))
    if applied is None or applied.get("apiVersion") != endpoint.api_version:
        return None
    shape = endpoint.shape
    if checking.check(shape, applied) or checking.check(shape, live):
        return None
    try:
        gone, come = compare(shape, applied, live)
    except Misfit:
        return None
    return sets.difference(sets.difference(footprint(shape, applied), come), gone)


def _parsed(text: Any) -> Obj | None:
    try:
        parsed = orjson.loads(text) if text else None
    except orjson.JSONDecodeError:
        return None
    return parsed if isinstance(parsed, dict) and parsed.get("kind") else None


def kept_in_step(merged: Obj, config: Obj) -> Obj:
    """Return the object with the annotation set to what was applied now, if it has one."""
    annotations = (merged.get("metadata") or {}).get("annotations") or {}
    if not annotations.get(ANNOTATION):
        return merged
    changed = {**annotations, ANNOTATION: _written(config)}
    if sum(len(key.encode()) + len(changed[key].encode()) for key in changed) > _MOST_BYTES:
        del changed[ANNOTATION]
    return {**merged, "metadata": {**merged["metadata"], "annotations": changed}}


def _written(config: Obj) -> str:
    """Return a configuration as Go writes it: members sorted, a line end at the end."""
    metadata = config.get("metadata") or {}
    if ANNOTATION in (metadata.get("annotations") or {}):
        kept = {key: text for key, text in metadata["annotations"].items() if key != ANNOTATION}
        config = {**config, "metadata": {**metadata, "annotations": kept}}
    text = orjson.dumps(
        config, option=orjson.OPT_SORT_KEYS | orjson.OPT_APPEND_NEWLINE
    ).decode()
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text
