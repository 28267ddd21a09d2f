"""What localkube's roles decide and say, beside a real API server with the same roles."""

from collections.abc import Iterator
from itertools import product

import pytest

from jobferry.localkube.apiserver.access import aggregation, bootstrap, reviews
from jobferry.localkube.apiserver.access.attributes import Attributes, forbidden, path_access
from jobferry.localkube.apiserver.access.rbac import RoleBook
from jobferry.localkube.apiserver.identity import user as users
from jobferry.objects import Obj
from tests.api.access_world import (
    ONE,
    PEOPLE,
    TWO,
    Asker,
    Reply,
    asked_about,
    member,
    outcome,
    review,
    stored,
    words,
)

pytestmark = [pytest.mark.kube, pytest.mark.timeout(90)]

VERBS = ("get", "list", "create", "update", "delete", "escalate", "*")
RESOURCES = (
    ("batch", "jobs", ""),
    ("batch", "jobs", "status"),
    ("", "pods", ""),
    ("", "pods", "log"),
    ("", "pods", "status"),
    ("", "pods", "*"),
    ("apps", "deployments", "scale"),
    ("", "configmaps", ""),
    ("", "secrets", ""),
    ("coordination.k8s.io", "leases", ""),
    ("*", "*", ""),
)
PATHS = (
    "/metrics",
    "/logs/x/y",
    "/logs",
    "/all",
    "/healthz",
    "/version",
    "/apis/batch",
    "/x",
    "*",
)


def wanted_actions() -> Iterator[Attributes]:
    for user, verb, (group, resource, subresource) in product(PEOPLE, VERBS, RESOURCES):
        for namespace, name in (("", ""), (ONE, ""), (ONE, "a"), (TWO, "c")):
            yield Attributes(user, verb, group, "", resource, subresource, namespace, name)
    for user, verb, path in product(PEOPLE, ("get", "post", "*"), PATHS):
        yield path_access(user, verb, path)


def grounds(book: RoleBook, wanted: Attributes) -> set[str]:
    """Return all reasons that the real server may give; which one is a matter of luck."""
    decision = book.decide(wanted)
    if not decision.allowed or users.MASTERS in wanted.user.groups:
        return words(decision.reason)
    granted = book.grants(wanted.user, wanted.namespace)._granted
    key = (wanted.verb, wanted.group, wanted.resource, wanted.subresource)
    return {
        grant.decision.reason
        for grant in granted
        if (
            grant.rule.speaks_of(*key)
            if wanted.is_resource
            else grant.rule.allows_path(wanted.verb, wanted.path)
        )
    }


def test_every_question_about_access_is_answered_alike(admin: Asker, book: RoleBook) -> None:
    actions = list(wanted_actions())
    assert len(actions) > 4_000
    allowed = 0
    for wanted in actions:
        theirs = review(admin, wanted)
        ours = reviews.subject_access(
            {"kind": "SubjectAccessReview", **asked_about(wanted)}, book.decide
        )["status"]
        assert theirs["allowed"] == ours["allowed"], wanted
        assert theirs.keys() == ours.keys(), wanted
        reasons = words(theirs.get("reason", ""))
        if theirs["allowed"]:
            assert reasons <= grounds(book, wanted), wanted
        else:
            assert reasons == grounds(book, wanted), wanted
        allowed += theirs["allowed"]
    assert len(actions) / 10 < allowed < len(actions) / 2


REQUESTS = (
    ("GET", "/api/v1/namespaces/{}/pods", ("list", "", "pods", "", True, "")),
    ("GET", "/api/v1/pods", ("list", "", "pods", "", False, "")),
    ("GET", "/api/v1/pods?watch=1", ("watch", "", "pods", "", False, "")),
    ("GET", "/api/v1/namespaces/{}/pods/x/log", ("get", "", "pods", "log", True, "x")),
    ("POST", "/api/v1/namespaces/{}/pods/x/eviction", ("create", "", "pods", "eviction", True, "x")),
    ("PUT", "/apis/batch/v1/namespaces/{}/jobs/x/status", ("update", "batch", "jobs", "status", True, "x")),
    ("PATCH", "/apis/batch/v1/namespaces/{}/jobs/x", ("patch", "batch", "jobs", "", True, "x")),
    ("DELETE", "/apis/batch/v1/namespaces/{}/jobs", ("deletecollection", "batch", "jobs", "", True, "")),
    ("DELETE", "/api/v1/nodes/n", ("delete", "", "nodes", "", False, "n")),
    ("GET", "/apis/no.such/v1/namespaces/{}/things/a%26b", ("get", "no.such", "things", "", True, "a&b")),
)  # fmt: skip


@pytest.mark.parametrize("name", ["ann", "cid", "eve", '<b>&"q"', "system:anonymous"])
def test_requests_are_refused_in_the_same_words(
    admin: Asker, book: RoleBook, name: str
) -> None:
    user = users.ANONYMOUS if name == users.ANONYMOUS.name else member(name)
    refused = 0
    for method, path, (verb, group, resource, subresource, local, called) in REQUESTS:
        namespace = ONE if local else ""
        wanted = Attributes(user, verb, group, "v1", resource, subresource, namespace, called)
        decision = book.decide(wanted)
        reply = admin.ask(method, path.format(ONE), {}, as_user=user)

        assert (reply.code == 403) is not decision.allowed, (wanted, reply)
        if not decision.allowed:
            refused += 1
            ours = forbidden(wanted, decision.reason)
            theirs = outcome(reply)
            assert isinstance(theirs, dict)
            if "[" in str(ours):
                assert words(theirs.pop("message")) == words(str(ours))
                assert theirs["details"] == ours.details
            else:
                assert theirs == outcome(Reply(403, ours.status()))
    assert refused > 5


@pytest.mark.parametrize("path", ["/metrics", "/logs/x", "/nothing", "/apis/batch/"])
def test_paths_are_refused_in_the_same_words(admin: Asker, book: RoleBook, path: str) -> None:
    for user in (member("cid"), users.ANONYMOUS):
        wanted = path_access(user, "get", path)
        decision = book.decide(wanted)
        reply = admin.ask("GET", path, as_user=user)

        assert (reply.code == 403) is not decision.allowed, reply
        if not decision.allowed:
            ours = forbidden(wanted, decision.reason)
            assert outcome(reply) == outcome(Reply(403, ours.status()))


def test_a_real_server_lacks_nothing_that_ours_would_make(admin: Asker, book: RoleBook) -> None:
    assert bootstrap.plan(stored(admin), bootstrap.objects()) == []


def _is_filled(obj: Obj) -> bool:
    return obj["metadata"]["name"] in ("admin", "edit", "view")


def test_aggregated_roles_are_filled_as_the_controller_fills_them(
    admin: Asker, book: RoleBook
) -> None:
    roles = [each for each in stored(admin) if each["kind"] == "ClusterRole"]
    bare = [{**each, "rules": None} if _is_filled(each) else each for each in roles]
    theirs = {each["metadata"]["name"]: each["rules"] for each in roles if _is_filled(each)}

    assert all(len(rules) > 10 for rules in theirs.values())
    assert aggregation.outdated(roles) == {}
    assert aggregation.outdated(bare) == theirs
