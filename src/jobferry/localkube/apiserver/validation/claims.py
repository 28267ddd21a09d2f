"""What is wrong with the spec of a PersistentVolumeClaim, alone or as a template in a pod."""

from collections.abc import Iterator

from jobferry.localkube.apiserver import problems
from jobferry.localkube.apiserver.problems import Problem
from jobferry.localkube.apiserver.validation import metadata, resources, selectors, values
from jobferry.objects import Obj, quantities

ACCESS_MODES = ("ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod")
VOLUME_MODES = ("Block", "Filesystem")


def template_problems(template: Obj, field: str) -> Iterator[Problem]:
    """Say what is wrong with the claim that a pod brings along."""
    yield from metadata.template_problems(template.get("metadata") or {}, f"{field}.metadata")
    yield from spec_problems(template.get("spec") or {}, f"{field}.spec")


def spec_problems(spec: Obj, field: str, *, any_group: bool = False) -> Iterator[Problem]:
    """Say what is wrong with what is claimed; its sources may be of `any_group` if one was before."""
    modes = spec.get("accessModes") or ()
    if not modes:
        what = "at least 1 access mode is required"
        yield problems.required(f"{field}.accessModes", what)
    yield from selectors.selector_problems(spec.get("selector"), f"{field}.selector")
    for mode in modes:
        if mode not in ACCESS_MODES:
            yield problems.not_in_enum(f"{field}.accessModes", mode, ACCESS_MODES)
    if "ReadWriteOncePod" in modes and {*ACCESS_MODES[:3]} & {*modes}:
        what = "may not use ReadWriteOncePod with other access modes"
        yield problems.forbidden(f"{field}.accessModes", what)
    yield from _storage_problems(spec, f"{field}.resources[storage]")
    if name := spec.get("storageClassName"):
        yield from values.subdomain(f"{field}.storageClassName", name)
    mode = spec.get("volumeMode")
    if mode is not None and mode not in VOLUME_MODES:
        yield problems.not_in_enum(f"{field}.volumeMode", mode, VOLUME_MODES)
    yield from _sources_problems(spec, field, any_group=any_group)
    if name := spec.get("volumeAttributesClassName"):
        yield from values.subdomain(f"{field}.volumeAttributesClassName", name)


def _storage_problems(spec: Obj, field: str) -> Iterator[Problem]:
    storage = ((spec.get("resources") or {}).get("requests") or {}).get("storage")
    if storage is None:
        yield problems.required(field)
    elif resources.parse(storage) <= quantities.ZERO:
        yield problems.invalid(field, storage, values.NOT_POSITIVE)


def _sources_problems(spec: Obj, field: str, *, any_group: bool) -> Iterator[Problem]:
    source, ref = spec.get("dataSource"), spec.get("dataSourceRef")
    if source is not None:
        yield from _source_problems(source, f"{field}.dataSource", any_group=any_group)
    if ref is not None:
        yield from _source_problems(ref, f"{field}.dataSourceRef", any_group=any_group)
        if namespace := ref.get("namespace"):
            yield from values.dns_label(f"{field}.dataSourceRef.namespace", namespace)
    if source is None or ref is None:
        return
    if ref.get("namespace"):
        what = "may not be specified when dataSourceRef.namespace is specified"
        yield problems.invalid(field, {}, what)
    elif any(source.get(part) != ref.get(part) for part in ("apiGroup", "kind", "name")):
        yield problems.invalid(field, {}, "must match dataSourceRef")


def _source_problems(source: Obj, field: str, *, any_group: bool) -> Iterator[Problem]:
    for member in ("name", "kind"):
        if not source.get(member):
            yield problems.required(f"{field}.{member}")
    group, kind = source.get("apiGroup") or "", source.get("kind") or ""
    if group and not any_group:
        yield from values.subdomain(f"{field}.apiGroup", group)
    elif not group and kind != "PersistentVolumeClaim":
        what = "must be 'PersistentVolumeClaim' when referencing the default apiGroup"
        yield problems.invalid(field, kind, what)
