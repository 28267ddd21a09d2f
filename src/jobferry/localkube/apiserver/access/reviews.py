"""Questions about access: the review kinds of authorization.k8s.io, answered from the roles."""

from collections.abc import Callable, Sequence
from typing import Any

from jobferry.localkube.apiserver import problems, status
from jobferry.localkube.apiserver.access import selector_reviews
from jobferry.localkube.apiserver.access.attributes import Attributes, path_access
from jobferry.localkube.apiserver.access.rbac import Decide, RoleBook
from jobferry.localkube.apiserver.identity.user import User
from jobferry.localkube.apiserver.problems import Problem
from jobferry.objects import Obj

GROUP = "authorization.k8s.io"

_RESOURCE = ("verbs", "apiGroups", "resources", "resourceNames")
_NON_RESOURCE = ("verbs", "nonResourceURLs")


def subject_access(review: Obj, decide: Decide) -> Obj:
    """Answer a SubjectAccessReview: may somebody do this?"""
    _refuse([*_subject_problems(review), *_metadata_problems(review, "must be empty")])
    return _answered(review, _subject(review["spec"]), decide)


def local_subject_access(review: Obj, namespace: str, decide: Decide) -> Obj:
    """Answer a LocalSubjectAccessReview: may somebody do this in the namespace of the URL?"""
    _refuse(_local_problems(review))
    if review["metadata"].get("namespace", "") != namespace:
        text = f"spec.resourceAttributes.namespace must match namespace: {namespace}"
        raise status.bad_request(text)
    return _answered(review, _subject(review["spec"]), decide)


def self_subject_access(review: Obj, user: User, decide: Decide) -> Obj:
    """Answer a SelfSubjectAccessReview: may the caller do this?"""
    found = _spec_problems(review.get("spec") or {})
    _refuse([*found, *_metadata_problems(review, "must be empty")])
    return _answered(review, user, decide)


def self_subject_rules(review: Obj, user: User, book: RoleBook) -> Obj:
    """Answer a SelfSubjectRulesReview: what may the caller do in a namespace?"""
    namespace = (review.get("spec") or {}).get("namespace", "")
    if not namespace:
        raise status.bad_request("no namespace on request")
    grants = book.grants(user, namespace)
    answer: Obj = {
        "resourceRules": [
            _part(rule, _RESOURCE) for rule in grants.raw if rule.get("resources")
        ],
        "nonResourceRules": [
            _part(rule, _NON_RESOURCE) for rule in grants.raw if rule.get("nonResourceURLs")
        ],
        "incomplete": False,
    }
    if words := list(dict.fromkeys(map(str, grants.missing))):
        answer["evaluationError"] = words[0] if len(words) == 1 else f"[{', '.join(words)}]"
    return {
        "kind": "SelfSubjectRulesReview",
        "apiVersion": f"{GROUP}/v1",
        "metadata": {},
        "spec": {},
        "status": answer,
    }


def _part(rule: Obj, fields: Sequence[str]) -> Obj:
    return {field: rule[field] for field in fields if rule.get(field)}


def _answered(review: Obj, user: User, decide: Decide) -> Obj:
    spec = review["spec"]
    decision = decide(_attributes(user, spec))
    answer: Obj = {"allowed": decision.allowed}
    if decision.reason:
        answer["reason"] = decision.reason
    if doubts := selector_reviews.parse_errors(spec.get("resourceAttributes") or {}):
        answer["evaluationError"] = doubts
    return {**review, "status": answer}


def _attributes(user: User, spec: Obj) -> Attributes:
    wanted = spec.get("resourceAttributes")
    if wanted is None:
        about = spec["nonResourceAttributes"]
        return path_access(user, about.get("verb", ""), about.get("path", ""))
    return Attributes(
        user,
        wanted.get("verb", ""),
        wanted.get("group", ""),
        wanted.get("version") or "*",
        wanted.get("resource", ""),
        wanted.get("subresource", ""),
        wanted.get("namespace", ""),
        wanted.get("name", ""),
    )


def _subject(spec: Obj) -> User:
    return User(
        spec.get("user", ""),
        spec.get("uid", ""),
        tuple(spec.get("groups") or ()),
        spec.get("extra") or {},
    )


def _spec_problems(spec: Obj, more: Callable[[], Sequence[Problem]] = tuple) -> list[Problem]:
    found = []
    on_resource, elsewhere = spec.get("resourceAttributes"), spec.get("nonResourceAttributes")
    if on_resource is not None and elsewhere is not None:
        why = "cannot be specified in combination with resourceAttributes"
        found.append(_invalid("spec.nonResourceAttributes", _internal(elsewhere), why))
    if on_resource is None and elsewhere is None:
        why = "exactly one of nonResourceAttributes or resourceAttributes must be specified"
        found.append(_invalid("spec.resourceAttributes", None, why))
    found += more()
    if on_resource is not None:
        found += selector_reviews.problems_of(on_resource)
    return found


def _subject_problems(review: Obj) -> list[Problem]:
    spec = review.get("spec") or {}

    def nobody() -> Sequence[Problem]:
        if spec.get("user") or spec.get("groups"):
            return ()
        return (_invalid("spec.user", "", "at least one of user or group must be specified"),)

    return _spec_problems(spec, nobody)


def _local_problems(review: Obj) -> list[Problem]:
    spec, metadata = review.get("spec") or {}, review.get("metadata") or {}
    found = _subject_problems(review)
    found += _metadata_problems(review, "must be empty except for namespace", "namespace")
    wanted = spec.get("resourceAttributes")
    namespace = (wanted or {}).get("namespace", "")
    if wanted is not None and namespace != metadata.get("namespace", ""):
        field = "spec.resourceAttributes.namespace"
        found.append(_invalid(field, namespace, "must match metadata.namespace"))
    if (elsewhere := spec.get("nonResourceAttributes")) is not None:
        why = "disallowed on this kind of request"
        found.append(_invalid("spec.nonResourceAttributes", _internal(elsewhere), why))
    return found


def _metadata_problems(review: Obj, why: str, *allowed: str) -> list[Problem]:
    metadata = review.get("metadata") or {}
    if any(value for key, value in metadata.items() if key not in ("managedFields", *allowed)):
        return [_invalid("metadata", metadata, why)]
    return []


def _invalid(field: str, value: Any, why: str) -> Problem:
    return problems.invalid(field, value, why)


def _internal(attributes: Obj) -> Obj:
    """Show nonResourceAttributes as Go does: its internal type has no JSON names."""
    return {"Path": attributes.get("path", ""), "Verb": attributes.get("verb", "")}


def _refuse(found: Sequence[Problem]) -> None:
    if found:
        # Upstream has lost the kind by then.
        raise status.invalid(GROUP, "", "", found)
