"""Who is calling, by what they show."""

from base64 import urlsafe_b64encode

import pytest

from jobferry.localkube.apiserver.identity import reviews
from jobferry.localkube.apiserver.identity import user as users
from jobferry.localkube.apiserver.identity.authenticate import (
    BEARER_PROTOCOL,
    Authenticator,
    is_ignored,
    without_bearer,
)
from jobferry.localkube.apiserver.identity.tokens import ISSUER
from jobferry.localkube.apiserver.identity.user import User
from jobferry.localkube.apiserver.status import StatusError
from tests.unit.localkube.apiserver.identity.token_office import Office

ANN, BOB = (users.authenticated(User(name)) for name in ("ann", "bob"))
DOOR = Authenticator(static={"secret": User("bob")}, audiences=["here"])


def offer(token: str) -> str:
    return BEARER_PROTOCOL + urlsafe_b64encode(token.encode()).rstrip(b"=").decode()


def test_a_certificate_goes_before_a_token() -> None:
    assert DOOR.caller(peer=ANN, authorization="Bearer wrong") is ANN
    assert DOOR.caller(peer=ANN, authorization="Bearer secret") is ANN


def test_whoever_calls_from_within_is_who_they_say() -> None:
    assert DOOR.caller(in_process=User("x"), peer=ANN) == users.authenticated(User("x"))


@pytest.mark.parametrize(
    "header", ["Bearer secret", "bearer secret", " Bearer secret ", "BEARER secret x"]
)
def test_a_bearer_token_is_known_however_the_word_is_written(header: str) -> None:
    assert DOOR.caller(authorization=header) == BOB


@pytest.mark.parametrize("header", ["", "Bearer", "Bearer ", "Basic c2VjcmV0", "secret"])
def test_without_a_token_one_is_anonymous(header: str) -> None:
    assert DOOR.caller(authorization=header) is users.ANONYMOUS
    with pytest.raises(StatusError, match="Unauthorized"):
        Authenticator(anonymous=False).caller(authorization=header)


def test_a_token_behind_two_blanks_is_not_looked_at() -> None:
    assert DOOR.caller(authorization="Bearer  secret") is users.ANONYMOUS
    assert is_ignored("bearer  secret")
    assert not is_ignored("Bearer ")
    assert not is_ignored("Basic  secret")


@pytest.mark.parametrize("header", ["Bearer wrong", "Bearer secret2", "Bearer a.b.c"])
def test_a_wrong_token_is_never_taken_for_none(header: str) -> None:
    with pytest.raises(StatusError, match="Unauthorized") as caught:
        DOOR.caller(authorization=header)

    assert caught.value.code == 401


def test_a_websocket_client_may_offer_its_token_as_a_protocol() -> None:
    protocols = ["v5.channel.k8s.io", offer("secret")]

    assert DOOR.caller(protocols=protocols) == BOB
    assert DOOR.caller(authorization="Bearer wrong", protocols=protocols) == BOB
    assert DOOR.caller(protocols=["v5.channel.k8s.io"]) is users.ANONYMOUS
    assert DOOR.caller(protocols=["v5.channel.k8s.io", BEARER_PROTOCOL]) is users.ANONYMOUS
    assert without_bearer(protocols) == ["v5.channel.k8s.io"]


@pytest.mark.parametrize(
    "protocols",
    [
        [offer("secret")],
        [offer("secret"), offer("secret"), "x"],
        [offer("wrong"), "x"],
        [offer("secret") + "=", "x"],
        [BEARER_PROTOCOL + "_w", "x"],
    ],
)
def test_protocols_that_hold_no_good_token_are_refused(protocols: list[str]) -> None:
    with pytest.raises(StatusError, match="Unauthorized"):
        DOOR.caller(protocols=protocols)


def test_service_account_tokens_open_the_door_too() -> None:
    office = Office()
    door = Authenticator(tokens=office.tokens)

    caller = door.caller(authorization=f"Bearer {office.token()}")

    assert caller.name == "system:serviceaccount:ns:robot"
    with pytest.raises(StatusError):
        door.caller(authorization=f"Bearer {office.token(audiences=['x'])}")


def test_a_review_tells_whom_a_token_stands_for() -> None:
    def review(token: str, *audiences: str) -> object:
        spec = {"token": token, "audiences": list(audiences)}
        return reviews.token_review({"spec": spec}, DOOR)["status"]

    user = {"username": "bob", "groups": ["system:authenticated"]}
    assert review("secret") == {"authenticated": True, "user": user, "audiences": ["here"]}
    assert review("secret", "x", "here") == review("secret")
    assert review("secret", "x") == {"user": {}, "error": "invalid bearer token"}
    assert review("wrong") == {"user": {}, "error": "invalid bearer token"}
    with pytest.raises(StatusError, match="token is required"):
        review("")


def test_a_review_says_why_a_token_does_not_hold() -> None:
    office = Office()
    spec = {"token": office.token(), "audiences": ["x"]}

    status = reviews.token_review({"spec": spec}, Authenticator(tokens=office.tokens))["status"]

    assert status["error"] == (
        f'[invalid bearer token, token audiences ["{ISSUER}"] is invalid for the target audiences ["x"]]'
    )


def test_everyone_can_ask_who_they_are() -> None:
    now = Office().clock.now()

    assert reviews.self_subject_review(ANN, now) == {
        "kind": "SelfSubjectReview",
        "apiVersion": "authentication.k8s.io/v1",
        "metadata": {"creationTimestamp": "2026-11-16T00:00:00Z"},
        "status": {"userInfo": ANN.info()},
    }
