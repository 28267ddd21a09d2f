"""What the dispatcher can do about a workload: each step is one request, or none."""

import enum
from dataclasses import dataclass

from jobferry.clock import Seconds
from jobferry.core.kind import Report
from jobferry.core.marks import Marks
from jobferry.core.placement import Placement
from jobferry.objects import Obj


@dataclass(frozen=True, slots=True)
class ReadHub:
    """Read the hub object from its API server: a cache is not enough for what may come next."""


@dataclass(frozen=True, slots=True)
class ReadMirror:
    """Read the mirror with these marks from its worker's API server, or that there is none."""

    marks: Marks


@dataclass(frozen=True, slots=True)
class ReadKind:
    """Ask the worker of a mirror that does not serve its kind whether it has lost that, and the mirror with it."""

    marks: Marks


class Into(enum.Enum):
    """Where on the hub something is recorded."""

    STATUS = "status"
    """On the workload: a merge patch of its status subresource."""

    NEW = "new"
    """In an object of ours that is to be created; that there is one by now is a conflict."""

    OBJECT = "object"
    """In that object: a merge patch of it."""


@dataclass(frozen=True, slots=True)
class Record:
    """Write a placement to the hub: from then on it counts."""

    body: Obj
    placement: Placement
    why: str = ""
    """Why it is not the first."""

    into: Into = Into.STATUS
    is_found: bool = False
    """Whether its mirror is there already: only the record was lost."""


@dataclass(frozen=True, slots=True)
class Store:
    """Write something to the hub that belongs to a record, but does not place anything."""

    body: Obj
    into: Into


@dataclass(frozen=True, slots=True)
class DeleteRecord:
    """Delete an object with the record of a workload that is gone, and left it behind."""

    obj: Obj


@dataclass(frozen=True, slots=True)
class WriteStatus:
    """Write the status of the hub object."""

    patch: Obj
    end: str | None
    """How the workload ended, if this write says that it did."""

    @classmethod
    def of(cls, report: Report) -> "WriteStatus":
        """Return the step that writes what a kind would have the hub show."""
        return cls(report.patch, report.end)


@dataclass(frozen=True, slots=True)
class CreateMirror:
    """Create the mirror on a worker."""

    worker: str
    obj: Obj


@dataclass(frozen=True, slots=True)
class EditMirror:
    """Forward what changed on the hub."""

    worker: str
    obj: Obj
    patch: Obj


@dataclass(frozen=True, slots=True)
class DeleteMirror:
    """Delete a mirror that is ours and no longer wanted."""

    worker: str
    obj: Obj
    why: str
    only_as_seen: bool = False
    """Whether it is to stay if it has changed since."""

    waits: bool = False
    """Whether it is to be there until all that it made is gone."""

    is_routine: bool = False
    """Whether nobody will ask why: its workload was seen to be deleted."""


@dataclass(frozen=True, slots=True)
class Notice:
    """Something that people should know about the workload; the same as long as nothing changes."""

    reason: str
    message: str


@dataclass(frozen=True, slots=True)
class Want:
    """A worker for a workload: it is looked at again once there is room on one of these, and it is its turn."""

    workers: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Rest:
    """Nothing to do, for now or until something changes."""

    why: str
    after: Seconds | None = None
    notices: tuple[Notice, ...] = ()
    wants: Want | None = None
    """None: it waits for no worker."""


Step = (
    ReadHub
    | ReadMirror
    | ReadKind
    | Record
    | Store
    | DeleteRecord
    | WriteStatus
    | CreateMirror
    | EditMirror
    | DeleteMirror
    | Rest
)
