import pytest
from msgspec import convert

from jobferry.localkube.controllers.heads import Pod
from jobferry.localkube.controllers.job import policies
from jobferry.localkube.controllers.job.jobs import FailurePolicy, SuccessPolicy
from jobferry.objects import Obj
from jobferry.objects.indexes import IndexSet, parse
from tests.unit.localkube.controllers.job.passes import pod


def codes(action: str, operator: str, *values: int, name: str | None = None) -> Obj:
    wanted = {"operator": operator, "values": list(values)}
    return {"action": action, "onExitCodes": wanted | ({"containerName": name} if name else {})}


def condition(action: str, type: str, status: str = "True") -> Obj:
    return {"action": action, "onPodConditions": [{"type": type, "status": status}]}


def exited(code: int) -> Pod:
    return pod("p", "Failed", code=code)


DISRUPTED = pod("p", "Failed", conditions={"DisruptionTarget": "True"})
INIT = pod(
    "p",
    "Failed",
    code=0,
    status={
        "initContainerStatuses": [{"name": "first", "state": {"terminated": {"exitCode": 7}}}]
    },
)
RUNNING = pod("p", "Running")

FAILURES = [
    ("no rule", [], exited(1), "Count"),
    ("in", [codes("FailJob", "In", 1, 2)], exited(2), "FailJob"),
    ("not in the list", [codes("FailJob", "In", 1, 2)], exited(3), "Count"),
    ("other than", [codes("Ignore", "NotIn", 1)], exited(3), "Ignore"),
    ("the one excepted", [codes("Ignore", "NotIn", 1)], exited(1), "Count"),
    ("zero matches nothing", [codes("FailJob", "NotIn", 1)], exited(0), "Count"),
    ("its container", [codes("FailJob", "In", 1, name="main")], exited(1), "FailJob"),
    ("another container", [codes("FailJob", "In", 1, name="side")], exited(1), "Count"),
    ("an init container", [codes("FailIndex", "In", 7)], INIT, "FailIndex"),
    ("not ended", [codes("FailJob", "NotIn", 1)], RUNNING, "Count"),
    ("unknown operator", [codes("FailJob", "Near", 1)], exited(1), "Count"),
    ("unknown action", [codes("Sing", "In", 1), codes("Ignore", "In", 1)], exited(1), "Ignore"),
    (
        "the first counts",
        [codes("Count", "In", 1), codes("FailJob", "In", 1)],
        exited(1),
        "Count",
    ),
    ("a condition", [condition("Ignore", "DisruptionTarget")], DISRUPTED, "Ignore"),
    ("another status", [condition("Ignore", "DisruptionTarget", "False")], DISRUPTED, "Count"),
    ("another type", [condition("Ignore", "ConfigIssue")], DISRUPTED, "Count"),
]


@pytest.mark.parametrize(
    ("rules", "found", "action"), [case[1:] for case in FAILURES], ids=[c[0] for c in FAILURES]
)
def test_the_first_rule_that_matches_a_failure_says_what_follows(
    rules: list[Obj], found: Pod, action: str
) -> None:
    policy = convert({"rules": rules}, FailurePolicy)

    assert policies.judge(policy, found).action == action
    assert policies.judge(policy, found).counts == (action != "Ignore")


def test_a_rule_says_why_it_matches() -> None:
    rules = [codes("Count", "In", 99), codes("FailJob", "In", 42), condition("FailJob", "Bad")]
    policy = convert({"rules": rules}, FailurePolicy)
    bad = pod("p", "Failed", conditions={"Bad": "True"})

    assert policies.judge(policy, exited(42)).reason == (
        "Container main for pod default/p failed with exit code 42 matching FailJob rule at index 1"
    )
    assert policies.judge(policy, bad).reason == (
        "Pod default/p has condition Bad matching FailJob rule at index 2"
    )


BY_COUNT = {"succeededCount": 2}
BY_SET = {"succeededIndexes": "0-2"}
BY_BOTH = {"succeededIndexes": "0-2", "succeededCount": 2}

SUCCESSES = [
    ("nothing is done", [{"succeededCount": 0}], "", None),
    ("too few", [BY_COUNT], "0", None),
    ("enough", [BY_COUNT], "0,3", 0),
    ("not all of them", [BY_SET], "0,1,5", None),
    ("all of them", [BY_SET], "0-2,5", 0),
    ("enough of them", [BY_BOTH], "1,2", 0),
    ("too few of them", [BY_BOTH], "1,5,6,7", None),
    ("none at all is enough of them", [BY_SET | {"succeededCount": 0}], "5", 0),
    ("the second rule", [BY_SET, BY_COUNT], "4,5", 1),
    ("above the completions", [{"succeededIndexes": "20-30"}, BY_COUNT], "4,5", 1),
    ("clipped at the completions", [{"succeededIndexes": "8-30"}], "8,9", 0),
]


@pytest.mark.parametrize(
    ("rules", "done", "rule"), [case[1:] for case in SUCCESSES], ids=[c[0] for c in SUCCESSES]
)
def test_the_first_rule_that_is_met_makes_a_success(
    rules: list[Obj], done: str, rule: int | None
) -> None:
    policy = convert({"rules": rules}, SuccessPolicy)

    assert policies.met_rule(policy, parse(done, 10), 10) == rule


def test_without_a_policy_no_rule_is_met() -> None:
    assert policies.met_rule(None, IndexSet.below(3), 10) is None
