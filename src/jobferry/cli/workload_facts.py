"""What the JSON of a workload of any kind says about its life, in the words that people read: pure."""

from collections.abc import Collection
from dataclasses import dataclass

import orjson

from jobferry.cli.job_facts import HUB, UNKNOWN
from jobferry.core import placement, records
from jobferry.core.placement import Placement
from jobferry.kinds.adapter import Adapter
from jobferry.objects import Obj

NOT_DELEGATED = "NotDelegated"
"""How one stands that is not ours to run, and that nobody runs yet."""


@dataclass(frozen=True, slots=True)
class Workload:
    """A workload, and the record of its placement, if that is an object of its own."""

    kind: Adapter
    obj: Obj
    record: Obj | None = None

    @property
    def name(self) -> str:
        """Its name."""
        return str(self.obj["metadata"]["name"])

    @property
    def title(self) -> str:
        """Its kind and its name."""
        return f"{self.kind.resource.kind} {self.name}"

    @property
    def argument(self) -> str:
        """How commands are told which it is."""
        is_job = self.kind.resource.group == "batch"
        return self.name if is_job else f"{self.name} -k {self.kind.resource.kind}"

    @property
    def is_claimed(self) -> bool:
        """Whether the dispatcher that the kind was made for runs it."""
        return self.kind.managed_by(self.obj) in self.kind.claims

    @property
    def placed(self) -> Placement | None:
        """Where it was placed."""
        return records.read(self.kind, self.obj, self.record)

    @property
    def state(self) -> str:
        """How it stands, in one word."""
        if self.obj["metadata"].get("deletionTimestamp"):
            return "Deleting"
        if ended := self.kind.finish(self.obj):
            return ended
        if self.kind.is_suspended(self.obj):
            return "Suspended"
        placed = self.placed
        if placed is None and not self.is_claimed:
            return "Running" if self.kind.has_run(self.obj) else NOT_DELEGATED
        if placed is None:
            return "Waiting"
        is_running = self.kind.has_run_since(self.obj, placed.shards[0].base)
        return "Running" if is_running else "Placed"

    def state_but_for(self, absent: Collection[str]) -> str:
        """How it stands, if these workers are not heard of: of what is there, nobody knows."""
        is_missed = any(each in absent for each in self.places)
        return UNKNOWN if is_missed and self.state in ("Placed", "Running") else self.state

    @property
    def places(self) -> tuple[str, ...]:
        """The workers that have it, if it has not ended."""
        placed = None if self.kind.finish(self.obj) else self.placed
        return tuple(shard.worker for shard in placed.shards) if placed else ()

    @property
    def worker(self) -> str | None:
        """The worker that it was placed on; who else runs it stands in angle brackets. None: it waits."""
        placed = self.placed
        if placed is not None:
            return ",".join(shard.worker for shard in placed.shards)
        if self.is_claimed:
            return None
        named = self.kind.managed_by(self.obj)
        return f"<{named}>" if named and named != self.kind.own_controller else HUB

    @property
    def attempt(self) -> int:
        """For the how many-th time it was placed; 0: never."""
        placed = self.placed
        return placed.attempt if placed else 0

    @property
    def document(self) -> Obj:
        """It, for programs: its placement is told where Jobs have theirs, and nobody's forged one is."""
        if self.kind.carries_record:
            return self.obj
        meta, placed = self.obj["metadata"], self.placed
        notes = {**(meta.get("annotations") or {}), placement.ANNOTATION: None}
        if placed is not None:
            notes[placement.ANNOTATION] = _note(placed)
        kept = {name: note for name, note in notes.items() if note is not None}
        others = {name: member for name, member in meta.items() if name != "annotations"}
        return {**self.obj, "metadata": {**others, **({"annotations": kept} if kept else {})}}


def _note(placed: Placement) -> str:
    """Return a placement as the annotation of a Job tells it; no attempt of another kind leaves a base to the next."""
    shards = [
        {"worker": each.worker, "cluster": each.cluster, "base": {}} for each in placed.shards
    ]
    about = {"format": placement.FORMAT, "uid": placed.uid, "attempt": placed.attempt}
    return orjson.dumps({**about, "shards": shards}).decode()
