"""What somebody wants to do, and how a refusal is worded."""

from typing import NamedTuple

from jobferry.localkube.apiserver import status
from jobferry.localkube.apiserver.identity.user import User
from jobferry.localkube.apiserver.status import StatusError
from jobferry.objects import gotext

_NO_HTML = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})


class Attributes(NamedTuple):
    """One action that is allowed or not."""

    user: User
    verb: str
    group: str = ""
    version: str = ""
    resource: str = ""
    subresource: str = ""
    namespace: str = ""
    name: str = ""
    path: str = ""
    is_resource: bool = True
    """False: the action is on `path`, which is not a resource."""


class Decision(NamedTuple):
    """Whether an action is allowed, and by what or why not, if there is more to say."""

    allowed: bool
    reason: str = ""


def path_access(user: User, verb: str, path: str) -> Attributes:
    """Return what it takes to ask for a path that is not a resource."""
    return Attributes(user, verb, path=path, is_resource=False)


def forbidden(wanted: Attributes, reason: str = "") -> StatusError:
    """Report an action that is not allowed."""
    why = _described(wanted).translate(_NO_HTML)
    if reason:
        why = f"{why}: {reason}"
    if not wanted.is_resource:
        return status.forbidden_path(f"forbidden: {why}")
    return status.forbidden(wanted.group, wanted.resource, wanted.name, why)


def _described(wanted: Attributes) -> str:
    who = f"User {gotext.quote(wanted.user.name)} cannot {wanted.verb}"
    if not wanted.is_resource:
        return f"{who} path {gotext.quote(wanted.path)}"
    resource = wanted.resource
    if wanted.subresource:
        resource = f"{resource}/{wanted.subresource}"
    what = f"resource {gotext.quote(resource)} in API group {gotext.quote(wanted.group)}"
    if wanted.namespace:
        return f"{who} {what} in the namespace {gotext.quote(wanted.namespace)}"
    return f"{who} {what} at the cluster scope"
