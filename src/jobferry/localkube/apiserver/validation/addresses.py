"""IP addresses, as leniently as Kubernetes reads those of old fields."""

import ipaddress
import re
from collections.abc import Iterator

from jobferry.localkube.apiserver import problems
from jobferry.localkube.apiserver.problems import Problem

_LEADING_ZEROS = re.compile(
    r"(?<![0-9a-fA-F:.])0+(?=[0-9])|(?<=\.)0+(?=[0-9])|(?<=:)0+(?=[0-9]+\.)"
)

Address = ipaddress.IPv4Address | ipaddress.IPv6Address


def parse(text: str) -> Address | None:
    """Read an address; leading zeros in an IPv4 address do no harm."""
    if not text.isascii() or "%" in text or "/" in text:
        return None
    try:
        return ipaddress.ip_address(_LEADING_ZEROS.sub("", text) if "." in text else text)
    except ValueError:
        return None


def _is_four(address: Address) -> bool:
    """Tell whether an address is of IPv4, also one that is written as if it were not."""
    return address.version == 4 or address.ipv4_mapped is not None


def address_problems(field: str, text: str) -> Iterator[Problem]:
    """Complain about what is no IP address."""
    if parse(text) is None:
        what = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"
        yield problems.invalid(field, text, what)


def family_problems(field: str, found: list[str]) -> Iterator[Problem]:
    """Complain about more than one address of a family."""
    if len(found) < 2:
        return
    parsed = [parse(each) for each in found]
    if None in parsed:
        first = parsed.index(None)
        why = f"failed to check for dual stack with error:invalid IP[{first}]: {found[first]}"
        yield Problem("InternalError", field, f"Internal error: {why}")
    families = {_is_four(address) for address in parsed if address}
    if len(found) > 2 or len(families) < 2:
        what = "may specify no more than one IP for each IP family"
        yield problems.invalid(field, [{"IP": each} for each in found], what)
