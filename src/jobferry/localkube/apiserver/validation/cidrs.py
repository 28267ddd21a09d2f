"""Ranges of IP addresses, as leniently as Kubernetes reads those of old fields."""

import ipaddress
import re
from collections.abc import Iterator, Sequence

from jobferry.localkube.apiserver import problems
from jobferry.localkube.apiserver.problems import Problem
from jobferry.localkube.apiserver.validation import addresses

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
