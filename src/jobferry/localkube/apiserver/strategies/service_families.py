"""The addresses of services: which families they have, and how the old and new fields agree.

localkube has no network. It keeps the addresses and ports that are given, and gives out none.
"""

from collections.abc import Iterator, Sequence

from jobferry.localkube.apiserver import problems
from jobferry.localkube.apiserver.problems import Problem
from jobferry.localkube.apiserver.validation import addresses
from jobferry.objects import Obj

NO_ADDRESS = "None"
IPV4, IPV6 = "IPv4", "IPv6"
_FAMILIES = (IPV4, IPV6)
_SINGLE, _DUAL = "SingleStack", "RequireDualStack"
_POLICIES = ("PreferDualStack", _DUAL, _SINGLE)


def needs_address(spec: Obj) -> bool:
    """Tell whether a service has an address in the cluster (None counts as one)."""
    return spec.get("type") != "ExternalName"


def is_headless(spec: Obj) -> bool:
    """Tell whether a service explicitly has no address."""
    return spec.get("clusterIPs") == [NO_ADDRESS]


def settle_create(spec: Obj) -> None:
    """Fill in the plural address, and the families."""
    if spec.get("clusterIP") and not spec.get("clusterIPs"):
        spec["clusterIPs"] = [spec["clusterIP"]]
    _settle_families(spec, {})


def settle_update(spec: Obj, before: Obj) -> None:
    """Fill in what an update leaves out, from what was there."""
    if needs_address(spec) and needs_address(before):
        for member in ("clusterIP", "clusterIPs"):
            if not spec.get(member) and before.get(member):
                spec[member] = before[member]
    _settle_plural(spec, before)
    _settle_families(spec, before)


def _settle_plural(spec: Obj, before: Obj) -> None:
    ours, theirs = spec.get("clusterIP") or "", before.get("clusterIP") or ""
    is_plural_same = (spec.get("clusterIPs") or []) == (before.get("clusterIPs") or [])
    if ours == theirs or not is_plural_same:
        return
    if ours:
        spec["clusterIPs"] = [ours]
    else:
        spec.pop("clusterIPs", None)


def _settle_families(spec: Obj, before: Obj) -> None:
    if not needs_address(spec):
        return
    is_loose = spec.get("clusterIP") == NO_ADDRESS and not spec.get("selector")
    if spec.get("ipFamilyPolicy") is None:
        old_policy = before.get("ipFamilyPolicy")
        spec["ipFamilyPolicy"] = old_policy or (_DUAL if is_loose else _SINGLE)
    if before and spec["ipFamilyPolicy"] == _SINGLE:
        _release_second(spec, before)
    if any(family_problems(spec, before)):
        return
    families = _families(spec) or [IPV4]
    if is_loose and len(families) == 1 and spec["ipFamilyPolicy"] != _SINGLE:
        families.append(IPV6 if families[0] == IPV4 else IPV4)
    spec["ipFamilies"] = families


def _release_second(spec: Obj, before: Obj) -> None:
    """Drop the second address and family: to ask for a single stack is enough."""
    for member in ("clusterIPs", "ipFamilies"):
        if len(spec.get(member) or ()) > 1 and spec[member] == before.get(member):
            spec[member] = spec[member][:1]


def _families(spec: Obj) -> list[str]:
    """Return the families that are asked for, or told by the addresses."""
    families = list(spec.get("ipFamilies") or ())
    given = [each for each in spec.get("clusterIPs") or () if each != NO_ADDRESS]
    families.extend(_family(each) for each in given[len(families) :])
    return families


def _family(text: str) -> str:
    address = addresses.parse(text)
    return IPV6 if address is not None and address.version == 6 else IPV4


def family_problems(spec: Obj, before: Obj) -> Iterator[Problem]:
    """Say what an API server finds before anything else: this cluster has IPv4 only."""
    if not needs_address(spec) or _is_unchanged_preference(spec, before):
        return
    found = list(address_problems(spec, before))
    if found:
        yield from found
        return
    found = [*_release_problems(spec, before), *_policy_problems(spec)]
    yield from found
    if found or (spec.get("clusterIP") == NO_ADDRESS and not spec.get("selector")):
        return
    policy = spec.get("ipFamilyPolicy")
    if policy == _DUAL:
        what = "this cluster is not configured for dual-stack services"
        yield problems.invalid("spec.ipFamilyPolicy", policy, what)
    for index, family in enumerate(spec.get("ipFamilies") or ()):
        if family != IPV4:
            what = "not configured on this cluster"
            yield problems.invalid(f"spec.ipFamilies[{index}]", family, what)


def _is_unchanged_preference(spec: Obj, before: Obj) -> bool:
    """Tell whether a service keeps the two families that it has, where two are only preferred."""
    return spec.get("ipFamilyPolicy") == "PreferDualStack" and all(
        (spec.get(member) or None) == (before.get(member) or None)
        for member in ("type", "ipFamilyPolicy", "clusterIP", "clusterIPs", "ipFamilies")
    )


def _release_problems(spec: Obj, before: Obj) -> Iterator[Problem]:
    policy = spec.get("ipFamilyPolicy")
    if policy == _SINGLE:
        return
    for member, what in (("clusterIPs", "cluster IP"), ("ipFamilies", "IP family")):
        ours, theirs = spec.get(member) or (), before.get(member) or ()
        if 0 < len(ours) < len(theirs):
            detail = f"must be 'SingleStack' to release the secondary {what}"
            yield problems.invalid("spec.ipFamilyPolicy", policy, detail)


def _policy_problems(spec: Obj) -> Iterator[Problem]:
    policy, given = spec.get("ipFamilyPolicy"), spec.get("clusterIPs") or []
    families = spec.get("ipFamilies") or []
    if policy == _SINGLE:
        for found, what in ((given, "cluster IPs"), (families, "IP families")):
            if len(found) == 2:
                detail = (
                    "must be 'RequireDualStack' or 'PreferDualStack' when multiple "
                    f"{what} are specified"
                )
                yield problems.invalid("spec.ipFamilyPolicy", policy, detail)
    for index, text in enumerate(given):
        if text == NO_ADDRESS:
            return
        if index >= len(families) and _family(text) == IPV6:
            field, what = f"spec.clusterIPs[{index}]", "IPv6 is not configured on this cluster"
            yield problems.invalid(field, given, what)


def address_problems(spec: Obj, before: Obj) -> Iterator[Problem]:
    """Say what is wrong with the addresses and families as such."""
    given = spec.get("clusterIPs") or []
    yield from _plural_problems(spec.get("clusterIP") or "", given)
    seen: set[str] = set()
    for index, family in enumerate(spec.get("ipFamilies") or ()):
        field = f"spec.ipFamilies[{index}]"
        if family not in _FAMILIES:
            yield problems.not_in_enum(field, family, _FAMILIES)
        if family in seen:
            yield problems.duplicate(field, family)
        seen.add(family)
    policy = spec.get("ipFamilyPolicy")
    if policy is not None and policy not in _POLICIES:
        yield problems.not_in_enum("spec.ipFamilyPolicy", policy, _POLICIES)
    found = list(_each_problems(given, before.get("clusterIPs") or ()))
    yield from found
    if len(given) > 2:
        yield problems.invalid("spec.clusterIPs", given, "may only hold up to 2 values")
    if not found:
        yield from _pair_problems(spec, given)


def _plural_problems(single: str, given: list[str]) -> Iterator[Problem]:
    field = "spec.clusterIPs"
    if single and not given:
        yield problems.required(field)
    elif single and given[0] != single:
        yield problems.invalid(field, given, "first value must match `clusterIP`")
    elif given and not single:
        what = "must be empty when `clusterIP` is not specified"
        yield problems.invalid(field, given, what)


def _each_problems(given: list[str], kept: Sequence[str]) -> Iterator[Problem]:
    for index, text in enumerate(given):
        if index == 0 and text == NO_ADDRESS:
            if len(given) > 1:
                what = "'None' must be the first and only value"
                yield problems.invalid("spec.clusterIPs", given, what)
        elif text not in kept:
            yield from addresses.address_problems(f"spec.clusterIPs[{index}]", text)


def _pair_problems(spec: Obj, given: list[str]) -> Iterator[Problem]:
    if len(given) > 1 and len(set(map(_family, given))) < 2:
        what = "may specify no more than one IP for each IP family"
        yield problems.invalid("spec.clusterIPs", given, what)
    if is_headless(spec):
        return
    pairs = zip(given, spec.get("ipFamilies") or (), strict=False)
    for index, (text, family) in enumerate(pairs):
        if family in _FAMILIES and family != _family(text):
            what = f"expected an {family} value as indicated by `ipFamilies[{index}]`"
            yield problems.invalid(f"spec.clusterIPs[{index}]", text, what)


def change_problems(spec: Obj, before: Obj) -> Iterator[Problem]:
    """Say which address or family was changed that may not be."""
    if not needs_address(spec) or not needs_address(before):
        return
    if is_headless(spec) and is_headless(before):
        return
    ours, theirs = spec.get("clusterIPs") or [], before.get("clusterIPs") or []
    field, what = "spec.clusterIPs[{}]", "may not change once set"
    if theirs and not ours:
        what = "primary clusterIP can not be unset"
        yield problems.invalid(field.format(0), None, what)
    elif len(ours) == len(theirs):
        for index, old in enumerate(theirs):
            if old != ours[index]:
                yield problems.invalid(field.format(index), ours, what)
    elif theirs and ours[0] != theirs[0]:
        yield problems.invalid(field.format(0), ours, what)
    if is_headless(spec) == is_headless(before):
        yield from _changed_families(spec, before)


def _changed_families(spec: Obj, before: Obj) -> Iterator[Problem]:
    ours, theirs = spec.get("ipFamilies") or [], before.get("ipFamilies") or []
    if len(ours) == len(theirs):
        for old, new in zip(theirs, ours, strict=True):
            if old != new:
                what = "may not change once set"
                yield problems.invalid("spec.ipFamilies[0]", ours, what)
