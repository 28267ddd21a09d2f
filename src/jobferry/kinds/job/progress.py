"""How far a Job has got, as much of it as is decoded of every Job that is kept in memory."""

import msgspec

from jobferry.kinds.job.status import COMPLETE, FAILED


class Condition(msgspec.Struct, frozen=True, gc=False):
    """One condition."""

    type: str
    status: str


class JobProgress(msgspec.Struct, frozen=True, gc=False):
    """How far a Job has got."""

    conditions: tuple[Condition, ...] = ()

    @property
    def has_ended(self) -> bool:
        """Whether it is Complete or Failed."""
        return any(
            condition.status == "True" and condition.type in (COMPLETE, FAILED)
            for condition in self.conditions
        )
