"""Answers to questions about access."""

import pytest

from jobferry.localkube.apiserver.access import reviews
from jobferry.localkube.apiserver.access.attributes import Attributes, Decision
from jobferry.localkube.apiserver.access.rbac import RoleBook
from jobferry.localkube.apiserver.identity.user import User
from jobferry.localkube.apiserver.status import StatusError
from jobferry.objects import Obj

ANN = User("ann", "1", ("devs",))
PODS = {"verb": "get", "resource": "pods", "namespace": "one", "name": "p"}


def yes(_: Attributes) -> Decision:
    return Decision(allowed=True, reason="because")


def test_the_question_is_about_the_user_in_it() -> None:
    asked = []

    def decide(wanted: Attributes) -> Decision:
        asked.append(wanted)
        return Decision(allowed=False)

    spec = {"user": "bob", "groups": ["ops"], "resourceAttributes": PODS}
    answer = reviews.subject_access({"spec": spec}, decide)

    assert answer == {"spec": spec, "status": {"allowed": False}}
    wanted = Attributes(User("bob", groups=("ops",)), "get", "", "*", "pods", "", "one", "p")
    assert asked == [wanted]


def test_the_question_about_oneself_is_about_the_caller() -> None:
    spec = {"nonResourceAttributes": {"path": "/x", "verb": "get"}}
    asked = []

    def decide(wanted: Attributes) -> Decision:
        asked.append(wanted)
        return yes(wanted)

    answer = reviews.self_subject_access({"spec": spec}, ANN, decide)

    assert answer["status"] == {"allowed": True, "reason": "because"}
    assert (asked[0].user, asked[0].path, asked[0].is_resource) == (ANN, "/x", False)


@pytest.mark.parametrize(
    ("spec", "why"),
    [
        ({"user": "x"}, "exactly one of nonResourceAttributes or resourceAttributes"),
        ({"resourceAttributes": PODS}, "at least one of user or group must be specified"),
        (
            {"user": "x", "resourceAttributes": PODS, "nonResourceAttributes": {}},
            "cannot be specified in combination",
        ),
    ],
)
def test_questions_that_make_no_sense_are_refused(spec: Obj, why: str) -> None:
    with pytest.raises(StatusError, match=why) as caught:
        reviews.subject_access({"spec": spec}, yes)

    assert caught.value.code == 422


def test_a_local_question_stays_in_its_namespace() -> None:
    spec = {"user": "x", "resourceAttributes": PODS}
    review = {"metadata": {"namespace": "one"}, "spec": spec}

    assert reviews.local_subject_access(review, "one", yes)["status"]["allowed"]
    with pytest.raises(StatusError, match="must match metadata"):
        reviews.local_subject_access(
            {"metadata": {"namespace": "two"}, "spec": spec}, "two", yes
        )


def test_the_rules_of_the_caller_are_listed_by_what_they_are_about() -> None:
    on_pods = {
        "verbs": ["get"],
        "apiGroups": [""],
        "resources": ["pods"],
        "resourceNames": ["p"],
    }
    urls = {"verbs": ["get"], "nonResourceURLs": ["/x"]}
    reference = {"kind": "ClusterRole", "name": "r"}
    everyone = [{"kind": "Group", "name": "devs"}]
    book = RoleBook(
        [
            {"kind": "ClusterRole", "metadata": {"name": "r"}, "rules": [on_pods, urls]},
            {
                "kind": "ClusterRoleBinding",
                "metadata": {"name": "b"},
                "roleRef": reference,
                "subjects": everyone,
            },
            {
                "kind": "ClusterRoleBinding",
                "metadata": {"name": "c"},
                "roleRef": {**reference, "name": "gone"},
                "subjects": everyone,
            },
        ]
    )

    status = reviews.self_subject_rules({"spec": {"namespace": "one"}}, ANN, book)["status"]

    assert status == {
        "resourceRules": [on_pods],
        "nonResourceRules": [urls],
        "incomplete": False,
        "evaluationError": 'clusterrole.rbac.authorization.k8s.io "gone" not found',
    }
    with pytest.raises(StatusError, match="no namespace on request"):
        reviews.self_subject_rules({}, ANN, book)
