"""What is known about one workload when it is decided on: plain values, read from the caches."""

from collections.abc import Callable, Mapping, Set
from dataclasses import dataclass, field
from datetime import datetime

from jobferry.clock import Seconds
from jobferry.core.bounds import NO_BOUNDS, Bounds
from jobferry.core.line import Held
from jobferry.core.marks import Marks
from jobferry.core.placement import Placement
from jobferry.core.room import Lack
from jobferry.objects import Obj
from jobferry.objects.quantities import Quantity


@dataclass(frozen=True, slots=True, kw_only=True)
class Worker:
    """A worker as placement sees it."""

    name: str
    cluster: str
    """The UID of its cluster; empty while it was never reached."""

    is_up: bool
    """Whether it answers."""

    silent_since: datetime | None = None
    """Since when it does not, if that is too short a time to call it lost."""

    lost_since: datetime | None = None
    """Since when its being out of reach counts: not before we ourselves were last cut off from most."""

    refuses: str | None = None
    """Why it takes no new work; None: it does."""

    moves_away: bool = False
    """Whether it is drained: what runs there is to run elsewhere."""

    is_being_removed: bool = False
    """Whether its Worker was deleted: what runs there is to run elsewhere, unless the queue says to wait."""

    counts_late: bool = False
    """Whether it may say that a workload has stopped before it has counted what still ends."""

    max_load: int | None = None
    """How many unfinished workloads it takes; None: any number."""

    capacity: Mapping[str, Quantity] = field(default_factory=dict)
    """What it has for our workloads; what is not named is not limited."""

    bounds: Bounds = NO_BOUNDS
    """Which namespaces may go there."""

    watched: frozenset[str] | None = None
    """The namespaces that we see there; None: all."""

    kinds: frozenset[str] | None = None
    """The workload kinds that it serves and we see there, as in Job.batch; None: it is not known."""

    hidden: Mapping[str, str] = field(default_factory=dict)
    """The kinds that it serves and we do not see there, and why."""

    def serves(self, kind: str) -> bool:
        """Tell whether workloads of a kind can be there, as far as is known."""
        return self.kinds is None or kind in self.kinds

    def shows(self, namespace: str) -> bool:
        """Tell whether we see what is there in a namespace."""
        return self.watched is None or namespace in self.watched

    @property
    def is_open(self) -> bool:
        """Whether it takes new work, if it has room."""
        return self.is_up and self.refuses is None

    @property
    def gives_away(self) -> bool:
        """Whether what runs there may have to run elsewhere."""
        return self.moves_away or self.is_being_removed


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """What the workload's queue says."""

    workers: tuple[str, ...]
    """Those that may run it, in the order to try them if `placement` is Ordered."""

    queue: str = ""
    """Its name; empty: that of all who have none."""

    honours: frozenset[str] | None = None
    """The PriorityClasses that count; None: all but those of the system."""

    missing: str = ""
    """Why there is no queue that could say where it runs: what runs goes on, only placing waits."""

    placement: str = "Spread"
    lost_after: Seconds | None = 900.0
    """How long a worker may be lost until its work moves; None: work waits for it."""

    keep_finished: Seconds | None = None
    """How long the mirror of a finished workload stays; None: as long as the workload."""

    give_up_after: Seconds | None = None
    """How long a workload waits for its first worker until it fails; None: for ever."""

    start_within: Seconds | None = 600.0
    """How long nothing of a mirror may run until people are told; None: for ever."""

    moves_unstarted: bool = False
    """Whether it is also tried elsewhere then."""

    fails_deleted: bool = False
    """Whether a workload fails whose mirror was deleted on the worker after it ran; else it is placed again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """Everything that is known about one workload."""

    namespace: str
    name: str
    hub: Obj | None
    """None: there is none, or none that is delegated to us."""

    record: Obj | None = None
    """The object of ours that is named after the UID of `hub`; None: there is none."""

    ownerless: tuple[Obj, ...] = ()
    """Objects of ours with records of workloads of this name, which belong to nobody: theirs may be gone."""

    unclaimed: str = ""
    """The UID of the object of that name that is there, but is not delegated to us."""

    is_live: bool
    """Whether `hub` was read from the API server in this very pass, not from a cache."""

    mirrors: Mapping[str, Obj]
    """By worker: what carries our marks under the mirror's name, as last seen."""

    workers: Mapping[str, Worker]
    policy: Policy
    origin: str
    dispatcher: str
    now: datetime
    bounds: Bounds = NO_BOUNDS
    """Which namespaces may go anywhere."""

    priority: int = 0
    """Within its queue: more goes first."""

    priority_note: str = ""
    """Why the priority that it asks for does not count, if so."""

    reserved: str | None = None
    """The worker where there is room for it, and nobody else gets that."""

    lacks: Callable[[], Mapping[str, Lack]] | None = None
    """Asked when somebody wants to know: what each worker lacks that could take it. None: it is not known yet."""

    held: Held | None = None
    """Why its gang cannot go, if it waits for that."""

    follows: bool = False
    """Whether it was to leave its worker, and has to, because some of its gang have left."""

    kept: Mapping[str, str] = field(default_factory=dict)
    """By worker that did not let us delete what it has of this workload, in this very pass: why."""

    seen: Set[str] = frozenset()
    """Workers whose mirror was read from their API servers in this very pass."""

    lost_kinds: Mapping[str, bool] = field(default_factory=dict)
    """By worker that was asked in this very pass: whether it has certainly nothing of the kind any more."""

    refusals: Mapping[str, str] = field(default_factory=dict)
    """Workers that would not have this workload, and why."""

    buried: str = ""
    """The UID of the last workload of this name, if its deletion was seen, not only its absence."""

    untold: Placement | None = None
    """The placement that we made and have told no worker of yet, or its worker refused: there is no mirror of it."""

    vain: Obj | None = None
    """The write of its status that changed nothing, though it should have: the hub does not keep what it says."""

    def marks(self, worker: str, hub_uid: str, attempt: int) -> Marks:
        """Return the marks of the mirror that this workload has, or would have, on a worker."""
        return Marks(
            origin=self.origin,
            dispatcher=self.dispatcher,
            worker=worker,
            hub_uid=hub_uid,
            attempt=attempt,
            namespace=self.namespace,
            name=mirror_name(self.name, self.workers.get(worker), self.origin),
            hub_name=self.name,
        )

    @property
    def most_are_lost(self) -> bool:
        """Whether so many workers are out of reach that it must be us who are cut off."""
        lost = sum(not worker.is_up for worker in self.workers.values())
        return are_most(lost, len(self.workers))


def mirror_name(name: str, worker: Worker | None, origin: str) -> str:
    """Name the mirror of a workload: as the workload, unless the hub is its own worker."""
    return f"{name}-mirror" if worker is not None and worker.cluster == origin else name


def are_most(lost: int, workers: int) -> bool:
    """Tell whether so many of the workers are too many to be lost by themselves."""
    return lost > 1 and lost * 2 > workers
