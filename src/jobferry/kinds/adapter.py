"""What an adapter tells the shell, besides what deciding needs to know of its kind.

Adapters are made for one dispatcher: what it claims, and how it finds what workloads refer to, is their `Context`.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from jobferry.clock import Seconds
from jobferry.core.kind import Kind
from jobferry.kinds.references import Reference
from jobferry.objects import Obj
from jobferry.objects.resource import Resource

Path = tuple[str, ...]
"""Where a member of an object is."""

MULTIKUEUE = "kueue.x-k8s.io/multikueue"
"""The one managedBy that kinds with a closed list take besides their own controller's."""

Lookup = Callable[[str, Reference], Obj | None]
"""Finds an object on the hub that a workload of a namespace refers to; None: it is not there, or we may not look."""


def nothing(namespace: str, reference: Reference) -> Obj | None:
    """Find nothing, where we may not look."""
    return None


@dataclass(frozen=True, slots=True)
class Context:
    """What adapters know of the dispatcher that they are made for."""

    claims: frozenset[str]
    """The managedBy names that are ours, for kinds that take any name."""

    borrowed: frozenset[str] = frozenset()
    """Names of others that we claim too, for kinds with a closed list: `MULTIKUEUE`, if that is switched on."""

    lookup: Lookup = nothing

    @property
    def names(self) -> frozenset[str]:
        """All names by which anything is delegated to us."""
        return self.claims | self.borrowed


@dataclass(frozen=True, slots=True)
class Selection:
    """Which pods of a namespace are meant, as API servers select them."""

    labels: str = ""
    fields: str = ""


class Adapter(Kind, Protocol):
    """One workload kind, as decisions and the shell round them know it."""

    @property
    def resource(self) -> Resource:
        """How API servers know it: group, version, plural and kind."""
        ...

    # How it is delegated

    @property
    def managed_by_path(self) -> Path:
        """Where it says who runs it: a name, or (Pods) a list of entries with a `name`."""
        ...

    @property
    def own_controller(self) -> str:
        """The managedBy that means its own operator; so does none. Empty: it has no such name."""
        ...

    @property
    def accepts(self) -> frozenset[str] | None:
        """The only names that its managedBy may have, by its operator's rules; None: any."""
        ...

    @property
    def claims(self) -> frozenset[str]:
        """The names by which a workload of this kind is ours; none: it cannot be, as things are switched."""
        ...

    def managed_by(self, obj: Obj) -> str:
        """Name who runs a workload; empty: nobody is named. Of several names, one of ours."""
        ...

    @property
    def caution(self) -> str:
        """What to know before the kind's own operator runs on the hub as well; empty: nothing."""
        ...

    # Its end on the hub

    @property
    def end_members(self) -> tuple[Path, ...]:
        """The members of an object that tell whether it ended; `finish` looks at no others."""
        ...

    @property
    def owes_ttl(self) -> bool:
        """Whether nobody but we would delete a workload on the hub that has ended, though it has a TTL."""
        ...

    def ttl(self, hub: Obj) -> Seconds | None:
        """Return how long after its end a workload is to be deleted on the hub by us; None: never by us."""
        ...

    # Its pods

    def own_pods(self, mirror: Obj) -> tuple[Selection, ...]:
        """Tell which pods belong to a mirror, as far as it says so by now; nothing: nobody knows that of its kind."""
        ...

    # What it needs

    def references(self, hub: Obj) -> list[Reference]:
        """Name what a worker must have so that a workload can run there, each once, in order."""
        ...

    @property
    def looks_up(self) -> tuple[Resource, ...]:
        """What its workloads refer to on the hub that tells what they need: `Context.lookup` is asked for no other."""
        ...

    def unknown_demand(self, hub: Obj) -> str | None:
        """Say why the demand of a workload cannot be known in full, if it cannot: what is missing counts nothing."""
        ...

    def refusal(self, hub: Obj) -> str | None:
        """Say why a workload cannot be delegated to any worker, if it cannot."""
        ...
