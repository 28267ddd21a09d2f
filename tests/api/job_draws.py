"""Jobs, changes to them and statuses, drawn by hypothesis; most are a little wrong."""

from hypothesis import strategies as st

from jobferry.objects import Obj
from tests.api.job_bodies import codes, of_container, of_pod
from tests.api.job_status_bodies import condition

TIMES = st.sampled_from([f"2026-01-01T0{hour}:00:00Z" for hour in range(3)])
TEXTS = st.sampled_from(
    ["", "0", "0-1", "0,2", "1-2", "2,1", "0-5", "x", "1--2", "0,,1", "+1", "0-1,1"]
)
CONDITIONS = (
    *("Complete", "Failed", "FailureTarget", "SuccessCriteriaMet", "Suspended"),
    "Custom",
)
TEMPLATES: tuple[Obj, ...] = (
    {},
    of_pod({"restartPolicy": "OnFailure"}),
    of_pod({"nodeSelector": {"a": "b"}}),
    of_container({"resources": {"limits": {"cpu": "1"}, "requests": {"cpu": "500m"}}}),
)
BAD_TEMPLATES: tuple[Obj, ...] = (
    of_pod({"restartPolicy": "Always"}),
    of_container({"image": ""}),
    of_container({"resources": {"limits": {"cpu": "1"}, "requests": {"cpu": "2"}}}),
    of_container({"env": [{"name": "A", "valueFrom": {}}]}),
    of_pod({"volumes": [{"name": "A"}]}),
    of_pod({"tolerations": [{"key": "a b"}]}),
)


def numbers(valid: bool) -> st.SearchStrategy[int]:
    wrong = [] if valid else [-1, 10001, 100001]
    return st.sampled_from([0, 1, 2, 3, *wrong])


@st.composite
def specs(draw: st.DrawFn, *, valid: bool = False) -> Obj:
    """Draw what is special about the spec of a Job."""
    number = numbers(valid)
    modes = ["Indexed", "NonIndexed"] + ([] if valid else ["Sparse"])
    members = {
        "completionMode": st.sampled_from(modes),
        "completions": number,
        "parallelism": number,
        "backoffLimit": number,
        "backoffLimitPerIndex": number,
        "maxFailedIndexes": number,
        "activeDeadlineSeconds": number,
        "suspend": st.booleans(),
        "managedBy": st.sampled_from(["a.b/c", "a.b/d"] + ([] if valid else ["", "x", "X/y"])),
        "podReplacementPolicy": st.sampled_from(["Failed", "TerminatingOrFailed"]),
        "podFailurePolicy": failure_policies(),
        "successPolicy": success_policies(),
    }
    chosen = draw(st.lists(st.sampled_from(sorted(members)), unique=True, max_size=6))
    # Without completions a success policy makes upstream panic.
    if "successPolicy" in chosen:
        chosen = [*chosen, "completions"]
    template = draw(st.sampled_from(TEMPLATES if valid else TEMPLATES + BAD_TEMPLATES))
    return {name: draw(members[name]) for name in dict.fromkeys(chosen)} | template


def failure_policies() -> st.SearchStrategy[Obj]:
    rule = st.builds(
        lambda values, operator, action: codes(values, operator) | {"action": action},
        st.lists(st.integers(-1, 3), max_size=3),
        st.sampled_from(["In", "NotIn", "Near"]),
        st.sampled_from(["FailJob", "FailIndex", "Ignore", "Count", "Cry"]),
    )
    return st.builds(lambda rules: {"rules": rules}, st.lists(rule, max_size=2))


def success_policies() -> st.SearchStrategy[Obj]:
    rule = st.fixed_dictionaries(
        {}, optional={"succeededIndexes": TEXTS, "succeededCount": st.integers(-1, 4)}
    )
    return st.builds(lambda rules: {"rules": rules}, st.lists(rule, max_size=2))


@st.composite
def changes(draw: st.DrawFn) -> Obj:
    """Draw a merge patch of the spec of a Job; null takes away."""
    change: Obj = draw(specs(valid=draw(st.booleans())))
    for name in draw(
        st.lists(st.sampled_from(["managedBy", "suspend", "backoffLimitPerIndex"]))
    ):
        change[name] = None
    # A policy that stays while its completions go makes upstream panic, too.
    if "completions" in change or "successPolicy" in change:
        change.setdefault("completions", 2)
    return change


@st.composite
def statuses(draw: st.DrawFn) -> Obj:
    """Draw a status."""
    number = st.integers(-1, 3)
    pods = st.lists(st.sampled_from(["a", "b", ""]), max_size=2)
    members = {
        **dict.fromkeys(("active", "ready", "terminating", "succeeded", "failed"), number),
        **dict.fromkeys(("startTime", "completionTime"), TIMES),
        **dict.fromkeys(("completedIndexes", "failedIndexes"), TEXTS),
        "uncountedTerminatedPods": st.fixed_dictionaries(
            {}, optional={"succeeded": pods, "failed": pods}
        ),
    }
    chosen = draw(st.lists(st.sampled_from(sorted(members)), unique=True, max_size=5))
    kinds = draw(st.lists(st.sampled_from(CONDITIONS), max_size=4))
    found = [
        condition(kind, draw(st.sampled_from(["True", "True", "False"]))) for kind in kinds
    ]
    return {name: draw(members[name]) for name in chosen} | {"conditions": found}
