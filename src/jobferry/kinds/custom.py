"""A kind that is a row of a table: most are; those that need code of their own build on it."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import orjson

from jobferry.clock import Seconds
from jobferry.core.kind import Earned, Gang, Report, Stillness
from jobferry.core.marks import Marks
from jobferry.kinds import dropped, forwarding, pods, references, statuses
from jobferry.kinds.adapter import Context, Selection
from jobferry.kinds.edits import Forwarding
from jobferry.kinds.forwarding import Edits
from jobferry.kinds.paths import Path, found, without, word
from jobferry.kinds.pods import Pods
from jobferry.kinds.references import Reference
from jobferry.kinds.table import Row, Says
from jobferry.objects import Obj
from jobferry.objects.demand import Demand
from jobferry.objects.resource import Resource


@dataclass(frozen=True)
class CustomKind:
    """The adapter of a row, made for one dispatcher."""

    row: Row
    context: Context

    @property
    def name(self) -> str:
        """Kind and group, as in JobSet.jobset.x-k8s.io."""
        return self.row.name

    @property
    def resource(self) -> Resource:
        """How API servers know it."""
        return self.row.resource

    @property
    def carries_record(self) -> bool:
        """Whether a write of its status can carry the record of its placement: custom resources drop metadata."""
        return False

    # How it is delegated

    @property
    def managed_by_path(self) -> Path:
        """Where it says who runs it."""
        return self.row.managed_by

    @property
    def own_controller(self) -> str:
        """The managedBy that means its own operator."""
        return self.row.own_controller

    @property
    def accepts(self) -> frozenset[str] | None:
        """The only names that its managedBy may have; None: any."""
        return self.row.accepts

    @property
    def claims(self) -> frozenset[str]:
        """The names by which a workload of this kind is ours."""
        return self.context.names if self.row.is_closed else self.context.claims

    def managed_by(self, obj: Obj) -> str:
        """Name who runs a workload; empty: nobody is named."""
        return word(obj, self.row.managed_by)

    @property
    def caution(self) -> str:
        """What to know before the kind's own operator runs on the hub as well."""
        return self.row.caution

    # What a workload is

    def pods(self, hub: Obj) -> Iterator[Pods]:
        """Yield the pods of a workload that run side by side."""
        for pod_set in self.row.pods:
            yield from pods.of_set(hub, pod_set)

    def own_pods(self, mirror: Obj) -> tuple[Selection, ...]:
        """Tell which pods belong to a mirror, by the labels that its operator gives them."""
        named = ((each, word(mirror, each.value)) for each in self.row.own_pods)
        return tuple(
            Selection(labels=",".join(filter(None, (f"{each.label}={value}", each.also))))
            for each, value in named
            if value
        )

    def demand(self, hub: Obj) -> Demand:
        """Return what a workload needs at any one moment."""
        said = pods.stated(hub)
        return self.needs(hub) if said is None else said

    def needs(self, hub: Obj) -> Demand:
        """Return what the pods of a workload need at any one moment, as far as they are known."""
        return pods.needs(self.pods(hub))

    def unknown_demand(self, hub: Obj) -> str | None:
        """Say why the demand of a workload cannot be known in full, if it cannot."""
        if pods.stated(hub) is not None:
            return None
        if pods.is_misstated(hub):
            return f"its annotation {pods.ANNOTATION} is no JSON object of quantities"
        return self.missing_pods(hub)

    def missing_pods(self, hub: Obj) -> str | None:
        """Say which pods of a workload are not known, if some are not."""
        return (
            None
            if self.row.pods
            else f"it is not known where a {self.row.resource.kind} has its pods"
        )

    def priority_class(self, hub: Obj) -> str:
        """Name the PriorityClass that counts for a workload; empty: none is named."""
        named = word(hub, self.row.priority) if self.row.priority else ""
        return named or pods.first_priority_class(self.pods(hub))

    def references(self, hub: Obj) -> list[Reference]:
        """Name what a worker must have so that a workload can run there."""
        return references.distinct(references.readable(self.needed(hub)))

    def needed(self, hub: Obj) -> Iterator[Reference]:
        """Yield what a workload refers to, some of it perhaps more than once."""
        yield from pods.needed(self.pods(hub))
        if self.row.priority:
            yield references.priority_class(word(hub, self.row.priority))

    @property
    def looks_up(self) -> tuple[Resource, ...]:
        """What its workloads refer to on the hub that tells what they need."""
        return self.row.looks_up

    def gang(self, hub: Obj) -> Gang | None:
        """Return nothing: it goes alone."""
        return None

    def refusal(self, hub: Obj) -> str | None:
        """Say why a workload cannot be delegated to any worker, if it cannot."""
        try:
            orjson.dumps(hub["spec"])
        except orjson.JSONEncodeError:
            return "its spec is nested deeper than anything that can be sent to a worker"
        return None

    def is_suspended(self, hub: Obj) -> bool:
        """Tell whether its user wants it not to run."""
        return self.row.suspend is not None and bool(found(hub, self.row.suspend))

    # How it ends

    @property
    def end_members(self) -> tuple[Path, ...]:
        """The members of an object that tell whether it ended."""
        return tuple(dict.fromkeys((self.row.success.path, self.row.failure.path)))

    def finish(self, obj: Obj) -> str | None:
        """Return how a workload or a mirror ended, Complete or Failed; None if it did not."""
        return statuses.ending(self.row, obj)

    def finished_at(self, hub: Obj) -> datetime | None:
        """Return when a workload ended on the hub; None if nobody wrote that down."""
        return statuses.ended_at(self.row, hub) if self.finish(hub) else None

    @property
    def owes_ttl(self) -> bool:
        """Whether nobody but we would delete a workload on the hub that has ended, though it has a TTL."""
        return bool(self.row.ttl)

    def ttl(self, hub: Obj) -> Seconds | None:
        """Return how long after its end a workload is to be deleted on the hub by us; None: never by us."""
        seconds = found(hub, self.row.ttl) if self.row.ttl else None
        return float(seconds) if isinstance(seconds, int) and seconds >= 0 else None

    def has_run(self, hub: Obj) -> bool:
        """Tell whether its status shows that anything of it ever ran."""
        return bool(statuses.evidence(self.row, hub))

    def has_run_since(self, hub: Obj, base: Earned) -> bool:
        """Tell whether its status shows something else than it did before the current attempt."""
        return self.has_run(hub) and statuses.digest(self.row, hub) != base

    def resumed_at(self, hub: Obj) -> datetime | None:
        """Return when a workload that runs nowhere was last suspended or resumed; None: never."""
        said = self.row.suspended
        entry = said.entry(hub) if said else {}
        return statuses.read_moment(entry.get("lastTransitionTime"))

    # Its mirror

    def draft(self, hub: Obj) -> Obj:
        """Return what a worker is to run, before marks say whose it is."""
        drafted: Obj = {
            "apiVersion": self.row.resource.api_version,
            "kind": self.row.resource.kind,
            "metadata": self._metadata(hub),
            "spec": hub["spec"],
        }
        for path in (self.row.managed_by, *self.row.strips):
            drafted = without(drafted, path)
        for path in self.row.nested:
            drafted = without(drafted, path, self.names_us)
        return drafted

    def names_us(self, name: Any) -> bool:
        """Tell whether a managedBy, or whatever is in its place, is a name of ours."""
        return isinstance(name, str) and name in self.context.names

    def _metadata(self, hub: Obj) -> Obj:
        kept, prefix = forwarding.metadata(hub), self.row.strips_annotations
        labels, annotations = kept["labels"], kept["annotations"]
        return {
            "labels": {
                key: value for key, value in labels.items() if key not in self.row.strips_labels
            },
            "annotations": {
                key: value
                for key, value in annotations.items()
                if not prefix or not key.startswith(prefix)
            },
        }

    def mirror(self, hub: Obj, marks: Marks, base: Earned) -> Obj:
        """Return the object to create on a worker; the same for the same arguments."""
        made = self.draft(hub)
        fields = Forwarding(self.row, hub).fields(made)
        return forwarding.note(marks.stamp(made), hub, fields)

    def dropped_fields(self, sent: Obj, answer: Obj) -> list[str]:
        """Name what a worker dropped of a mirror that it was sent."""
        return dropped.dropped_fields(sent, answer)

    def edits(self, hub: Obj, mirror: Obj, base: Earned) -> Edits:
        """Compare the hub object with its mirror and with what was forwarded."""
        if forwarding.is_untouched(hub, mirror):
            return forwarding.NOTHING
        return Forwarding(self.row, hub).edits(hub, self.draft(hub), mirror)

    def waits_since(self, mirror: Obj) -> datetime | None:
        """Return since when a mirror should run while none of it ever has; None: it has, or need not."""
        row = self.row
        is_due = not self.is_suspended(mirror) and not self.finish(mirror)
        if not is_due or not (row.ready or row.ran) or statuses.has_started(row, mirror):
            return None
        made = statuses.moment(mirror, ("metadata", "creationTimestamp"))
        since = (statuses.moment(mirror, row.started), self.resumed_at(mirror), made)
        return next((each for each in since if each is not None), None)

    # Its status

    def report(self, hub: Obj, mirror: Obj, base: Earned, now: datetime) -> Report | None:
        """Return what the mirror would have the hub show; None: it shows that, or shows its end."""
        if self.finish(hub):
            return None
        return self.written(hub, self.shown(hub, mirror, base))

    def shown(self, hub: Obj, mirror: Obj, base: Earned) -> Obj:
        """Return the status that a mirror would have the hub show; empty if it has none."""
        is_forwarded = (
            not forwarding.is_edited(hub, mirror) or not self.edits(hub, mirror, base).patch
        )
        return statuses.shown(self.row, hub, mirror, is_forwarded=is_forwarded)

    def written(self, hub: Obj, status: Obj) -> Report | None:
        """Return the write by which the hub shows a status; None if it does."""
        patch = statuses.patch(hub, status)
        return Report(patch, self.finish({**hub, "status": status})) if patch else None

    def is_about_to_end(self, mirror: Obj) -> bool:
        """Tell whether the next status of a mirror is the last: that cannot be known of these kinds."""
        return False

    def waiting(self, hub: Obj, now: datetime) -> Report | None:
        """Return the status of a workload that runs nowhere, suspended if it should be; None: it has that."""
        if self.finish(hub):
            return None
        return self.written(
            hub, statuses.suspension(self.row, hub, self.is_suspended(hub), now)
        )

    def fail(self, hub: Obj, reason: str, message: str, now: datetime) -> Report | None:
        """Return the status of a workload that we give up ourselves; None: it has ended already."""
        if self.finish(hub):
            return None
        return self.written(hub, self.failed(hub, reason, message, now))

    def failed(self, hub: Obj, reason: str, message: str, now: datetime) -> Obj:
        """Return the status that says, in the kind's own words, that a workload failed."""
        return statuses.failure(self.row, hub, reason, message, now)

    def idle(self, hub: Obj) -> Obj:
        """Return nothing: the record of these kinds is no part of their status."""
        return {}

    # Moving it

    def stop(self, mirror: Obj) -> Obj | None:
        """Return the merge patch by which a mirror stops and can go on later; None: its kind cannot, or does not say so."""
        row = self.row
        return _nested(row.suspend, True) if row.suspend and row.suspended else None

    def stillness(self, mirror: Obj) -> Stillness:
        """Tell how far a mirror is that is to stop, or was deleted."""
        said: Says | None = self.row.suspended
        if self.is_suspended(mirror) and not mirror.get("status"):
            return Stillness.QUIET  # nobody has looked at it yet, and perhaps nobody will
        if said is None or not said.holds(mirror):
            return Stillness.RUNS
        if not self.is_suspended(mirror):
            return Stillness.RESUMES
        # Most operators say so once they have told its pods to end, which these may take their time for.
        return Stillness.RUNS if statuses.is_any(mirror, self.row.busy) else Stillness.QUIET

    def stopped_at(self, mirror: Obj) -> datetime | None:
        """Return nothing: what counts is that a mirror is gone, not when it said that it stopped."""
        return None

    def resume(self, hub: Obj, mirror: Obj, base: Earned, now: datetime) -> Obj:
        """Return the merge patch that lets a mirror which we stopped ourselves be as the hub wants it."""
        return _nested(self.row.suspend, self.is_suspended(hub)) if self.row.suspend else {}

    def carried(self, hub: Obj, mirror: Obj | None, base: Earned, now: datetime) -> Earned:
        """Return what stands for all that the hub shows: the next attempt begins anew, and is to be told from it."""
        return statuses.digest(self.row, hub)

    def earlier(self, hub: Obj, mirror: Obj) -> Earned:
        """Return nothing: what the hub showed before a mirror was made cannot be told without the record of it."""
        return ""

    def outcome(
        self, hub: Obj, mirror: Obj | None, base: Earned, now: datetime
    ) -> Report | None:
        """Return nothing: each attempt begins anew, so there is always something left to run."""
        return None


def _nested(path: Path, value: object) -> Obj:
    """Return a merge patch of one member."""
    first, *rest = path
    return {first: _nested(tuple(rest), value) if rest else value}
