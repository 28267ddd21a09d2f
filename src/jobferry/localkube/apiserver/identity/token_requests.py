"""TokenRequest: what serviceaccounts/NAME/token gives out."""

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

from jobferry.localkube.apiserver import problems, status
from jobferry.localkube.apiserver.identity import user as users
from jobferry.localkube.apiserver.identity.proof import Get
from jobferry.localkube.apiserver.problems import Problem
from jobferry.localkube.apiserver.status import StatusError
from jobferry.localkube.apiserver.validation import names
from jobferry.objects import Obj
from jobferry.objects.times import timestamp

GROUP = "authentication.k8s.io"
KIND = "TokenRequest"

HOUR = 3600
SHORTEST = 600
LONGEST = 1 << 32

WARNED_AFTER = 3607
"""What the tokens ask for that are put into every pod: they get a year, since old clients never re-read them."""
EXTENDED = 365 * 24 * 3600

_NOT_RECORDED = (
    "does not match the UID in record. The object might have been deleted and then recreated"
)


class _Bound(NamedTuple):
    """What a token is bound to: its reference, and the node of a pod."""

    claim: str = ""
    reference: Obj | None = None
    node: Obj | None = None


def default(request: Obj) -> None:
    """Fill in what was left out."""
    request.setdefault("metadata", {})
    spec = request.setdefault("spec", {})
    if spec.get("expirationSeconds") is None:
        spec["expirationSeconds"] = HOUR


def answer(
    request: Obj,
    *,
    namespace: str,
    name: str,
    get: Get,
    audiences: Sequence[str],
    issue: Callable[[Obj], str],
    now: datetime,
    token_id: str,
) -> Obj:
    """Answer a TokenRequest for a service account: with a token, or by raising a StatusError.

    `audiences` are those of this server, `issue` signs claims, `token_id` is a new unique id.
    """
    account = _account(request["metadata"], namespace, name, get)
    spec = request["spec"]
    if not spec.get("audiences"):
        spec = {**spec, "audiences": list(audiences)}
    if found := _problems(spec):
        raise status.invalid(GROUP, KIND, "", found)
    bound = _bound(spec.get("boundObjectRef"), namespace, name, get)
    seconds = spec["expirationSeconds"]
    extend = (
        bound.claim == "pod"
        and seconds == WARNED_AFTER
        and all(each in audiences for each in spec["audiences"])
    )
    claims = _claims(account, bound, now, EXTENDED if extend else seconds, spec["audiences"])
    if extend:
        claims["kubernetes.io"]["warnafter"] = int(now.timestamp()) + seconds
    token = issue({**claims, "jti": token_id})
    return _answered(request, account, spec, token, now)


def _account(metadata: Obj, namespace: str, name: str, get: Get) -> Obj:
    given = metadata.get("name")
    if given and given != name:
        why = "must match the service account name if specified"
        wrong = problems.invalid("metadata.name", given, why)
        raise status.invalid(GROUP, KIND, name, [wrong])
    account = get("", "serviceaccounts", namespace, name)
    if account is None:
        raise status.not_found("", "serviceaccounts", name)
    mine, theirs = account["metadata"]["uid"], metadata.get("uid")
    if theirs and mine != theirs:
        why = f"the UID in the token request ({theirs}) does not match the UID of the service account ({mine})"
        raise status.conflict(GROUP, KIND, name, why)
    return account


def _problems(spec: Obj) -> list[Problem]:
    field, seconds = "spec.expirationSeconds", spec["expirationSeconds"]
    if seconds < SHORTEST:
        why = "may not specify a duration less than 10 minutes"
        return [problems.invalid(field, seconds, why)]
    if seconds > LONGEST:
        why = "may not specify a duration larger than 2^32 seconds"
        return [problems.invalid(field, seconds, why)]
    return []


def _bound(reference: Obj | None, namespace: str, account: str, get: Get) -> _Bound:
    if reference is None:
        return _Bound()
    kind, name = reference.get("kind", ""), reference.get("name", "")
    api_version = reference.get("apiVersion", "")
    # A version that cannot be read counts as none.
    group, _, version = ("" if api_version.count("/") > 1 else api_version).rpartition("/")
    resource = {"Pod": "pods", "Node": "nodes", "Secret": "secrets"}.get(kind, "")
    if group or not resource:
        raise _unbindable(group, version, kind)
    if problem := names.lookup_problem(name):
        raise status.bad_request(problem)
    found = get("", resource, "" if kind == "Node" else namespace, name)
    if found is None:
        raise status.not_found("", resource, name)
    node = _node_of(found, account, get) if kind == "Pod" else None
    uid = found["metadata"]["uid"]
    if reference.get("uid") and reference["uid"] != uid:
        why = f"the UID in the bound object reference ({reference['uid']}) {_NOT_RECORDED}"
        raise status.conflict("", kind, name, why)
    return _Bound(kind.lower(), {"name": name, "uid": uid}, node)


def _unbindable(group: str, version: str, kind: str) -> StatusError:
    shown = f"{group}/{version}, Kind={kind}"
    return status.bad_request(f"cannot bind token to object of type {shown}")


def _node_of(pod: Obj, account: str, get: Get) -> Obj | None:
    spec = pod.get("spec") or {}
    if spec.get("serviceAccountName", "") != account:
        text = f'cannot bind token for serviceaccount "{account}" to pod running with different serviceaccount name.'
        raise status.bad_request(text)
    name = spec.get("nodeName")
    if not name:
        return None
    node = get("", "nodes", "", name)
    return {"name": name} if node is None else {"name": name, "uid": node["metadata"]["uid"]}


def _claims(
    account: Obj, bound: _Bound, now: datetime, seconds: int, audiences: Sequence[str]
) -> Obj:
    metadata = account["metadata"]
    namespace, name = metadata["namespace"], metadata["name"]
    about: Obj = {
        "namespace": namespace,
        "serviceaccount": {"name": name, "uid": metadata["uid"]},
    }
    if bound.reference is not None:
        about[bound.claim] = bound.reference
    if bound.node is not None:
        about["node"] = bound.node
    begin = int(now.timestamp())
    return {
        "aud": list(audiences),
        "exp": begin + seconds,
        "iat": begin,
        "kubernetes.io": about,
        "nbf": begin,
        "sub": users.account_name(namespace, name),
    }


def _answered(request: Obj, account: Obj, spec: Obj, token: str, now: datetime) -> Obj:
    ours = {part: account["metadata"][part] for part in ("name", "namespace", "uid")}
    metadata = {**request["metadata"], **ours, "creationTimestamp": timestamp(now)}
    expiry = now + timedelta(seconds=spec["expirationSeconds"])
    return {
        "kind": KIND,
        "apiVersion": f"{GROUP}/v1",
        "metadata": metadata,
        "spec": {**spec, "boundObjectRef": spec.get("boundObjectRef")},
        "status": {"token": token, "expirationTimestamp": timestamp(expiry)},
    }
