"""The marks that make a mirror ours, and tell for which workload and which attempt it was made.

Labels are what an informer selects on and what tells mirrors apart. Annotations name the mirror itself,
so that a copy which somebody made of it (marks and all) is known for what it is.
"""

import enum
import hashlib
from dataclasses import dataclass
from functools import lru_cache

from jobferry.objects import Obj, labels

PREFIX = "jobferry.io/"
"""Of all our labels and annotations."""

ORIGIN = f"{PREFIX}origin"
DISPATCHER = f"{PREFIX}dispatcher"
WORKER = f"{PREFIX}worker"
HUB_UID = f"{PREFIX}hub-uid"
ATTEMPT = f"{PREFIX}attempt"

HUB_NAME = f"{PREFIX}hub-name"
MIRROR = f"{PREFIX}mirror"
HUB_GENERATION = f"{PREFIX}hub-generation"
FORWARDED = f"{PREFIX}forwarded"
VACATING = f"{PREFIX}vacating"
"""On a mirror that we suspended ourselves, because it is to run elsewhere."""


class Standing(enum.Enum):
    """What an object on a worker is to us."""

    CURRENT = "current"
    """The mirror of the attempt that counts."""

    STALE = "stale"
    """Ours, but of a workload or an attempt that is over: it may be deleted."""

    FOREIGN = "foreign"
    """Not ours: it is never touched."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What an object on a worker is to us, and why."""

    standing: Standing
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Marks:
    """Everything that must match for an object on a worker to be one certain mirror."""

    origin: str
    """The UID of the hub's kube-system namespace."""

    dispatcher: str
    worker: str
    hub_uid: str
    attempt: int
    namespace: str
    name: str
    """Of the mirror; the hub object's own, unless the hub is its own worker."""

    hub_name: str

    def labels(self) -> dict[str, str]:
        """Return the labels that a mirror with these marks carries."""
        return {
            ORIGIN: self.origin,
            DISPATCHER: label_value(self.dispatcher),
            WORKER: label_value(self.worker),
            HUB_UID: self.hub_uid,
            ATTEMPT: str(self.attempt),
        }

    def annotations(self) -> dict[str, str]:
        """Return the annotations that a mirror with these marks carries."""
        return {HUB_NAME: self.hub_name, MIRROR: f"{self.namespace}/{self.name}"}

    def stamp(self, obj: Obj) -> Obj:
        """Return `obj` under the mirror's name, with these marks."""
        metadata = obj.get("metadata") or {}
        return {
            **obj,
            "metadata": {
                **metadata,
                "namespace": self.namespace,
                "name": self.name,
                "labels": {**(metadata.get("labels") or {}), **self.labels()},
                "annotations": {**(metadata.get("annotations") or {}), **self.annotations()},
            },
        }

    def other_dispatcher(self, obj: Obj) -> str | None:
        """Name the dispatcher that made `obj`, if it is not this one, though all other marks are these.

        Most likely it is the same one, before somebody renamed it.
        """
        found = read(obj)
        if found is None or found.labels()[DISPATCHER] == self.labels()[DISPATCHER]:
            return None
        ours, theirs = ({**each.labels(), DISPATCHER: ""} for each in (self, found))
        return found.dispatcher if ours == theirs and _copied(found, obj) is None else None

    def judge(self, obj: Obj) -> Verdict:
        """Say whether `obj` is the mirror with these marks, another of ours, or none of our business."""
        found = read(obj)
        if found is None:
            return Verdict(Standing.FOREIGN, "it is no mirror")
        if reason := self._strangeness(found) or _copied(found, obj):
            return Verdict(Standing.FOREIGN, reason)
        if reason := self._staleness(found):
            return Verdict(Standing.STALE, reason)
        return Verdict(Standing.CURRENT, f"it is the mirror of attempt {self.attempt}")

    def _strangeness(self, found: "Marks") -> str | None:
        if found.origin != self.origin:
            return f"it belongs to another hub, {found.origin}"
        ours, theirs = self.labels(), found.labels()
        if theirs[DISPATCHER] != ours[DISPATCHER]:
            return f"it belongs to another dispatcher, {found.dispatcher}"
        if theirs[WORKER] != ours[WORKER]:
            return f"it was placed on another Worker of the same cluster, {found.worker}"
        return None

    def _staleness(self, found: "Marks") -> str | None:
        if found.hub_uid != self.hub_uid:
            return f"it was made for another object of this name, {found.hub_uid}"
        if not found.attempt and self.attempt:
            return f"it has lost the mark {ATTEMPT}"
        if found.attempt != self.attempt:
            return (
                f"it is of attempt {found.attempt}, and the one that counts is {self.attempt}"
            )
        if (found.namespace, found.name) != (self.namespace, self.name):
            return f"it should have the name {self.namespace}/{self.name}"
        return None


def read(obj: Obj) -> Marks | None:
    """Return the marks on an object; None unless all are there that tell whose it is.

    One that has lost its attempt is of attempt 0: ours, and never the one that counts. An admission policy may have
    stripped it where nobody heard what became of the mirror.

    `read(obj).judge(obj)` tells a mirror (current) from a copy of one (foreign), even if the hub no
    longer knows the workload.
    """
    metadata = obj["metadata"]
    carried = metadata.get("labels") or {}
    notes = metadata.get("annotations") or {}
    if not (carried.keys() >= _LABELS and notes.keys() >= _ANNOTATIONS):
        return None
    namespace, slash, name = notes[MIRROR].partition("/")
    attempt = carried.get(ATTEMPT, "0")
    if not slash or not attempt.isdecimal():
        return None
    return Marks(
        origin=carried[ORIGIN],
        dispatcher=carried[DISPATCHER].replace("_", "/", 1),
        worker=carried[WORKER],
        hub_uid=carried[HUB_UID],
        attempt=int(attempt),
        namespace=namespace,
        name=name,
        hub_name=notes[HUB_NAME],
    )


def altered(sent: Obj, found: Obj) -> list[str]:
    """Return those of our labels and annotations that an object was sent with and does not have so."""
    return sorted(
        key
        for member in ("labels", "annotations")
        for key, value in (sent["metadata"].get(member) or {}).items()
        if key.startswith(PREFIX) and (found["metadata"].get(member) or {}).get(key) != value
    )


def selector(origin: str, dispatcher: str, worker: str) -> str:
    """Return the label selector for the mirrors that one dispatcher of one hub has on a Worker."""
    whose = f"{ORIGIN}={origin},{DISPATCHER}={label_value(dispatcher)}"
    return f"{whose},{WORKER}={label_value(worker)}"


@lru_cache(maxsize=1024)
def label_value(name: str) -> str:
    """Write a dispatcher's or a Worker's name as a label value; different names give different values.

    The first slash becomes an underscore, which neither a Worker's name nor the domain before that
    slash can have. What still is no label value is hashed, behind a capital that no name starts with.
    """
    value = name.replace("/", "_", 1)
    if not labels.value_problems(value):
        return value
    return f"H-{hashlib.sha256(name.encode()).hexdigest()[:40]}"


_LABELS = {ORIGIN, DISPATCHER, WORKER, HUB_UID}
_ANNOTATIONS = {HUB_NAME, MIRROR}


def _copied(found: Marks, obj: Obj) -> str | None:
    metadata = obj["metadata"]
    if (metadata.get("namespace"), metadata["name"]) == (found.namespace, found.name):
        return None
    return f"it is a copy that somebody made of {found.namespace}/{found.name}"
