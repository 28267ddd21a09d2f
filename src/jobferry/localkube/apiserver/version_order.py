"""Which version of a kind Kubernetes prefers."""

import re

_VERSION = re.compile(r"v(?P<major>\d+)(?:(?P<stage>alpha|beta)(?P<minor>\d+))?")
_STAGES = {None: 2, "beta": 1, "alpha": 0}


def rank(version: str) -> tuple[int, int, int, str]:
    """Order versions as Kubernetes prefers them: v2, v1, v1beta2, v1beta1, v1alpha1, others."""
    parts = _VERSION.fullmatch(version)
    if parts is None:
        return (1, 0, 0, version)
    stage = _STAGES[parts["stage"]]
    return (-stage, -int(parts["major"]), -int(parts["minor"] or 0), version)
