"""Tokens that are issued, checked, and void when they should be."""

import json
from base64 import urlsafe_b64decode, urlsafe_b64encode

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec
from hypothesis import given
from hypothesis import strategies as st

from jobferry.localkube.apiserver.identity import tokens as tokens_module
from jobferry.localkube.apiserver.identity.certificates import signing_key
from jobferry.localkube.apiserver.identity.proof import BadToken
from jobferry.localkube.apiserver.identity.tokens import ISSUER
from tests.unit.localkube.apiserver.identity.token_office import KEYS, Office, bound


def test_a_token_stands_for_its_account_and_tells_where_it_runs() -> None:
    office = Office()

    holder = office.tokens.holder(office.token(boundObjectRef=bound("Pod", "p")))

    assert holder is not None
    assert holder.audiences == (ISSUER,)
    assert holder.user.info() == {
        "username": "system:serviceaccount:ns:robot",
        "uid": "sa-1",
        "groups": [
            "system:serviceaccounts",
            "system:serviceaccounts:ns",
            "system:authenticated",
        ],
        "extra": {
            "authentication.kubernetes.io/pod-name": ["p"],
            "authentication.kubernetes.io/pod-uid": ["pod-1"],
            "authentication.kubernetes.io/credential-id": ["JTI=id-1"],
            "authentication.kubernetes.io/node-name": ["n"],
            "authentication.kubernetes.io/node-uid": ["node-1"],
        },
    }


def test_a_token_ends() -> None:
    office = Office()
    token = office.token(expirationSeconds=600)

    office.clock.advance(600 + 59)
    assert office.tokens.holder(token)
    office.clock.advance(2)
    with pytest.raises(BadToken, match="has expired"):
        office.tokens.holder(token)


def test_a_token_from_the_future_does_not_hold_yet() -> None:
    office, ahead = Office(), Office()
    ahead.clock.advance(100)

    with pytest.raises(BadToken, match="is not valid yet"):
        office.tokens.holder(ahead.token())


@pytest.mark.parametrize(
    ("kind", "resource", "name"),
    [("Pod", "pods", "p"), ("Secret", "secrets", "s"), ("Node", "nodes", "n")],
)
def test_a_token_is_void_once_what_it_is_bound_to_is_gone_or_another(
    kind: str, resource: str, name: str
) -> None:
    office = Office()
    token = office.token(boundObjectRef=bound(kind, name))
    assert office.tokens.holder(token)
    thing = office.objects.pop((resource, name))

    with pytest.raises(BadToken, match="has been invalidated"):
        office.tokens.holder(token)
    office.objects[resource, name] = {
        **thing,
        "metadata": {**thing["metadata"], "uid": "other"},
    }
    with pytest.raises(BadToken, match="does not match"):
        office.tokens.holder(token)
    office.objects[resource, name] = thing
    assert office.tokens.holder(token)


def test_what_is_being_deleted_counts_for_a_minute() -> None:
    office = Office()
    token = office.token()
    account = office.objects["serviceaccounts", "robot"]
    account["metadata"]["deletionTimestamp"] = "2026-11-16T00:00:00Z"

    office.clock.advance(30)
    assert office.tokens.holder(token)
    office.clock.advance(31)
    with pytest.raises(BadToken, match="service account ns/robot has been deleted"):
        office.tokens.holder(token)


def test_a_token_without_its_account_is_void() -> None:
    office = Office()
    token = office.token()
    del office.objects["serviceaccounts", "robot"]

    with pytest.raises(BadToken, match='serviceaccounts "robot" not found'):
        office.tokens.holder(token)


def test_a_token_for_others_is_not_for_us() -> None:
    office = Office()
    token = office.token(audiences=["vault", "db"])

    with pytest.raises(BadToken, match="is invalid for the target audiences"):
        office.tokens.holder(token)
    holder = office.tokens.holder(token, ["x", "db", "vault"])
    assert holder is not None
    assert holder.audiences == ("db", "vault")


def test_a_token_that_somebody_else_signed_is_not_believed() -> None:
    office, keys = Office(), signing_key()
    forger = office.with_keys(keys.key, keys.certificate)
    claims = json.loads(urlsafe_b64decode(office.token().split(".")[1] + "=="))

    with pytest.raises(BadToken, match="no keys found"):
        office.tokens.holder(forger.issue(claims))


@given(st.data())
def test_no_change_of_a_token_goes_unnoticed(data: st.DataObject) -> None:
    office = Office()
    token = office.token()
    place = data.draw(st.integers(0, len(token) - 1))
    letter = data.draw(st.sampled_from("AQgw.-_=!é"))
    changed = token[:place] + letter + token[place + 1 :]

    try:
        holder = office.tokens.holder(changed)
    except BadToken:
        return
    # The last letter of a part holds bits that mean nothing.
    last = place == len(token) - 1 or token[place + 1] == "."
    assert holder is None or changed == token or last


def test_unsigned_tokens_and_other_algorithms_are_refused() -> None:
    office = Office()
    _, claims, signature = office.token().split(".")
    for head in ({"alg": "none"}, {"alg": "HS256"}, {}):
        part = urlsafe_b64encode(json.dumps(head).encode()).rstrip(b"=").decode()
        for proof in ("", signature):
            with pytest.raises(BadToken, match="cryptographic primitive"):
                office.tokens.holder(f"{part}.{claims}.{proof}")


@pytest.mark.parametrize("text", ["", "x", "a.b", "a.b.c", "..", "e30.e30.e30", "e30.W10.e30"])
def test_what_is_no_token_of_ours_is_left_to_others(text: str) -> None:
    assert Office().tokens.holder(text) is None


def test_a_signed_token_without_an_account_is_refused() -> None:
    office = Office()

    odd: list[dict[str, object]] = [{}, {"kubernetes.io": {}}, {"kubernetes.io": []}]
    for claims in odd:
        with pytest.raises(BadToken, match="could not be validated"):
            office.tokens.holder(office.tokens.issue(claims))


def test_only_so_many_tokens_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tokens_module, "KEPT", 2)
    office = Office()

    for seconds in range(600, 610):
        assert office.tokens.holder(office.token(expirationSeconds=seconds))

    assert len(office.tokens._checked) == 2


def test_the_key_that_is_shown_is_the_one_that_tokens_are_checked_with() -> None:
    office = Office()
    key = office.tokens.public_key()
    x, y = (urlsafe_b64decode(key[part] + "=") for part in "xy")
    read = serialization.load_pem_public_key(KEYS.certificate)

    assert isinstance(read, ec.EllipticCurvePublicKey)
    assert read.public_numbers() == ec.EllipticCurvePublicNumbers(
        int.from_bytes(x), int.from_bytes(y), ec.SECP256R1()
    )
    assert (
        json.loads(urlsafe_b64decode(office.token().split(".")[0] + "=="))["kid"] == key["kid"]
    )
