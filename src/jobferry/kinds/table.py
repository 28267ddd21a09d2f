"""A kind as a row of a table: where its objects say what, and what of them travels."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from jobferry.kinds.adapter import MULTIKUEUE
from jobferry.kinds.paths import Path, found, items
from jobferry.objects import Obj, conditions
from jobferry.objects.resource import Resource

CONDITIONS: Path = ("status", "conditions")
SPEC: Path = ("spec",)


@dataclass(frozen=True, slots=True)
class Says:
    """Something that a status says: by a condition, or by a word in one of its members."""

    condition: str = ""
    status: str = "True"
    """Of the condition."""

    member: Path = ()
    values: tuple[str, ...] = ()
    """Of the member; the first is the one that we write ourselves."""

    @property
    def path(self) -> Path:
        """Where it is said."""
        return self.member or CONDITIONS

    def holds(self, obj: Obj) -> bool:
        """Tell whether an object says so."""
        if self.member:
            return found(obj, self.member) in self.values
        if not self.condition:
            return False
        return any(
            each.get("type") == self.condition and each.get("status") == self.status
            for each in items(obj, CONDITIONS)
        )

    def entry(self, obj: Obj) -> Obj:
        """Return the condition of that type, whatever it says; empty if there is none."""
        return conditions.find(items(obj, CONDITIONS), self.condition) or {}


NEVER = Says()
"""What no status says."""


@dataclass(frozen=True, slots=True)
class PodSet:
    """Pods that are made from one template, or from one for each entry of a list."""

    at: Path
    """The object, or (with `*`) the objects, that have the rest."""

    template: Path = ("template",)
    counts: tuple[Path, ...] = (("replicas",),)
    """Numbers that make the number of pods if multiplied; one that is not there is one."""

    at_most: Path = ()
    """A number that the last of the counts does not exceed."""


@dataclass(frozen=True, slots=True)
class Labelled:
    """Pods that have a label which names what they were made of."""

    label: str
    value: Path = ("metadata", "name")
    """Where the mirror says what the label says; pods are there from when it does."""

    also: str = ""
    """Another label that they have, and its value."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """What there is to know of a kind whose objects need no code of their own."""

    resource: Resource

    # How it is delegated

    managed_by: Path = ("spec", "managedBy")
    own_controller: str = ""
    is_closed: bool = False
    """Whether managedBy may only be the own controller, or `MULTIKUEUE`."""

    caution: str = ""

    # What it needs

    pods: tuple[PodSet, ...] = ()
    priority: Path = ()
    """The name of a PriorityClass that counts more than those in the pod templates."""

    looks_up: tuple[Resource, ...] = ()
    """What its workloads refer to that has pods of theirs."""

    own_pods: tuple[Labelled, ...] = ()
    """How its operator labels the pods that it makes of a mirror; none: nobody knows."""

    # What travels

    strips: tuple[Path, ...] = ()
    """What the mirror does not get."""

    nested: tuple[Path, ...] = ()
    """Where there may be a managedBy of what the operator makes; the mirror does not get it if it names us."""

    strips_labels: frozenset[str] = frozenset()
    strips_annotations: str = ""
    """What annotations begin with that the mirror does not get; empty: it gets all."""

    forwards: tuple[Path, ...] = ()
    """What of the spec may change later; `name=*` as a step stands for the entries of a list by their names."""

    forwards_stopped: tuple[Path, ...] = ()
    """As `forwards`, for what may change only while the workload is suspended."""

    forwards_still: bool = False
    """Whether that may change only once nothing of it runs any more (`busy`): the operator refuses it before."""

    elastic: Path = ()
    """What is there if the worker itself lets the workload grow and shrink."""

    grows: tuple[Path, ...] = ()
    """As `forwards`, for what is the worker's to change if the workload is elastic."""

    # How it stops and ends

    suspend: Path | None = ("spec", "suspend")
    """A boolean; None: it cannot be suspended."""

    success: Says = Says("Complete")
    failure: Says = Says("Failed")
    suspended: Says | None = Says("Suspended")
    """What its status says once it has stopped; None: nothing."""

    started: Path = ("status", "startTime")
    ended: Path = ("status", "completionTime")
    """The moment of its end, where there is such a member; else the condition tells it."""

    ready: tuple[Path, ...] = ()
    """Numbers and words of which any that is there tells that some of it ran."""

    ran: tuple[Says, ...] = ()
    """As `ready`. If there is neither, it is never told."""

    busy: tuple[Path, ...] = ()
    """Numbers of which any tells that some of it still runs, though it is said to be suspended."""

    ttl: Path = ()
    """Seconds after its end by when nobody but we would delete it on the hub."""

    # Its status

    noise: frozenset[str] = frozenset()
    """Members of a status that change all the time and tell nothing."""

    quiet: frozenset[str] = frozenset()
    """Members of a status that are there before anything runs."""

    required: Mapping[str, object] = field(default_factory=dict)
    """Members without which no status is accepted."""

    fails_also: Mapping[str, object] = field(default_factory=dict)
    """What a status has besides, if it failed."""

    running: str = ""
    """A condition that is no longer True once it failed."""

    stamp: str = ""
    """A moment that its conditions have besides lastTransitionTime."""

    @property
    def name(self) -> str:
        """Kind and group, as in JobSet.jobset.x-k8s.io."""
        return f"{self.resource.kind}.{self.resource.group}".rstrip(".")

    @property
    def accepts(self) -> frozenset[str] | None:
        """The only names that its managedBy may have; None: any."""
        return frozenset({self.own_controller, MULTIKUEUE}) if self.is_closed else None

    @property
    def words(self) -> frozenset[str]:
        """The conditions that are the kind's own, whatever they are called."""
        said = (self.success, self.failure, self.suspended)
        return frozenset(each.condition for each in said if each and each.condition)
