"""A workload kind made for tests of the core: nothing of it is where Jobs have it.

It has no spec, no conditions and nothing that could stop it; its status counts turns. What the core asks of it, it knows from here
alone.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

import orjson

from jobferry.core import times
from jobferry.core.kind import Earned, Gang, Report, Stillness
from jobferry.core.marks import Marks
from jobferry.objects import Obj, quantities
from jobferry.objects.demand import Demand
from jobferry.objects.resource import Resource


def toy(uid: str = "uid-1", **plan: Any) -> Obj:
    """A toy on the hub."""
    return {
        "apiVersion": "toys.example.com/v1",
        "kind": "Toy",
        "metadata": {
            "name": "a",
            "namespace": "ns",
            "uid": uid,
            "resourceVersion": "1",
            "creationTimestamp": "2026-01-02T11:00:00Z",
        },
        "plan": {"owner": "jobferry.io/dispatcher", "size": 3, **plan},
    }


@dataclass(frozen=True)
class ToyEdits:
    """What changed of a plan."""

    patch: Obj | None = None
    refusals: tuple[str, ...] = ()
    drift: tuple[str, ...] = ()


class ToyKind:
    """Translates toys."""

    name = "Toy.toys.example.com"
    resource = Resource("toys.example.com", "v1", "toys", "Toy")
    carries_record = False

    def demand(self, hub: Obj) -> Demand:
        return {"cpu": quantities.parse(str(hub["plan"]["size"]))}

    def priority_class(self, hub: Obj) -> str:
        return ""

    def gang(self, hub: Obj) -> Gang | None:
        return None

    def refusal(self, hub: Obj) -> str | None:
        return "it is too large for any cluster" if hub["plan"]["size"] > 99 else None

    def is_suspended(self, hub: Obj) -> bool:
        return bool(hub["plan"].get("hold"))

    def finish(self, obj: Obj) -> str | None:
        phase = _said(obj).get("phase")
        return phase if phase in ("Done", "Broken") else None

    def finished_at(self, hub: Obj) -> datetime | None:
        ended = _said(hub).get("ended")
        return times.instant(ended) if ended else None

    def resumed_at(self, hub: Obj) -> datetime | None:
        return None

    def has_run(self, hub: Obj) -> bool:
        return bool(_said(hub).get("turns"))

    def has_run_since(self, hub: Obj, base: Earned) -> bool:
        return bool(_said(hub).get("turns", 0) > _turns(base))

    def mirror(self, hub: Obj, marks: Marks, base: Earned) -> Obj:
        plan = {**_travelling(hub), "after": _turns(base)}
        return marks.stamp({"apiVersion": hub["apiVersion"], "kind": "Toy", "plan": plan})

    def dropped_fields(self, sent: Obj, answer: Obj) -> list[str]:
        return []

    def edits(self, hub: Obj, mirror: Obj, base: Earned) -> ToyEdits:
        wanted = {**_travelling(hub), "after": _turns(base)}
        return ToyEdits() if mirror["plan"] == wanted else ToyEdits({"plan": wanted})

    def waits_since(self, mirror: Obj) -> datetime | None:
        since = _said(mirror).get("queued")
        return times.instant(since) if since else None

    def report(self, hub: Obj, mirror: Obj, base: Earned, now: datetime) -> Report | None:
        said = _said(mirror)
        if not said:
            return None
        return _report(hub, {**said, "turns": said.get("turns", 0) + _turns(base)})

    def is_about_to_end(self, mirror: Obj) -> bool:
        return False

    def waiting(self, hub: Obj, now: datetime) -> Report | None:
        return None

    def fail(self, hub: Obj, reason: str, message: str, now: datetime) -> Report | None:
        return _report(hub, {**_said(hub), "phase": "Broken", "why": f"{reason}: {message}"})

    def idle(self, hub: Obj) -> Obj:
        raise AssertionError("its record and its status are two writes")

    def stop(self, mirror: Obj) -> Obj | None:
        return None

    def stillness(self, mirror: Obj) -> Stillness:
        return Stillness.RUNS

    def stopped_at(self, mirror: Obj) -> datetime | None:
        return None

    def resume(self, hub: Obj, mirror: Obj, base: Earned, now: datetime) -> Obj:
        raise AssertionError("it cannot be stopped")

    def carried(self, hub: Obj, mirror: Obj | None, base: Earned, now: datetime) -> Earned:
        turns = _said(mirror or {}).get("turns", 0) + _turns(base)
        return _earned(max(turns, _said(hub).get("turns", 0)))

    def earlier(self, hub: Obj, mirror: Obj) -> Earned:
        return _earned(mirror["plan"]["after"])

    def outcome(
        self, hub: Obj, mirror: Obj | None, base: Earned, now: datetime
    ) -> Report | None:
        enough = _turns(base) >= hub["plan"].get("turns", 1000)
        return _report(hub, {"phase": "Done", "turns": _turns(base)}) if enough else None


TOY = ToyKind()


def _said(obj: Obj) -> Obj:
    said: Obj = obj.get("status") or {}
    return said


def _travelling(hub: Obj) -> Obj:
    return {key: value for key, value in hub["plan"].items() if key != "owner"}


def _report(hub: Obj, status: Obj) -> Report | None:
    if status == _said(hub):
        return None
    version = hub["metadata"]["resourceVersion"]
    body = {"metadata": {"resourceVersion": version}, "status": status}
    return Report(body, TOY.finish({"status": status}))


def _turns(base: Earned) -> int:
    try:
        return int(orjson.loads(base)["turns"]) if base else 0
    except (ValueError, KeyError, TypeError):
        return 0


def _earned(turns: int) -> Earned:
    return orjson.dumps({"turns": turns}).decode() if turns else ""
