"""A real API server with roles and bindings of all sorts, and a plain way to ask it anything as anybody."""

import http.client
import json
import ssl
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import pytest

from jobferry.localkube.apiserver.access.attributes import Attributes
from jobferry.localkube.apiserver.identity import user as users
from jobferry.localkube.apiserver.identity.user import User
from jobferry.localkube.apiserver.status import StatusError
from jobferry.objects import Obj
from jobferry.testing.certificates import Pair
from jobferry.testing.control_plane import ControlPlane

RBAC = "/apis/rbac.authorization.k8s.io/v1"
KINDS = ("clusterroles", "clusterrolebindings", "roles", "rolebindings")
ONE, TWO = "access-one", "access-two"


class Reply(NamedTuple):
    """What a server answered."""

    code: int
    body: Any


STALE = 30.0
"""Seconds after which a connection that nobody used is not trusted any more."""


class Asker:
    """Asks one server over one connection, by a client certificate."""

    def __init__(self, plane: ControlPlane, who: Pair | None, token: str = "") -> None:
        self._token = token
        self._used = 0.0
        server = plane.access().server
        assert server.ca is not None
        context = ssl.create_default_context(cadata=server.ca.decode())
        if who is not None:
            with TemporaryDirectory() as folder:
                file = Path(folder, "pair.pem")
                file.write_bytes(who.certificate + who.key)
                context.load_cert_chain(file)
        parts = urlsplit(plane.url)
        assert parts.hostname is not None
        self._connection = http.client.HTTPSConnection(
            parts.hostname, parts.port, context=context, timeout=15
        )

    def ask(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        as_user: User | None = None,
        headers: Iterable[tuple[str, str]] = (),
    ) -> Reply:
        connection = self._connection
        if time.monotonic() - self._used > STALE:
            connection.close()  # the server may have done so, too; it opens by itself
        self._used = time.monotonic()
        content = b"" if body is None else json.dumps(body).encode()
        connection.putrequest(method, path)
        connection.putheader("Content-Type", "application/json")
        connection.putheader("Content-Length", str(len(content)))
        if self._token:
            connection.putheader("Authorization", f"Bearer {self._token}")
        for name, value in (*headers, *_impersonation(as_user)):
            connection.putheader(name, value)
        connection.endheaders(content)
        response = connection.getresponse()
        text = response.read()
        try:
            return Reply(response.status, json.loads(text))
        except ValueError:
            return Reply(response.status, text.decode())

    def close(self) -> None:
        self._connection.close()


def _impersonation(user: User | None) -> Iterator[tuple[str, str]]:
    if user is not None:
        yield "Impersonate-User", user.name
        for group in user.groups:
            yield "Impersonate-Group", group


@contextmanager
def asker(plane: ControlPlane, user: str, *groups: str) -> Iterator[Asker]:
    """Ask as somebody with a certificate of their own."""
    found = Asker(plane, plane.certificate(user, *groups))
    try:
        yield found
    finally:
        found.close()


@contextmanager
def bearer(plane: ControlPlane, token: str) -> Iterator[Asker]:
    """Ask as somebody with a token, or as nobody."""
    found = Asker(plane, None, token)
    try:
        yield found
    finally:
        found.close()


def stored(admin: Asker) -> list[Obj]:
    """Return all roles and bindings of a server, with their kinds."""
    found = []
    for plural in KINDS:
        listed = admin.ask("GET", f"{RBAC}/{plural}").body
        kind = listed["kind"].removesuffix("List")
        found += [{"kind": kind, **item} for item in listed["items"]]
    return found


def rule(verbs: str, groups: str = "", resources: str = "", **more: Sequence[str]) -> Obj:
    """Write a rule down briefly: `,` separates, `core` is the core group."""
    found: Obj = {"verbs": verbs.split(",")}
    if resources:
        names = [name.replace("core", "") for name in groups.split(",")]
        found |= {"apiGroups": names, "resources": resources.split(",")}
    return found | {key: list(value) for key, value in more.items()}


def role(name: str, *rules: Obj, namespace: str = "", **more: Any) -> Obj:
    """Make a Role, or a ClusterRole without a namespace."""
    metadata: Obj = {"name": name}
    if namespace:
        metadata["namespace"] = namespace
    kind = "Role" if namespace else "ClusterRole"
    return {"kind": kind, "metadata": metadata, "rules": list(rules), **more}


def binding(name: str, of: str, *subjects: str, namespace: str = "") -> Obj:
    """Bind `Kind/name` to subjects such as `User/ann` or `ServiceAccount/name/namespace`."""
    metadata: Obj = {"name": name}
    if namespace:
        metadata["namespace"] = namespace
    kind, role_name = of.split("/")
    api_group = "rbac.authorization.k8s.io"
    return {
        "kind": "RoleBinding" if namespace else "ClusterRoleBinding",
        "metadata": metadata,
        "roleRef": {"apiGroup": api_group, "kind": kind, "name": role_name},
        "subjects": [_subject(each) for each in subjects],
    }


def _subject(text: str) -> Obj:
    kind, name, *namespace = text.split("/")
    if kind == "ServiceAccount":
        return {
            "kind": kind,
            "name": name,
            **({"namespace": namespace[0]} if namespace else {}),
        }
    return {"kind": kind, "name": name, "apiGroup": "rbac.authorization.k8s.io"}


OBJECTS = (
    role("access-reader", rule("get,list", "batch", "jobs,cronjobs")),
    role(
        "access-sub",
        rule("get", "core", "pods/log"),
        rule("update", "core,batch", "*/status"),
        rule("create", "core", "pods/*"),
    ),
    role("access-star", rule("*", "apps", "*")),
    role("access-everywhere", rule("get", "*", "leases")),
    role(
        "access-urls",
        rule("get", nonResourceURLs=["/metrics", "/logs/*"]),
        rule("*", nonResourceURLs=["/all"]),
    ),
    role("access-named", rule("get,update", "core", "configmaps", resourceNames=["a", "b"])),
    role(
        "access-makers",
        rule(
            "create,update,patch,get",
            "rbac.authorization.k8s.io",
            "roles,clusterroles,rolebindings,clusterrolebindings",
        ),
    ),
    role(
        "access-escalator", rule("escalate", "rbac.authorization.k8s.io", "roles,clusterroles")
    ),
    role(
        "access-changer",
        rule("update,patch", "rbac.authorization.k8s.io", "clusterroles,rolebindings"),
    ),
    role(
        "access-namer",
        rule(
            "escalate", "rbac.authorization.k8s.io", "clusterroles", resourceNames=["namer-1"]
        ),
    ),
    role(
        "access-binder",
        rule(
            "bind", "rbac.authorization.k8s.io", "clusterroles", resourceNames=["access-star"]
        ),
    ),
    role("access-half", rule("get,list", "core", "secrets"), rule("get", "batch", "jobs")),
    role("access-root", rule("*", "*", "*"), rule("*", nonResourceURLs=["*"])),
    role(
        "access-actor",
        rule("impersonate", "core", "users", resourceNames=["ann", "system:anonymous"]),
        rule("impersonate", "core", "groups", resourceNames=["devs"]),
        rule(
            "impersonate", "authentication.k8s.io", "userextras/scopes", resourceNames=["view"]
        ),
        rule("impersonate", "authentication.k8s.io", "uids", resourceNames=["u1"]),
    ),
    role("access-account-actor", rule("impersonate", "core", "serviceaccounts")),
    role("access-local", rule("*", "core", "secrets"), namespace=ONE),
    binding("access-reader", "ClusterRole/access-reader", "User/ann"),
    binding("access-sub", "ClusterRole/access-sub", "Group/devs"),
    binding("access-urls", "ClusterRole/access-urls", "Group/devs", "User/dan"),
    binding(
        "access-everywhere", "ClusterRole/access-everywhere", f"ServiceAccount/robot/{TWO}"
    ),
    binding("access-gone", "ClusterRole/access-gone", "User/cid", "User/eve"),
    binding("access-lost", "ClusterRole/access-lost", "User/eve"),
    binding("access-makers", "ClusterRole/access-makers", "Group/makers"),
    binding("access-escalator", "ClusterRole/access-escalator", "User/escalator"),
    binding("access-namer", "ClusterRole/access-namer", "User/namer"),
    binding("access-changer", "ClusterRole/access-changer", "User/changer"),
    binding("access-binder", "ClusterRole/access-binder", "User/binder"),
    binding("access-half", "ClusterRole/access-half", "User/half"),
    binding("access-root", "ClusterRole/access-root", "User/root"),
    binding("access-actor", "ClusterRole/access-actor", "User/actor"),
    binding(
        "access-star",
        "ClusterRole/access-star",
        "User/ann",
        "ServiceAccount/robot",
        namespace=ONE,
    ),
    binding(
        "access-named", "ClusterRole/access-named", f"ServiceAccount/robot/{ONE}", namespace=ONE
    ),
    binding("access-local", "Role/access-local", "User/bob", namespace=ONE),
    binding("access-local", "Role/access-local", "User/bob", namespace=TWO),
    binding("access-half", "ClusterRole/access-half", "User/ben", namespace=TWO),
    binding(
        "access-account-actor", "ClusterRole/access-account-actor", "User/actor", namespace=ONE
    ),
)


def path_of(obj: Obj, name: str = "") -> str:
    """Return where an object of the four kinds is created, or found."""
    namespace = obj["metadata"].get("namespace")
    where = f"/namespaces/{namespace}" if namespace else ""
    return f"{RBAC}{where}/{obj['kind'].lower()}s" + (f"/{name}" if name else "")


def furnish(admin: Asker) -> None:
    """Create it all."""
    for namespace in (ONE, TWO):
        made = admin.ask("POST", "/api/v1/namespaces", {"metadata": {"name": namespace}})
        assert made.code == 201, made
    for obj in OBJECTS:
        made = admin.ask("POST", path_of(obj), obj)
        assert made.code == 201, made


def member(name: str, *groups: str) -> User:
    """Return somebody who has shown who they are."""
    return users.authenticated(User(name, groups=groups))


def account(namespace: str, name: str) -> User:
    """Return a service account that has shown who it is."""
    return users.authenticated(users.service_account(namespace, name, ""))


PEOPLE = (
    member("ann"),
    member("bob"),
    member("cid"),
    member("eve", "devs"),
    member("dan", "devs", "ops"),
    member("ben"),
    member("root"),
    member("nobody"),
    member("boss", users.MASTERS),
    account(ONE, "robot"),
    account(TWO, "robot"),
    users.ANONYMOUS,
    User("kubelet", groups=("system:nodes", users.ALL_AUTHENTICATED)),
    User("system:kube-scheduler", groups=(users.ALL_AUTHENTICATED,)),
)


def outcome(reply: Reply) -> object:
    """Return what counts of an answer: the whole refusal, or that there was none."""
    if reply.code < 300:
        return "accepted"
    status = {
        key: value for key, value in reply.body.items() if key not in ("metadata", "details")
    }
    return {**status, "details": reply.body.get("details") or {}}


def answer(action: Callable[[], object]) -> object:
    try:
        action()
    except StatusError as error:
        return outcome(Reply(error.code, error.status()))
    return "accepted"


def words(reason: str) -> set[str]:
    """Split what has no fixed order on the real server: roles that are not there."""
    head, found, rest = reason.partition("[")
    return {head, *rest.rstrip("]").split(", ")} if found else {reason}


def asked_about(wanted: Attributes) -> Obj:
    spec: Obj = {"user": wanted.user.name, "groups": list(wanted.user.groups)}
    if not wanted.is_resource:
        spec["nonResourceAttributes"] = {"path": wanted.path, "verb": wanted.verb}
        return {"spec": spec}
    parts = ("verb", "group", "resource", "subresource", "namespace", "name")
    spec["resourceAttributes"] = {
        part: getattr(wanted, part) for part in parts if getattr(wanted, part)
    }
    return {"spec": spec}


def review(admin: Asker, wanted: Attributes) -> Obj:
    reply = admin.ask(
        "POST", "/apis/authorization.k8s.io/v1/subjectaccessreviews", asked_about(wanted)
    )
    assert reply.code == 201, reply
    status: Obj = reply.body["status"]
    return status


def eventually(differences: Callable[[], list[str]]) -> None:
    """Ask until nothing differs: the server learns of its own roles by watching itself."""
    found: list[str] = []
    for _ in range(40):
        found = differences()
        if not found:
            return
        time.sleep(0.25)
    pytest.fail("\n".join(found[:10]))
