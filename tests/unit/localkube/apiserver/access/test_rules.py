"""What rules allow, cover, and look like."""

from hypothesis import given
from hypothesis import strategies as st

from jobferry.localkube.apiserver.access import rules
from jobferry.objects import Obj

VERBS = st.sampled_from(["get", "list", "*"])
GROUPS = st.sampled_from(["", "batch", "*"])
RESOURCES = st.sampled_from(
    ["pods", "jobs", "pods/log", "jobs/status", "*/status", "*/log", "*"]
)
NAMES = st.sampled_from(["a", "b"])
URLS = st.sampled_from(["/x", "/x/y", "/x/*", "/x*", "*"])


@st.composite
def policy_rules(draw: st.DrawFn) -> Obj:
    verbs = draw(st.lists(VERBS, min_size=1, max_size=2))
    if draw(st.booleans()):
        return {"verbs": verbs, "nonResourceURLs": draw(st.lists(URLS, min_size=1, max_size=2))}
    rule: Obj = {
        "verbs": verbs,
        "apiGroups": draw(st.lists(GROUPS, min_size=1, max_size=2)),
        "resources": draw(st.lists(RESOURCES, min_size=1, max_size=2)),
    }
    if names := draw(st.lists(NAMES, max_size=2)):
        rule["resourceNames"] = names
    return rule


def allowed(granted: list[Obj], verb: str, group: str, resource: str, name: str) -> bool:
    found, _, subresource = resource.partition("/")
    return any(
        rule.speaks_of(verb, group, found, subresource)
        and (not rule.names or name in rule.names)
        for rule in map(rules.compiled, granted)
    )


@given(
    owned=st.lists(policy_rules(), max_size=3),
    wanted=st.lists(policy_rules(), max_size=3),
    verb=st.sampled_from(["get", "list", "delete"]),
    group=st.sampled_from(["", "batch", "apps"]),
    resource=st.sampled_from(["pods", "jobs", "pods/log", "jobs/status"]),
    name=st.sampled_from(["a", "b", "c", ""]),
    path=st.sampled_from(["/x", "/x/y", "/xy", "/z"]),
)
def test_rules_that_are_covered_allow_nothing_that_their_owner_may_not(
    owned: list[Obj],
    wanted: list[Obj],
    verb: str,
    group: str,
    resource: str,
    name: str,
    path: str,
) -> None:
    if rules.uncovered(map(rules.compiled, owned), wanted):
        return
    if allowed(wanted, verb, group, resource, name):
        assert allowed(owned, verb, group, resource, name)
    if any(rule.allows_path(verb, path) for rule in map(rules.compiled, wanted)):
        assert any(rule.allows_path(verb, path) for rule in map(rules.compiled, owned))


@given(st.lists(policy_rules(), max_size=4))
def test_rules_cover_themselves_and_are_covered_by_full_authority(granted: list[Obj]) -> None:
    assert rules.uncovered(map(rules.compiled, granted), granted) == []
    assert rules.uncovered(map(rules.compiled, rules.FULL_AUTHORITY), granted) == []


def test_a_rule_about_names_covers_no_rule_about_all() -> None:
    named = {"verbs": ["get"], "apiGroups": [""], "resources": ["pods"], "resourceNames": ["a"]}
    every = {key: part for key, part in named.items() if key != "resourceNames"}

    assert rules.uncovered([rules.compiled(named)], [every]) == [every]
    assert rules.uncovered([rules.compiled(every)], [named]) == []


def test_what_is_missing_is_joined_by_resource_and_name() -> None:
    wanted = {"verbs": ["get", "list"], "apiGroups": [""], "resources": ["pods", "jobs"]}
    urls = {"verbs": ["get", "post"], "nonResourceURLs": ["/x"]}

    shown = {rules.shown(rule) for rule in rules.compacted(rules.uncovered([], [wanted, urls]))}

    assert shown == {
        '{APIGroups:[""], Resources:["pods"], Verbs:["get" "list"]}',
        '{APIGroups:[""], Resources:["jobs"], Verbs:["get" "list"]}',
        '{NonResourceURLs:["/x"], Verbs:["get"]}',
        '{NonResourceURLs:["/x"], Verbs:["post"]}',
    }
