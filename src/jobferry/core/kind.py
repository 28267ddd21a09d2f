"""What deciding needs to know of a workload kind; `kinds` has the adapters.

An adapter is a pure translator: dicts in, dicts and values out. It knows where its kind says what; the core knows
what follows from it. What earlier attempts of a workload have earned, its *base*, is the adapter's own: the core
keeps it as text (empty: nothing) and never looks into it.
"""

import enum
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple, Protocol

from jobferry.core.marks import Marks
from jobferry.objects import Obj
from jobferry.objects.demand import Demand
from jobferry.objects.resource import Resource

Earned = str
"""A base as its adapter wrote it: empty, or one flat JSON object as orjson writes it, without braces within.

So it can stand in a line of text. Adapters take whatever is there: nonsense is nothing.
"""


class Edits(Protocol):
    """What changed on the hub since it was forwarded, and what somebody changed on the mirror."""

    @property
    def patch(self) -> Obj | None:
        """The merge patch that forwards it."""
        ...

    @property
    def refusals(self) -> tuple[str, ...]:
        """What cannot be forwarded, and why."""
        ...

    @property
    def drift(self) -> tuple[str, ...]:
        """What is not on the mirror as it was forwarded."""
        ...


@dataclass(frozen=True, slots=True)
class Report:
    """A status to write to the hub."""

    patch: Obj
    """The merge patch of the status subresource; it names the resourceVersion that it was made for."""

    end: str | None = None
    """How the workload ended, if this status says that it did, as in Complete or Failed."""


class Gang(NamedTuple):
    """What a workload says of those that it belongs to: all of them go to one worker, or none."""

    namespace: str
    name: str
    size: int
    """How many they are."""


class Stillness(enum.Enum):
    """How far a mirror is that was told to stop."""

    RUNS = "runs"
    """Some of it does, or may."""

    RESUMES = "resumes"
    """It was not told to stop, but what its status says is still of the time when it was stopped."""

    QUIET = "quiet"
    """Its status says that it has stopped, but not that all of its pods have ended."""

    STOPPED = "stopped"
    """Nothing of it runs, and its status counts all that did."""


class Kind(Protocol):
    """One workload kind."""

    @property
    def name(self) -> str:
        """Kind and group, as in Job.batch."""
        ...

    @property
    def resource(self) -> Resource:
        """How API servers know it."""
        ...

    @property
    def carries_record(self) -> bool:
        """Whether the record of a placement can be on the workload itself.

        That takes conditions, and a status subresource whose writes keep annotations: custom resources have none such.
        """
        ...

    # What a workload is

    def demand(self, hub: Obj) -> Demand:
        """Return what a workload needs at any one moment."""
        ...

    def priority_class(self, hub: Obj) -> str:
        """Name the PriorityClass that counts for it; empty: none is named."""
        ...

    def gang(self, hub: Obj) -> Gang | None:
        """Return which others a workload goes with; None: it goes alone, as most do, or makes no sense of it."""
        ...

    def refusal(self, hub: Obj) -> str | None:
        """Say why a workload cannot run on any worker, whichever it is; None: it can."""
        ...

    def is_suspended(self, hub: Obj) -> bool:
        """Tell whether its user wants it not to run: then it is not placed."""
        ...

    def finish(self, obj: Obj) -> str | None:
        """Return how a workload or a mirror ended; None if it did not."""
        ...

    def finished_at(self, hub: Obj) -> datetime | None:
        """Return when a workload ended on the hub; None if nobody wrote that down."""
        ...

    def resumed_at(self, hub: Obj) -> datetime | None:
        """Return when a workload that runs nowhere was last suspended or resumed; None: never."""
        ...

    def has_run(self, hub: Obj) -> bool:
        """Tell whether its status shows that anything of it ever ran."""
        ...

    def has_run_since(self, hub: Obj, base: Earned) -> bool:
        """Tell whether its status shows more than what was earned before the current attempt: that one ran."""
        ...

    # Its mirror

    def mirror(self, hub: Obj, marks: Marks, base: Earned) -> Obj:
        """Return the object to create on a worker; the same for the same arguments."""
        ...

    def dropped_fields(self, sent: Obj, answer: Obj) -> list[str]:
        """Name what a worker dropped of a mirror that it was sent."""
        ...

    def edits(self, hub: Obj, mirror: Obj, base: Earned) -> Edits:
        """Compare the hub object with its mirror and with what was forwarded."""
        ...

    def waits_since(self, mirror: Obj) -> datetime | None:
        """Return since when a mirror should run while none of it ever has; None: it has, or need not."""
        ...

    # Its status

    def report(self, hub: Obj, mirror: Obj, base: Earned, now: datetime) -> Report | None:
        """Return what the mirror would have the hub show, as the hub accepts it; None: it shows that."""
        ...

    def is_about_to_end(self, mirror: Obj) -> bool:
        """Tell whether nothing runs any more and it is decided how to end: the next status is the last."""
        ...

    def waiting(self, hub: Obj, now: datetime) -> Report | None:
        """Return the status of a workload that runs nowhere, suspended if it should be; None: it has that."""
        ...

    def fail(self, hub: Obj, reason: str, message: str, now: datetime) -> Report | None:
        """Return the status of a workload that we give up ourselves."""
        ...

    def idle(self, hub: Obj) -> Obj:
        """Return the merge patch of a status by which nothing runs, for one that is placed again.

        It goes with the record, in one write: nobody asks where that is elsewhere.
        """
        ...

    # Moving it

    def stop(self, mirror: Obj) -> Obj | None:
        """Return the merge patch by which a mirror stops and can go on later.

        None: its kind cannot, so it leaves its worker by being deleted.
        """
        ...

    def stillness(self, mirror: Obj) -> Stillness:
        """Tell how far a mirror is that is to stop, or was deleted."""
        ...

    def stopped_at(self, mirror: Obj) -> datetime | None:
        """Return when a mirror said that it stopped, where that may be before all of it was counted."""
        ...

    def resume(self, hub: Obj, mirror: Obj, base: Earned, now: datetime) -> Obj:
        """Return the merge patch that lets a mirror which we stopped ourselves be as the hub wants it."""
        ...

    def carried(self, hub: Obj, mirror: Obj | None, base: Earned, now: datetime) -> Earned:
        """Return the base of the next attempt; `mirror` is None if nothing is known of it any more."""
        ...

    def earlier(self, hub: Obj, mirror: Obj) -> Earned:
        """Return the base that a mirror was made with, as far as it can be told without the record of it."""
        ...

    def outcome(
        self, hub: Obj, mirror: Obj | None, base: Earned, now: datetime
    ) -> Report | None:
        """Return the status of a workload of which nothing is left to run; None if there is.

        `mirror` is the last one as it was last seen, which may have decided how to end; None: nothing is known of it.
        """
        ...
