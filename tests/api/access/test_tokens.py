"""Service account tokens: localkube's are good for a real API server, and the other way round."""

import json
import ssl
from base64 import urlsafe_b64decode
from collections.abc import Callable
from itertools import count
from secrets import token_hex
from typing import Any

import pytest

from jobferry.clock import SystemClock
from jobferry.localkube.apiserver.identity import legacy_tokens, reviews, token_requests
from jobferry.localkube.apiserver.identity.authenticate import (
    Authenticator,
    user_from_certificate,
)
from jobferry.localkube.apiserver.identity.certificates import signing_key
from jobferry.localkube.apiserver.identity.pair import Pair
from jobferry.localkube.apiserver.identity.tokens import Tokens
from jobferry.localkube.apiserver.identity.user import User
from jobferry.localkube.apiserver.status import StatusError
from jobferry.objects import Obj
from jobferry.testing.control_plane import ControlPlane
from tests.api.access_world import ONE, Asker, Reply, bearer, eventually, outcome

pytestmark = [pytest.mark.kube, pytest.mark.timeout(60)]

ISSUER = "https://kubernetes.default.svc"
ACCOUNTS = f"/api/v1/namespaces/{ONE}/serviceaccounts"
POD = {"containers": [{"name": "main", "image": "x"}], "serviceAccountName": "talker"}


class Lab:
    """A real server, and our tokens with its keys and its objects."""

    def __init__(self, plane: ControlPlane, admin: Asker) -> None:
        self.plane = plane
        self.admin = admin
        self.tokens = self.with_keys(
            (plane.folder / "service-accounts.key").read_bytes(),
            (plane.folder / "service-accounts.pub").read_bytes(),
        )
        self.authenticator = Authenticator(tokens=self.tokens)

    def with_keys(self, private: bytes, public: bytes, *, issuer: str = ISSUER) -> Tokens:
        return Tokens(
            signing=lambda: Pair(public, private),
            get=self.get,
            clock=SystemClock(),
            issuer=issuer,
        )

    def get(self, _group: str, resource: str, namespace: str, name: str) -> Obj | None:
        where = f"/namespaces/{namespace}" if namespace else ""
        reply = self.admin.ask("GET", f"/api/v1{where}/{resource}/{name}")
        return reply.body if reply.code == 200 else None

    def make(self, resource: str, obj: Obj) -> Obj:
        where = "" if resource == "nodes" else f"/namespaces/{ONE}"
        reply = self.admin.ask("POST", f"/api/v1{where}/{resource}", obj)
        assert reply.code == 201, reply
        made: Obj = reply.body
        return made

    def delete(self, resource: str, name: str) -> None:
        options = {"gracePeriodSeconds": 0}
        where = "" if resource == "nodes" else f"/namespaces/{ONE}"
        reply = self.admin.ask("DELETE", f"/api/v1{where}/{resource}/{name}", options)
        assert reply.code == 200, reply

    def ours(self, request: Obj, account: str) -> Obj:
        request = json.loads(json.dumps(request))
        token_requests.default(request)
        return token_requests.answer(
            request,
            namespace=ONE,
            name=account,
            get=self.get,
            audiences=self.tokens.audiences,
            issue=self.tokens.issue,
            now=SystemClock().now(),
            token_id=token_hex(16),
        )

    def theirs(self, request: Obj, account: str) -> Reply:
        return self.admin.ask("POST", f"{ACCOUNTS}/{account}/token", request)


@pytest.fixture(scope="module")
def lab(access_plane: ControlPlane, admin: Asker) -> Lab:
    lab = Lab(access_plane, admin)
    for name in ("talker", "listener"):
        lab.make("serviceaccounts", {"metadata": {"name": name}})
    lab.make("nodes", {"metadata": {"name": "node"}})
    lab.make("pods", {"metadata": {"name": "pod"}, "spec": POD})
    lab.make("pods", {"metadata": {"name": "placed"}, "spec": {**POD, "nodeName": "node"}})
    lab.make("pods", {"metadata": {"name": "strayed"}, "spec": {**POD, "nodeName": "no-node"}})
    lab.make("secrets", {"metadata": {"name": "secret"}})
    return lab


def bound(kind: str, name: str, **more: str) -> Obj:
    return {"boundObjectRef": {"kind": kind, "apiVersion": "v1", "name": name, **more}}


REQUESTS: tuple[Obj, ...] = (
    {},
    {"spec": {}},
    {"spec": {"expirationSeconds": 600}},
    {"spec": {"expirationSeconds": 599}},
    {"spec": {"expirationSeconds": 0}},
    {"spec": {"expirationSeconds": 2**32 + 1}},
    {"spec": {"expirationSeconds": 3607}},
    {"spec": {"audiences": ["a", "b"]}},
    {"spec": {"audiences": [ISSUER], "expirationSeconds": 3607, **bound("Pod", "pod")}},
    {"spec": {"audiences": ["x"], "expirationSeconds": 3607, **bound("Pod", "pod")}},
    {"spec": bound("Pod", "pod")},
    {"spec": bound("Pod", "placed")},
    {"spec": bound("Pod", "strayed")},
    {"spec": bound("Pod", "missing")},
    {"spec": bound("Pod", "pod", uid="0")},
    {"spec": bound("Secret", "secret")},
    {"spec": bound("Secret", "missing")},
    {"spec": bound("Node", "node")},
    {"spec": bound("ConfigMap", "x")},
    {"spec": {"boundObjectRef": {"kind": "Job", "apiVersion": "batch/v1", "name": "x"}}},
    {"spec": {"boundObjectRef": {"kind": "Pod", "name": "pod"}}},
    {"metadata": {"name": "talker", "namespace": ONE}},
    {"metadata": {"name": "other"}},
    {"metadata": {"uid": "0"}},
)


def claims(token: str) -> Obj:
    part = token.split(".")[1]
    found: Obj = json.loads(urlsafe_b64decode(part + "=" * (-len(part) % 4)))
    return found


def head(token: str) -> Obj:
    part = token.split(".", maxsplit=1)[0]
    found: Obj = json.loads(urlsafe_b64decode(part + "=" * (-len(part) % 4)))
    return found


def relative(token: str) -> Obj:
    """Return the claims of a token, its times counted from when it was issued."""
    found = claims(token)
    begin = found.pop("iat")
    assert found.pop("jti")
    warned = found["kubernetes.io"].pop("warnafter", begin)
    times = {"exp": found.pop("exp") - begin, "nbf": found.pop("nbf") - begin}
    return {**found, **times, "warned": warned - begin}


def issued(obj: Obj) -> Obj:
    """Return an answer with its token opened, without times."""
    status = obj["status"]
    metadata = dict(obj["metadata"])
    assert metadata.pop("creationTimestamp") < status["expirationTimestamp"]
    metadata.pop("managedFields", None)
    return {
        **obj,
        "metadata": metadata,
        "status": relative(status["token"]),
        "head": head(status["token"]),
    }


@pytest.mark.parametrize("account", ["talker", "listener", "missing"])
@pytest.mark.parametrize("request_", REQUESTS, ids=json.dumps)
def test_tokens_are_given_and_refused_alike(lab: Lab, request_: Obj, account: str) -> None:
    body = {"kind": "TokenRequest", "apiVersion": "authentication.k8s.io/v1", **request_}
    theirs = lab.theirs(body, account)

    ours = attempt(lambda: lab.ours(body, account))

    if isinstance(ours, Reply):
        assert outcome(theirs) == outcome(ours)
        return
    assert theirs.code == 201, theirs
    assert issued(theirs.body) == issued(ours)
    for token in (theirs.body["status"]["token"], ours["status"]["token"]):
        same_review(lab, {"token": token})
        same_review(lab, {"token": token, "audiences": ["b", "x", ISSUER]})


def attempt(action: Callable[[], Obj | User]) -> Any:
    """Return what an action gives, or the refusal."""
    try:
        return action()
    except StatusError as error:
        return Reply(error.code, error.status())


REVIEW: Obj = {
    "kind": "TokenReview",
    "apiVersion": "authentication.k8s.io/v1",
    "metadata": {},
}


def reviewed(lab: Lab, spec: Obj) -> Obj:
    """Ask the real server whom a token stands for."""
    where = "/apis/authentication.k8s.io/v1/tokenreviews"
    reply = lab.admin.ask("POST", where, {**REVIEW, "spec": spec})
    assert reply.code == 201, reply
    reply.body["metadata"].pop("managedFields", None)
    assert reply.body == {**REVIEW, "spec": spec, "status": reply.body["status"]}
    status: Obj = reply.body["status"]
    return status


def same_review(lab: Lab, spec: Obj) -> Obj:
    """Ask both servers."""
    status = reviewed(lab, spec)
    ours = reviews.token_review({**REVIEW, "spec": spec}, lab.authenticator)
    assert ours == {**REVIEW, "spec": spec, "status": status}
    return status


def token_of(lab: Lab, change: Callable[[Obj], object] = lambda _: None) -> str:
    good = claims(lab.ours({"spec": {}}, "talker")["status"]["token"])
    change(good)
    return lab.tokens.issue(good)


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda each: each.update(exp=each["iat"] - 100), "has expired"),
        (lambda each: each.update(nbf=each["iat"] + 100), "is not valid yet"),
        (lambda each: each.update(iat=each["iat"] + 100), "is issued in the future"),
        (lambda each: each.update(aud=["elsewhere"]), "is invalid for the target audiences"),
        (lambda each: each["kubernetes.io"]["serviceaccount"].update(uid="0"), "does not match"),
        (lambda each: each["kubernetes.io"]["serviceaccount"].update(name="x"), "not found"),
        (lambda each: each["kubernetes.io"].update(pod={"name": "x", "uid": "1"}), "invalidated"),
        (lambda each: each["kubernetes.io"].update(pod={"name": "pod", "uid": "1"}), "pod UID"),
        (lambda each: each["kubernetes.io"].update(node={"name": "node", "uid": "1"}), "node UID"),
        (lambda each: each["kubernetes.io"].update(secret={"name": "secret", "uid": "1"}), "secret UID"),
        (lambda each: each.pop("aud"), ""),
        (lambda each: each.update(exp=each["iat"] - 30), ""),
    ],
)  # fmt: skip
def test_tokens_hold_or_not_for_the_same_reason(
    lab: Lab, change: Callable[[Obj], object], why: str
) -> None:
    status = same_review(lab, {"token": token_of(lab, change)})

    assert why in status.get("error", "")
    assert bool(why) is not status.get("authenticated", False)


def test_what_is_no_token_of_this_server_is_told_alike(lab: Lab) -> None:
    good = token_of(lab)
    first, second, third = good.split(".")
    strange = signing_key()
    foreign = lab.with_keys(strange.key, strange.certificate).issue(claims(good))
    for token in (
        "x",
        "a.b.c",
        foreign,
        f"{first}.{second}",
        f"{first}.{second}.{third[::-1]}",
        f"{first}.{second}.",
        f"{first}.{foreign.split('.')[1]}.{foreign.split('.')[2]}",
    ):
        assert not same_review(lab, {"token": token}).get("authenticated")


def test_a_token_is_void_once_what_it_is_bound_to_is_gone(lab: Lab) -> None:
    lab.make("pods", {"metadata": {"name": "brief"}, "spec": POD})
    about = claims(lab.ours({"spec": bound("Pod", "brief")}, "talker")["status"]["token"])
    same_review(lab, {"token": lab.tokens.issue(about)})
    lab.delete("pods", "brief")

    # The real server hears of it a little later, and remembers a token that it has seen for 10 s.
    fresh = (lab.tokens.issue({**about, "jti": str(number)}) for number in count())
    eventually(lambda: [] if "error" in reviewed(lab, {"token": next(fresh)}) else ["it holds"])

    assert same_review(lab, {"token": next(fresh)})["error"].endswith("invalidated]")


def test_tokens_in_secrets_hold_or_not_for_the_same_reason(lab: Lab) -> None:
    account = lab.get("", "serviceaccounts", ONE, "talker")
    assert account is not None
    about = "kubernetes.io/serviceaccount/"
    good = {
        "sub": f"system:serviceaccount:{ONE}:talker",
        f"{about}namespace": ONE,
        f"{about}secret.name": "kept",
        f"{about}service-account.name": "talker",
        f"{about}service-account.uid": account["metadata"]["uid"],
    }
    key = (lab.plane.folder / "service-accounts.key").read_bytes()
    signer = lab.with_keys(key, b"", issuer=legacy_tokens.ISSUER)
    told = []
    for number, change in enumerate(
        (
            {},
            {"sub": ""},
            {"sub": f"system:serviceaccount:{ONE}:other"},
            {f"{about}namespace": ""},
            {f"{about}secret.name": "gone"},
            {f"{about}service-account.uid": "0"},
        )
    ):
        name = good[f"{about}secret.name"] = f"kept-{number}"
        token = signer.issue({**good, **change})
        told.append(same_review(lab, {"token": token}).get("error", ""))  # no such Secret
        lab.make("secrets", {"metadata": {"name": name}, "stringData": {"token": f"{token}x"}})
        token = signer.issue({**good, **change})
        told.append(same_review(lab, {"token": token}).get("error", ""))
        lab.delete("secrets", name)
        lab.make("secrets", {"metadata": {"name": name}, "stringData": {"token": token}})
        same = same_review(lab, {"token": token, "audiences": [ISSUER, "x"]})
        assert same.get("authenticated", False) is (number == 0)
        told.append(same.get("error", ""))
    assert len(set(told)) == 7


def test_a_real_server_knows_who_comes_with_our_token(lab: Lab) -> None:
    token = lab.ours({"spec": bound("Pod", "placed")}, "talker")["status"]["token"]
    body = {"kind": "SelfSubjectReview", "apiVersion": "authentication.k8s.io/v1"}

    with bearer(lab.plane, token) as caller:
        reply = caller.ask("POST", "/apis/authentication.k8s.io/v1/selfsubjectreviews", body)

    ours = reviews.self_subject_review(
        lab.authenticator.caller(authorization=f"Bearer {token}"), SystemClock().now()
    )
    assert reply.body["status"] == ours["status"]
    assert len(reply.body["status"]["userInfo"]["extra"]) == 5


def test_a_certificate_stands_for_the_same_user(lab: Lab) -> None:
    pair = lab.plane.certificate("ann", "a", "b")
    names = [("organizationName", "a"), ("organizationName", "b"), ("commonName", "ann")]
    body = {"kind": "SelfSubjectReview", "apiVersion": "authentication.k8s.io/v1"}
    caller = Asker(lab.plane, pair)

    reply = caller.ask("POST", "/apis/authentication.k8s.io/v1/selfsubjectreviews", body)
    caller.close()

    der = ssl.PEM_cert_to_DER_cert(pair.certificate.decode())
    ours = user_from_certificate({"subject": tuple((each,) for each in names)}, der)
    assert ours is not None
    assert reply.body["status"]["userInfo"] == ours.info()


@pytest.mark.parametrize(
    "authorization",
    ["", "Bearer", "Bearer ", "Bearer  x", "Basic eDp5", "Bearer x", "bearer x y"],
)
def test_no_proof_is_anonymous_and_bad_proof_is_refused(lab: Lab, authorization: str) -> None:
    with bearer(lab.plane, "") as caller:
        reply = caller.ask("GET", "/version", headers=[("Authorization", authorization)])

    ours = attempt(lambda: lab.authenticator.caller(authorization=authorization))
    if isinstance(ours, Reply):
        assert outcome(reply) == outcome(ours)
    else:
        assert reply.code == 200
