"""The string formats that schemas may name, checked as kube-openapi checks them."""

import ipaddress
import re
import unicodedata
from collections.abc import Callable
from datetime import date

from jobferry.localkube.apiserver.crds import urls

_UUIDS = {
    "uuid": "[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}",
    "uuid3": "[0-9a-f]{8}-?[0-9a-f]{4}-?3[0-9a-f]{3}-?[0-9a-f]{4}-?[0-9a-f]{12}",
    "uuid4": "[0-9a-f]{8}-?[0-9a-f]{4}-?4[0-9a-f]{3}-?[89ab][0-9a-f]{3}-?[0-9a-f]{12}",
    "uuid5": "[0-9a-f]{8}-?[0-9a-f]{4}-?5[0-9a-f]{3}-?[89ab][0-9a-f]{3}-?[0-9a-f]{12}",
}
_BYTE = r"0|[1-9][0-9]?|1[0-9][0-9]?|2[0-4][0-9]|25[0-5]"
_SPACE = r"[\t\n\f\r ]*"
_PATTERNS = {
    **{name: f"(?ai){pattern}" for name, pattern in _UUIDS.items()},
    "hexcolor": "#?([0-9a-fA-F]{3}|[0-9a-fA-F]{6})",
    "rgbcolor": rf"rgb\({_SPACE}({_BYTE}){_SPACE},{_SPACE}({_BYTE}){_SPACE},{_SPACE}({_BYTE}){_SPACE}\)",
    "byte": "(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=|[A-Za-z0-9+/]{4})",
    "ssn": "(?=.{11}$)[0-9]{3}[- ]?[0-9]{2}[- ]?[0-9]{4}",
    "bsonobjectid": "[0-9a-fA-F]{24}",
    "k8sshortname": "(?=.{1,63}$)[a-z0-9]([-a-z0-9]*[a-z0-9])?",
    "k8slongname": r"(?=.{1,253}$)[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*",
}
_TIME = re.compile(
    r"([0-9]{2}):([0-9]{2}):([0-9]{2})(.[0-9]+)?(z|([+-][0-9]{2}:[0-9]{2}))", re.ASCII
)
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", re.ASCII)
_CARD = re.compile(
    "4[0-9]{12}(?:[0-9]{3})?|5[1-5][0-9]{14}|6(?:011|5[0-9][0-9])[0-9]{12}|3[47][0-9]{13}"
    "|3(?:0[0-5]|[68][0-9])[0-9]{11}|(?:2131|1800|35[0-9]{3})[0-9]{11}"
)
_GO_DURATION = re.compile(
    r"[-+]?(?:0|(?:(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:ns|us|µs|μs|ms|s|m|h))+)"
)
_DURATION_PART = re.compile(r"([0-9]+)[\t\n\f\r ]*([A-Za-zµ]+)")
_UNITS = (
    (("ns", "nano"), 1),
    (("us", "µs", "micro"), 10**3),
    (("ms", "milli"), 10**6),
    (("s", "sec"), 10**9),
    (("m", "min"), 60 * 10**9),
    (("h", "hr", "hour"), 3600 * 10**9),
    (("d", "day"), 86400 * 10**9),
    (("w", "wk", "week"), 604800 * 10**9),
)
_GO_PART = re.compile(r"([0-9]*\.?[0-9]*)(ns|us|µs|μs|ms|s|m|h)")
_GO_UNITS = {
    "ns": 1,
    "us": 10**3,
    "µs": 10**3,
    "μs": 10**3,
    "ms": 10**6,
    "s": 10**9,
    "m": 60 * 10**9,
    "h": 3600 * 10**9,
}


def go_duration(text: str) -> int | None:
    """Read a duration as Go's `time.ParseDuration` does, in nanoseconds; None: it is none."""
    if not _GO_DURATION.fullmatch(text):
        return None
    total = 0
    for number, unit in _GO_PART.findall(text):
        whole, _, fraction = number.partition(".")
        size = _GO_UNITS[unit]
        total += int(whole or 0) * size
        if fraction:
            total += int(fraction) * size // 10 ** len(fraction)
    total = -total if text.startswith("-") else total
    return total if -(2**63) <= total < 2**63 else None


def duration(text: str) -> int | None:
    """Read a duration as the format takes it ("22 ns", "3 days"), in nanoseconds; None: it is none."""
    if (exact := go_duration(text)) is not None:
        return exact
    total, found = 0, False
    for number, unit in _DURATION_PART.findall(text):
        lower = unit.lower()
        for variants, size in _UNITS:
            for variant in variants:
                if lower == variant or (variant == variants[-1] and lower.startswith(variant)):
                    total, found = total + int(number) * size, True
    return total if found else None


def is_date(text: str) -> bool:
    """Tell whether a text is a day, such as 2006-01-02."""
    if not _DATE.fullmatch(text):
        return False
    try:
        date.fromisoformat(text.replace("0000", "0004", 1) if text.startswith("0000") else text)
    except ValueError:
        return False
    return True


def is_date_time(text: str) -> bool:
    """Tell whether a text is a moment as RFC 3339 writes it."""
    day, _, time = text.lower().partition("t")
    found = _TIME.fullmatch(time.split("t")[0])
    return (
        len(text) >= 4
        and is_date(day)
        and found is not None
        and found[1] <= "23"
        and found[2] <= "59"
        and found[3] <= "59"
    )


def _is_url(text: str) -> bool:
    try:
        urls.parse(text)
    except urls.BadUrl:
        return False
    return True


def _sloppy(text: str) -> str:
    """Drop leading zeros of IPv4 numbers: they are read as decimal."""
    return re.sub(r"(?<![0-9A-Fa-f:])0+(?=[0-9])", "", text)


def _address(text: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(_sloppy(text)) if "%" not in text else None
    except ValueError:
        return None


def _is_cidr(text: str) -> bool:
    address, slash, bits = text.partition("/")
    parsed = _address(address)
    if parsed is None or not slash or not re.fullmatch("[0-9]{1,3}", bits):
        return False
    return int(bits) <= parsed.max_prefixlen


def _is_mac(text: str) -> bool:
    for separator, size in ((":", 2), ("-", 2), (".", 4)):
        parts = text.split(separator)
        if len(parts) * size in (12, 16, 40) and all(
            re.fullmatch(f"[0-9A-Fa-f]{{{size}}}", part) for part in parts
        ):
            return True
    return False


def _is_email(text: str) -> bool:
    address = re.fullmatch(r".*<([^<>]*)>\s*", text)
    local, at, domain = (address[1] if address else text.strip()).rpartition("@")
    atom = r"[^\s()<>\[\]:;@\\,.\"]+"
    plain = re.fullmatch(rf'{atom}(\.{atom})*|"[^"]*"', local)
    return bool(at and plain and re.fullmatch(rf"{atom}(\.{atom})*|\[[^\[\]]*\]", domain))


def _symbols(character: str) -> bool:
    return unicodedata.category(character)[0] in "SL" or character in "0123456789"


def _is_hostname(text: str) -> bool:
    labels = text.split(".")
    if not text or len(text.encode()) > 255 or any(len(each.encode()) > 63 for each in labels):
        return False
    if not all(_is_host_label(each) for each in labels):
        return False
    last = labels[-1]
    return len(labels) == 1 or (len(last) >= 2 and all(each.isalpha() for each in last))


def _is_host_label(label: str) -> bool:
    inner = label.replace("-", "")
    edges = bool(label) and label[0] != "-" and label[-1] != "-"
    return edges and bool(inner) and all(map(_symbols, inner))


def _is_card(text: str) -> bool:
    digits = re.sub("[^0-9]+", "", text)
    if not _CARD.fullmatch(digits):
        return False
    total = sum(
        number if index % 2 == 0 else sum(divmod(number * 2, 10))
        for index, number in enumerate(map(int, reversed(digits)))
    )
    return total % 10 == 0


def _is_isbn10(text: str) -> bool:
    plain = re.sub(r"[\s-]+", "", text)
    if not re.fullmatch("[0-9]{9}[0-9X]", plain):
        return False
    numbers = [10 if each == "X" else int(each) for each in plain]
    return sum(index * number for index, number in enumerate(numbers, 1)) % 11 == 0


def _is_isbn13(text: str) -> bool:
    plain = re.sub(r"[\s-]+", "", text)
    if not re.fullmatch("[0-9]{13}", plain):
        return False
    return (
        sum(int(each) * (3 if index % 2 else 1) for index, each in enumerate(plain)) % 10 == 0
    )


def _matcher(pattern: str) -> Callable[[str], bool]:
    match = re.compile(pattern).fullmatch
    return lambda text: match(text) is not None


CHECKS: dict[str, Callable[[str], bool]] = {
    **{name: _matcher(pattern) for name, pattern in _PATTERNS.items()},
    "uri": _is_url,
    "email": _is_email,
    "hostname": _is_hostname,
    "ipv4": lambda text: _address(text) is not None and "." in text,
    "ipv6": lambda text: _address(text) is not None and ":" in text,
    "cidr": _is_cidr,
    "mac": _is_mac,
    "isbn": lambda text: _is_isbn10(text) or _is_isbn13(text),
    "isbn10": _is_isbn10,
    "isbn13": _is_isbn13,
    "creditcard": _is_card,
    "password": lambda _text: True,
    "date": is_date,
    "duration": lambda text: duration(text) is not None,
    "datetime": is_date_time,
}
"""Tell whether a text has a format, by the format's name without dashes."""


def check_of(name: str) -> Callable[[str], bool] | None:
    """Return what tells whether a text has a format; None: the format is not known, and ignored."""
    return CHECKS.get(name.replace("-", ""))
