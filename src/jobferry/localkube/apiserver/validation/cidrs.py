"""Ranges of IP addresses, as leniently as Kubernetes reads those of old fields."""

import ipaddress
import re
from collections.abc import Iterator, Sequence

from jobferry.localkube.apiserver import problems
from jobferry.localkube.apiserver.problems import Problem
from jobferry.localkube.apiserver.validation import addresses
from jobferry.objects import gotext

_LENGTH = re.compile(r"[0-9]{1,3}").fullmatch

Interface = ipaddress.IPv4Interface | ipaddress.IPv6Interface


def parse(text: str) -> Interface | None:
    """Read an address with the length of its prefix; leading zeros do no harm."""
    address, slash, length = text.partition("/")
    found = addresses.parse(address)
    if found is None or not slash or not _LENGTH(length):
        return None
    if int(length) > found.max_prefixlen:
        return None
    return ipaddress.ip_interface(f"{found}/{int(length)}")


def cidr_problems(field: str, text: str) -> Iterator[Problem]:
    """Complain about what is no range of addresses."""
    if parse(text) is None:
        what = "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)"
        yield problems.invalid(field, text, what)


def are_dual(texts: Sequence[str]) -> bool:
    """Tell whether there are ranges of both families."""
    return len({found.version for each in texts if (found := parse(each))}) == 2


def warnings(field: str, text: str) -> Iterator[str]:
    """Warn of a range that is written in an unusual way."""
    found = parse(text)
    if found is None:
        return
    network = str(found.network)
    is_ambiguous = found.ip != found.network.network_address
    if is_ambiguous:
        single = f"{found.ip}/{found.max_prefixlen}"
        yield (
            f"{field}: CIDR value {gotext.quote(text)} is ambiguous in this context "
            f"(should be {gotext.quote(network)} or {gotext.quote(single)}?)"
        )
    exact = str(found)
    if found.version == 4 and exact != text:
        yield (
            f"{field}: non-standard CIDR value {gotext.quote(text)} will be considered invalid "
            f"in a future Kubernetes release: use {gotext.quote(network)}"
        )
    elif not is_ambiguous and exact != text:
        yield (
            f"{field}: IPv6 CIDR value {gotext.quote(text)} should be in RFC 5952 canonical "
            f"format ({gotext.quote(exact)})"
        )
