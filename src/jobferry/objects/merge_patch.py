"""JSON merge patch (RFC 7386)."""

from typing import Any

from jobferry.objects import Obj, govalues
from jobferry.objects.equality import same
from jobferry.objects.patch_errors import Malformed, depth_limited


@depth_limited()
def apply(target: Any, patch: Any) -> Any:
    """Return `target` as `patch` changes it; what is not changed is shared with it."""
    return _merged(target, patch)


@depth_limited()
def create(before: Any, after: Any) -> Any:
    """Return the smallest merge patch that makes `after` out of `before`.

    A merge patch cannot set a member to null: `after` must have none that `before` has not.
    """
    return _difference(before, after)


def checked(patch: Any) -> Obj:
    """Return `patch` if an API server takes it: unlike the RFC, it wants an object."""
    if isinstance(patch, dict):
        return patch
    if patch is None:
        raise Malformed("Invalid JSON Patch")
    raise Malformed(
        f"error decoding patch: json: cannot unmarshal {govalues.json_kind(patch)}"
        f" into Go value of type map[string]interface {{}}"
    )


def _merged(target: Any, patch: Any) -> Any:
    if not isinstance(target, dict):
        return without_nulls(patch)
    if not isinstance(patch, dict):
        return patch  # a list, say: Kubernetes leaves the nulls in what replaces an object
    merged = target.copy()
    for key, value in patch.items():
        if value is None:
            merged.pop(key, None)
        else:
            merged[key] = _merged(merged.get(key), value)
    return merged


def without_nulls(patch: Any) -> Any:
    """Return what a patch makes of nothing: nulls remove, and there is nothing to remove."""
    if isinstance(patch, dict):
        return {key: without_nulls(value) for key, value in patch.items() if value is not None}
    if isinstance(patch, list):
        # The RFC would leave objects within lists alone; API servers do not.
        return [without_nulls(item) for item in patch]
    return patch


def _difference(before: Any, after: Any) -> Any:
    if not (isinstance(before, dict) and isinstance(after, dict)):
        return after
    patch: Obj = {key: None for key in before if key not in after}
    for key, value in after.items():
        if key not in before:
            patch[key] = value
        elif isinstance(value, dict) and isinstance(before[key], dict):
            if inner := _difference(before[key], value):
                patch[key] = inner
        elif not same(before[key], value):
            patch[key] = value
    return patch
