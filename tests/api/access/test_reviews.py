"""The review kinds: localkube's answers beside those of a real API server."""

import json
import re
from collections.abc import Callable
from itertools import product

import pytest

from jobferry.localkube.apiserver.access import reviews
from jobferry.localkube.apiserver.access.rbac import RoleBook
from jobferry.localkube.apiserver.identity import user as users
from jobferry.localkube.apiserver.status import StatusError
from jobferry.objects import Obj
from tests.api.access_world import (
    ONE,
    PEOPLE,
    TWO,
    Asker,
    Reply,
    member,
    outcome,
    words,
)

pytestmark = [pytest.mark.kube, pytest.mark.timeout(90)]

REVIEWS = "/apis/authorization.k8s.io/v1"


def unordered(rules: list[Obj]) -> list[str]:
    return sorted(json.dumps(each, sort_keys=True) for each in rules)


def test_the_rules_for_oneself_are_the_same(admin: Asker, book: RoleBook) -> None:
    known = [each for each in PEOPLE if each != users.ANONYMOUS]  # who may not even ask
    for user, namespace in product(known, (ONE, TWO, "kube-system")):
        body = {"spec": {"namespace": namespace}}
        theirs = admin.ask("POST", f"{REVIEWS}/selfsubjectrulesreviews", body, as_user=user)
        ours = reviews.self_subject_rules(body, user, book)

        for part in ("resourceRules", "nonResourceRules"):
            assert unordered(theirs.body["status"].pop(part)) == unordered(
                ours["status"].pop(part)
            ), (user, namespace)
        problem = theirs.body["status"].pop("evaluationError", "")
        assert words(problem) == words(ours["status"].pop("evaluationError", ""))
        theirs.body["metadata"].pop("creationTimestamp", None)
        assert theirs.body == ours


ON_PODS = {"verb": "get", "resource": "pods", "namespace": ONE}
SELECTORS: tuple[Obj, ...] = (
    {"rawSelector": "a=b"},
    {"rawSelector": "a in (x,y),!b"},
    {"rawSelector": "=="},
    {"rawSelector": "a", "requirements": [{"key": "a", "operator": "Exists"}]},
    {},
    {"requirements": [{"key": "a", "operator": "In"}]},
    {"requirements": [{"key": "a", "operator": "In", "values": ["x"]}]},
    {"requirements": [{"key": "a", "operator": "In", "values": ["x", "y"]}]},
    {"requirements": [{"key": "a", "operator": "Exists", "values": ["x"]}]},
    {"requirements": [{"key": "", "operator": "Near", "values": ["x"]}]},
    {
        "requirements": [
            {"key": "a", "operator": "NotIn", "values": ["x"]},
            {"key": "a", "operator": "Near"},
        ]
    },
    {"requirements": [{"key": "a b", "operator": "In", "values": ["-"]}]},
)
SPECS: tuple[Obj, ...] = (
    {},
    {"user": "ann"},
    {"resourceAttributes": ON_PODS},
    {"user": "ann", "resourceAttributes": ON_PODS},
    {"groups": ["devs"], "resourceAttributes": ON_PODS},
    {"user": "ann", "resourceAttributes": {}},
    {"user": "ann", "nonResourceAttributes": {}},
    {"user": "ann", "nonResourceAttributes": {"path": "/x", "verb": "get"}},
    {
        "user": "ann",
        "nonResourceAttributes": {"path": "/x"},
        "resourceAttributes": ON_PODS,
    },
    {"user": "ann", "uid": "1", "extra": {"a": ["b"]}, "resourceAttributes": ON_PODS},
    *(
        {"user": "ann", "resourceAttributes": {**ON_PODS, name: selector}}
        for name in ("labelSelector", "fieldSelector")
        for selector in SELECTORS
    ),
)


_MANAGED = re.compile(r',?\\"managedFields\\":\[.*?\]\}(?=: must)')


def without_managed(reply: Reply) -> object:
    """Return what counts of an answer; who manages which fields is not the reviews' business."""
    if reply.code >= 300:
        text = json.dumps(reply.body)
        return outcome(Reply(reply.code, json.loads(_MANAGED.sub("}", text))))
    metadata = reply.body.get("metadata", {})
    metadata.pop("managedFields", None)
    return {**reply.body, "metadata": metadata}


def ours_of(action: Callable[[], Obj]) -> object:
    try:
        return action()
    except StatusError as error:
        return outcome(Reply(error.code, error.status()))


@pytest.mark.parametrize("metadata", [{}, {"name": "x"}, {"namespace": ONE}])
def test_reviews_are_checked_and_answered_alike(
    admin: Asker, book: RoleBook, metadata: Obj
) -> None:
    head = {"apiVersion": "authorization.k8s.io/v1", "metadata": metadata}
    for spec in SPECS:
        body = {"kind": "SubjectAccessReview", **head, "spec": spec}
        if "namespace" not in metadata:
            theirs = admin.ask("POST", f"{REVIEWS}/subjectaccessreviews", body)
            ours = ours_of(lambda: reviews.subject_access(body, book.decide))  # noqa: B023
            assert without_managed(theirs) == ours, spec
            own = {key: part for key, part in spec.items() if key.endswith("Attributes")}
            mine = {**body, "kind": "SelfSubjectAccessReview", "spec": own}
            theirs = admin.ask(
                "POST", f"{REVIEWS}/selfsubjectaccessreviews", mine, as_user=member("ann")
            )
            ours = ours_of(
                lambda: reviews.self_subject_access(mine, member("ann"), book.decide)  # noqa: B023
            )
            assert without_managed(theirs) == ours, spec
        local = {**body, "kind": "LocalSubjectAccessReview"}
        for namespace in (ONE, TWO):
            where = f"{REVIEWS}/namespaces/{namespace}/localsubjectaccessreviews"
            theirs = admin.ask("POST", where, local)
            given = {**local, "metadata": {"namespace": namespace, **metadata}}
            if metadata.get("namespace", namespace) != namespace:
                continue  # the generic handler refuses it before us
            ours = ours_of(
                lambda: reviews.local_subject_access(given, namespace, book.decide)  # noqa: B023
            )
            assert without_managed(theirs) == ours, spec
