"""In what form a client wants its answer: the Accept header."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache

from jobferry.localkube.apiserver import status

JSON = "application/json"
YAML = "application/yaml"
PROTOBUF = "application/vnd.kubernetes.protobuf"
TEXT = "text/plain"

_OFFERED = f"{JSON}, {YAML}, {PROTOBUF}"
"""What a real server says it could answer with; clients that list JSON as well get JSON from us."""
_STREAMS = f"{JSON};stream=watch, {PROTOBUF};stream=watch"


@dataclass(frozen=True, slots=True)
class Form:
    """What we answer with, as JSON: the object itself, or something made of it."""

    kind: str = ""
    """Table or PartialObjectMetadata(List); empty: the object itself."""
    version: str = ""


PLAIN = Form()
_WRITTEN = (JSON, "application/*", "*/*")

_TRANSFORMS = {"Table": ("v1", "v1beta1"), "PartialObjectMetadata": ("v1", "v1beta1")}
_TRANSFORMS["PartialObjectMetadataList"] = _TRANSFORMS["PartialObjectMetadata"]


@lru_cache(maxsize=256)
def form(header: str, *, streams: bool = False, tables: bool = True) -> Form:
    """Choose the form of an object or a list; of what may also be a stream, a refusal says so.

    Some kinds have no columns: without `tables` the next form is taken that the client would accept.
    """
    known = (JSON, YAML, PROTOBUF, "*/*")
    types = [media_type for media_type, _ in _clauses(header)]
    if header and not any(each in known for each in types):
        offered = f"{_OFFERED}, {_STREAMS}" if streams else _OFFERED
        raise status.not_acceptable(
            f"406: Not Acceptable\n\nAvailable representations: {offered}"
        )
    return _chosen(header, _object_form if tables else _untabled_form)


def check_text(header: str) -> None:
    """Refuse a client that could not take an object in place of a text, as a server does with logs."""
    if not header:
        return
    clauses = list(_clauses(header))
    if not any(each in (TEXT, JSON, YAML, PROTOBUF, "*/*") for each, _ in clauses):
        offered = f"{TEXT}, {_OFFERED}"
        raise status.not_acceptable(
            f"406: Not Acceptable\n\nAvailable representations: {offered}"
        )
    objects = (JSON, YAML, PROTOBUF, "application/*", "*/*")
    if not any(each in objects and "as" not in parameters for each, parameters in clauses):
        why = f"only the following media types are accepted: {_OFFERED}"
        raise status.not_convertible(why)


@lru_cache(maxsize=64)
def discovery_form(header: str, *, aggregated: bool) -> Form:
    """Choose the form of discovery; only its two roots may be aggregated."""
    return _chosen(header, _discovery_form if aggregated else _plain_form)


def _chosen(header: str, accept: Callable[[str, dict[str, str]], Form | None]) -> Form:
    if not header:
        return PLAIN
    for media_type, parameters in _clauses(header):
        found = accept(media_type, parameters)
        if found is not None:
            return found
    raise _unmet(header)


def _unmet(header: str) -> status.StatusError:
    # To somebody who wants nothing but YAML or protobuf they are not offered: we do not write them.
    types = {media_type for media_type, _ in _clauses(header)}
    offered = JSON if types <= {YAML, PROTOBUF} else _OFFERED
    return status.not_convertible(f"only the following media types are accepted: {offered}")


def _object_form(media_type: str, parameters: dict[str, str]) -> Form | None:
    if media_type not in _WRITTEN or parameters.get("stream", "watch") != "watch":
        return None
    if not {"as", "g", "v"} & parameters.keys():
        return PLAIN
    kind, version = parameters.get("as", ""), parameters.get("v", "")
    if parameters.get("g") == "meta.k8s.io" and version in _TRANSFORMS.get(kind, ()):
        return Form(kind, version)
    return None


def _untabled_form(media_type: str, parameters: dict[str, str]) -> Form | None:
    found = _object_form(media_type, parameters)
    return None if found is not None and found.kind == "Table" else found


def _discovery_form(media_type: str, parameters: dict[str, str]) -> Form | None:
    if media_type not in _WRITTEN:
        return None
    if "as" not in parameters:
        return PLAIN
    wanted = (parameters["as"], parameters.get("g"))
    if wanted == ("APIGroupDiscoveryList", "apidiscovery.k8s.io"):
        version = parameters.get("v", "")
        is_known = version == "v2" and media_type == JSON
        return Form("APIGroupDiscoveryList", version) if is_known else None
    return None


def _plain_form(media_type: str, parameters: dict[str, str]) -> Form | None:
    return None if "as" in parameters else _discovery_form(media_type, parameters)


def _clauses(header: str) -> Iterator[tuple[str, dict[str, str]]]:
    """Split a header into media types with their parameters, the most wanted first."""
    found = []
    for clause in header.split(","):
        media_type, *rest = (part.strip() for part in clause.split(";"))
        parameters = dict(part.split("=", 1) for part in rest if "=" in part)
        found.append((_quality(parameters.pop("q", "1")), media_type, parameters))
    found.sort(key=lambda each: -each[0])
    return ((media_type, parameters) for quality, media_type, parameters in found if quality)


def _quality(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return 1.0
