"""Policies of Jobs: when they fail, when they succeed."""

import pytest

from jobferry.localkube.apiserver.strategies import job
from jobferry.objects import Obj
from tests.unit.localkube.apiserver.strategies.job_world import INDEXED, Found, found, new_job

CODES: Obj = {"operator": "In", "values": [1]}
RULE: Obj = {"action": "FailJob", "onExitCodes": CODES}
AT = "spec.podFailurePolicy.rules"

FAILURE: dict[str, tuple[list[Obj], Found]] = {
    "empty": ([], []),
    "V28": ([RULE] * 21, [(AT, "TooMany")]),
    "V29": ([RULE | {"action": ""}], [(f"{AT}[0].action", "Required")]),
    "V30": ([RULE | {"action": "FailIndex"}], [(f"{AT}[0].action", "Invalid")]),
    "V31": ([RULE, RULE | {"action": "Cry"}], [(f"{AT}[1].action", "NotSupported")]),
    "V32": (
        [{"action": "Count", "onExitCodes": {"operator": "", "values": [1]}}],
        [(f"{AT}[0].onExitCodes.operator", "Required")],
    ),
    "V33": (
        [RULE | {"onExitCodes": CODES | {"containerName": "x"}}],
        [(f"{AT}[0].onExitCodes.containerName", "Invalid")],
    ),
    "V34": (
        [RULE | {"onExitCodes": CODES | {"values": []}}],
        [(f"{AT}[0].onExitCodes.values", "Invalid")],
    ),
    "V35": (
        [RULE | {"onExitCodes": CODES | {"values": list(range(1, 257))}}],
        [(f"{AT}[0].onExitCodes.values", "TooMany")],
    ),
    "V36 to V38": (
        [RULE | {"onExitCodes": CODES | {"values": [3, 0, 3]}}],
        [
            (f"{AT}[0].onExitCodes.values[1]", "Invalid"),
            (f"{AT}[0].onExitCodes.values[2]", "Duplicate"),
            (f"{AT}[0].onExitCodes.values", "Invalid"),
        ],
    ),
    "V39": (
        [{"action": "Ignore", "onPodConditions": [{"type": "A"}] * 21}],
        [(f"{AT}[0].onPodConditions", "TooMany")],
    ),
    "V40, V41": (
        [{"action": "Ignore", "onPodConditions": [{"type": "a b", "status": "Maybe"}]}],
        [
            (f"{AT}[0].onPodConditions[0].type", "Invalid"),
            (f"{AT}[0].onPodConditions[0].status", "NotSupported"),
        ],
    ),
    "V42": ([RULE | {"onPodConditions": [{"type": "A"}]}], [(f"{AT}[0]", "Invalid")]),
    "V43": ([{"action": "Count"}], [(f"{AT}[0]", "Invalid")]),
}


@pytest.mark.parametrize("rule", FAILURE)
def test_a_failure_policy_is_checked(rule: str) -> None:
    rules, expected = FAILURE[rule]
    made = new_job({"podFailurePolicy": {"rules": rules}})
    assert found(job.STRATEGY.validate_create(made)) == expected


BY = "spec.successPolicy.rules"
SUCCESS: dict[str, tuple[list[Obj], Found]] = {
    "V45": ([], [(BY, "Required")]),
    "V46": ([{"succeededCount": 1}] * 21, [(BY, "TooMany")]),
    "V47": ([{}], [(f"{BY}[0]", "Required")]),
    "V48, V49": (
        [{"succeededIndexes": "0," * 32769}],
        [
            (f"{BY}[0].succeededIndexes", "TooLong"),
            (f"{BY}[0].succeededIndexes", "Invalid"),
        ],
    ),
    "V49 empty": ([{"succeededIndexes": ""}], []),
    "V50": ([{"succeededCount": -1}], [(f"{BY}[0].succeededCount", "Invalid")]),
    "V51": ([{"succeededCount": 4}], [(f"{BY}[0].succeededCount", "Invalid")]),
    "V52": (
        [{"succeededCount": 3, "succeededIndexes": "0-1"}],
        [(f"{BY}[0].succeededCount", "Invalid")],
    ),
    "good": ([{"succeededCount": 1, "succeededIndexes": "0-2"}], []),
}


@pytest.mark.parametrize("rule", SUCCESS)
def test_a_success_policy_is_checked(rule: str) -> None:
    rules, expected = SUCCESS[rule]
    made = new_job(INDEXED | {"successPolicy": {"rules": rules}})
    assert found(job.STRATEGY.validate_create(made)) == expected


def test_a_success_policy_without_completions_is_refused_without_a_crash() -> None:
    policy = {"rules": [{"succeededCount": 1, "succeededIndexes": "0"}]}
    made = new_job({"completionMode": "Indexed", "parallelism": 1, "successPolicy": policy})
    assert found(job.STRATEGY.validate_create(made)) == [("spec.completions", "Required")]


def test_actions_are_listed_as_go_lists_them() -> None:
    made = new_job({"podFailurePolicy": {"rules": [{"onExitCodes": CODES}]}})
    (problem,) = job.STRATEGY.validate_create(made)
    assert problem.body == (
        'Required value: valid values: ["Count" "FailIndex" "FailJob" "Ignore"]'
    )
