"""Nobody grants what they may not do themselves, unless told that they may."""

from collections.abc import Sequence

from jobferry.localkube.apiserver import status
from jobferry.localkube.apiserver.access import rules
from jobferry.localkube.apiserver.access.attributes import Attributes
from jobferry.localkube.apiserver.access.rbac import GROUP, Missing, RoleBook
from jobferry.localkube.apiserver.identity.user import MASTERS, User, quoted
from jobferry.localkube.apiserver.status import StatusError
from jobferry.localkube.apiserver.validation import names
from jobferry.objects import Obj, equality, gotext

_COLLECTED = ("ownerReferences", "finalizers", "selfLink", "managedFields")
"""What the garbage collector changes without being able to do what a role allows."""


def check_role(
    book: RoleBook, user: User, new: Obj, old: Obj | None, *, namespace: str, name: str
) -> None:
    """Refuse a Role or ClusterRole that allows more than `user` may do.

    `namespace` and `name` are those of the URL: a POST has no name.
    """
    resource = _resource(new)
    wanted = Attributes(user, "escalate", GROUP, "*", resource, "", namespace, name)
    if _is_exempt(book, wanted, new, old):
        return
    about = new["metadata"].get("name", "")
    if excess := _excess(book, wanted, new.get("rules") or (), resource):
        raise status.forbidden(GROUP, resource, about, excess)
    if not (_aggregates(new) or (old is not None and _aggregates(old))):
        return
    if _excess(book, wanted, rules.FULL_AUTHORITY, resource):
        why = "must have cluster-admin privileges to use the aggregationRule"
        raise status.forbidden(GROUP, resource, about, why)


def check_binding(
    book: RoleBook, user: User, new: Obj, old: Obj | None, *, namespace: str
) -> None:
    """Refuse a RoleBinding or ClusterRoleBinding that hands out more than `user` may do."""
    reference = new.get("roleRef") or {}
    kind, name = reference.get("kind", ""), reference.get("name", "")
    roles = {"Role": "roles", "ClusterRole": "clusterroles"}.get(kind, "")
    group = reference.get("apiGroup", "")
    wanted = Attributes(user, "bind" if roles else "", group, "*", roles, "", namespace, name)
    if _is_exempt(book, wanted, new, old):
        return
    resource = _resource(new)
    granted = book.role_rules(reference, namespace)
    if isinstance(granted, Missing):
        raise _not_there(granted, namespace, resource)
    if excess := _excess(book, wanted, granted, resource):
        raise status.forbidden(GROUP, resource, new["metadata"].get("name", ""), excess)


def _is_exempt(book: RoleBook, wanted: Attributes, new: Obj, old: Obj | None) -> bool:
    if MASTERS in wanted.user.groups:
        return True
    if old is not None and equality.same(_without_collected(new), _without_collected(old)):
        return True
    return bool(wanted.verb) and book.decide(wanted).allowed


def _excess(book: RoleBook, wanted: Attributes, beyond: Sequence[Obj], resource: str) -> str:
    """Say what of `beyond` the user may not do; empty if there is nothing."""
    user = wanted.user
    grants = book.grants(user, wanted.namespace)
    beyond = rules.uncovered(grants.rules, beyond)
    if not beyond:
        return ""
    listed = sorted({rules.shown(rule) for rule in rules.compacted(beyond)})
    who = f"user {gotext.quote(user.name)} (groups={quoted(user.groups)})"
    text = f"{who} is attempting to grant RBAC permissions not currently held:\n"
    return text + "\n".join(listed) + _unresolved(grants.missing, resource)


def _unresolved(missing: Sequence[Missing], resource: str) -> str:
    # Upstream names the resource of the request, whatever it was that is not there.
    words = list(dict.fromkeys(each.words(resource) for each in missing))
    if not words:
        return ""
    joined = words[0] if len(words) == 1 else f"[{', '.join(words)}]"
    return f"; resolution errors: [{joined}]"


def _not_there(role: Missing, namespace: str, resource: str) -> StatusError:
    if role.kind not in ("Role", "ClusterRole"):
        return StatusError(500, "", str(role))
    if role.kind == "Role" and not namespace:
        return status.bad_request("Namespace parameter required.")
    if problem := names.lookup_problem(role.name):
        return status.bad_request(problem)
    return status.not_found(GROUP, resource, role.name)


def _aggregates(role: Obj) -> bool:
    return bool((role.get("aggregationRule") or {}).get("clusterRoleSelectors"))


def _resource(obj: Obj) -> str:
    return f"{obj['kind'].lower()}s"


def _without_collected(obj: Obj) -> Obj:
    kept = {key: part for key, part in obj["metadata"].items() if key not in _COLLECTED}
    return {**obj, "metadata": kept}
