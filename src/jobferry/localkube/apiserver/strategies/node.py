"""Node: what pods run on; who registers one may bring its status along."""

from collections.abc import Iterator, Mapping, Sequence

import orjson

from jobferry.localkube.apiserver import problems
from jobferry.localkube.apiserver.problems import Problem
from jobferry.localkube.apiserver.strategies import keeping
from jobferry.localkube.apiserver.strategy import Strategy
from jobferry.localkube.apiserver.validation import cidrs, metadata, names, resources, values
from jobferry.objects import Obj

_EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")
_CIDR_CHANGED = 'node updates may not change podCIDR except from "" to valid'
_PROVIDER_CHANGED = 'node updates may not change providerID except from "" to valid'


def _default(node: Obj) -> None:
    status, spec = node.get("status") or {}, node.get("spec") or {}
    if status.get("capacity") and not status.get("allocatable"):
        status["allocatable"] = dict(status["capacity"])
    for part in ("capacity", "allocatable"):
        if amounts := status.get(part):
            status[part] = {name: resources.rounded(text) for name, text in amounts.items()}
    # The singular is the older name for the first of them, and wins.
    first = spec.get("podCIDR")
    if first and (spec.get("podCIDRs") or [""])[0] != first:
        spec["podCIDRs"] = [first]
    elif spec.get("podCIDRs"):
        spec["podCIDR"] = spec["podCIDRs"][0]


def _prepare_create(node: Obj) -> None:
    (node.get("spec") or {}).pop("configSource", None)
    for gated in ("config", "declaredFeatures"):
        (node.get("status") or {}).pop(gated, None)


def _prepare_update(new: Obj, old: Obj) -> None:
    keeping.status(new, old)
    if "configSource" not in (old.get("spec") or {}):
        (new.get("spec") or {}).pop("configSource", None)


def _prepare_status(new: Obj, old: Obj) -> None:
    keeping.spec(new, old)
    if "config" not in (old.get("status") or {}):
        (new.get("status") or {}).pop("config", None)


def _validate_create(node: Obj) -> Sequence[Problem]:
    return list(_problems(node))


def _validate_update(new: Obj, old: Obj) -> Sequence[Problem]:
    return [*_problems(new), *_update_problems(new, old)]


def _validate_status(new: Obj, old: Obj) -> Sequence[Problem]:
    return list(_update_problems(new, old))


def _problems(node: Obj) -> Iterator[Problem]:
    spec = node.get("spec") or {}
    yield from metadata.create_problems(
        node, namespaced=False, name_problems=names.is_subdomain
    )
    yield from _taints_problems(spec.get("taints") or ())
    yield from _amounts_problems(node)
    yield from _swap_problems(node)
    yield from _cidrs_problems(spec.get("podCIDRs") or [])


def _taints_problems(taints: Sequence[Obj]) -> Iterator[Problem]:
    seen = set()
    for index, taint in enumerate(taints):
        # Upstream looks in the spec, and reports the metadata.
        field = f"metadata.taints[{index}]"
        key, value = taint.get("key", ""), taint.get("value", "")
        yield from values.qualified(f"{field}.key", key)
        if complaints := names.label_value_problems(value):
            yield problems.invalid(f"{field}.value", value, ";".join(complaints))
        yield from values.one_of(f"{field}.effect", taint.get("effect"), _EFFECTS)
        if (key, taint.get("effect")) in seen:
            yield _repeated_taint(field, taint)
        seen.add((key, taint.get("effect")))


def _repeated_taint(field: str, taint: Obj) -> Problem:
    shown = {
        "Key": taint.get("key", ""),
        "Value": taint.get("value", ""),
        "Effect": taint.get("effect", ""),
        "TimeAdded": taint.get("timeAdded"),
    }
    what = "taints must be unique by key and effect pair"
    body = f"Duplicate value: {orjson.dumps(shown).decode()}: {what}"
    return Problem("FieldValueDuplicate", field, body)


def _amounts_problems(node: Obj) -> Iterator[Problem]:
    status = node.get("status") or {}
    for part in ("capacity", "allocatable"):
        for name, text in (status.get(part) or {}).items():
            yield from resources.amount_problems(name, text, f"status.{part}.{name}")


def _swap_problems(node: Obj) -> Iterator[Problem]:
    info = (node.get("status") or {}).get("nodeInfo") or {}
    capacity = (info.get("swap") or {}).get("capacity")
    if capacity is not None:
        yield from values.positive("metadata.nodeSwapStatus.capacity", capacity)


def _cidrs_problems(found: list[str]) -> Iterator[Problem]:
    for index, text in enumerate(found):
        yield from cidrs.cidr_problems(f"spec.podCIDRs[{index}]", text)
    if len(found) > 1 and (len(found) > 2 or not cidrs.are_dual(found)):
        what = "may specify no more than one CIDR for each IP family"
        yield problems.invalid("spec.podCIDRs", found, what)


def _update_problems(new: Obj, old: Obj) -> Iterator[Problem]:
    spec, before = new.get("spec") or {}, old.get("spec") or {}
    yield from metadata.update_problems(new, old)
    yield from _amounts_problems(new)
    yield from _addresses_problems((new.get("status") or {}).get("addresses") or ())
    yield from _changed_cidrs(spec.get("podCIDRs") or [], before.get("podCIDRs") or [])
    provider = before.get("providerID")
    if provider and provider != spec.get("providerID"):
        yield problems.forbidden("spec.providerID", _PROVIDER_CHANGED)
    yield from _taints_problems(spec.get("taints") or ())
    if spec.get("externalID", "") != before.get("externalID", ""):
        yield problems.forbidden("spec.externalID", "may not be updated")


def _changed_cidrs(ours: list[str], theirs: list[str]) -> Iterator[Problem]:
    if theirs and len(ours) != len(theirs):
        yield problems.forbidden("spec.podCIDRs", _CIDR_CHANGED)
    elif theirs:
        for new, old in zip(ours, theirs, strict=True):
            if new != old:
                yield problems.forbidden("spec.podCIDRs", _CIDR_CHANGED)


def _addresses_problems(addresses: Sequence[Obj]) -> Iterator[Problem]:
    seen = set()
    for index, address in enumerate(addresses):
        key = (address.get("type", ""), address.get("address", ""))
        if key in seen:
            shown = orjson.dumps({"Type": key[0], "Address": key[1]}).decode()
            field = f"status.addresses[{index}]"
            yield Problem("FieldValueDuplicate", field, f"Duplicate value: {shown}")
        seen.add(key)


def _fields(node: Obj) -> Mapping[str, str]:
    is_closed = (node.get("spec") or {}).get("unschedulable")
    return {"spec.unschedulable": "true" if is_closed else "false"}


STRATEGY = Strategy(
    default=_default,
    prepare_create=_prepare_create,
    prepare_update=_prepare_update,
    validate_create=_validate_create,
    validate_update=_validate_update,
    name_problems=names.is_subdomain,
    versioned=None,
    fields=_fields,
    field_names=frozenset({"spec.unschedulable"}),
    unknown_field="field label not supported: {0}",
    reset_fields=("status",),
)
"""Nodes."""

STATUS = Strategy(
    default=_default,
    prepare_update=_prepare_status,
    validate_update=_validate_status,
    name_problems=names.is_subdomain,
    versioned=None,
    reset_fields=("spec",),
)
"""nodes/status."""
