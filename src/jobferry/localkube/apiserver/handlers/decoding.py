"""The object in the body of a request."""

from typing import Any

import orjson

from jobferry.localkube.apiserver import status
from jobferry.localkube.apiserver.handlers import pacing
from jobferry.localkube.apiserver.handlers.backend import Backend
from jobferry.localkube.apiserver.managed.updating import forgets
from jobferry.localkube.apiserver.requests import body, yaml_document
from jobferry.localkube.apiserver.requests.accept import PROTOBUF, YAML
from jobferry.localkube.apiserver.requests.call import Call
from jobferry.localkube.apiserver.requests.options import IGNORE, STRICT
from jobferry.localkube.apiserver.resource import Codec, Resource
from jobferry.localkube.apiserver.types import duplicates, protobuf, tables
from jobferry.localkube.apiserver.types.codec import BuiltIn, Decoded
from jobferry.localkube.apiserver.types.messages import Malformed
from jobferry.objects import Obj

NO_KIND = "couldn't get version/kind; json parse error: "


def decode(
    call: Call,
    codec: Codec,
    api_version: str,
    kind: str,
    validation: str,
    *,
    also: str = "",
) -> Obj:
    """Return the object of a kind that a body holds, or say why it holds none.

    It may say that it is of the version `also`, which has the same fields.
    """
    media_type = body.check_readable(call.headers.get("content-type", ""))
    text: bytes | None = None
    repeated: list[str] = []
    if media_type == PROTOBUF:
        parsed = _from_protobuf(call.body, api_version, kind)
    elif media_type == YAML:
        parsed, repeated = _from_yaml(call, kind)
    else:
        text = call.body
        parsed = _from_json(text, kind)
        repeated = duplicates.find(text, parsed, api_version, kind)
        if repeated and isinstance(codec, BuiltIn):
            parsed = duplicates.merged(text)
    if also and parsed.get("apiVersion") == also:
        parsed["apiVersion"] = api_version
    if isinstance(codec, BuiltIn):
        _check_kind(parsed, api_version, kind, call.body)
    else:
        _check_custom_kind(parsed, api_version, kind, call.body)
        parsed = body.untyped(parsed) if body.has_long_numbers(call.body) else parsed
    call.forgets_owners = forgets(parsed)
    handled = (
        f'{kind} in version "{api_version.rpartition("/")[2]}" cannot be handled as a {kind}'
    )
    decoded = codec.decode(parsed, text)
    if text is not None and repeated and isinstance(codec, BuiltIn):
        # With what is there twice, all that a strict reader finds comes in the order of the text.
        decoded, repeated = Decoded(decoded.obj), duplicates.strict(text, api_version, kind)
    return known(call, decoded, repeated, validation, handled, yaml=media_type == YAML)


async def posted(
    backend: Backend,
    call: Call,
    api_version: str,
    kind: str,
    validation: str,
    *,
    also: str = "",
) -> Obj:
    """Return the object of a built-in kind that a body holds, as `decode` does."""
    codec = BuiltIn(api_version, kind)
    return await pacing.computed(
        backend, len(call.body), decode, call, codec, api_version, kind, validation, also=also
    )


async def whole(backend: Backend, call: Call, resource: Resource, validation: str) -> Obj:
    """Return the object of a resource that a body holds, with its defaults filled in."""
    work = pacing.work_of(resource, len(call.body))
    return await pacing.computed(backend, work, _whole, call, resource, validation)


def _whole(call: Call, resource: Resource, validation: str) -> Obj:
    obj = decode(call, resource.codec, resource.api_version, resource.kind, validation)
    obj.setdefault("metadata", {})
    resource.strategy.default(obj)
    return obj


def known(
    call: Call,
    decoded: Decoded,
    repeated: list[str],
    validation: str,
    handled: str,
    *,
    yaml: bool = False,
) -> Obj:
    """Return what the type knows of an object; what it does not know is reported as `validation` says."""
    if validation == STRICT and (repeated or decoded.strict):
        first = [yaml_document.errors(repeated)] if yaml and repeated else repeated
        strict = ", ".join([*first, *decoded.strict])
        raise status.bad_request(f"{handled}: strict decoding error: {strict}")
    if validation != IGNORE:
        for each in (*repeated, *decoded.strict):
            call.warn(each)
    return decoded.obj


def _from_protobuf(data: bytes, api_version: str, kind: str) -> Obj:
    try:
        found = protobuf.decode(data, api_version, kind)
    except Malformed as error:
        if error.kind:
            version = error.api_version.rpartition("/")[2]
            about = f'{error.kind} in version "{version}" cannot be handled as a {kind}'
            raise status.bad_request(f"{about}: {error}") from error
        raise _unrecognized(kind, str(error), data) from error
    return {**found.obj, "kind": found.kind, "apiVersion": found.api_version}


def _from_yaml(call: Call, kind: str) -> tuple[Obj, list[str]]:
    try:
        found = body.document(call)
    except ValueError as error:
        raise _unrecognized(kind, str(error), call.body) from error
    return _readable(found.value, call.body, kind), found.repeated


def _from_json(data: bytes, kind: str) -> Obj:
    try:
        return _readable(body.parse_json(data), data, kind, text=data)
    except ValueError as error:
        raise _unrecognized(kind, f"{NO_KIND}{error}", data) from error


def _readable(parsed: Any, data: bytes, kind: str, text: bytes | None = None) -> Obj:
    """Return an object, or say why it is none; JSON tells at a glance whether it is deep."""
    if parsed is None:
        return {}
    if why := unreadable(parsed):
        raise _unrecognized(kind, why, data)
    if body.is_too_deep(parsed, text):
        raise _unrecognized(kind, "json: exceeded max depth", data)
    found: Obj = parsed
    return found


def _check_kind(parsed: Obj, api_version: str, kind: str, data: bytes) -> None:
    """Refuse an object of another kind; one that does not say is taken for the right one."""
    if why := unreadable(parsed):
        raise _unrecognized(kind, why, data)
    found_version = parsed.get("apiVersion") or api_version
    found_kind = parsed.get("kind") or kind
    if (found_version, found_kind) == (api_version, kind):
        return
    version = found_version.rpartition("/")[2]
    why = _other_kind(found_version, found_kind, api_version, kind)
    raise status.bad_request(
        f'{found_kind} in version "{version}" cannot be handled as a {kind}: {why}'
    )


def _check_custom_kind(parsed: Obj, api_version: str, kind: str, data: bytes) -> None:
    """Refuse a custom object that does not say what it is; that its kind is right is checked later."""
    if why := untitled(parsed, data):
        raise _unrecognized(kind, why, data)
    if parsed["apiVersion"] != api_version:
        raise status.bad_request(
            f"the API version in the data ({parsed['apiVersion']}) does not match "
            f"the expected API version ({api_version})"
        )


def untitled(parsed: Any, data: bytes | None = None) -> str:
    """Say why nobody can know what a custom object is, read from `data` if it was; nothing if it says so."""
    if why := unreadable(parsed):
        return why
    for name, title in (("kind", "Kind"), ("apiVersion", "apiVersion")):
        if not parsed.get(name):
            shown = orjson.dumps(parsed, option=orjson.OPT_SORT_KEYS) if data is None else data
            return f"Object '{title}' is missing in '{shown.decode(errors='replace')}'"
    return ""


def unreadable(parsed: Any) -> str:
    """Say why the kind of an object cannot be read; nothing if it can."""
    if not isinstance(parsed, dict):
        return (
            f"{NO_KIND}json: cannot unmarshal "
            f"{go_type(parsed)} into Go value of type struct {{ APIVersion string "
            '"json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }'
        )
    for name in ("apiVersion", "kind"):
        value = parsed.get(name)
        if value is not None and not isinstance(value, str):
            return f"{NO_KIND}json: cannot unmarshal {go_type(value)} into Go struct field .{name} of type string"
    version = parsed.get("apiVersion") or ""
    return f"unexpected GroupVersion string: {version}" if version.count("/") > 1 else ""


def _other_kind(found_version: str, found_kind: str, api_version: str, kind: str) -> str:
    """Say why an object of one kind cannot be taken for one of another."""
    is_list = (found_version, found_kind) == ("v1", "List")
    if tables.type_of(found_version, found_kind) is None and not is_list:
        return f'no kind "{found_kind}" is registered for version "{found_version}"'
    version = found_version.rpartition("/")[2]
    package = api_version.rpartition("/")[0].partition(".")[0] or "core"
    return f"converting ({version}.{found_kind}) to ({package}.{kind}): unknown conversion"


def kind_problem(patched: Any, resource: Resource) -> str:
    """Say why a patched object is not of the kind that it was; nothing if it is."""
    if not isinstance(patched, dict):
        return ""
    if why := unreadable(patched):
        return why
    version = patched.get("apiVersion") or resource.api_version
    kind = patched.get("kind") or resource.kind
    if (version, kind) == (resource.api_version, resource.kind):
        return ""
    if tables.type_of(version, kind) is not None:
        try:
            BuiltIn(version, kind).decode(patched)
        except status.StatusError as error:
            words = str(error).partition(f" cannot be handled as a {kind}: ")
            return words[2] or words[0]
    return _other_kind(version, kind, resource.api_version, resource.kind)


def go_type(value: Any) -> str:
    """Return what Go calls a JSON value."""
    names = {list: "array", dict: "object", str: "string", bool: "bool", type(None): "null"}
    return names.get(type(value), "number")


def _unrecognized(kind: str, why: str, data: bytes) -> status.StatusError:
    return status.bad_request(
        f"the object provided is unrecognized (must be of type {kind}): "
        f"{why} ({body.summary(data)})"
    )
