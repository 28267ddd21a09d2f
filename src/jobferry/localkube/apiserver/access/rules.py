"""Policy rules: what one allows, what it covers of another, and how it is shown."""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from jobferry.localkube.apiserver.identity.user import quoted
from jobferry.objects import Obj

ALL = "*"
FULL_AUTHORITY: Sequence[Obj] = (
    {"verbs": [ALL], "apiGroups": [ALL], "resources": [ALL]},
    {"verbs": [ALL], "nonResourceURLs": [ALL]},
)
"""What a cluster administrator may do."""

_SHOWN = (
    ("APIGroups", "apiGroups"),
    ("Resources", "resources"),
    ("NonResourceURLs", "nonResourceURLs"),
    ("ResourceNames", "resourceNames"),
    ("Verbs", "verbs"),
)


class Rule(NamedTuple):
    """One rule, made ready to be asked often."""

    verbs: frozenset[str]
    groups: frozenset[str]
    resources: frozenset[str]
    names: frozenset[str]
    """The only names that it is about; empty: all."""
    urls: frozenset[str]

    def speaks_of(self, verb: str, group: str, resource: str, subresource: str) -> bool:
        """Tell whether it allows this, at least on some name."""
        if not (verb in self.verbs or ALL in self.verbs):
            return False
        if not (group in self.groups or ALL in self.groups):
            return False
        if ALL in self.resources:
            return True
        if not subresource:
            return resource in self.resources
        return f"{resource}/{subresource}" in self.resources or (
            f"*/{subresource}" in self.resources
        )

    def allows_path(self, verb: str, path: str) -> bool:
        """Tell whether it allows this on a path that is not a resource."""
        return (verb in self.verbs or ALL in self.verbs) and _is_under(path, self.urls)

    def covers(self, part: "Rule") -> bool:
        """Tell whether it allows all that `part`, a rule about at most one thing, allows."""
        return (
            (ALL in self.verbs or part.verbs <= self.verbs)
            and (ALL in self.groups or part.groups <= self.groups)
            and self._covers_resources(part)
            and all(_is_under(url, self.urls) for url in part.urls)
            and (not self.names or (bool(part.names) and part.names <= self.names))
        )

    def _covers_resources(self, part: "Rule") -> bool:
        if ALL in self.resources or part.resources <= self.resources:
            return True
        return all(self._covers_resource(resource) for resource in part.resources)

    def _covers_resource(self, resource: str) -> bool:
        _, slash, subresource = resource.partition("/")
        return resource in self.resources or (
            bool(slash) and f"*/{subresource}" in self.resources
        )


def compiled(rule: Obj) -> Rule:
    """Make a rule ready to be asked."""
    return Rule(
        frozenset(rule.get("verbs") or ()),
        frozenset(rule.get("apiGroups") or ()),
        frozenset(rule.get("resources") or ()),
        frozenset(rule.get("resourceNames") or ()),
        frozenset(rule.get("nonResourceURLs") or ()),
    )


def uncovered(owned: Iterable[Rule], wanted: Iterable[Obj]) -> list[Obj]:
    """Return what `wanted` allows beyond `owned`, in rules about one thing each."""
    owned = list(owned)
    parts = (part for rule in wanted for part in _parts(rule))
    return [
        part
        for part in parts
        if not any(rule.covers(mine) for mine in (compiled(part),) for rule in owned)
    ]


def compacted(parts: Iterable[Obj]) -> list[Obj]:
    """Join those rules about one thing each that differ only in their verb."""
    others: list[Obj] = []
    joined: dict[tuple[str, str, str | None], Obj] = {}
    for part in parts:
        if part.get("nonResourceURLs"):
            others.append(part)
            continue
        names = part.get("resourceNames")
        key = (part["apiGroups"][0], part["resources"][0], names[0] if names else None)
        if key in joined:
            joined[key]["verbs"].extend(part["verbs"])
        else:
            joined[key] = {**part, "verbs": list(part["verbs"])}
    return [*others, *joined.values()]


def shown(rule: Obj) -> str:
    """Return a rule as refusals show it."""
    parts = [f"{label}:{quoted(rule[key])}" for label, key in _SHOWN if rule.get(key)]
    return "{" + ", ".join(parts) + "}"


def _parts(rule: Obj) -> Iterator[Obj]:
    """Take a rule apart, until each part has at most one group, resource, name, path and verb."""
    names: Sequence[Obj] = [
        {"resourceNames": [name]} for name in rule.get("resourceNames") or ()
    ]
    for group in rule.get("apiGroups") or ():
        for resource in rule.get("resources") or ():
            for verb in rule.get("verbs") or ():
                part = {"apiGroups": [group], "resources": [resource], "verbs": [verb]}
                for name in names or ({},):
                    yield {**part, **name}
    for url in rule.get("nonResourceURLs") or ():
        for verb in rule.get("verbs") or ():
            yield {"nonResourceURLs": [url], "verbs": [verb]}


def _is_under(path: str, urls: Iterable[str]) -> bool:
    return path in urls or any(
        url.endswith(ALL) and path.startswith(url.rstrip(ALL)) for url in urls
    )
