"""A service account with a token office of its own, whose time is moved by hand."""

from datetime import UTC, datetime

from jobferry.localkube.apiserver.identity import token_requests
from jobferry.localkube.apiserver.identity.certificates import signing_key
from jobferry.localkube.apiserver.identity.pair import Pair
from jobferry.localkube.apiserver.identity.tokens import Tokens
from jobferry.objects import Obj
from jobferry.testing.clock import ManualClock

KEYS = signing_key()


def made(kind: str, name: str, uid: str, **more: object) -> Obj:
    return {"kind": kind, "metadata": {"name": name, "namespace": "ns", "uid": uid}, **more}


class Office:
    """Everything that a token can be bound to, by (resource, name)."""

    def __init__(self) -> None:
        self.clock = ManualClock(datetime(2026, 11, 16, tzinfo=UTC))
        self.objects: dict[tuple[str, str], Obj] = {
            ("serviceaccounts", "robot"): made("ServiceAccount", "robot", "sa-1"),
            ("pods", "p"): made(
                "Pod", "p", "pod-1", spec={"serviceAccountName": "robot", "nodeName": "n"}
            ),
            ("secrets", "s"): made("Secret", "s", "secret-1"),
            ("nodes", "n"): made("Node", "n", "node-1"),
        }
        self.looked = 0
        self.tokens = self.with_keys(KEYS.key, KEYS.certificate)

    def with_keys(self, private: bytes, public: bytes) -> Tokens:
        keys = Pair(public, private)
        return Tokens(signing=lambda: keys, get=self.get, clock=self.clock)

    def get(self, _group: str, resource: str, _namespace: str, name: str) -> Obj | None:
        self.looked += 1
        return self.objects.get((resource, name))

    def answer(self, account: str = "robot", **spec: object) -> Obj:
        request: Obj = {"spec": spec}
        token_requests.default(request)
        return token_requests.answer(
            request,
            namespace="ns",
            name=account,
            get=self.get,
            audiences=self.tokens.audiences,
            issue=self.tokens.issue,
            now=self.clock.now(),
            token_id="id-1",
        )

    def token(self, **spec: object) -> str:
        token: str = self.answer("robot", **spec)["status"]["token"]
        return token


def bound(kind: str, name: str, **more: str) -> Obj:
    return {"kind": kind, "apiVersion": "v1", "name": name, **more}
