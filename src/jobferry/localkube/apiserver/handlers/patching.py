"""PATCH: change parts of an object; four types of patches, server-side apply among them."""

from collections.abc import Callable
from typing import Any

from jobferry.localkube.apiserver import status
from jobferry.localkube.apiserver.handlers import (
    creating,
    decoding,
    patch_refusals,
    rendering,
    writing,
)
from jobferry.localkube.apiserver.handlers.backend import Backend
from jobferry.localkube.apiserver.handlers.intent import Intent
from jobferry.localkube.apiserver.managed.applying import applied
from jobferry.localkube.apiserver.managed.updating import forgets
from jobferry.localkube.apiserver.requests import body, yaml_document
from jobferry.localkube.apiserver.requests.call import Answer, Call
from jobferry.localkube.apiserver.requests.options import IGNORE, STRICT, write_options
from jobferry.localkube.apiserver.resource import Resource
from jobferry.localkube.apiserver.storage.entry import Entry
from jobferry.localkube.apiserver.types import conversion, duplicates
from jobferry.localkube.apiserver.types.codec import Decoded
from jobferry.objects import (
    Obj,
    json_patch,
    merge_keys,
    merge_patch,
    patch_errors,
    strategic_patch,
)

JSON_PATCH = "application/json-patch+json"
MERGE_PATCH = "application/merge-patch+json"
STRATEGIC_PATCH = "application/strategic-merge-patch+json"
APPLY = "application/apply-patch+yaml"

BUILT_IN_TYPES = (JSON_PATCH, MERGE_PATCH, STRATEGIC_PATCH, APPLY)
CUSTOM_TYPES = (JSON_PATCH, MERGE_PATCH, APPLY)


async def patch(backend: Backend, call: Call, resource: Resource) -> Answer:
    """Change an object as the body says."""
    intent, transform, applies = intended(backend, call, resource)
    may_create = applies and not call.target.subresource
    written = await writing.update(backend, intent, transform, may_create=may_create)
    code = 201 if written.created else 200
    return await creating.answer(backend, call, resource, written, code)


def intended(
    backend: Backend, call: Call, resource: Resource
) -> tuple[Intent, writing.Transform, bool]:
    """Return what the body asks for, and whether it applies a configuration."""
    media_type = call.headers.get("content-type", "").partition(";")[0].strip()
    types = BUILT_IN_TYPES if resource.built_in else CUSTOM_TYPES
    if media_type not in types:
        if media_type in BUILT_IN_TYPES:
            raise body.unknown_type(", ".join(types))
        what = "415: Unsupported Media Type"
        raise status.StatusError(415, "UnsupportedMediaType", what, details={})
    applies = media_type == APPLY
    wanted = write_options(call.query, kind="PatchOptions", applies=applies)
    intent = Intent.of(call, resource, wanted, backend.clock.now())
    transform = _apply(intent) if applies else _change(intent, media_type)
    return intent, transform, applies


def _change(intent: Intent, media_type: str) -> writing.Transform:
    """Return what changes a stored object."""
    resource, call = intent.resource, intent.call
    validation = intent.options.validation

    def transform(entry: Entry | None) -> Obj:
        if entry is None:
            raise status.not_found(resource.group, resource.plural, intent.name)
        parsed = _parsed(call.body, media_type)
        repeated = [] if validation == IGNORE else duplicates.find(call.body)
        if media_type == JSON_PATCH:
            repeated = [f"json patch {each}" for each in repeated]
        change = _changer(resource, media_type, parsed)
        try:
            patched = change(rendering.private(resource, entry))
        except patch_errors.BadPatch as error:
            raise _refused(error) from error
        strategic = media_type == STRATEGIC_PATCH

        def misfit(why: str, *, has_misfits: bool = False) -> status.StatusError:
            if strategic:
                return patch_refusals.refused(
                    patch_refusals.patch_text(parsed, rendering.current(resource, entry)), why
                )
            shown = patch_refusals.patched_text(resource, entry, change)
            # Of several, the first in the text is told.
            told = patch_refusals.first(resource, shown) if has_misfits else ""
            return patch_refusals.refused(shown, told or why)

        new = _decoded(intent, patched, repeated, misfit, strategic=strategic)
        _settle(intent, new)
        writing.set_managed_fields(rendering.current(resource, entry), new, intent)
        return new

    return transform


def _changer(resource: Resource, media_type: str, parsed: Any) -> Callable[[Obj], Any]:
    if media_type == JSON_PATCH:
        return lambda obj: _shallow(json_patch.apply(obj, parsed))
    if media_type == MERGE_PATCH:
        return lambda obj: merge_patch.apply(obj, merge_patch.checked(parsed))
    known = _merge_fields(resource)
    return lambda obj: strategic_patch.apply(obj, parsed, known)


def _shallow(obj: Any) -> Any:
    """Refuse what copies of itself made too deep: no other type of patch can do that."""
    if body.is_too_deep(obj):
        raise status.bad_request("json: exceeded max depth")
    return obj


def _merge_fields(resource: Resource) -> merge_keys.Fields:
    """Return how fields are merged; of a CRD nothing is marked but what all objects have in common."""
    if resource.kind == "CustomResourceDefinition":
        return {"metadata": merge_keys.fields_of("v1", "ConfigMap")["metadata"]}
    return merge_keys.fields_of(resource.api_version, resource.kind)


def _decoded(
    intent: Intent,
    patched: Any,
    repeated: list[str],
    misfit: Callable[..., status.StatusError],
    *,
    strategic: bool,
) -> Obj:
    """Return a patched object as its type knows it."""
    intent.call.forgets_owners = isinstance(patched, dict) and forgets(patched)
    resource, validation = intent.resource, intent.options.validation
    if not strategic and (why := _kind_problem(patched, resource)):
        raise misfit(why)
    try:
        decoded = _read(resource, patched, converted=strategic)
    except status.StatusError as error:
        why = patch_refusals.words_of(resource, error)
        if strategic:
            why = conversion.misfit(resource.api_version, resource.kind, patched) or why
        raise misfit(why, has_misfits=True) from error
    strict = [*repeated, *(sorted(decoded.strict) if strategic else decoded.strict)]
    if strict and validation == STRICT:
        raise misfit(f"strict decoding error: {', '.join(strict)}")
    if validation != IGNORE:
        for each in strict:
            intent.call.warn(each)
    new = decoded.obj
    new.setdefault("metadata", {})
    resource.strategy.default(new)
    return new


def _read(resource: Resource, patched: Any, *, converted: bool) -> Decoded:
    """Return what the type makes of an object; one that Go converts may have numbers it has no room for."""
    try:
        return resource.codec.decode(patched)
    except status.StatusError:
        api_version, kind = resource.api_version, resource.kind
        if not converted or conversion.misfit(api_version, kind, patched):
            raise
        return resource.codec.decode(conversion.cut(api_version, kind, patched))


def _kind_problem(patched: Any, resource: Resource) -> str:
    if resource.built_in:
        return decoding.kind_problem(patched, resource)
    return decoding.untitled(patched)


def _settle(intent: Intent, new: Obj) -> None:
    writing.set_namespace(new, intent)
    writing.check_name(new, intent)


def _apply(intent: Intent) -> writing.Transform:
    """Return what applies the configuration in the body."""
    resource, call = intent.resource, intent.call
    validation = intent.options.validation

    def transform(entry: Entry | None) -> Obj:
        config, repeated = _configuration(call)
        # A copy: parts of it become parts of the new object, which is changed in place.
        live = None if entry is None else rendering.private(resource, entry)
        if live is None:
            _check_new(intent, config)
        merged = applied(
            live,
            config,
            resource.endpoint(intent.subresource),
            manager=intent.options.manager,
            force=intent.options.force,
            now=intent.now,
        )
        _report_repeated(call, repeated, validation)
        try:
            # What fits the shape and is unknown all the same goes without a word.
            new = _read(resource, merged, converted=True).obj
        except status.StatusError as error:
            raise patch_refusals.not_applied(resource, config, merged, error) from error
        new.setdefault("metadata", {})
        resource.strategy.default(new)
        _settle(intent, new)
        return new

    return transform


def _check_new(intent: Intent, config: Obj) -> None:
    """Refuse to create an object for somebody who means one that was there."""
    uid = (config.get("metadata") or {}).get("uid")
    if uid:
        why = f"uid mismatch: the provided object specified uid {uid}, and no existing object was found"
        raise status.conflict(intent.resource.group, intent.resource.plural, intent.name, why)


def _report_repeated(call: Call, repeated: list[str], validation: str) -> None:
    """Say which keys a configuration has twice."""
    if repeated and validation == STRICT:
        raise status.bad_request(
            "error strict decoding YAML: error converting YAML to JSON: "
            f"{yaml_document.errors(repeated)}"
        )
    for line in repeated if validation != IGNORE else ():
        call.warn(line)


def _configuration(call: Call) -> tuple[Obj, list[str]]:
    """Return what is applied, and which keys it has twice."""
    try:
        config, repeated = body.document(call)
    except ValueError as error:
        why = f"error converting YAML to JSON: {error}"
        raise status.bad_request(f"error decoding YAML: {why}") from error
    if config is None:
        return {}, []
    if not isinstance(config, dict):
        why = (
            "error unmarshaling JSON: while decoding JSON: json: cannot unmarshal "
            f"{decoding.go_type(config)} into Go value of type map[string]interface {{}}"
        )
        raise status.bad_request(f"error decoding YAML: {why}")
    if body.is_too_deep(config):
        raise status.bad_request("error decoding YAML: exceeded max depth")
    return config, repeated


def _parsed(data: bytes, media_type: str) -> Any:
    start = "" if media_type == STRATEGIC_PATCH else "error decoding patch: "
    try:
        parsed = body.parse_json(data)
    except ValueError as error:
        raise status.bad_request(f"{start}{error}") from error
    if body.is_too_deep(parsed, data):
        raise status.bad_request(f"{start}json: exceeded max depth")
    return _whole(parsed) if media_type == STRATEGIC_PATCH else parsed


def _whole(value: Any) -> Any:
    """Make integers of numbers like 2.0: a strategic patch is not read by type, but converted to it."""
    if isinstance(value, dict):
        return {key: _whole(each) for key, each in value.items()}
    if isinstance(value, list):
        return list(map(_whole, value))
    return int(value) if isinstance(value, float) and value.is_integer() else value


_REASONS = {
    400: "BadRequest",
    413: "RequestEntityTooLarge",
    422: "Invalid",
    500: "",
}


def _refused(error: patch_errors.BadPatch) -> status.StatusError:
    details: Obj | None = {} if error.code == 422 else None
    return status.StatusError(error.code, _REASONS[error.code], error.answer, details=details)
