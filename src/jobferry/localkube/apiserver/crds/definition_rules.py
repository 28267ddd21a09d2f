"""What a CustomResourceDefinition may say, in the words and the order of kube-apiserver."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from jobferry.localkube.apiserver import problems
from jobferry.localkube.apiserver.crds import (
    conversion,
    default_rules,
    internal,
    patterns,
    schema_paths,
    schema_rules,
    structural,
)
from jobferry.localkube.apiserver.problems import Problem
from jobferry.localkube.apiserver.validation import names
from jobferry.objects import Obj

COLUMN_TYPES = ("boolean", "date", "integer", "number", "string")
COLUMN_FORMATS = (
    "byte", "date", "date-time", "double", "float", "int32", "int64", "password",
)  # fmt: skip
MOST_SELECTABLE_FIELDS = 8
_AT_ROOT = (
    "Description", "Type", "Format", "Title", "Maximum", "ExclusiveMaximum", "Minimum",
    "ExclusiveMinimum", "MaxLength", "MinLength", "Pattern", "MaxItems", "MinItems", "UniqueItems",
    "MultipleOf", "Required", "Items", "Properties", "ExternalDocs", "Example",
    "XPreserveUnknownFields", "XValidations",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Leniency:
    """What is not held against a definition, because it was there before."""

    review_versions: bool = False
    bad_bundle: bool = True
    selectable_fields: frozenset[str] = frozenset()
    """Versions ("": the top) that may keep too many."""


def check_spec(given: Obj, leniency: Leniency = Leniency()) -> list[Problem]:  # noqa: B008  # frozen
    """Find what is wrong with a spec."""
    spec = internal.hoisted(given)
    versions: list[Obj] = spec["versions"]
    found = _group_and_scope(spec)
    if (spec.get("validation") or {}).get("openAPIV3Schema") is None:
        found += [
            problems.required(f"spec.versions[{index}].schema.openAPIV3Schema")
            for index, version in enumerate(versions)
            if (version.get("schema") or {}).get("openAPIV3Schema") is None
        ]
    has_status = _has_status(spec.get("subresources"))
    for index, version in enumerate(versions):
        at = f"spec.versions[{index}]"
        if wrong := names.old_label_problems(version.get("name", "")):
            found.append(
                problems.invalid(f"{at}.name", version.get("name", ""), ",".join(wrong))
            )
        own = has_status or _has_status(version.get("subresources"))
        found += _version(version, at, own, leniency)
    found += _versions(given.get("versions"), versions)
    if versions and spec["version"] and (wrong := names.old_label_problems(spec["version"])):
        found.append(problems.invalid("spec.version", spec["version"], ",".join(wrong)))
    found += _required_names(spec.get("names") or {})
    found += check_names(spec.get("names") or {}, "spec.names")
    any_status = has_status or any(_has_status(each.get("subresources")) for each in versions)
    found += _validation(spec.get("validation"), any_status, "spec.validation")
    found += _subresources(spec.get("subresources"), "spec.subresources")
    found += _columns(spec.get("additionalPrinterColumns"), "spec")
    if spec.get("selectableFields"):
        found += _top_selectable(spec, leniency)
    return found + conversion.check(
        spec.get("conversion"), leniency.review_versions, bad_bundle=leniency.bad_bundle
    )


def _has_status(subresources: Obj | None) -> bool:
    return (subresources or {}).get("status") is not None


def _group_and_scope(spec: Obj) -> list[Problem]:
    found: list[Problem] = []
    group = spec.get("group") or ""
    if not group:
        found.append(problems.required("spec.group"))
    elif wrong := names.subdomain_problems(group):
        found.append(problems.invalid("spec.group", group, ",".join(wrong)))
    elif "." not in group:
        words = "should be a domain with at least one dot"
        found.append(problems.invalid("spec.group", group, words))
    return found + one_of("spec.scope", spec.get("scope") or "", ("Cluster", "Namespaced"))


def one_of(path: str, value: str, accepted: Sequence[str]) -> list[Problem]:
    """Find a value that is missing or not one of those known."""
    if not value:
        return [problems.required(path)]
    return [] if value in accepted else [problems.not_supported(path, value, accepted)]


def _version(version: Obj, at: str, has_status: bool, leniency: Leniency) -> list[Problem]:
    found = [
        problems.invalid(f"{at}.deprecationWarning", version["deprecationWarning"], words)
        for words in _deprecation(version)
    ]
    found += _validation(version.get("schema"), has_status, f"{at}.schema")
    found += _subresources(version.get("subresources"), f"{at}.subresources")
    found += _columns(version.get("additionalPrinterColumns"), at)
    if version.get("selectableFields"):
        schema = (version.get("schema") or {}).get("openAPIV3Schema")
        if schema is None:
            words = "may only be set when `version.schema.openAPIV3Schema` is not included"
            found.append(problems.invalid(f"{at}.selectableFields", "", words))
        else:
            lenient = version.get("name") in leniency.selectable_fields
            found += _selectable(version["selectableFields"], schema, at, lenient=lenient)
    return found


def _deprecation(version: Obj) -> list[str]:
    text = version.get("deprecationWarning")
    if text is None:
        return []
    if not version.get("deprecated"):
        return ["can only be set for deprecated versions"]
    found = []
    if len(text.encode()) > 256:
        found.append("must be <= 256 characters long")
    if not text:
        found.append("must not be an empty string")
    for index, character in enumerate(text):
        if not character.isprintable():
            at = len(text[:index].encode())
            words = "must only contain printable UTF-8 characters"
            found.append(f"{words}; non-printable character found at index {at}")
            break
    return found


def _versions(given: list[Obj] | None, versions: list[Obj]) -> list[Problem]:
    found: list[Problem] = []
    shown = None if given is None else internal.shown_versions(versions)
    all_names = [version.get("name") for version in versions]
    if len(set(all_names)) < len(all_names):
        words = "must contain unique version names"
        found.append(internal.invalid_struct("spec.versions", shown, words))
    if sum(bool(version.get("storage")) for version in versions) != 1:
        words = "must have exactly one version marked as storage version"
        found.append(internal.invalid_struct("spec.versions", shown, words))
    return found


def _required_names(given: Obj) -> list[Problem]:
    return [
        problems.required(f"spec.names.{name}")
        for name in ("plural", "singular", "kind", "listKind")
        if not given.get(name)
    ]


def check_names(given: Obj, path: str) -> list[Problem]:
    """Find names that are not what names must be."""
    found: list[Problem] = []
    for name in ("plural", "singular"):
        value = given.get(name) or ""
        if value and (wrong := names.old_label_problems(value)):
            found.append(problems.invalid(f"{path}.{name}", value, ",".join(wrong)))
    for name in ("kind", "listKind"):
        value = given.get(name) or ""
        if value and (wrong := names.old_label_problems(value.lower())):
            words = "may have mixed case, but should otherwise match: " + ",".join(wrong)
            found.append(problems.invalid(f"{path}.{name}", value, words))
    found += _labels(given.get("shortNames"), f"{path}.shortNames")
    if given.get("kind") and given["kind"] == given.get("listKind"):
        words = "kind and listKind may not be the same"
        found.append(problems.invalid(f"{path}.listKind", given["listKind"], words))
    return found + _labels(given.get("categories"), f"{path}.categories")


def _labels(values: Iterable[str] | None, path: str) -> list[Problem]:
    return [
        problems.invalid(f"{path}[{index}]", value, ",".join(wrong))
        for index, value in enumerate(values or ())
        if (wrong := names.old_label_problems(value))
    ]


def _validation(validation: Obj | None, has_status: bool, path: str) -> list[Problem]:
    schema = (validation or {}).get("openAPIV3Schema")
    if schema is None:
        return []
    at = f"{path}.openAPIV3Schema"
    found = _root_with_status(schema, at) if has_status else []
    if schema.get("nullable"):
        found.append(
            problems.forbidden(f"{at}.nullable", "nullable cannot be true at the root")
        )
    unconverted = structural.conversion_problem(schema)
    right = False
    if unconverted is None:
        wrong = structural.check(schema, at) or default_rules.check(schema, at)
        found += wrong
        right = not wrong
    found += schema_rules.check(schema, at, with_rules=right)
    if not found and unconverted is not None:
        found.append(problems.invalid(at, "", unconverted))
    return found or _untranslatable(schema, path)


def _untranslatable(schema: Obj, path: str) -> list[Problem]:
    """Refuse what this server could not check, in restrictions that are not looked at elsewhere."""
    wrong: list[str] = []

    def note(each: Obj) -> bool:
        pattern = each.get("pattern")
        if pattern and (problem := patterns.problem(pattern)):
            wrong.append(problem)
        return False

    structural.has(schema, note)
    return [
        problems.invalid(path, "", f"error building validator: {words}") for words in wrong[:1]
    ]


def _root_with_status(schema: Obj, at: str) -> list[Problem]:
    for name, go_name in internal.GO_NAMES.items():
        value = schema.get(name)
        if value is None or value in ("", False, [], {}):
            continue
        if name == "type":
            if value != "object":
                words = 'only "object" is allowed as the type at the root of the schema if the status subresource is enabled'
                return [problems.invalid(f"{at}.type", value, words)]
        elif go_name not in _AT_ROOT:
            words = f"only [{' '.join(_AT_ROOT)}] fields are allowed at the root of the schema if the status subresource is enabled"
            return [internal.invalid_struct(at, internal.shown_schema(schema), words)]
    return []


def _json_path(path: str, at: str) -> list[Problem]:
    if path.startswith("."):
        return []
    return [problems.invalid(at, path, "must be a simple json path starting with .")]


def _subresources(subresources: Obj | None, path: str) -> list[Problem]:
    scale = (subresources or {}).get("scale")
    if scale is None:
        return []
    found: list[Problem] = []
    for name, part in (("specReplicasPath", ".spec"), ("statusReplicasPath", ".status")):
        at = f"{path}.scale.{name}"
        value = scale.get(name) or ""
        if not value:
            found.append(problems.required(at))
        elif wrong := _json_path(value, at):
            found += wrong
        elif not value.startswith(f"{part}."):
            found.append(problems.invalid(at, value, f"should be a json path under {part}"))
    if value := scale.get("labelSelectorPath"):
        at = f"{path}.scale.labelSelectorPath"
        words = "should be a json path under either .spec or .status"
        if wrong := _json_path(value, at):
            found += wrong
        elif not value.startswith((".spec.", ".status.")):
            found.append(problems.invalid(at, value, words))
    return found


def _columns(columns: Sequence[Obj] | None, path: str) -> list[Problem]:
    found: list[Problem] = []
    for index, column in enumerate(columns or ()):
        at = f"{path}.additionalPrinterColumns[{index}]"
        if not column.get("name"):
            found.append(problems.required(f"{at}.name"))
        words = f"must be one of {','.join(COLUMN_TYPES)}"
        if not column.get("type"):
            found.append(problems.required(f"{at}.type", words))
        elif column["type"] not in COLUMN_TYPES:
            found.append(problems.invalid(f"{at}.type", column["type"], words))
        if column.get("format") and column["format"] not in COLUMN_FORMATS:
            words = f"must be one of {','.join(COLUMN_FORMATS)}"
            found.append(problems.invalid(f"{at}.format", column["format"], words))
        if not column.get("jsonPath"):
            found.append(problems.required(f"{at}.JSONPath"))
        else:
            found += _json_path(column["jsonPath"], f"{at}.JSONPath")
    return found


def _top_selectable(spec: Obj, leniency: Leniency) -> list[Problem]:
    schema = (spec.get("validation") or {}).get("openAPIV3Schema")
    if schema is None:
        words = "may only be set when validations.schema is included"
        return [problems.invalid("spec.selectableFields", "", words)]
    lenient = "" in leniency.selectable_fields
    return _selectable(spec["selectableFields"], schema, "spec", lenient=lenient)


def _selectable(
    fields: Sequence[Obj], schema: Obj, path: str, *, lenient: bool
) -> list[Problem]:
    found: list[Problem] = []
    seen: set[str] = set()
    for index, field in enumerate(fields):
        at = f"{path}.selectableFields[{index}].jsonPath"
        given = field.get("jsonPath") or ""
        if not given:
            found.append(problems.required(at))
            continue
        try:
            target = schema_paths.follow(given, schema, brackets=False)
        except schema_paths.BadPath as error:
            found.append(problems.invalid(at, given, f"is an invalid path: {error}"))
            continue
        if target.root == "metadata":
            words = "must not point to fields in metadata"
            found.append(problems.invalid(at, given, words))
        if (target.schema or {}).get("type") not in ("string", "boolean", "integer"):
            words = "must point to a field of type string, boolean or integer. Enum string fields and strings with formats are allowed."
            found.append(problems.invalid(at, given, words))
        if target.shown in seen:
            found.append(problems.duplicate(at, given))
        seen.add(target.shown)
    if len(seen) > MOST_SELECTABLE_FIELDS and not lenient:
        found.append(
            problems.too_many(f"{path}.selectableFields", len(seen), MOST_SELECTABLE_FIELDS)
        )
    return found
