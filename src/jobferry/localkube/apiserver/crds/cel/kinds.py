"""Values that Kubernetes adds to CEL: quantities, URLs, addresses, networks, named formats."""

import ipaddress
import re
from collections.abc import Callable, Sequence
from typing import Any

from jobferry.localkube.apiserver.crds import formats, urls
from jobferry.localkube.apiserver.crds.cel.library import declare
from jobferry.localkube.apiserver.crds.cel.values import (
    NONE,
    CelError,
    Cidr,
    Format,
    Optional,
)
from jobferry.localkube.apiserver.validation import names
from jobferry.objects import labels, quantities
from jobferry.objects.gotext import quote
from jobferry.objects.quantities import Quantity

_Address = ipaddress.IPv4Address | ipaddress.IPv6Address


def _quantity(text: str) -> Quantity:
    try:
        # Where JSON is read, spaces around do not count; here they do.
        return quantities.parse(text if text == text.strip() else "x")
    except quantities.BadQuantity as error:
        raise CelError(error.reason) from error


def _is(read: Callable[..., Any]) -> Callable[..., bool]:
    def check(*args: Any) -> bool:
        try:
            read(*args)
        except CelError:
            return False
        return True

    return check


def _whole(quantity: Quantity) -> int | None:
    if quantity.scale < 0 or quantity.scale > 18:
        return None
    number = quantity.unscaled * 10**quantity.scale
    return number if -(2**63) <= number < 2**63 else None


def _as_integer(quantity: Quantity) -> int:
    number = _whole(quantity)
    if number is None:
        raise CelError("cannot convert value to integer")
    return number


def _compare(one: Any, other: Any) -> int:
    return int(one > other) - int(one < other)


def _quantities() -> None:
    declare("quantity", "string -> Quantity", _quantity)
    declare("isQuantity", "string -> bool", _is(_quantity))
    declare("sign", "Quantity -> int", lambda q: _compare(q.unscaled, 0))
    declare("isGreaterThan", "Quantity.(Quantity) -> bool", lambda a, b: a > b)
    declare("isLessThan", "Quantity.(Quantity) -> bool", lambda a, b: a < b)
    declare("compareTo", "Quantity.(Quantity) -> int", _compare)
    declare(
        "asApproximateFloat",
        "Quantity.() -> double",
        lambda q: float(f"{q.unscaled}e{q.scale}"),
    )
    declare("asInteger", "Quantity.() -> int", _as_integer)
    declare("isInteger", "Quantity.() -> bool", lambda q: _whole(q) is not None)
    declare("add", "Quantity.(Quantity) -> Quantity", lambda a, b: a + b)
    declare("add", "Quantity.(int) -> Quantity", lambda a, b: a + Quantity(b))
    declare("sub", "Quantity.(Quantity) -> Quantity", lambda a, b: a - b)
    declare("sub", "Quantity.(int) -> Quantity", lambda a, b: a - Quantity(b))


def _url(text: str) -> urls.Url:
    try:
        return urls.parse(text)
    except urls.BadUrl as error:
        words = f"URL parse error during conversion from string: {error}"
        raise CelError(words) from error


def _urls() -> None:
    declare("url", "string -> URL", _url)
    declare("isURL", "string -> bool", _is(_url))
    declare("getScheme", "URL.() -> string", lambda url: url.scheme)
    declare("getHost", "URL.() -> string", lambda url: url.host)
    declare("getHostname", "URL.() -> string", lambda url: url.hostname)
    declare("getPort", "URL.() -> string", lambda url: url.port)
    declare("getEscapedPath", "URL.() -> string", lambda url: url.escaped_path)
    declare("getQuery", "URL.() -> map(string, list(string))", urls.Url.values)


def _ip(text: str) -> _Address:
    if "%" in text:
        raise CelError(f"IP address {quote(text)} with zone value is not allowed")
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        raise CelError(
            f"IP Address {quote(text)} parse error during conversion from string:"
            f" ParseAddr({quote(text)}): unable to parse IP"
        ) from None
    if isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped:
        raise CelError(f"IPv4-mapped IPv6 address {quote(text)} is not allowed")
    return address


def _cidr(text: str) -> Cidr:
    address, slash, bits = text.partition("/")
    words = "network address parse error during conversion from string"
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        parsed = None
    if parsed is not None and "%" in address:
        zones = "IPv6 zones cannot be present in a prefix"
        raise CelError(f"{words}: {words}: netip.ParsePrefix({quote(text)}): {zones}")
    plain = re.fullmatch("0|[1-9][0-9]{0,2}", bits)
    if parsed is None or not slash or not plain or int(bits) > parsed.max_prefixlen:
        raise CelError(
            f"{words}: {words}: netip.ParsePrefix({quote(text)}): no '/'"
            if not slash
            else f"{words}: {words}: netip.ParsePrefix({quote(text)}): bad bits after slash: {quote(bits)}"
        )
    if isinstance(parsed, ipaddress.IPv6Address) and parsed.ipv4_mapped:
        raise CelError(f"{words}: IPv4-mapped IPv6 address {quote(text)} is not allowed")
    return Cidr(parsed, int(bits))


def _contains_ip(network: Cidr, address: _Address) -> bool:
    return address in network.network()


def _contains_text(network: Cidr, text: str) -> bool:
    try:
        address = _ip(text)
    except CelError:
        # As upstream: what is no address fits no overload.
        raise CelError("no such overload") from None
    return _contains_ip(network, address)


def _contains_cidr(network: Cidr, other: Cidr) -> bool:
    ours, theirs = network.network(), other.network()
    return (
        ours.version == theirs.version and ours.overlaps(theirs) and network.bits <= other.bits
    )


def _is_global(address: _Address) -> bool:
    broadcast = ipaddress.ip_address("255.255.255.255")
    return not (
        address.is_unspecified
        or address.is_loopback
        or address.is_multicast
        or address.is_link_local
        or address == broadcast
    )


def _link_local_multicast(address: _Address) -> bool:
    block = "224.0.0.0/24" if address.version == 4 else "ff02::/16"
    return address in ipaddress.ip_network(block)


def _addresses() -> None:
    declare("ip", "string -> IP", _ip)
    declare("isIP", "string -> bool", _is(_ip))
    declare("ip.isCanonical", "string -> bool", lambda text: str(_ip(text)) == text)
    declare("family", "IP.() -> int", lambda address: address.version)
    declare("isUnspecified", "IP.() -> bool", lambda address: address.is_unspecified)
    declare("isLoopback", "IP.() -> bool", lambda address: address.is_loopback)
    declare("isLinkLocalMulticast", "IP.() -> bool", _link_local_multicast)
    declare("isLinkLocalUnicast", "IP.() -> bool", lambda address: address.is_link_local)
    declare("isGlobalUnicast", "IP.() -> bool", _is_global)
    declare("string", "IP -> string", str)
    declare("cidr", "string -> CIDR", _cidr)
    declare("isCIDR", "string -> bool", _is(_cidr))
    declare("containsIP", "CIDR.(string) -> bool", _contains_text)
    declare("containsIP", "CIDR.(IP) -> bool", _contains_ip)
    declare(
        "containsCIDR",
        "CIDR.(string) -> bool",
        lambda net, text: _contains_cidr(net, _cidr(text)),
    )
    declare("containsCIDR", "CIDR.(CIDR) -> bool", _contains_cidr)
    declare("ip", "CIDR.() -> IP", lambda net: net.address)
    declare("prefixLength", "CIDR.() -> int", lambda net: net.bits)
    declare(
        "masked",
        "CIDR.() -> CIDR",
        lambda net: Cidr(net.network().network_address, net.bits),
    )
    declare("string", "CIDR -> string", str)


Named = Callable[[str, bool], Sequence[str]]


def _whole_name(check: Named) -> Callable[[str], list[str]]:
    return lambda text: list(check(text, False))


def _prefix(check: Named) -> Callable[[str], list[str]]:
    return lambda text: list(check(text, True))


def _matching(name: str, words: str) -> Callable[[str], list[str]]:
    check = formats.CHECKS[name]
    return lambda text: [] if check(text) else [words]


def _uri(text: str) -> list[str]:
    try:
        urls.parse(text)
    except urls.BadUrl as error:
        return [str(error)]
    return []


FORMATS = {
    "dns1123Label": Format("DNS1123Label", _whole_name(names.is_label)),
    "dns1123Subdomain": Format("DNS1123Subdomain", _whole_name(names.is_subdomain)),
    "dns1035Label": Format("DNS1035Label", _whole_name(names.is_old_label)),
    "qualifiedName": Format("QualifiedName", labels.key_problems),
    "dns1123LabelPrefix": Format("DNS1123LabelPrefix", _prefix(names.is_label)),
    "dns1123SubdomainPrefix": Format("DNS1123SubdomainPrefix", _prefix(names.is_subdomain)),
    "dns1035LabelPrefix": Format("DNS1035LabelPrefix", _prefix(names.is_old_label)),
    "labelValue": Format("LabelValue", labels.value_problems),
    "uri": Format("URI", _uri),
    "uuid": Format("uuid", _matching("uuid", "does not match the UUID format")),
    "byte": Format("byte", _matching("byte", "invalid base64")),
    "date": Format("date", _matching("date", "invalid date")),
    "datetime": Format("datetime", _matching("datetime", "invalid datetime")),
}


def _validate(form: Format, text: str) -> Optional:
    found = form.problems(text)
    return Optional(True, found) if found else NONE


def _named(name: str) -> Optional:
    return Optional(True, FORMATS[name]) if name in FORMATS else NONE


def _named_formats() -> None:
    declare("validate", "Format.(string) -> optional(list(string))", _validate)
    declare("format.named", "string -> optional(Format)", _named)
    for name, form in FORMATS.items():
        declare(f"format.{name}", " -> Format", lambda form=form: form)


_quantities()
_urls()
_addresses()
_named_formats()
