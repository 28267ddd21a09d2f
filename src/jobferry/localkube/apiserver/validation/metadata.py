"""What is wrong with the metadata of an object, when it is made and when it is changed."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from jobferry.localkube.apiserver import problems
from jobferry.localkube.apiserver.problems import Problem
from jobferry.localkube.apiserver.validation import names, values
from jobferry.localkube.apiserver.validation.names import NameProblems
from jobferry.objects import Obj, gotext

MAX_ANNOTATIONS = 256 * 1024
_MAX_MANAGER = 128
_MAX_SUBRESOURCE = 256
_LEGACY_FINALIZERS = ("kubernetes", "orphan", "foregroundDeletion")


def create_problems(
    obj: Obj,
    *,
    namespaced: bool,
    name_problems: NameProblems,
    legacy_finalizers: bool = True,
) -> Iterator[Problem]:
    """Say what is wrong with new metadata, its name filled in.

    The kinds of Kubernetes itself know few finalizers without a domain; others take any.
    """
    metadata = obj["metadata"]
    yield from _name_problems(metadata, name_problems)
    yield from _namespace_problems(metadata.get("namespace") or "", namespaced=namespaced)
    yield from values.not_negative("metadata.generation", metadata.get("generation"))
    yield from _common_problems(metadata, _finalizers_problems)
    if legacy_finalizers:
        yield from _legacy_finalizers(metadata)


def update_problems(new: Obj, old: Obj, *, legacy_finalizers: bool = True) -> Iterator[Problem]:
    """Say what is wrong with changed metadata."""
    ours, theirs = new["metadata"], old["metadata"]
    if theirs.get("deletionTimestamp"):
        yield from _added_finalizers(ours, theirs)
    if not ours.get("resourceVersion"):
        what = "must be specified for an update"
        yield problems.invalid("metadata.resourceVersion", "", what)
    if ours.get("generation", 0) < theirs.get("generation", 0):
        what = "must not be decremented"
        yield problems.invalid("metadata.generation", ours.get("generation", 0), what)
    for field in ("name", "namespace", "uid"):
        yield from values.immutable(
            f"metadata.{field}", ours.get(field, ""), theirs.get(field, "")
        )
    for field in ("creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds"):
        yield from values.immutable(f"metadata.{field}", ours.get(field), theirs.get(field))
    yield from _common_problems(ours)
    if legacy_finalizers:
        yield from _legacy_finalizers(ours)


def common_update_problems(new: Obj, old: Obj, *, namespaced: bool) -> Iterator[Problem]:
    """Say what an API server finds on every update, before it asks the kind."""
    yield from create_problems(
        new,
        namespaced=namespaced,
        name_problems=names.is_path_segment,
        legacy_finalizers=False,
    )
    yield from update_problems(new, old, legacy_finalizers=False)


def common_create_problems(obj: Obj, *, namespaced: bool) -> Iterator[Problem]:
    """Say what an API server finds on every create, after the kind found nothing."""
    return create_problems(
        obj,
        namespaced=namespaced,
        name_problems=names.is_path_segment,
        legacy_finalizers=False,
    )


def labels_problems(labels: Mapping[str, str] | None, field: str) -> Iterator[Problem]:
    """Say what is wrong with labels."""
    for key, value in (labels or {}).items():
        if complaints := names.qualified_problems(key):
            yield from values.each(field, key, complaints)
        if complaints := names.label_value_problems(value):
            yield from values.each(field, value, complaints)


def annotations_problems(
    annotations: Mapping[str, str] | None, field: str
) -> Iterator[Problem]:
    """Say what is wrong with annotations; their keys may have capital letters anywhere."""
    if not annotations:
        return
    for key in annotations:
        yield from values.each(field, key, names.qualified_problems(key.lower()))
    if sum(names.size(key) + names.size(annotations[key]) for key in annotations) > (
        MAX_ANNOTATIONS
    ):
        yield problems.too_long(field, MAX_ANNOTATIONS)


def finalizer_problems(name: str, field: str) -> Iterator[Problem]:
    """Complain about a finalizer without a domain that is not one of the old ones."""
    if "/" not in name and name not in _LEGACY_FINALIZERS:
        what = "name is neither a standard finalizer name nor is it fully qualified"
        yield problems.invalid(field, name, what)


def template_problems(metadata: Obj, field: str) -> Iterator[Problem]:
    """Say what is wrong with the metadata of an embedded template: labels and annotations only."""
    yield from annotations_problems(metadata.get("annotations"), f"{field}.annotations")
    yield from labels_problems(metadata.get("labels"), f"{field}.labels")
    for member, value in metadata.items():
        if member not in ("annotations", "labels") and value not in (None, "", [], {}):
            # Upstream names Go's field, with a small first letter.
            called = "uID" if member == "uid" else member
            yield problems.forbidden(f"{field}.{called}", "cannot be set")


def _name_problems(metadata: Obj, name_problems: NameProblems) -> Iterator[Problem]:
    if prefix := metadata.get("generateName"):
        complaints = name_problems(prefix, True)
        yield from values.each("metadata.generateName", prefix, complaints)
    if name := metadata.get("name"):
        yield from values.each("metadata.name", name, name_problems(name, False))
    else:
        yield problems.required("metadata.name", "name or generateName is required")


def _namespace_problems(namespace: str, *, namespaced: bool) -> Iterator[Problem]:
    if not namespaced:
        if namespace:
            yield problems.forbidden("metadata.namespace", "not allowed on this type")
    elif not namespace:
        yield problems.required("metadata.namespace")
    else:
        yield from values.dns_label("metadata.namespace", namespace)


def _common_problems(metadata: Obj, finalizers: Any = None) -> Iterator[Problem]:
    yield from labels_problems(metadata.get("labels"), "metadata.labels")
    yield from annotations_problems(metadata.get("annotations"), "metadata.annotations")
    if owners := metadata.get("ownerReferences"):
        yield from _owners_problems(owners)
    if finalizers and metadata.get("finalizers"):
        yield from finalizers(metadata["finalizers"])
    for index, entry in enumerate(metadata.get("managedFields") or ()):
        yield from _managed_problems(entry, f"metadata.managedFields[{index}]")


def _owners_problems(owners: Sequence[Obj]) -> Iterator[Problem]:
    field, controller = "metadata.ownerReferences", ""
    for owner in owners:
        yield from _owner_problems(owner, field)
        if not owner.get("controller"):
            continue
        this = f"{owner.get('kind', '')}/{owner.get('name', '')}"
        if controller:
            what = (
                "Only one reference can have Controller set to true. "
                f'Found "true" in references for {controller} and {this}'
            )
            yield problems.invalid(field, owners, what)
        else:
            controller = this


def _owner_problems(owner: Obj, field: str) -> Iterator[Problem]:
    version = owner.get("apiVersion") or ""
    if version.count("/") > 1 or not version.rpartition("/")[2]:
        yield problems.invalid(f"{field}.apiVersion", version, "version must not be empty")
    for member in ("kind", "name", "uid"):
        if not owner.get(member):
            yield problems.invalid(f"{field}.{member}", "", "must not be empty")
    if version == "v1" and owner.get("kind") == "Event":
        what = "/v1, Kind=Event is disallowed from being an owner"
        yield problems.invalid(field, owner, what)


def _finalizers_problems(finalizers: Sequence[str]) -> Iterator[Problem]:
    field = "metadata.finalizers"
    for name in finalizers:
        yield from values.qualified(field, name)
    if "orphan" in finalizers and "foregroundDeletion" in finalizers:
        what = "finalizer orphan and foregroundDeletion cannot be both set"
        yield problems.invalid(field, finalizers, what)


def _legacy_finalizers(metadata: Obj) -> Iterator[Problem]:
    for index, name in enumerate(metadata.get("finalizers") or ()):
        yield from finalizer_problems(name, f"metadata.finalizers[{index}]")


def _added_finalizers(ours: Obj, theirs: Obj) -> Iterator[Problem]:
    added = {*(ours.get("finalizers") or ())} - {*(theirs.get("finalizers") or ())}
    if added:
        listed = ", ".join(map(gotext.quote, sorted(added)))
        what = (
            "no new finalizers can be added if the object is being deleted, "
            f"found new finalizers []string{{{listed}}}"
        )
        yield problems.forbidden("metadata.finalizers", what)


def _managed_problems(entry: Obj, field: str) -> Iterator[Problem]:
    operation, kind = entry.get("operation") or "", entry.get("fieldsType") or ""
    if operation not in ("Apply", "Update"):
        what = "must be `Apply` or `Update`"
        yield problems.invalid(f"{field}.operation", operation, what)
    if kind not in ("", "FieldsV1"):
        yield problems.invalid(f"{field}.fieldsType", kind, "must be `FieldsV1`")
    yield from manager_problems(entry.get("manager") or "", f"{field}.manager")
    if names.size(entry.get("subresource") or "") > _MAX_SUBRESOURCE:
        yield problems.too_long(f"{field}.subresource", _MAX_SUBRESOURCE)


def manager_problems(manager: str, field: str) -> Iterator[Problem]:
    """Say what is wrong with the name of a field manager."""
    if names.size(manager) > _MAX_MANAGER:
        yield problems.too_long(field, _MAX_MANAGER)
    if manager.isprintable():
        return
    position = 0
    for character in manager:
        if not character.isprintable():
            what = f"invalid character U+{ord(character):04X} (at position {position})"
            yield problems.invalid(field, manager, what)
        position += names.size(character)
