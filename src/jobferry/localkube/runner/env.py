"""The environment and the command of a container, as Kubernetes makes them: pure."""

import re
from collections.abc import Callable, Mapping, Sequence

from jobferry.errors import BadInput
from jobferry.localkube.runner import fields
from jobferry.objects import Obj

_NAME = re.compile(r"[-._a-zA-Z][-._a-zA-Z0-9]*")

Lookup = Callable[[str, str], Mapping[str, str] | None]
"""Returns the texts of a ConfigMap or Secret (kind, name); None if there is none."""


class Missing(BadInput):
    """What a container refers to is not there (yet)."""


def expand(text: str, values: Mapping[str, str]) -> str:
    """Replace $(NAME) by its value; $$ is one $, and what is not known stays as it is."""
    parts, at = [], 0
    while (sign := text.find("$", at)) >= 0 and sign + 1 < len(text):
        parts.append(text[at:sign])
        follows = text[sign + 1]
        end = text.find(")", sign + 2) if follows == "(" else -1
        if follows == "$":
            parts.append("$")
            at = sign + 2
        elif end >= 0:
            whole = text[sign : end + 1]
            parts.append(values.get(text[sign + 2 : end], whole))
            at = end + 1
        elif follows == "(":
            parts.append("$(")
            at = sign + 2
        else:
            parts.append("$" + follows)
            at = sign + 2
    return "".join([*parts, text[at:]])


def build(
    pod: Obj,
    container: Obj,
    lookup: Lookup,
    services: Mapping[str, str],
    room: Mapping[str, str],
) -> dict[str, str]:
    """Return what a container asks for, and the addresses of services; `room` is what the node has.

    Later entries may refer to earlier ones, as in Kubernetes, and to `services`.
    """
    known = dict(services)
    for source in container.get("envFrom") or ():
        known |= _from_all(source, lookup)
    for entry in container.get("env") or ():
        value = _value(entry, pod, container, lookup, known, room)
        if value is not None:
            known[entry["name"]] = value
    return known


def command(container: Obj, values: Mapping[str, str]) -> tuple[list[str], list[str]]:
    """Return the command and the arguments of a container, with $(NAME) replaced."""
    return (
        [expand(word, values) for word in container.get("command") or ()],
        [expand(word, values) for word in container.get("args") or ()],
    )


def _from_all(source: Obj, lookup: Lookup) -> dict[str, str]:
    prefix = source.get("prefix", "")
    for member, kind in (("configMapRef", "configmap"), ("secretRef", "secret")):
        if (ref := source.get(member)) is None:
            continue
        found = lookup(kind, ref["name"])
        if found is None:
            if ref.get("optional"):
                return {}
            raise Missing(f'{kind} "{ref["name"]}" not found')
        return {
            prefix + name: value
            for name, value in found.items()
            if _NAME.fullmatch(prefix + name)
        }
    return {}


def _value(
    entry: Obj,
    pod: Obj,
    container: Obj,
    lookup: Lookup,
    known: Mapping[str, str],
    room: Mapping[str, str],
) -> str | None:
    source = entry.get("valueFrom")
    if source is None:
        return expand(entry.get("value") or "", known)
    if (ref := source.get("fieldRef")) is not None:
        return fields.of_pod(pod, ref["fieldPath"])
    if (ref := source.get("resourceFieldRef")) is not None:
        return fields.of_resources(pod, container, ref, room)
    for member, kind in (("configMapKeyRef", "configmap"), ("secretKeyRef", "secret")):
        if (ref := source.get(member)) is not None:
            return _of_key(kind, ref, lookup)
    raise Missing(f"the environment variable {entry['name']} has a source that is not served")


def _of_key(kind: str, ref: Obj, lookup: Lookup) -> str | None:
    found = lookup(kind, ref["name"])
    if found is not None and ref["key"] in found:
        return found[ref["key"]]
    if ref.get("optional"):
        return None
    if found is None:
        raise Missing(f'{kind} "{ref["name"]}" not found')
    what = "ConfigMap" if kind == "configmap" else "Secret"
    raise Missing(f"couldn't find key {ref['key']} in {what} {ref['name']}")


def rewritten(words: Sequence[str], places: Mapping[str, str]) -> list[str]:
    """Return texts in which paths lead to where volumes really are.

    Only for machines on which volumes cannot be mounted: a mountPath is replaced wherever it stands as a whole
    path or as the beginning of one.
    """
    if not places:
        return list(words)
    longest_first = sorted(places, key=len, reverse=True)
    pattern = re.compile(
        r"(?<![\w./-])(" + "|".join(map(re.escape, longest_first)) + r")(?![\w.-])"
    )
    return [pattern.sub(lambda found: places[found[1]], word) for word in words]
