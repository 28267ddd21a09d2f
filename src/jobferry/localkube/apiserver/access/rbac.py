"""Role-based access control: who is allowed what by which binding.

A `RoleBook` is fed with every change of the four kinds. What a user is granted in a namespace is worked
out on the first question and kept until anything changes, so that most questions are two lookups.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

from jobferry.localkube.apiserver.access import rules
from jobferry.localkube.apiserver.access.attributes import Attributes, Decision, forbidden
from jobferry.localkube.apiserver.access.rules import Rule
from jobferry.localkube.apiserver.identity.user import MASTERS, User, account_name
from jobferry.objects import Obj, gotext

GROUP = "rbac.authorization.k8s.io"

Decide = Callable[[Attributes], Decision]
"""Says whether an action is allowed."""


def require(decide: Decide, wanted: Attributes) -> None:
    """Refuse an action that is not allowed."""
    decision = decide(wanted)
    if not decision.allowed:
        raise forbidden(wanted, decision.reason)


KEPT_GRANTS = 2_000
KEPT_ANSWERS = 2_000
"""How much is remembered before it is worked out anew: anybody can ask about anything."""

_ALLOWED = Decision(allowed=True)


class Missing(NamedTuple):
    """A role that a binding refers to and that is not there."""

    kind: str
    name: str

    def __str__(self) -> str:
        return self.words(self.kind.lower())

    def words(self, resource: str) -> str:
        """Say so, calling the resource as the part of the server does that says it."""
        if self.kind not in ("Role", "ClusterRole"):
            return f"unsupported role reference kind: {gotext.quote(self.kind)}"
        return f"{resource}.{GROUP} {gotext.quote(self.name)} not found"


class _Grant(NamedTuple):
    """One rule that applies to a user, by one binding."""

    decision: Decision
    rule: Rule
    raw: Obj


class Grants:
    """All that a user is granted in one namespace."""

    def __init__(self, granted: Sequence[_Grant], missing: Sequence[Missing]) -> None:
        self.missing = missing
        self._granted = granted
        self._refusal = Decision(allowed=False, reason=_reason(missing))
        self._answers: dict[
            tuple[str, str, str, str], list[tuple[Decision, frozenset[str]]]
        ] = {}

    @property
    def raw(self) -> list[Obj]:
        """The rules as they are stored."""
        return [grant.raw for grant in self._granted]

    @property
    def rules(self) -> Iterator[Rule]:
        """The rules, ready to be asked."""
        return (grant.rule for grant in self._granted)

    def decide(self, wanted: Attributes) -> Decision:
        """Say whether these rules allow an action."""
        if not wanted.is_resource:
            return self._decide_path(wanted.verb, wanted.path)
        key = (wanted.verb, wanted.group, wanted.resource, wanted.subresource)
        answers = self._answers.get(key)
        if answers is None:
            answers = self._answer(key)
        for decision, names in answers:
            if not names or wanted.name in names:
                return decision
        return self._refusal

    def _answer(self, key: tuple[str, str, str, str]) -> list[tuple[Decision, frozenset[str]]]:
        if len(self._answers) >= KEPT_ANSWERS:
            self._answers.clear()
        answers = [
            (grant.decision, grant.rule.names)
            for grant in self._granted
            if grant.rule.speaks_of(*key)
        ]
        self._answers[key] = answers
        return answers

    def _decide_path(self, verb: str, path: str) -> Decision:
        for grant in self._granted:
            if grant.rule.urls and grant.rule.allows_path(verb, path):
                return grant.decision
        return self._refusal


class _Role(NamedTuple):
    """A role and its rules, ready to be asked."""

    raw: list[Obj]
    rules: list[Rule]


class _Binding(NamedTuple):
    """A binding with what is asked of it."""

    name: str
    namespace: str
    """Empty for one that counts in all namespaces."""
    role_kind: str
    role_name: str
    subjects: list[tuple[str, str]]
    """Whom it is about (see `_user_key`, `_group_key`), and how that subject is described."""

    def describe(self, keys: set[str]) -> str:
        """Say through which of the subjects in `keys` it applies: the first that it lists."""
        kind, name = "ClusterRoleBinding", self.name
        if self.namespace:
            kind, name = "RoleBinding", f"{self.name}/{self.namespace}"
        subject = next(described for key, described in self.subjects if key in keys)
        role = f"{self.role_kind} {gotext.quote(self.role_name)}"
        return f"{kind} {gotext.quote(name)} of {role} to {subject}"


class RoleBook:
    """Roles and bindings, indexed by whom they are about."""

    def __init__(self, objects: Iterable[Obj] = ()) -> None:
        self._roles: dict[tuple[str, str], _Role] = {}
        self._bindings: dict[tuple[str, str], _Binding] = {}
        self._by_subject: dict[tuple[str, str], dict[str, _Binding]] = {}
        self._grants: dict[tuple[str, tuple[str, ...], str], Grants] = {}
        for obj in objects:
            self.put(obj)

    def put(self, obj: Obj) -> None:
        """Take in a new or changed object of the four kinds."""
        if "Binding" in obj["kind"]:
            self._drop_binding(_key(obj))
            self._add_binding(_binding(obj))
        else:
            raw = list(obj.get("rules") or ())
            self._roles[_key(obj)] = _Role(raw, [rules.compiled(rule) for rule in raw])
        self._grants.clear()

    def remove(self, obj: Obj) -> None:
        """Forget an object of the four kinds; harmless when it is not known."""
        if "Binding" in obj["kind"]:
            self._drop_binding(_key(obj))
        else:
            self._roles.pop(_key(obj), None)
        self._grants.clear()

    def decide(self, wanted: Attributes) -> Decision:
        """Say whether an action is allowed, and by what."""
        if MASTERS in wanted.user.groups:
            return _ALLOWED
        return self.grants(wanted.user, wanted.namespace).decide(wanted)

    def grants(self, user: User, namespace: str) -> Grants:
        """Return all that a user is granted in a namespace, or, if that is empty, everywhere."""
        key = (user.name, user.groups, namespace)
        grants = self._grants.get(key)
        if grants is None:
            if len(self._grants) >= KEPT_GRANTS:
                self._grants.clear()
            grants = self._grants[key] = self._collect(user, namespace)
        return grants

    def role_rules(self, reference: Obj, namespace: str) -> list[Obj] | Missing:
        """Return the rules that a binding in a namespace refers to."""
        kind, name = reference.get("kind", ""), reference.get("name", "")
        role = self._role(kind, name, namespace)
        return Missing(kind, name) if role is None else role.raw

    def _collect(self, user: User, namespace: str) -> Grants:
        keys = {_user_key(user.name), *map(_group_key, user.groups)}
        granted: list[_Grant] = []
        missing: list[Missing] = []
        for scope in ("", namespace) if namespace else ("",):
            for binding in self._applying(scope, keys):
                role = self._role(binding.role_kind, binding.role_name, scope)
                if role is None:
                    missing.append(Missing(binding.role_kind, binding.role_name))
                    continue
                reason = f"RBAC: allowed by {binding.describe(keys)}"
                decision = Decision(allowed=True, reason=reason)
                granted += (
                    _Grant(decision, rule, raw)
                    for rule, raw in zip(role.rules, role.raw, strict=True)
                )
        return Grants(granted, missing)

    def _applying(self, scope: str, keys: set[str]) -> list[_Binding]:
        found: dict[str, _Binding] = {}
        for key in keys:
            found.update(self._by_subject.get((scope, key), {}))
        return [found[name] for name in sorted(found)]

    def _role(self, kind: str, name: str, namespace: str) -> _Role | None:
        if kind == "ClusterRole":
            return self._roles.get(("", name))
        return self._roles.get((namespace, name)) if kind == "Role" and namespace else None

    def _add_binding(self, binding: _Binding) -> None:
        self._bindings[binding.namespace, binding.name] = binding
        for key, _ in binding.subjects:
            place = self._by_subject.setdefault((binding.namespace, key), {})
            place[binding.name] = binding

    def _drop_binding(self, key: tuple[str, str]) -> None:
        binding = self._bindings.pop(key, None)
        for subject, _ in binding.subjects if binding else ():
            place = self._by_subject.get((key[0], subject), {})
            place.pop(key[1], None)
            if not place:
                self._by_subject.pop((key[0], subject), None)


def _key(obj: Obj) -> tuple[str, str]:
    metadata = obj["metadata"]
    return metadata.get("namespace", ""), metadata["name"]


def _binding(obj: Obj) -> _Binding:
    namespace, name = _key(obj)
    reference = obj.get("roleRef") or {}
    found = (_subject(each, namespace) for each in obj.get("subjects") or ())
    return _Binding(
        name,
        namespace,
        reference.get("kind", ""),
        reference.get("name", ""),
        [subject for subject in found if subject],
    )


def _subject(subject: Obj, namespace: str) -> tuple[str, str] | None:
    kind, name = subject.get("kind", ""), subject.get("name", "")
    described = f"{kind} {gotext.quote(name)}"
    if kind == "User":
        return _user_key(name), described
    if kind == "Group":
        return _group_key(name), described
    home = subject.get("namespace") or namespace
    if kind != "ServiceAccount" or not home:
        return None
    return _user_key(account_name(home, name)), f"{kind} {gotext.quote(f'{name}/{home}')}"


def _user_key(name: str) -> str:
    return f"user {name}"


def _group_key(name: str) -> str:
    return f"group {name}"


def _reason(missing: Iterable[Missing]) -> str:
    words = list(dict.fromkeys(map(str, missing)))
    if not words:
        return ""
    return f"RBAC: {words[0]}" if len(words) == 1 else f"RBAC: [{', '.join(words)}]"
