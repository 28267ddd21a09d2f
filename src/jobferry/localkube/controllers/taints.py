"""Taints of nodes and tolerations of pods: who stays away from where, and for how long. Pure."""

from collections.abc import Iterable, Sequence
from datetime import datetime

import msgspec

from jobferry.clock import span

NO_SCHEDULE, PREFER_NO_SCHEDULE, NO_EXECUTE = "NoSchedule", "PreferNoSchedule", "NoExecute"


class Taint(msgspec.Struct, frozen=True, gc=False, rename="camel", omit_defaults=True):
    """What keeps pods away from a node."""

    key: str
    effect: str
    value: str = ""
    time_added: datetime | None = None


class Toleration(msgspec.Struct, frozen=True, gc=False, rename="camel", omit_defaults=True):
    """What a pod puts up with."""

    key: str = ""
    operator: str = "Equal"
    value: str = ""
    effect: str = ""
    toleration_seconds: int | None = None

    def tolerates(self, taint: Taint) -> bool:
        """Tell whether a pod with this toleration puts up with a taint."""
        if self.effect and self.effect != taint.effect:
            return False
        if self.key and self.key != taint.key:
            return False
        if self.operator == "Exists":
            return True
        return self.operator in ("", "Equal") and self.value == taint.value


def tolerated(taint: Taint, tolerations: Iterable[Toleration]) -> bool:
    """Tell whether one of the tolerations is for a taint."""
    return any(each.tolerates(taint) for each in tolerations)


def untolerated(
    taints: Iterable[Taint], tolerations: Sequence[Toleration], *effects: str
) -> list[Taint]:
    """Return the taints with one of these effects that nothing is tolerated of."""
    return [
        taint
        for taint in taints
        if taint.effect in effects and not tolerated(taint, tolerations)
    ]


def eviction_time(
    taints: Sequence[Taint], tolerations: Sequence[Toleration], now: datetime
) -> datetime | None:
    """Return when a pod has to leave a node with these taints; None: never.

    The shortest time of all tolerations that are in use counts, from when the first such taint came.
    """
    evicting = [taint for taint in taints if taint.effect == NO_EXECUTE]
    if not evicting:
        return None
    if untolerated(evicting, tolerations, NO_EXECUTE):
        return now
    used = [each for each in tolerations if any(each.tolerates(taint) for taint in evicting)]
    limits = [each.toleration_seconds for each in used if each.toleration_seconds is not None]
    if not limits:
        return None
    since = min((taint.time_added for taint in evicting if taint.time_added), default=now)
    return since + span(max(0, min(limits)))
