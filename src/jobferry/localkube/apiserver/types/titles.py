"""What a body says it is: `apiVersion` and `kind`, before anything else in it is read."""

from typing import Any

from jobferry.localkube.apiserver import status
from jobferry.localkube.apiserver.types import tables
from jobferry.localkube.apiserver.types.leaves import json_kind
from jobferry.objects import gotext, merge_keys
from jobferry.objects.patch_errors import Malformed

SCHEME = 'in scheme "pkg/api/legacyscheme/scheme.go:30"'

_STRUCT = (
    'struct { APIVersion string "json:\\"apiVersion,omitempty\\""; '
    'Kind string "json:\\"kind,omitempty\\"" }'
)
_FIELDS = {"apiversion": "apiVersion", "kind": "kind"}


class Unreadable(ValueError):
    """It cannot be told what a body is: "the object provided is unrecognized", because of this."""


def read(parsed: Any) -> tuple[str, str]:
    """Return apiVersion and kind, each empty if the body does not say, or raise Unreadable."""
    found = {"apiVersion": "", "kind": ""}
    if parsed is None:
        parsed = {}
    if not isinstance(parsed, dict):
        raise Unreadable(_wrong(parsed, f"Go value of type {_STRUCT}"))
    for key, value in parsed.items():
        # Here, and only here, Go does not care about capitals.
        name = _FIELDS.get(key.lower()) if value is not None else None
        if name is None:
            continue
        if not isinstance(value, str):
            raise Unreadable(_wrong(value, f"Go struct field .{name} of type string"))
        found[name] = value
    if found["apiVersion"].count("/") > 1:
        raise Unreadable(f"unexpected GroupVersion string: {found['apiVersion']}")
    return found["apiVersion"], found["kind"]


def _wrong(value: Any, into: str) -> str:
    why = f"json: cannot unmarshal {json_kind(value)} into {into}"
    return f"couldn't get version/kind; json parse error: {why}"


def check(found_version: str, found_kind: str, api_version: str, kind: str) -> None:
    """Raise a StatusError (400) unless a body is of the kind that an endpoint takes."""
    found_version, found_kind = found_version or api_version, found_kind or kind
    if (found_version, found_kind) == (api_version, kind):
        return
    version = found_version.rpartition("/")[2]
    about = f"{found_kind} in version {gotext.quote(version)} cannot be handled as a {kind}"
    if not _is_known(found_version, found_kind):
        raise status.bad_request(
            f"{about}: no kind {gotext.quote(found_kind)} is registered "
            f"for version {gotext.quote(found_version)} {SCHEME}"
        )
    if _internal(found_version, found_kind) == _internal(api_version, kind):
        raise status.bad_request(
            f"the API version in the data ({found_version}) does not match "
            f"the expected API version ({api_version})"
        )
    conversion = f"({version}.{found_kind}) to ({_internal(api_version, kind)})"
    raise status.bad_request(f"{about}: converting {conversion}: unknown conversion")


def _is_known(api_version: str, kind: str) -> bool:
    if tables.type_of(api_version, kind) is not None:
        return True
    try:
        merge_keys.fields_of(api_version, kind)
    except Malformed:
        return False
    return True


def _internal(api_version: str, kind: str) -> str:
    """Return the Go type that all versions of a kind are turned into."""
    group = api_version.rpartition("/")[0].partition(".")[0]
    return f"{'core' if group in ('', 'events') else group}.{kind}"
