"""The record of a placement, wherever it is: on the workload itself, or in an object of ours beside it.

A kind that can carries its record (`placement`): whoever changes the workload loses or wins against that write. All others
have it in an object (`placement_object`), which by itself is what counts. What is too large for a workload that carries its
record is stored in such an object, too; but it only counts as far as the record on the workload refers to it, by digest.
So there is always one write that decides, and a dispatcher that knows less than it should loses it.
"""

import hashlib
from dataclasses import replace

from jobferry.core import placement, placement_object
from jobferry.core.kind import Earned, Kind
from jobferry.core.placement import Placement, Shard
from jobferry.core.placement_object import Content
from jobferry.core.steps import Into, Record, Store
from jobferry.core.view import View
from jobferry.objects import Obj

_REFERENCE = '{"inPlacement":"'
"""How the text begins that stands for a base which is stored elsewhere."""


def read(kind: Kind, hub: Obj, record: Obj | None) -> Placement | None:
    """Return the placement that counts; None if there is none, or one that cannot be trusted."""
    if not kind.carries_record:
        return placement_object.read(hub, record)
    return _whole(placement.read(hub), hub, record)


def vouched(kind: Kind, hub: Obj, record: Obj | None) -> Placement | None:
    """Return the placement that nobody can have forged, though part of its record may be lost."""
    if not kind.carries_record:
        return placement_object.read(hub, record)
    return _whole(placement.vouched(hub), hub, record)


def noted(kind: Kind, hub: Obj, record: Obj | None) -> Placement | None:
    """Return the placement that the workload says it has, which may be anybody's word."""
    return _whole(placement.noted(hub), hub, record) if kind.carries_record else None


def last_attempt(kind: Kind, hub: Obj, record: Obj | None) -> int:
    """Return the number of the last placement that was really made; 0: none was."""
    known = vouched(kind, hub, record)
    return known.attempt if known else 0


def has_object(kind: Kind, hub: Obj) -> bool:
    """Tell whether the record of a workload is, or may be, in an object: it is to be read with the workload."""
    if not kind.carries_record:
        return True
    known = placement.vouched(hub)
    return known is not None and is_torn(known)


def is_torn(placed: Placement) -> bool:
    """Tell whether what earlier attempts earned is missing in a record: the object that stored it is gone."""
    return any(shard.base.startswith(_REFERENCE) for shard in placed.shards)


def write(
    view: View, kind: Kind, hub: Obj, decision: Placement, *, is_new: bool = False
) -> Record | Store | None:
    """Return the step that records a decision, or one that comes before it; None: there is no room for it.

    `is_new` says that nothing of that attempt runs yet: a record that the workload carries goes with a status that says so.
    """
    if not kind.carries_record:
        body, into = _object(view, kind, hub, Content(decision))
        return Record(body, decision, into=into)
    idle = kind.idle(hub) if is_new and decision.attempt > 1 else None
    patch = placement.patch(hub, decision, view.now, idle=idle)
    if placement.fits(hub, patch):
        return Record(patch, decision)
    return _write_in_two(view, kind, hub, decision, idle)


def note(view: View, kind: Kind, hub: Obj, placed: Placement) -> Store | None:
    """Return the step that notes something on the record of the placement that counts; None: there is no room for it."""
    step = write(view, kind, hub, placed)
    return Store(step.body, step.into) if step is not None else None


def repair(view: View, hub: Obj) -> Record | None:
    """Return the step that writes again what somebody took away or altered of a record that the workload carries."""
    known = placement.vouched(hub)
    if known is None:
        return None
    whole = _whole(known, hub, view.record) or known
    return Record(placement.patch(hub, known, view.now), whole)


def _write_in_two(
    view: View, kind: Kind, hub: Obj, decision: Placement, idle: Obj | None
) -> Record | Store | None:
    """Store what the attempts before earned, and then record the decision, with a reference to that."""
    stored = _stored(view, hub, decision)
    patch = placement.patch(hub, _short(stored or decision), view.now, idle=idle)
    if not placement.fits(hub, patch):
        return None  # because of what others annotated it with
    if stored is not None:
        return Record(patch, stored)
    # Until it is recorded the one before counts, whose base may be kept there as well.
    known = placement.vouched(hub)
    before = _whole(known, hub, view.record) if known and is_torn(known) else None
    version = hub["metadata"]["resourceVersion"]
    return Store(*_object(view, kind, hub, Content(decision, before, version)))


def _stored(view: View, hub: Obj, decision: Placement) -> Placement | None:
    """Return the decision as it was stored a moment ago, for the workload as it still is.

    What was earned may be worked out a little differently each time: time passes.
    """
    stored = placement_object.read(hub, view.record)
    if stored is None or view.record is None or _bare(stored) != _bare(decision):
        return None
    is_current = placement_object.made_for(view.record) == hub["metadata"]["resourceVersion"]
    return stored if is_current else None


def _object(view: View, kind: Kind, hub: Obj, content: Content) -> tuple[Obj, Into]:
    record = view.record
    if record is None or not placement_object.is_named_after(hub, record):
        return placement_object.new(kind, hub, content), Into.NEW
    return placement_object.patch(kind, hub, record, content), Into.OBJECT


def _whole(placed: Placement | None, hub: Obj, record: Obj | None) -> Placement | None:
    """Return a placement with the base that its record refers to, if that is there."""
    if placed is None or not is_torn(placed):
        return placed
    stored = placement_object.told(hub, record)
    return next((each for each in stored if _short(each) == placed), placed)


def _short(decision: Placement) -> Placement:
    """Return a placement with a reference in place of each base."""
    return replace(decision, shards=tuple(map(_referring, decision.shards)))


def _referring(shard: Shard) -> Shard:
    return replace(shard, base=_reference(shard.base)) if shard.base else shard


def _reference(base: Earned) -> Earned:
    return f'{_REFERENCE}{hashlib.sha256(base.encode()).hexdigest()[:40]}"}}'


def _bare(decision: Placement) -> Placement:
    return replace(decision, shards=tuple(replace(shard, base="") for shard in decision.shards))
