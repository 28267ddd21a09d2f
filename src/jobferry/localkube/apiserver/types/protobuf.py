"""Objects in protobuf, as Go clients send them, turned into what their JSON would be.

What comes out still has to go through the codec: it fills in zero values and knows canonical forms.
"""

from typing import NamedTuple

from jobferry.localkube.apiserver.types import messages, tables
from jobferry.localkube.apiserver.types.wire import Malformed
from jobferry.objects import Obj, gotext

MAGIC = b"k8s\x00"
_SCHEME = 'in scheme "pkg/api/legacyscheme/scheme.go:30"'


class Decoded(NamedTuple):
    """An object, and the kind that it says it is."""

    api_version: str
    kind: str
    obj: Obj


def decode(data: bytes, api_version: str = "", kind: str = "") -> Decoded:
    """Read a body of type application/vnd.kubernetes.protobuf, or raise Malformed (a ValueError).

    `api_version` and `kind` are those of an object that does not say. What went wrong after the kind
    was known carries it (`Malformed.kind`): the two are reported differently.
    """
    if not data:
        raise Malformed("empty data")
    if not data.startswith(MAGIC):
        expected = " ".join(str(byte) for byte in MAGIC)
        raise Malformed(
            f"provided data does not appear to be a protobuf message, expected prefix [{expected}]"
        )
    if len(data) == len(MAGIC):
        raise Malformed("empty body")
    envelope = messages.read_envelope(data[len(MAGIC) :])
    found_version = envelope.api_version or api_version
    found_kind = envelope.kind or kind
    struct = tables.type_of(found_version, found_kind)
    if struct is None:
        raise Malformed(
            f"no kind {gotext.quote(found_kind)} is registered for version "
            f"{gotext.quote(found_version)} {_SCHEME}",
            found_version,
            found_kind,
        )
    try:
        obj = messages.read(struct.name, envelope.raw)
    except Malformed as error:
        raise Malformed(str(error), found_version, found_kind) from error
    return Decoded(found_version, found_kind, obj)
