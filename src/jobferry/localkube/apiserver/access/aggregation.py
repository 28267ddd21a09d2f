"""ClusterRoles that are made of others: what the controller of that name fills in."""

from collections.abc import Iterable, Mapping

from jobferry.objects import Obj, labels

CONTROLLER = "clusterrole-aggregation-controller"
"""The field manager that the rules belong to once they were filled in."""


def aggregated_rules(role: Obj, others: Iterable[Obj]) -> list[Obj] | None:
    """Return the rules that an aggregated ClusterRole should have; None if it is not aggregated."""
    aggregation = role.get("aggregationRule")
    if aggregation is None:
        return None
    name = role["metadata"]["name"]
    others = sorted(others, key=lambda other: str(other["metadata"]["name"]))
    found: list[Obj] = []
    for described in aggregation.get("clusterRoleSelectors") or ():
        selector = labels.from_object(described)
        for other in others:
            metadata = other["metadata"]
            if metadata["name"] != name and selector.matches(metadata.get("labels")):
                _add(found, other.get("rules") or ())
    return found


def outdated(roles: Iterable[Obj]) -> Mapping[str, list[Obj]]:
    """Return the rules of every aggregated ClusterRole that does not have what it should have.

    Aggregated roles may be made of aggregated roles, so the rules of all are worked out together.
    """
    known = {role["metadata"]["name"]: role for role in roles}
    before = {name: list(role.get("rules") or ()) for name, role in known.items()}
    for _ in range(len(known)):
        if not _fill_once(known):
            break
    return {
        name: role["rules"]
        for name, role in known.items()
        if list(role.get("rules") or ()) != before[name]
    }


def _add(found: list[Obj], rules: Iterable[Obj]) -> None:
    for rule in rules:
        if rule not in found:
            found.append(rule)


def _fill_once(known: dict[str, Obj]) -> bool:
    changed = False
    for name, role in list(known.items()):
        wanted = aggregated_rules(role, known.values())
        if wanted is None or wanted == list(role.get("rules") or ()):
            continue
        # An apply of nothing takes away only what the same manager applied before.
        if wanted or _was_filled(role):
            known[name] = {**role, "rules": wanted}
            changed = True
    return changed


def _was_filled(role: Obj) -> bool:
    return any(
        entry.get("manager") == CONTROLLER and "f:rules" in (entry.get("fieldsV1") or {})
        for entry in role["metadata"].get("managedFields") or ()
    )
