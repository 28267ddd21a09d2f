"""What is given to those who ask for a token."""

import json
from base64 import urlsafe_b64decode

import pytest

from jobferry.localkube.apiserver.identity import token_requests
from jobferry.localkube.apiserver.identity.tokens import ISSUER
from jobferry.localkube.apiserver.status import StatusError
from jobferry.objects import Obj
from tests.unit.localkube.apiserver.identity.token_office import Office, bound

BEGIN = 1_794_787_200


def claims(answer: Obj) -> Obj:
    part = answer["status"]["token"].split(".")[1]
    found: Obj = json.loads(urlsafe_b64decode(part + "=" * (-len(part) % 4)))
    return found


def test_a_token_says_who_it_is_for_and_until_when() -> None:
    answer = Office().answer()

    assert claims(answer) == {
        "aud": [ISSUER],
        "exp": BEGIN + 3600,
        "iat": BEGIN,
        "iss": ISSUER,
        "jti": "id-1",
        "kubernetes.io": {
            "namespace": "ns",
            "serviceaccount": {"name": "robot", "uid": "sa-1"},
        },
        "nbf": BEGIN,
        "sub": "system:serviceaccount:ns:robot",
    }
    assert answer["status"]["expirationTimestamp"] == "2026-11-16T01:00:00Z"
    assert answer["spec"] == {
        "audiences": [ISSUER],
        "expirationSeconds": 3600,
        "boundObjectRef": None,
    }


def test_the_token_in_every_pod_holds_a_year_but_says_when_to_worry() -> None:
    answer = Office().answer(expirationSeconds=3607, boundObjectRef=bound("Pod", "p"))

    assert claims(answer)["exp"] == BEGIN + token_requests.EXTENDED
    assert claims(answer)["kubernetes.io"]["warnafter"] == BEGIN + 3607
    assert answer["status"]["expirationTimestamp"] == "2026-11-16T01:00:07Z"


def test_a_pod_that_was_sent_to_a_node_that_is_not_there_names_it_all_the_same() -> None:
    office = Office()
    del office.objects["nodes", "n"]

    about = claims(office.answer(boundObjectRef=bound("Pod", "p")))["kubernetes.io"]

    assert about["node"] == {"name": "n"}


@pytest.mark.parametrize(
    ("spec", "code", "why"),
    [
        ({"expirationSeconds": 599}, 422, "may not specify a duration less than 10 minutes"),
        ({"expirationSeconds": 2**33}, 422, "may not specify a duration larger than"),
        ({"boundObjectRef": bound("Pod", "x")}, 404, 'pods "x" not found'),
        ({"boundObjectRef": bound("Secret", "s", uid="0")}, 409, "does not match the UID in record"),
        ({"boundObjectRef": bound("Pod", "")}, 400, "Name parameter required."),
        ({"boundObjectRef": bound("Pod", "..")}, 400, "Name parameter invalid"),
        ({"boundObjectRef": {**bound("Pod", "x"), "apiVersion": "a/b/c"}}, 404, 'pods "x" not found'),
        ({"boundObjectRef": bound("Job", "x")}, 400, "cannot bind token to object of type /v1, Kind=Job"),
    ],
)  # fmt: skip
def test_what_cannot_be_given_is_refused(spec: Obj, code: int, why: str) -> None:
    with pytest.raises(StatusError, match=why) as caught:
        Office().answer(**spec)

    assert caught.value.code == code


def test_a_pod_speaks_only_for_its_own_account() -> None:
    office = Office()
    office.objects["serviceaccounts", "other"] = office.objects["serviceaccounts", "robot"]

    with pytest.raises(StatusError, match="running with different serviceaccount name"):
        office.answer("other", boundObjectRef=bound("Pod", "p"))


def test_an_account_that_is_not_there_gets_no_token() -> None:
    with pytest.raises(StatusError, match='serviceaccounts "x" not found'):
        Office().answer("x")
