"""What a Job's own rules make of failures and successes."""

from dataclasses import dataclass

from jobferry.localkube.controllers.heads import Pod
from jobferry.localkube.controllers.job import index_text
from jobferry.localkube.controllers.job.jobs import (
    ExitCodes,
    FailurePolicy,
    FailureRule,
    SuccessPolicy,
    SuccessRule,
)
from jobferry.objects.indexes import IndexSet

IGNORE, COUNT, FAIL_INDEX, FAIL_JOB = "Ignore", "Count", "FailIndex", "FailJob"
_ACTIONS = (IGNORE, COUNT, FAIL_INDEX, FAIL_JOB)


@dataclass(frozen=True, slots=True)
class Verdict:
    """What follows from a failure, and why."""

    action: str = COUNT
    reason: str = ""

    @property
    def counts(self) -> bool:
        """Whether the failure is counted."""
        return self.action != IGNORE


COUNTED = Verdict()


def judge(policy: FailurePolicy | None, pod: Pod) -> Verdict:
    """Say what follows from the failure of a pod."""
    for number, rule in enumerate(policy.rules if policy else ()):
        why = _match(rule, pod)
        if why is not None and rule.action in _ACTIONS:
            return Verdict(rule.action, f"{why} matching {rule.action} rule at index {number}")
    return COUNTED


def _match(rule: FailureRule, pod: Pod) -> str | None:
    """Say why a rule applies to a pod, if it does."""
    name = f"{pod.metadata.namespace}/{pod.metadata.name}"
    if rule.on_exit_codes is not None:
        failed = _failed_container(rule.on_exit_codes, pod)
        if failed is None:
            return None
        container, code = failed
        return f"Container {container} for pod {name} failed with exit code {code}"
    patterns = {(each.type, each.status) for each in rule.on_pod_conditions}
    for condition in pod.status.conditions:
        if (condition.type, condition.status) in patterns:
            return f"Pod {name} has condition {condition.type}"
    return None


def _failed_container(wanted: ExitCodes, pod: Pod) -> tuple[str, int] | None:
    """Return the first container, and its exit code, that a rule is about."""
    for status in (*pod.status.container_statuses, *pod.status.init_container_statuses):
        ended = status.state.terminated
        is_meant = wanted.container_name in (None, status.name)
        if is_meant and ended is not None and _has_code(wanted, ended.exit_code):
            return status.name, ended.exit_code
    return None


def _has_code(wanted: ExitCodes, code: int) -> bool:
    if code == 0:
        return False
    match wanted.operator:
        case "In":
            return code in wanted.values
        case "NotIn":
            return code not in wanted.values
        case _:
            return False


def met_rule(policy: SuccessPolicy | None, completed: IndexSet, size: int) -> int | None:
    """Return the number of the first rule by which the completed indexes are enough."""
    if policy is None or not len(completed):
        return None
    rules = enumerate(policy.rules)
    return next((number for number, rule in rules if _is_met(rule, completed, size)), None)


def _is_met(rule: SuccessRule, completed: IndexSet, size: int) -> bool:
    if rule.succeeded_indexes is None:
        return rule.succeeded_count is not None and len(completed) >= rule.succeeded_count
    wanted = index_text.read(rule.succeeded_indexes, size)
    if not len(wanted):
        return False
    have = len(wanted & completed)
    return have == len(wanted) or (
        rule.succeeded_count is not None and have >= rule.succeeded_count
    )
