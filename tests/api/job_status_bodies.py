"""Statuses of Jobs and changes to them, right and wrong, by name. Plain data."""

from typing import Any

from jobferry.objects import Obj
from tests.api.job_bodies import INDEXED, success

START, LATER = "2026-01-01T00:00:00Z", "2026-01-01T01:00:00Z"


def condition(kind: str, status: str = "True") -> Obj:
    return {"type": kind, "status": status, "lastTransitionTime": START, "lastProbeTime": START}


def having(*conditions: str, **members: Any) -> Obj:
    """Return a status with conditions; a dash before one makes it false."""
    found = [
        condition(each.lstrip("-"), "False" if each[0] == "-" else "True")
        for each in conditions
    ]
    return members | ({"conditions": found} if found else {})


DONE = having("SuccessCriteriaMet", "Complete", startTime=START, completionTime=LATER)
BROKEN = having("FailureTarget", "Failed", startTime=START)
PER_INDEX = INDEXED | {"backoffLimitPerIndex": 1}

STATUSES: dict[str, tuple[Obj, Obj, Obj]] = {
    "first": ({}, {}, {"active": 1, "ready": 0, "startTime": START, "terminating": 0}),
    "nothing": ({}, {"active": 1}, {"active": 1}),
    "below zero": (
        {},
        {},
        dict.fromkeys(("active", "succeeded", "failed", "ready", "terminating"), -1),
    ),
    "uncounted twice": (
        {},
        {},
        {"uncountedTerminatedPods": {"succeeded": ["a", "a", ""], "failed": ["a", "b", ""]}},
    ),
    "done": ({}, {"startTime": START}, DONE),
    "done at once": ({}, {}, DONE),
    "failed": ({}, {"startTime": START}, BROKEN),
    "done and failed": (
        {},
        {},
        DONE | {"conditions": DONE["conditions"] + BROKEN["conditions"]},
    ),
    "complete alone": ({}, {}, having("Complete", startTime=START, completionTime=LATER)),
    "failed alone": ({}, {}, having("Failed", startTime=START)),
    "complete without times": ({}, {}, having("SuccessCriteriaMet", "Complete")),
    "ended but not complete": ({}, {}, {"startTime": START, "completionTime": LATER}),
    "ended before it began": ({}, {}, DONE | {"startTime": LATER, "completionTime": START}),
    "done with pods": (
        {},
        {},
        DONE
        | {
            "active": 2,
            "ready": 3,
            "terminating": 1,
            "uncountedTerminatedPods": {"failed": ["a"]},
        },
    ),
    "done while pods end": ({}, {"terminating": 1}, DONE | {"terminating": 1}),
    "more ready than active": ({}, {}, {"active": 1, "ready": 2}),
    "more ready already": ({}, {"active": 1, "ready": 1}, {"ready": 1}),
    "suspended and done": (
        {"suspend": True, "completions": 0},
        {},
        having("SuccessCriteriaMet", "Complete", completionTime=LATER),
    ),
    "indexes": (INDEXED, {}, {"completedIndexes": "0,2", "succeeded": 2}),
    "bad indexes": (INDEXED, {}, {"completedIndexes": "0-5"}),
    "indexes not in order": (INDEXED, {}, {"completedIndexes": "1,0"}),
    "indexes of no indexed Job": ({}, {}, {"completedIndexes": "0"}),
    "failed indexes": (PER_INDEX, {}, {"failedIndexes": "1"}),
    "no failed indexes": (PER_INDEX, {}, {"failedIndexes": ""}),
    "bad failed indexes": (PER_INDEX, {}, {"failedIndexes": "1--2"}),
    "failed indexes without limit": (INDEXED, {}, {"failedIndexes": ""}),
    "indexes both ways": (PER_INDEX, {}, {"failedIndexes": "0,2", "completedIndexes": "1-2"}),
    "indexes both ways, one bad": (
        PER_INDEX,
        {},
        {"failedIndexes": "x,2", "completedIndexes": "2"},
    ),
    "criteria met and failed": (
        {},
        {},
        having("SuccessCriteriaMet", "FailureTarget", "Failed"),
    ),
    "criteria met": ({}, {}, having("SuccessCriteriaMet")),
    "complete by policy": (
        success({"succeededCount": 1}),
        {},
        having("Complete", startTime=START, completionTime=LATER),
    ),
    "undone": ({}, DONE, having("SuccessCriteriaMet", startTime=START)),
    "unfailed": ({}, BROKEN, {"startTime": START}),
    "criteria unmet": ({}, having("SuccessCriteriaMet"), {}),
    "fewer failed": ({}, {"failed": 2}, {"failed": 1}),
    "fewer succeeded": ({"completions": 5}, {"succeeded": 2}, {"succeeded": 1}),
    "fewer succeeded, elastic": (
        INDEXED | {"parallelism": 3},
        {"succeeded": 2, "completedIndexes": "0,1"},
        {"succeeded": 1, "completedIndexes": "0"},
    ),
    "other end": ({}, DONE, DONE | {"completionTime": "2026-01-01T02:00:00Z"}),
    "other start": ({}, {"startTime": START}, {"startTime": LATER}),
    "no start": ({}, {"startTime": START}, {}),
    "other start while suspended": (
        {"suspend": True},
        {"startTime": START},
        {"startTime": LATER},
    ),
    "other start on resuming": (
        {},
        having("Suspended", startTime=START),
        having("-Suspended", startTime=LATER),
    ),
    "same start, written otherwise": (
        {},
        {"startTime": START},
        {"startTime": "2026-01-01T01:00:00+01:00"},
    ),
    "after the end": ({}, DONE, DONE | {"succeeded": 1, "ready": 0}),
    "unknown conditions": ({}, {}, {"conditions": [{"type": "a b", "status": "Maybe"}]}),
    "both true and false": ({}, {}, having("-Failed", "Failed", "-FailureTarget")),
}
"""Spec, status, and the status that is written over it."""
