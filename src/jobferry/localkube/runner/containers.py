"""What is known of a pod's containers, and when one that ended runs again: pure."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import NamedTuple

from jobferry.clock import Seconds
from jobferry.objects import Obj

FIRST_PAUSE: Seconds = 10.0
LONGEST_PAUSE: Seconds = 300.0
QUIET_TIME: Seconds = 2 * LONGEST_PAUSE
"""A container that has run for this long is taken for a new one when it fails."""

LOST = 137
"""What a container ended with that nobody saw end: as if it had been killed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class End:
    """How a run of a container ended."""

    exit_code: int
    at: datetime
    reason: str = ""
    """Empty: what the exit code says."""
    message: str = ""

    @property
    def word(self) -> str:
        """The reason as statuses have it."""
        return self.reason or ("Error" if self.exit_code else "Completed")


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """One run of a container; the first has the number 0."""

    number: int
    began: datetime
    end: End | None = None
    is_started: bool = True
    """Whether its startup probe has succeeded, or it has none."""
    is_ready: bool = True
    unwell: str = ""
    """Why it must end, if a probe says so."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Trouble:
    """Why a container cannot be started, for now."""

    reason: str
    message: str
    again_at: datetime
    """When to try again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """What is known of one container."""

    current: Attempt | None = None
    previous: Attempt | None = None
    streak: int = 0
    """How many runs in a row were short, the current one included."""
    trouble: Trouble | None = None
    stopping_since: datetime | None = None
    """When its current run was asked to end."""

    @property
    def is_running(self) -> bool:
        """Whether it runs now."""
        return self.current is not None and self.current.end is None

    @property
    def has_succeeded(self) -> bool:
        """Whether its last run ended well."""
        return (
            self.current is not None
            and self.current.end is not None
            and self.current.end.exit_code == 0
        )

    @property
    def next_number(self) -> int:
        """The number of the run after this one."""
        return 0 if self.current is None else self.current.number + 1


NOTHING = Known()
Knowledge = Mapping[str, Known]
"""What is known of the containers of a pod, by name."""


class Part(NamedTuple):
    """A container as its pod names it, and the place it has there."""

    container: Obj
    is_init: bool

    @property
    def name(self) -> str:
        """Its name."""
        name: str = self.container["name"]
        return name

    @property
    def is_sidecar(self) -> bool:
        """Whether it runs beside the main containers, though it is among the first."""
        return self.is_init and self.container.get("restartPolicy") == "Always"


def parts(pod: Obj) -> Iterator[Part]:
    """Go through all containers of a pod, in the order in which they start."""
    for container in pod["spec"].get("initContainers") or ():
        yield Part(container, is_init=True)
    for container in pod["spec"]["containers"]:
        yield Part(container, is_init=False)


def restarts(pod: Obj, part: Part, exit_code: int) -> bool:
    """Tell whether a container runs again after it ended so."""
    policy = part.container.get("restartPolicy") or pod["spec"].get("restartPolicy", "Always")
    if part.is_init and not part.is_sidecar:
        return policy != "Never" and exit_code != 0
    return policy == "Always" or (policy == "OnFailure" and exit_code != 0)


def pause(streak: int) -> Seconds:
    """Return how long to wait before the run after `streak` short ones; the second comes at once."""
    if streak <= 1:
        return 0.0
    return min(LONGEST_PAUSE, FIRST_PAUSE * 2.0 ** min(streak - 2, 10))


def due(known: Known) -> datetime:
    """Return when a container that ended may run again."""
    end = known.current.end if known.current else None
    if end is None:
        raise ValueError("a container that runs is not due")
    return end.at + timedelta(seconds=pause(known.streak))


def next_streak(known: Known) -> int:
    """Return the streak of a run that begins now."""
    run = known.current
    if run is None or run.end is None:
        return 1
    was_long = (run.end.at - run.began).total_seconds() >= QUIET_TIME
    return 1 if was_long else known.streak + 1
