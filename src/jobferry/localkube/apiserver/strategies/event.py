"""Event: what happened to an object; the same stored objects in the core group and in events.k8s.io.

What comes through the core group is checked leniently; what comes through events.k8s.io, strictly.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import orjson

from jobferry.localkube.apiserver import problems
from jobferry.localkube.apiserver.problems import Problem
from jobferry.localkube.apiserver.strategy import Strategy
from jobferry.localkube.apiserver.types import event_forms
from jobferry.localkube.apiserver.validation import metadata, names, values
from jobferry.objects import Obj

_MAX_WORD = 128
"""Bytes of an action, a reason, an instance."""
_MAX_NOTE = 1024
_MISMATCH = "does not match event.namespace"
_UNSET = "needs to be unset"

_INVOLVED = ("kind", "namespace", "name", "uid", "apiVersion", "resourceVersion", "fieldPath")
_GO_REFERENCE = dict(
    zip(
        ("Kind", "Namespace", "Name", "UID", "APIVersion", "ResourceVersion", "FieldPath"),
        ("kind", "namespace", "name", "uid", "apiVersion", "resourceVersion", "fieldPath"),
        strict=True,
    )
)
_GO_SOURCE = {"Component": "component", "Host": "host"}

# -- what is checked for both (events in their core form) -----------------------------------------


def _legacy_problems(event: Obj, controller_field: str) -> Iterator[Problem]:
    namespace = event["metadata"].get("namespace", "")
    involved = (event.get("involvedObject") or {}).get("namespace", "")
    if event.get("eventTime"):
        allowed = bool(involved) or namespace in ("default", "kube-system")
    else:
        allowed = namespace == involved if involved else namespace in ("", "default")
    if not allowed:
        yield problems.invalid("involvedObject.namespace", involved, _MISMATCH)
    if event.get("eventTime"):
        yield from _new_style_problems(event, controller_field)
    yield from values.subdomain("namespace", namespace)


def _new_style_problems(event: Obj, controller_field: str) -> Iterator[Problem]:
    controller = event.get("reportingComponent", "")
    if not controller:
        yield problems.required(controller_field)
    yield from values.qualified(controller_field, controller)
    for field in ("reportingInstance", "action", "reason"):
        text = event.get(field, "")
        if not text:
            yield problems.required(field)
        yield from _length_problems(field, text, _MAX_WORD)
    yield from _length_problems("message", event.get("message", ""), _MAX_NOTE)


def _length_problems(field: str, text: str, limit: int) -> Iterator[Problem]:
    if names.size(text) > limit:
        yield problems.invalid(field, "", f"can have at most {limit} characters")


# -- what is checked in events.k8s.io only --------------------------------------------------------


def _strict_problems(event: Obj) -> Iterator[Problem]:
    yield from metadata.create_problems(
        event, namespaced=True, name_problems=names.is_subdomain
    )
    yield from _series_problems(event)
    if not event.get("eventTime"):
        yield problems.required("eventTime")
    if event.get("type") not in ("Normal", "Warning"):
        yield problems.invalid("type", "", f"has invalid value: {event.get('type', '')}")
    for field in ("firstTimestamp", "lastTimestamp", "count"):
        if event.get(field):
            yield problems.invalid(field, "", _UNSET)
    if any((event.get("source") or {}).values()):
        yield problems.invalid("source", "", _UNSET)


def _series_problems(event: Obj) -> Iterator[Problem]:
    series = event.get("series")
    if series is None:
        return
    if series.get("count", 0) < 2:
        yield problems.invalid("series.count", "", "should be at least 2")
    if not series.get("lastObservedTime"):
        yield problems.required("series.lastObservedTime")


def _strict_update_problems(new: Obj, old: Obj) -> Iterator[Problem]:
    yield from metadata.update_problems(new, old)
    if new.get("series") != old.get("series"):
        yield from _series_problems(new)
    yield from _unchanged(new, old, "involvedObject", _GO_REFERENCE)
    yield from _unchanged(new, old, "reason", "")
    yield from _unchanged(new, old, "message", "")
    yield from _unchanged(new, old, "source", _GO_SOURCE)
    yield from _unchanged(new, old, "firstTimestamp")
    yield from _unchanged(new, old, "lastTimestamp")
    yield from _unchanged(new, old, "count", 0)
    # Upstream asks twice, and lists it twice.
    yield from _unchanged(new, old, "reason", "")
    yield from _unchanged(new, old, "type", "")
    yield from _unchanged(new, old, "eventTime")
    yield from _unchanged(new, old, "action", "")
    yield from _unchanged(new, old, "related", _GO_REFERENCE)
    controller = new.get("reportingComponent", "")
    before = old.get("reportingComponent", "")
    yield from values.immutable("reportingController", controller, before)
    yield from _unchanged(new, old, "reportingInstance", "")


def _unchanged(new: Obj, old: Obj, field: str, empty: Any = None) -> Iterator[Problem]:
    """Complain about a change; `empty` is what stands for nothing, or the Go names of a struct."""
    now, before = new.get(field), old.get(field)
    if (now or None) == (before or None):
        return
    if isinstance(empty, dict):
        shown = orjson.dumps(_go_struct(now, empty, field)).decode()
        body = f"Invalid value: {shown}: {values.IMMUTABLE}"
        yield Problem("FieldValueInvalid", field, body)
    else:
        yield problems.invalid(field, now or empty, values.IMMUTABLE)


def _go_struct(value: Obj | None, names_of: Mapping[str, str], field: str) -> Obj | None:
    """Show a part as Go's struct without JSON names looks; only what may be missing can be null."""
    if value is None and field == "related":
        return None
    return {shown: (value or {}).get(name, "") for shown, name in names_of.items()}


# -- the two strategies ---------------------------------------------------------------------------


def _validate_core(event: Obj) -> Sequence[Problem]:
    return list(_legacy_problems(event, "reportingComponent"))


def _validate_core_update(new: Obj, _old: Obj) -> Sequence[Problem]:
    return _validate_core(new)


def _validate_new(event: Obj) -> Sequence[Problem]:
    core = event_forms.to_core(event)
    return [*_legacy_problems(core, "reportingController"), *_strict_problems(core)]


def _validate_new_update(new: Obj, old: Obj) -> Sequence[Problem]:
    ours, theirs = event_forms.to_core(new), event_forms.to_core(old)
    return [
        *_legacy_problems(ours, "reportingController"),
        *_strict_update_problems(ours, theirs),
    ]


def _core_fields(event: Obj) -> Mapping[str, str]:
    controller = event.get("reportingComponent", "")
    source = (event.get("source") or {}).get("component") or controller
    return {
        **_reference_fields(event.get("involvedObject") or {}, "involvedObject"),
        "reason": event.get("reason", ""),
        "reportingComponent": controller,
        "source": source,
        "type": event.get("type", ""),
    }


def _new_fields(event: Obj) -> Mapping[str, str]:
    return {
        **_reference_fields(event.get("regarding") or {}, "regarding"),
        "reason": event.get("reason", ""),
        "reportingController": event.get("reportingController", ""),
        "type": event.get("type", ""),
    }


def _reference_fields(reference: Obj, prefix: str) -> dict[str, str]:
    return {f"{prefix}.{member}": reference.get(member, "") for member in _INVOLVED}


STRATEGY = Strategy(
    validate_create=_validate_core,
    validate_update=_validate_core_update,
    name_problems=names.is_path_segment,
    versioned=None,
    fields=_core_fields,
    field_names=frozenset(_core_fields({})),
    unknown_field="field label not supported: {0}",
    create_on_update=True,
    default_propagation="",
)
"""Events of the core group."""

NEW_STRATEGY = Strategy(
    validate_create=_validate_new,
    validate_update=_validate_new_update,
    name_problems=names.is_subdomain,
    versioned=None,
    fields=_new_fields,
    field_names=frozenset(_new_fields({})),
    unknown_field="field label not supported: {0}",
    create_on_update=True,
    default_propagation="",
)
"""Events of events.k8s.io, in their own form."""
