"""Custom objects: how those of one version of a definition are read, made, changed, checked and shown."""

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any

from jobferry.localkube.apiserver import problems, shapes, status
from jobferry.localkube.apiserver.crds import (
    columns,
    conversion,
    defaulting,
    definition,
    jsonpath,
    merging,
    publishing,
    scale,
    weight,
)
from jobferry.localkube.apiserver.crds.schema import Schema, Unreadable
from jobferry.localkube.apiserver.problems import Problem
from jobferry.localkube.apiserver.resource import Resource, Subresource
from jobferry.localkube.apiserver.strategy import Strategy
from jobferry.localkube.apiserver.types.codec import Decoded
from jobferry.localkube.apiserver.validation import metadata, names
from jobferry.objects import Obj
from jobferry.objects.gotext import quote
from jobferry.objects.govalues import text

_BLOCKING = frozenset(
    f"FieldValue{kind}"
    for kind in ("NotSupported", "Required", "TooLong", "TooMany", "TypeInvalid")
)
_NOT_CHECKED = (
    "some validation rules were not checked because the object was invalid; correct the existing"
    " errors to complete validation"
)
_VERBS = ("delete", "deletecollection", "get", "list", "patch", "create", "update", "watch")
"""In the order in which an API server lists them for custom resources."""
_STANDARD_FINALIZERS = ("orphan", "foregroundDeletion", "kubernetes")


def version_of(crd: Obj, name: str) -> Obj:
    """Return one version of a definition."""
    return next(each for each in crd["spec"]["versions"] if each["name"] == name)


class Custom:
    """All that is special about one version of a custom resource."""

    def __init__(self, crd: Obj, version: str) -> None:
        self.crd = crd
        self.is_cold = True
        """No object was checked yet: the schema is compiled with the first, which takes its time."""
        self.version = version_of(crd, version)
        spec = crd["spec"]
        self.kind: str = spec["names"]["kind"]
        self.api_version = f"{spec['group']}/{version}"
        self.namespaced = spec.get("scope") == "Namespaced"
        self.schema = Schema((self.version.get("schema") or {}).get("openAPIV3Schema"))
        self.has_status = (self.version.get("subresources") or {}).get("status") is not None
        self.scale = scale.of(self.version)
        self._left_out = ("metadata", "status") if self.has_status else ("metadata",)
        self._selectable = [
            (each["jsonPath"].removeprefix("."), jsonpath.compiled(each["jsonPath"]))
            for each in self.version.get("selectableFields") or ()
        ]

    @cached_property
    def shape(self) -> shapes.Shape:
        """How fields are owned and merged."""
        return merging.shape_of_schema(self.schema.raw)

    @cached_property
    def _status_schema(self) -> Schema | None:
        return self.schema.below("status")

    def decode(self, parsed: Obj, body: bytes | None = None) -> Decoded:
        """Return an object without what its schema does not know; raises `StatusError` (400)."""
        del body
        try:
            obj, unknown = self.schema.decode(parsed)
        except Unreadable as error:
            version = self.version["name"]
            about = f'{self.kind} in version "{version}" cannot be handled as a {self.kind}'
            raise status.bad_request(f"{about}: {error}") from error
        return Decoded(obj, [f'unknown field "{path}"' for path in unknown])

    def prepare_create(self, obj: Obj) -> None:
        """Begin without a status, if that is written elsewhere."""
        if self.has_status:
            obj.pop("status", None)

    def prepare_update(self, new: Obj, old: Obj) -> None:
        """Keep the status, if that is written elsewhere."""
        if self.has_status:
            new.pop("status", None)
            if "status" in old:
                new["status"] = old["status"]

    def prepare_status(self, new: Obj, old: Obj) -> None:
        """Keep all but the status and who manages it."""
        state = [new["status"]] if "status" in new else []
        managed = (new.get("metadata") or {}).get("managedFields")
        new.clear()
        new.update(old)
        new["metadata"] = {
            name: value for name, value in old["metadata"].items() if name != "managedFields"
        }
        if managed is not None:
            new["metadata"]["managedFields"] = managed
        new.pop("status", None)
        if state:
            new["status"] = state[0]

    def _type_problems(self, obj: Obj) -> list[Problem]:
        found: list[Problem] = []
        if obj.get("kind") != self.kind:
            words = f"must be {self.kind}"
            found.append(problems.invalid("kind", obj.get("kind") or "", words))
        if obj.get("apiVersion") != self.api_version:
            words = f"must be {self.api_version}"
            found.append(problems.invalid("apiVersion", obj.get("apiVersion") or "", words))
        return found

    def check_create(self, obj: Obj) -> list[Problem]:
        """Find what is wrong with a new object."""
        if wrong := self._type_problems(obj):
            return wrong
        found = list(
            metadata.create_problems(
                obj,
                namespaced=self.namespaced,
                name_problems=names.is_subdomain,
                legacy_finalizers=False,
            )
        )
        found += self.schema.problems(obj)
        found += self._scale_problems(obj)
        found += self.schema.embedded_problems(obj)
        found += self.schema.list_problems(obj)
        found += self._rule_problems(found, obj, None)
        self.is_cold = False
        return found

    def check_update(self, new: Obj, old: Obj) -> list[Problem]:
        """Find what is wrong with a changed object; what did not change is let pass."""
        if wrong := self._type_problems(new):
            return wrong
        found = list(metadata.update_problems(new, old, legacy_finalizers=False))
        found += self.schema.problems(new, old)
        found += self._scale_problems(new)
        found += self.schema.embedded_problems(new)
        found += self._new_duplicates(new, old)
        found += self._rule_problems(found, new, old)
        self.is_cold = False
        return found

    def check_status(self, new: Obj, old: Obj) -> list[Problem]:
        """Find what is wrong with a changed status."""
        if wrong := self._type_problems(new):
            return wrong
        found = list(metadata.update_problems(new, old, legacy_finalizers=False))
        if "status" in new and self._status_schema is not None:
            found += self._status_schema.problems(
                new["status"], old.get("status"), path="status"
            )
        if self.scale is not None:
            found += self.scale.status_problems(new)
        found += self._new_duplicates(new, old)
        return found + self._rule_problems(found, new, old)

    def _scale_problems(self, obj: Obj) -> list[Problem]:
        if self.scale is None:
            return []
        return self.scale.spec_problems(obj) + self.scale.status_problems(obj)

    def _new_duplicates(self, new: Obj, old: Obj) -> list[Problem]:
        found = self.schema.list_problems(new)
        return [] if found and self.schema.list_problems(old) else found

    def _rule_problems(self, found: list[Problem], new: Obj, old: Obj | None) -> list[Problem]:
        if self.schema.rules is None:
            return []
        if any(problem.reason in _BLOCKING for problem in found):
            return [problems.invalid("<nil>", None, _NOT_CHECKED)]
        return self.schema.rule_problems(new, old)[0]

    def warn_create(self, obj: Obj) -> Sequence[str]:
        """Warn of finalizers that others may use too."""
        return _finalizer_warnings(obj, None)

    def warn_update(self, new: Obj, old: Obj) -> Sequence[str]:
        """Warn of new finalizers, and of broken rules that were broken before."""
        return [*_finalizer_warnings(new, old), *self.schema.rule_problems(new, old)[1]]

    def versioned(self, obj: Obj) -> Any:
        """Return all that makes a new generation when it changes."""
        return {name: value for name, value in obj.items() if name not in self._left_out}

    def fields(self, obj: Obj) -> Mapping[str, str]:
        """Return what field selectors may ask for."""
        found: dict[str, str] = {}
        for name, find in self._selectable:
            results = find(obj)
            value = results[0] if results else None
            found[name] = "" if value is None else text(value)
        return found

    def unknown_field(self) -> str:
        """Return how other field selectors are refused."""
        return "field label not supported: {0}"


def _finalizer_warnings(obj: Obj, old: Obj | None) -> list[str]:
    given = set(obj["metadata"].get("finalizers") or ())
    if old is not None:
        given -= set(old["metadata"].get("finalizers") or ())
    found: list[str] = []
    prefer = "prefer a domain-qualified finalizer name"
    clash = "to avoid accidental conflicts with other finalizer writers"
    for name in sorted(given):
        start = f"metadata.finalizers: {quote(name)}:"
        found += [f"{start} {words}" for words in names.qualified_problems(name)]
        if "/" not in name and name not in _STANDARD_FINALIZERS:
            path = " including a path (/)" if "." in name else ""
            found.append(f"{start} {prefer}{path} {clash}")
    return found


def strategies(custom: Custom) -> tuple[Strategy, Strategy]:
    """Return how objects are made and changed, and how their status is."""
    fields: Callable[[Obj], Mapping[str, str]] = custom.fields
    field_names = frozenset(
        each["jsonPath"].removeprefix(".")
        for each in custom.version.get("selectableFields") or ()
    )
    main = Strategy(
        default=custom.schema.default,
        prepare_create=custom.prepare_create,
        prepare_update=custom.prepare_update,
        validate_create=custom.check_create,
        validate_update=custom.check_update,
        warn_create=custom.warn_create,
        warn_update=custom.warn_update,
        name_problems=names.is_subdomain,
        versioned=custom.versioned,
        fields=fields,
        field_names=field_names,
        unknown_field=custom.unknown_field(),
        unconditional_update=False,
        weight=weight.of(custom.schema.raw),
        reset_fields=("status",) if custom.has_status else (),
    )
    state = Strategy(
        default=custom.schema.default,
        prepare_update=custom.prepare_status,
        validate_update=custom.check_status,
        name_problems=names.is_subdomain,
        versioned=custom.versioned,
        fields=fields,
        field_names=field_names,
        unknown_field=custom.unknown_field(),
        unconditional_update=False,
        reset_fields=("spec",),
    )
    return main, state


def resource(crd: Obj, version: str) -> Resource:
    """Return one version of a definition as the server serves it, under the names it got."""
    custom = Custom(crd, version)
    main, state = strategies(custom)
    spec = crd["spec"]
    accepted = (crd.get("status") or {}).get("acceptedNames") or spec["names"]
    stored = definition.storage_version(crd)
    converter = conversion.converter(crd)
    subresources: dict[str, Subresource] = {}
    if custom.has_status:
        subresources["status"] = Subresource(strategy=state)
    if custom.scale is not None:
        subresources["scale"] = Subresource(
            kind="Scale",
            group="autoscaling",
            version="v1",
            scaling=custom.scale,
            places=scale.places(crd),
        )
    others = [
        f"{spec['group']}/{each['name']}"
        for each in spec["versions"]
        if each.get("served") and each["name"] != version
    ]
    differs = stored != version
    return Resource(
        group=spec["group"],
        version=version,
        kind=accepted["kind"],
        plural=definition.resource_name(crd)[1],
        singular=accepted["singular"],
        namespaced=custom.namespaced,
        strategy=main,
        codec=custom,
        columns=columns.of(custom.version),
        short_names=tuple(accepted.get("shortNames") or ()),
        categories=tuple(accepted.get("categories") or ()),
        verbs=_VERBS,
        subresources=subresources,
        built_in=False,
        stored_version=f"{spec['group']}/{stored}" if differs else "",
        other_versions=tuple(others),
        load=_loading(crd, converter, custom) if differs or _was_changed(crd) else None,
        save=_conversion(converter, Custom(crd, stored)) if differs else None,
        schema=publishing.schema_of(custom.version),
        deprecation=definition.deprecation(crd, custom.version),
        is_cold=lambda: custom.is_cold,
    )


def _was_changed(crd: Obj) -> bool:
    """Tell whether there may be objects that were stored under another definition than this."""
    return bool(crd["metadata"].get("generation", 1) > 1)


def _loading(crd: Obj, converter: conversion.Converter, to: Custom) -> Callable[[Obj], Obj]:
    """Return what makes objects of a version out of stored ones.

    They may be stored in any version, under an older schema: the one of now prunes and fills them first.
    """
    convert = _conversion(converter, to)
    schemas = {
        f"{crd['spec']['group']}/{each['name']}": Schema(
            (each.get("schema") or {}).get("openAPIV3Schema")
        )
        for each in crd["spec"]["versions"]
    }

    def load(obj: Obj) -> Obj:
        schema = schemas.get(obj["apiVersion"])
        if schema and obj["apiVersion"] == to.api_version and schema.leaves(obj):
            return obj
        found = defaulting.copied(obj)
        if schema:
            found = schema.decode(found)[0]
            schema.default(found)
        return convert(found)

    return load


def _conversion(converter: conversion.Converter, to: Custom) -> Callable[[Obj], Obj]:
    """Return what makes objects of a version out of others: what that version does not know is lost."""
    version = to.version["name"]

    def convert(obj: Obj) -> Obj:
        return to.schema.decode(converter.convert(obj, version))[0]

    return convert


def resources(crd: Obj) -> list[Resource]:
    """Return all versions of a definition that are served."""
    return [
        resource(crd, each["name"])
        for each in crd["spec"].get("versions") or ()
        if each.get("served")
    ]
