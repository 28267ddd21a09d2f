"""The rules for statuses of Jobs: one line each, numbered as in our facts about the Job API."""

from typing import Any

import pytest

from jobferry.localkube.apiserver.strategies import job
from jobferry.objects import Obj
from tests.unit.localkube.apiserver.strategies.job_world import INDEXED, stored

START, LATER, LATEST = (f"2026-01-01T0{hour}:00:00Z" for hour in range(3))
LIMITED = INDEXED | {"backoffLimitPerIndex": 1}
POLICY = INDEXED | {"successPolicy": {"rules": [{"succeededCount": 1}]}}
CONDITIONS = "status.conditions: Invalid value: cannot"


def having(*conditions: str, **members: Any) -> Obj:
    """Return a status with conditions; a dash before one makes it false."""
    listed = [
        {"type": each.lstrip("-"), "status": "False" if each.startswith("-") else "True"}
        for each in conditions
    ]
    return members | {"conditions": listed}


DONE = having("SuccessCriteriaMet", "Complete", startTime=START, completionTime=LATER)
BROKEN = having("FailureTarget", "Failed", startTime=START)

CASES: dict[str, tuple[Obj, Obj, Obj, list[str]]] = {
    "done in one write": ({}, {}, DONE, []),
    "failed in one write": ({}, {}, BROKEN, []),
    "S1": ({}, {}, {"active": -1}, ["status.active: Invalid value: -1"]),
    "S4": ({}, {}, {"ready": -1}, ["status.ready: Invalid value: -1"]),
    "S6, S7": (
        {},
        {},
        {"uncountedTerminatedPods": {"succeeded": ["a", ""], "failed": ["a"]}},
        [
            "status.uncountedTerminatedPods.succeeded[1]: Invalid value: ",
            "status.uncountedTerminatedPods.failed[0]: Duplicate value: ",
        ],
    ),
    "S8, S9, S26, S27": (
        {},
        {},
        DONE | {"conditions": DONE["conditions"] + BROKEN["conditions"]},
        [
            f"{CONDITIONS} set Complete=True and Failed=true conditions",
            f"{CONDITIONS} set Complete=True and FailureTarget=true conditions",
            f"{CONDITIONS} set SuccessCriteriaMet=True and Failed=true conditions",
            f"{CONDITIONS} set SuccessCriteriaMet=True and FailureTarget=true conditions",
        ],
    ),
    "S10": (
        {},
        {},
        {"startTime": START, "completionTime": LATER},
        ["status.completionTime: Invalid value: "],
    ),
    "S11, S16": (
        {},
        {},
        having("SuccessCriteriaMet", "Complete"),
        ["status.completionTime: Required value: ", "status.startTime: Required value: "],
    ),
    "S12": (
        {},
        {},
        DONE | {"startTime": LATEST},
        [f'status.completionTime: Invalid value: "{LATER}": must be equal to or after'],
    ),
    "S13": ({}, {}, having("Failed", startTime=START), [f"{CONDITIONS} set Failed=True"]),
    "S13 by failed indexes": (
        LIMITED,
        having("Failed", startTime=START),
        having("Failed", startTime=START, failedIndexes="0"),
        [f"{CONDITIONS} set Failed=True"],
    ),
    "S13 ratchets": (
        {},
        having("Failed", startTime=START),
        having("Failed", startTime=START, failed=1),
        [],
    ),
    "S14, S29": (
        POLICY,
        {},
        having("Complete", startTime=START, completionTime=LATER),
        [
            f"{CONDITIONS} set Complete=True condition",
            f"{CONDITIONS} set Complete=True for Job",
        ],
    ),
    "S15, S17, S23": (
        {},
        {},
        DONE | {"active": 1, "terminating": 1, "uncountedTerminatedPods": {"failed": ["a"]}},
        [
            "status.active: Invalid value: 1: active>0",
            "status.uncountedTerminatedPods: Invalid value: ",
            "status.terminating: Invalid value: 1: terminating>0",
        ],
    ),
    "S16 never ran": (
        {"suspend": True, "completions": 0},
        {},
        having("SuccessCriteriaMet", "Complete", completionTime=LATER),
        [],
    ),
    "S18": (
        INDEXED,
        {},
        {"completedIndexes": "3"},
        [
            'status.completedIndexes: Invalid value: "3": error parsing completedIndexes: too large'
        ],
    ),
    "S18 ratchets": (INDEXED, {"completedIndexes": "7"}, {"completedIndexes": "7"}, []),
    "S19": (LIMITED, {}, {"failedIndexes": "x"}, ["status.failedIndexes: Invalid value: "]),
    "S20": ({}, {}, {"completedIndexes": "0"}, ["status.completedIndexes: Invalid value: "]),
    "S21": (INDEXED, {}, {"failedIndexes": ""}, ["status.failedIndexes: Invalid value: "]),
    "S22": (
        LIMITED,
        {},
        {"failedIndexes": "0,2", "completedIndexes": "1-2"},
        [
            'status.failedIndexes: Invalid value: "0,2": failedIndexes and completedIndexes overlap at index: 2'
        ],
    ),
    "S24": (
        {},
        {},
        {"active": 1, "ready": 2},
        ["status.ready: Invalid value: 2: cannot set more"],
    ),
    "S24 ratchets": ({}, {"ready": 2}, {"ready": 2, "failed": 1}, []),
    "S30, S32": (
        {},
        BROKEN,
        {"startTime": START},
        [
            f"{CONDITIONS} disable the terminal Failed=True condition",
            f"{CONDITIONS} disable the terminal FailureTarget=True condition",
        ],
    ),
    "S31, S37": (
        {},
        DONE,
        {"startTime": START},
        [
            f"{CONDITIONS} disable the terminal Complete=True condition",
            f"{CONDITIONS} disable the SuccessCriteriaMet=True condition",
        ],
    ),
    "S33": (
        {},
        {"failed": 2},
        {"failed": 1},
        ["status.failed: Invalid value: 1: cannot decrease"],
    ),
    "S34": ({}, {"succeeded": 2}, {}, ["status.succeeded: Invalid value: 0: cannot decrease"]),
    "S34 elastic": (INDEXED | {"parallelism": 3}, {"succeeded": 2}, {"succeeded": 1}, []),
    "S35": (
        {},
        DONE,
        DONE | {"completionTime": LATEST},
        ["status.completionTime: Invalid value: "],
    ),
    "S36": (
        {},
        {"startTime": START},
        {"startTime": LATER},
        ["status.startTime: Required value: "],
    ),
    "S36 suspended": ({"suspend": True}, {"startTime": START}, {}, []),
    "S36 resuming": (
        {},
        having("Suspended", startTime=START),
        having("-Suspended", startTime=LATER),
        [],
    ),
    "S38": (
        {},
        having("Complete", startTime=START, completionTime=LATER),
        DONE,
        [f"{CONDITIONS} set SuccessCriteriaMet=True for Job already"],
    ),
    "anything custom": ({}, {}, having("Mine", "Mine", "-Yours"), []),
}


@pytest.mark.parametrize("rule", CASES)
def test_a_changed_status_is_checked(rule: str) -> None:
    spec, status, new, expected = CASES[rule]
    old = stored(spec, status)
    said = [str(problem) for problem in _validated(old, new)]
    assert len(said) == len(expected), said
    for one, other in zip(said, expected, strict=True):
        assert one.startswith(other)


def test_metadata_may_change_along_but_must_be_right() -> None:
    old = stored()
    metadata = old["metadata"] | {"labels": {"a b": "c"}}
    (problem,) = _validated(old, {}, metadata)
    assert problem.field == "metadata.labels"


def _validated(old: Obj, status: Obj, metadata: Obj | None = None) -> Any:
    new = old | {"status": status, "metadata": metadata or old["metadata"]}
    job.STATUS.prepare_update(new, old)
    return job.STATUS.validate_update(new, old)
