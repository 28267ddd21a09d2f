"""Roles and bindings (rbac.authorization.k8s.io): who is allowed what."""

from collections.abc import Iterator, Sequence

from jobferry.localkube.apiserver import problems
from jobferry.localkube.apiserver.problems import Problem
from jobferry.localkube.apiserver.strategy import Strategy
from jobferry.localkube.apiserver.validation import metadata, names, selectors
from jobferry.objects import Obj

GROUP = "rbac.authorization.k8s.io"

_SUBJECTS = ("ServiceAccount", "User", "Group")
_ROLE_KINDS = {"RoleBinding": ("Role", "ClusterRole"), "ClusterRoleBinding": ("ClusterRole",)}


def _name_problems(name: str, _is_prefix: bool) -> Sequence[str]:
    # Upstream asks of a prefix what it asks of a name.
    return names.is_path_segment(name, False)


# -- roles ------------------------------------------------------------------------------------------


def _role_problems(role: Obj) -> list[Problem]:
    return [*_rules_problems(role, namespaced=True)]


def _cluster_role_problems(role: Obj) -> list[Problem]:
    return [*_rules_problems(role, namespaced=False), *_aggregation_problems(role)]


def _rules_problems(role: Obj, *, namespaced: bool) -> Iterator[Problem]:
    for index, rule in enumerate(role.get("rules") or ()):
        yield from _rule_problems(rule, f"rules[{index}]", namespaced=namespaced)


def _rule_problems(rule: Obj, path: str, *, namespaced: bool) -> Iterator[Problem]:
    if not rule.get("verbs"):
        yield problems.required(f"{path}.verbs", "verbs must contain at least one value")
    if urls := rule.get("nonResourceURLs"):
        field = f"{path}.nonResourceURLs"
        if namespaced:
            why = "namespaced rules cannot apply to non-resource URLs"
            yield problems.invalid(field, urls, why)
        if rule.get("apiGroups") or rule.get("resources") or rule.get("resourceNames"):
            why = "rules cannot apply to both regular resources and non-resource URLs"
            yield problems.invalid(field, urls, why)
        return
    if not rule.get("apiGroups"):
        why = "resource rules must supply at least one api group"
        yield problems.required(f"{path}.apiGroups", why)
    if not rule.get("resources"):
        why = "resource rules must supply at least one resource"
        yield problems.required(f"{path}.resources", why)


def _aggregation_problems(role: Obj) -> Iterator[Problem]:
    aggregation = role.get("aggregationRule")
    if aggregation is None:
        return
    field = "aggregationRule.clusterRoleSelectors"
    chosen = aggregation.get("clusterRoleSelectors") or ()
    if not chosen:
        why = "at least one clusterRoleSelector required if aggregationRule is non-nil"
        yield problems.required(field, why)
    for index, selector in enumerate(chosen):
        wrong = [*selectors.selector_problems(selector, f"{field}[{index}]")]
        yield from wrong
        if wrong:
            yield problems.invalid(f"{field}[{index}]", None, "invalid label selector.")


def _meta_problems(
    new: Obj, old: Obj | None = None, *, namespaced: bool = False
) -> Iterator[Problem]:
    yield from metadata.create_problems(
        new, namespaced=namespaced, name_problems=_name_problems
    )
    if old is not None:
        yield from metadata.update_problems(new, old)


# -- bindings ---------------------------------------------------------------------------------------


def _default_binding(binding: Obj) -> None:
    reference = binding.setdefault("roleRef", {})
    if not reference.get("apiGroup"):
        reference["apiGroup"] = GROUP
    for subject in binding.get("subjects") or ():
        if not subject.get("apiGroup") and subject.get("kind") in ("User", "Group"):
            subject["apiGroup"] = GROUP


def _binding_problems(binding: Obj, kind: str) -> Iterator[Problem]:
    reference = binding.get("roleRef") or {}
    group, role_kind = reference.get("apiGroup", ""), reference.get("kind", "")
    if group != GROUP:
        yield problems.not_supported("roleRef.apiGroup", group, [GROUP])
    if role_kind not in _ROLE_KINDS[kind]:
        yield problems.not_supported("roleRef.kind", role_kind, _ROLE_KINDS[kind])
    name = reference.get("name", "")
    if not name:
        yield problems.required("roleRef.name")
    for why in names.is_path_segment(name, False):
        yield problems.invalid("roleRef.name", name, why)
    for index, subject in enumerate(binding.get("subjects") or ()):
        path = f"subjects[{index}]"
        yield from _subject_problems(subject, path, namespaced=kind == "RoleBinding")


def _subject_problems(subject: Obj, path: str, *, namespaced: bool) -> Iterator[Problem]:
    name, kind, group = (subject.get(part, "") for part in ("name", "kind", "apiGroup"))
    if not name:
        yield problems.required(f"{path}.name")
    if kind not in _SUBJECTS:
        yield problems.not_supported(f"{path}.kind", kind, _SUBJECTS)
    elif kind != "ServiceAccount":
        if group != GROUP:
            yield problems.not_supported(f"{path}.apiGroup", group, [GROUP])
    else:
        for why in names.subdomain_problems(name) if name else ():
            yield problems.invalid(f"{path}.name", name, why)
        if group:
            yield problems.not_supported(f"{path}.apiGroup", group, [""])
        if not namespaced and not subject.get("namespace"):
            yield problems.required(f"{path}.namespace")


def _changed_binding_problems(new: Obj, old: Obj, kind: str) -> list[Problem]:
    namespaced = kind == "RoleBinding"
    found = [*_meta_problems(new, namespaced=namespaced), *_binding_problems(new, kind)]
    found += metadata.update_problems(new, old)
    reference = new.get("roleRef") or {}
    if reference != (old.get("roleRef") or {}):
        # Go's internal type has no JSON names.
        value = {
            part: reference.get(part[0].lower() + part[1:], "") for part in ("Kind", "Name")
        }
        value = {"APIGroup": reference.get("apiGroup", ""), **value}
        found.append(problems.invalid("roleRef", value, "cannot change roleRef"))
    return found


ROLE = Strategy(
    validate_create=lambda new: [*_meta_problems(new, namespaced=True), *_role_problems(new)],
    validate_update=lambda new, old: [
        *_meta_problems(new, old, namespaced=True),
        *_role_problems(new),
    ],
    name_problems=_name_problems,
    versioned=None,
    create_on_update=True,
)

CLUSTER_ROLE = Strategy(
    validate_create=lambda new: [*_meta_problems(new), *_cluster_role_problems(new)],
    validate_update=lambda new, old: [
        *_meta_problems(new, old),
        *_cluster_role_problems(new),
    ],
    name_problems=_name_problems,
    versioned=None,
    create_on_update=True,
)

ROLE_BINDING = Strategy(
    default=_default_binding,
    validate_create=lambda new: [
        *_meta_problems(new, namespaced=True),
        *_binding_problems(new, "RoleBinding"),
    ],
    validate_update=lambda new, old: _changed_binding_problems(new, old, "RoleBinding"),
    name_problems=_name_problems,
    versioned=None,
    create_on_update=True,
)

CLUSTER_ROLE_BINDING = Strategy(
    default=_default_binding,
    validate_create=lambda new: [
        *_meta_problems(new),
        *_binding_problems(new, "ClusterRoleBinding"),
    ],
    validate_update=lambda new, old: _changed_binding_problems(new, old, "ClusterRoleBinding"),
    name_problems=_name_problems,
    versioned=None,
    create_on_update=True,
)
