"""The kind CustomResourceDefinition itself: defaults, what is kept on updates, what is checked."""

import re
from collections.abc import Iterator, Mapping, Sequence

from jobferry.localkube.apiserver import problems
from jobferry.localkube.apiserver.crds import conversion
from jobferry.localkube.apiserver.problems import Problem
from jobferry.localkube.apiserver.strategy import HEAVY, Strategy
from jobferry.localkube.apiserver.validation import metadata, names
from jobferry.localkube.apiserver.version_order import rank
from jobferry.objects import Obj
from jobferry.objects.gotext import quote

APPROVED = "api-approved.kubernetes.io"
_SEE = "see https://github.com/kubernetes/enhancements/pull/1111"
_IMMUTABLE = "field is immutable"
_TOO_COSTLY = (
    "kube-apiserver refuses this rule, because evaluating it could cost too much: give the lists, maps and "
    "texts that it looks at a maxItems, maxProperties or maxLength"
)


def default(crd: Obj) -> None:
    """Fill in what was left out."""
    spec = crd.setdefault("spec", {})
    given = spec.setdefault("names", {})
    if not given.get("singular") and given.get("kind"):
        given["singular"] = given["kind"].lower()
    if not given.get("listKind") and given.get("kind"):
        given["listKind"] = f"{given['kind']}List"
    if spec.get("conversion") is None:
        spec["conversion"] = {"strategy": "None"}
    client = (spec["conversion"].get("webhook") or {}).get("clientConfig") or {}
    if client.get("service") is not None and client["service"].get("port") is None:
        client["service"]["port"] = 443
    status = crd.setdefault("status", {})
    if not status.get("storedVersions") and (storage := storage_version(crd)):
        status["storedVersions"] = [storage]


CLEANUP = "customresourcecleanup.apiextensions.k8s.io"
"""The finalizer that lets a definition stay until its objects are gone."""


def storage_version(crd: Obj) -> str:
    """Return the version that objects are stored in, or an empty text."""
    versions = crd["spec"].get("versions") or ()
    return next((each.get("name", "") for each in versions if each.get("storage")), "")


def deprecation(crd: Obj, version: Obj) -> str:
    """Return the warning that users of a deprecated version get; nothing if it is not."""
    if not version.get("deprecated"):
        return ""
    if version.get("deprecationWarning") is not None:
        return str(version["deprecationWarning"])
    group, kind = crd["spec"]["group"], crd["spec"]["names"]["kind"]
    better = [
        each["name"]
        for each in crd["spec"]["versions"]
        if each.get("served") and not each.get("deprecated")
    ]
    best = min([version["name"], *better], key=rank)
    use = f"; use {group}/{best} {kind}" if best != version["name"] else ""
    return f"{group}/{version['name']} {kind} is deprecated{use}"


def resource_name(crd: Obj) -> tuple[str, str]:
    """Return the group and the plural of what is defined.

    They are those in its own name and never change, whatever somebody writes to the status: no two definitions
    have them in common.
    """
    return crd["spec"]["group"], crd["spec"]["names"]["plural"]


def _remember_storage(crd: Obj) -> None:
    storage = storage_version(crd)
    status: Obj = dict(crd.get("status") or {})
    stored: list[str] = list(status.get("storedVersions") or ())
    if storage and storage not in stored:
        status["storedVersions"] = [*stored, storage]
    crd["status"] = status


def prepare_create(crd: Obj) -> None:
    """Begin without a status, but for the version that objects will be stored in."""
    crd["status"] = {"conditions": None, "acceptedNames": {"plural": "", "kind": ""}}
    _remember_storage(crd)


def prepare_update(new: Obj, old: Obj) -> None:
    """Keep the status; a new storage version is added to those ever used."""
    new["status"] = old.get("status") or {}
    _remember_storage(new)


def prepare_status(new: Obj, old: Obj) -> None:
    """Keep the spec."""
    new["spec"] = old["spec"]


def check_create(crd: Obj) -> list[Problem]:
    """Find what is wrong with a new definition."""
    from jobferry.localkube.apiserver.crds import definition_rules  # noqa: PLC0415 (heavy)

    found = list(
        metadata.create_problems(
            crd,
            namespaced=False,
            name_problems=lambda name, is_prefix: _name_problems(crd, name, is_prefix),
            legacy_finalizers=False,
        )
    )
    found += definition_rules.check_spec(crd.get("spec") or {})
    return found + _check_rest(crd, None)


def _name_problems(crd: Obj, name: str, is_prefix: bool) -> Sequence[str]:
    spec = crd.get("spec") or {}
    wanted = f"{(spec.get('names') or {}).get('plural') or ''}.{spec.get('group') or ''}"
    found = names.is_subdomain(name, is_prefix)
    return found if name == wanted else [*found, 'must be spec.names.plural+"."+spec.group']


def _check_rest(crd: Obj, old: Obj | None) -> list[Problem]:
    found = check_status(crd)
    found += _stored_versions(crd)
    found += _approval(crd, old)
    before = bool(old and (old.get("spec") or {}).get("preserveUnknownFields"))
    if (crd.get("spec") or {}).get("preserveUnknownFields") and not before:
        words = "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead"
        found.append(problems.invalid("spec.preserveUnknownFields", True, words))
    return found


def check_status(crd: Obj) -> list[Problem]:
    """Find what is wrong with a status."""
    from jobferry.localkube.apiserver.crds import definition_rules  # noqa: PLC0415 (heavy)

    status = crd.get("status") or {}
    return definition_rules.check_names(
        status.get("acceptedNames") or {}, "status.acceptedNames"
    )


def _stored_versions(crd: Obj) -> list[Problem]:
    stored: list[str] = (crd.get("status") or {}).get("storedVersions") or []
    path = "status.storedVersions"
    if not stored:
        words = "must have at least one stored version"
        return [Problem("FieldValueInvalid", path, f"Invalid value: null: {words}")]
    versions = (crd.get("spec") or {}).get("versions") or ()
    found = [
        problems.invalid(path, stored, f"must have the storage version {version['name']}")
        for version in versions
        if version.get("storage") and version.get("name") not in stored
    ]
    known = {version.get("name") for version in versions}
    words = (
        "missing from spec.versions; {0} was previously a storage version, and must remain in"
        " spec.versions until a storage migration ensures no data remains persisted in {0} and"
        " removes {0} from status.storedVersions"
    )
    found += [
        problems.invalid(f"{path}[{index}]", version, words.format(version))
        for index, version in enumerate(stored)
        if version not in known
    ]
    return found


def is_protected(group: str) -> bool:
    """Tell whether a group is the community's, so that its APIs need approval."""
    return group in ("k8s.io", "kubernetes.io") or group.endswith((".k8s.io", ".kubernetes.io"))


def approval(annotations: Mapping[str, str] | None) -> tuple[str, str]:
    """Return the state of a community API's approval, and what is said about it."""
    given = (annotations or {}).get(APPROVED) or ""
    quoted = quote(APPROVED)
    if not given:
        return "missing", f"protected groups must have approval annotation {quoted}, {_SEE}"
    if given.startswith("unapproved"):
        return "bypassed", f"not approved: {quote(given)}"
    if re.match(r"[A-Za-z][A-Za-z0-9+.-]*://[^/?#]+", given):
        return "approved", f"approved in {given}"
    words = f'with either a URL or a reason starting with "unapproved", {_SEE}'
    return "invalid", f"protected groups must have approval annotation {quoted} {words}"


def _approval(crd: Obj, old: Obj | None) -> list[Problem]:
    if not is_protected((crd.get("spec") or {}).get("group") or ""):
        return []
    annotations = (crd.get("metadata") or {}).get("annotations")
    state, words = approval(annotations)
    if old is not None and approval((old.get("metadata") or {}).get("annotations"))[0] == state:
        return []
    path = f"metadata.annotations[{APPROVED}]"
    if state == "missing":
        return [problems.required(path, words)]
    if state == "invalid":
        return [problems.invalid(path, (annotations or {})[APPROVED], words)]
    return []


def condition(crd: Obj, name: str) -> str:
    """Return the status of a condition, or an empty text."""
    conditions = (crd.get("status") or {}).get("conditions") or ()
    return next((each.get("status", "") for each in conditions if each.get("type") == name), "")


def check_update(new: Obj, old: Obj) -> list[Problem]:
    """Find what is wrong with a changed definition."""
    from jobferry.localkube.apiserver.crds import definition_rules  # noqa: PLC0415 (heavy)

    spec, before = new.get("spec") or {}, old.get("spec") or {}
    leniency = definition_rules.Leniency(
        review_versions=not conversion.accepted(before.get("conversion")),
        bad_bundle=condition(old, "Established") != "True"
        or bool(conversion.bundle_problems(before.get("conversion"))),
        selectable_fields=_kept_selectable(spec, before),
    )
    found = list(metadata.update_problems(new, old, legacy_finalizers=False))
    found += definition_rules.check_spec(spec, leniency)
    fixed: list[tuple[str, ...]] = [("group",), ("names", "plural")]
    if condition(old, "Established") == "True":
        fixed = [("scope",), ("names", "kind"), *fixed]
    for path in fixed:
        value, previous = spec, before
        for name in path:
            value, previous = (value or {}).get(name), (previous or {}).get(name)
        if value != previous:
            found.append(problems.invalid(f"spec.{'.'.join(path)}", value or "", _IMMUTABLE))
    return found + _check_rest(new, old)


def _kept_selectable(spec: Obj, before: Obj) -> frozenset[str]:
    """Return the versions whose selectable fields are too many, but were so before."""
    from jobferry.localkube.apiserver.crds import definition_rules  # noqa: PLC0415 (heavy)

    previous = {
        version.get("name"): version.get("selectableFields")
        for version in before.get("versions") or ()
    }
    kept = {
        version.get("name") or ""
        for version in spec.get("versions") or ()
        if len(previous.get(version.get("name")) or ())
        > definition_rules.MOST_SELECTABLE_FIELDS
        and version.get("selectableFields") == previous[version.get("name")]
    }
    return frozenset(kept | {""}) if kept and len(kept) == len(previous) else frozenset(kept)


def check_status_update(new: Obj, old: Obj) -> list[Problem]:
    """Find what is wrong with a changed status."""
    return list(metadata.update_problems(new, old, legacy_finalizers=False)) + check_status(new)


def _unknown_formats(crd: Obj) -> list[str]:
    from jobferry.localkube.apiserver.crds import formats, structural  # noqa: PLC0415 (heavy)

    found: list[str] = []

    def note(schema: Obj) -> bool:
        form = schema.get("format")
        if form and schema.get("type") == "string" and formats.check_of(form) is None:
            found.append(form)
        return False

    versions = (crd.get("spec") or {}).get("versions") or ()
    schemas = [(version.get("schema") or {}).get("openAPIV3Schema") for version in versions]
    # What all versions share is looked at once.
    shared = bool(schemas) and all(schema == schemas[0] for schema in schemas)
    for schema in schemas[:1] if shared else schemas:
        structural.has(schema, note)
    return found


def _costly_rules(crd: Obj) -> Iterator[str]:
    from jobferry.localkube.apiserver.crds import costs  # noqa: PLC0415 (heavy)

    for index, version in enumerate((crd.get("spec") or {}).get("versions") or ()):
        schema = (version.get("schema") or {}).get("openAPIV3Schema") or {}
        path = f"spec.versions[{index}].schema.openAPIV3Schema"
        for rule in costs.too_costly(schema, path):
            yield f"{rule}: {_TOO_COSTLY}"


def warn_create(crd: Obj) -> Sequence[str]:
    """Warn of formats that nobody checks, and of rules that a real server refuses."""
    formats = [f"unrecognized format {quote(form)}" for form in _unknown_formats(crd)]
    return [*formats, *_costly_rules(crd)]


def warn_update(new: Obj, old: Obj) -> Sequence[str]:
    """Warn of the same, where it is new."""
    known = set(warn_create(old))
    return [warning for warning in warn_create(new) if warning not in known]


def _is_held(_crd: Obj) -> bool:
    """Tell that only the finalizer holds a definition."""
    return False


def _mark_deleted(crd: Obj, now: str) -> None:
    """Let a definition stay until its objects are gone."""
    finalizers = crd["metadata"].setdefault("finalizers", [])
    if CLEANUP not in finalizers:
        finalizers.append(CLEANUP)
    status = crd.setdefault("status", {})
    others = [each for each in status.get("conditions") or () if each["type"] != "Terminating"]
    status["conditions"] = [
        *others,
        {
            "type": "Terminating",
            "status": "True",
            "lastTransitionTime": now,
            "reason": "InstanceDeletionPending",
            "message": "CustomResourceDefinition marked for deletion; "
            "CustomResource deletion will begin soon",
        },
    ]


STRATEGY = Strategy(
    default=default,
    prepare_create=prepare_create,
    prepare_update=prepare_update,
    validate_create=check_create,
    validate_update=check_update,
    warn_create=warn_create,
    warn_update=warn_update,
    name_problems=names.is_subdomain,
    unconditional_update=False,
    held=_is_held,
    mark_deleted=_mark_deleted,
    weight=HEAVY,
    reset_fields=("status",),
)
"""How definitions are made and changed."""

STATUS = Strategy(
    default=default,
    prepare_update=prepare_status,
    validate_update=check_status_update,
    name_problems=names.is_subdomain,
    unconditional_update=False,
    reset_fields=("metadata", "spec"),
)
"""How their status is written."""
