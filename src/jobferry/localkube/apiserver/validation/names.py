"""What is wrong with a name, a key or a port, in the words of an API server.

Each function returns the complaints about one text, none if it is fine.
"""

import re
from collections.abc import Callable, Sequence
from functools import lru_cache

from jobferry.objects import labels
from jobferry.objects.gotext import quote

NameProblems = Callable[[str, bool], Sequence[str]]
"""(name, is_prefix): what is wrong with a name, or with what a name will begin with."""

_LABEL = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN = rf"{_LABEL}(\.{_LABEL})*"
_LOOSE_LABEL = r"_?[a-z0-9]([-_a-z0-9]*[a-z0-9])?"
_LOOSE_SUBDOMAIN = rf"{_LOOSE_LABEL}(\.{_LOOSE_LABEL})*"
_OLD_LABEL = r"[a-z]([-a-z0-9]*[a-z0-9])?"
_CONFIG_KEY = r"[-._a-zA-Z0-9]+"
_HTTP_HEADER = r"[-A-Za-z0-9]+"
HTTP_PATH = r"[A-Za-z0-9/\-._~%!$&'()*+,;=:]+"


def must_match(what: str, pattern: str, *examples: str) -> str:
    """Say that a text does not match a pattern, and show what does."""
    if not examples:
        return f"{what} (regex used for validation is '{pattern}')"
    shown = " or ".join(f"'{example}', " for example in examples)
    return f"{what} (e.g. {shown}regex used for validation is '{pattern}')"


_BAD_LABEL = must_match(
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', "
    "and must start and end with an alphanumeric character",
    _LABEL,
    "my-name",
    "123-abc",
)
_BAD_SUBDOMAIN = must_match(
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or "
    "'.', and must start and end with an alphanumeric character",
    _SUBDOMAIN,
    "example.com",
)
_BAD_LOOSE_SUBDOMAIN = must_match(
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '_', "
    "'-' or '.', and must start and end with an alphanumeric character",
    _LOOSE_SUBDOMAIN,
    "example.com",
)
_BAD_OLD_LABEL = must_match(
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an "
    "alphabetic character, and end with an alphanumeric character",
    _OLD_LABEL,
    "my-name",
    "abc-123",
)
_BAD_CONFIG_KEY = must_match(
    "a valid config key must consist of alphanumeric characters, '-', '_' or '.'",
    _CONFIG_KEY,
    "key.name",
    "KEY_NAME",
    "key-name",
)
_BAD_HTTP_HEADER = must_match(
    "a valid HTTP header must consist of alphanumeric characters or '-'",
    _HTTP_HEADER,
    "X-Header-Name",
)
_BAD_ENV_NAME = (
    "a valid environment variable name must consist only of printable ASCII characters "
    "other than '='"
)

_label = re.compile(_LABEL).fullmatch
_subdomain = re.compile(_SUBDOMAIN).fullmatch
_loose_subdomain = re.compile(_LOOSE_SUBDOMAIN).fullmatch
_old_label = re.compile(_OLD_LABEL).fullmatch
_config_key = re.compile(_CONFIG_KEY).fullmatch
_http_header = re.compile(_HTTP_HEADER).fullmatch
_env_name = re.compile(r"[ -<>-~]*").fullmatch
_port_characters = re.compile(r"[-a-z0-9]+").fullmatch
_port_letter = re.compile(r"[a-z]").search

MAX_INT32 = 2**31 - 1


def size(text: str) -> int:
    """Return the length of a text as Go counts it: in bytes."""
    return len(text) if text.isascii() else len(text.encode(errors="surrogatepass"))


def at_most(length: int) -> str:
    """Say how long a text may be."""
    return f"must be no more than {length} characters"


def between(low: int, high: int) -> str:
    """Say what range a number must be in."""
    return f"must be between {low} and {high}, inclusive"


@lru_cache(maxsize=4096)
def label_problems(value: str) -> tuple[str, ...]:
    """Complain about what is no DNS label (RFC 1123)."""
    found = [at_most(63)] if size(value) > 63 else []
    if not _label(value):
        found.append("must not contain dots" if _subdomain(value) else _BAD_LABEL)
    return tuple(found)


@lru_cache(maxsize=4096)
def subdomain_problems(value: str) -> tuple[str, ...]:
    """Complain about what is no DNS subdomain (RFC 1123)."""
    found = [at_most(253)] if size(value) > 253 else []
    if not _subdomain(value):
        found.append(_BAD_SUBDOMAIN)
    return tuple(found)


def loose_subdomain_problems(value: str) -> Sequence[str]:
    """Complain about what is no DNS subdomain, not even with underscores."""
    found = [at_most(253)] if size(value) > 253 else []
    if not _loose_subdomain(value):
        found.append(_BAD_LOOSE_SUBDOMAIN)
    return found


def old_label_problems(value: str) -> Sequence[str]:
    """Complain about what is no DNS label that begins with a letter (RFC 1035)."""
    found = [at_most(63)] if size(value) > 63 else []
    if not _old_label(value):
        found.append(_BAD_OLD_LABEL)
    return found


@lru_cache(maxsize=4096)
def qualified_problems(value: str) -> tuple[str, ...]:
    """Complain about what is no qualified name: a label key, a condition type, a finalizer."""
    return tuple(labels.key_problems(value))


@lru_cache(maxsize=4096)
def label_value_problems(value: str) -> tuple[str, ...]:
    """Complain about what is no label value."""
    return tuple(labels.value_problems(value))


def is_label(name: str, is_prefix: bool) -> Sequence[str]:
    """Complain about a name that has to be a DNS label."""
    return label_problems(_without_dash(name) if is_prefix else name)


def is_subdomain(name: str, is_prefix: bool) -> Sequence[str]:
    """Complain about a name that has to be a DNS subdomain."""
    return subdomain_problems(_without_dash(name) if is_prefix else name)


def is_old_label(name: str, is_prefix: bool) -> Sequence[str]:
    """Complain about a name that has to be a DNS label that begins with a letter."""
    return old_label_problems(_without_dash(name) if is_prefix else name)


def is_path_segment(name: str, is_prefix: bool) -> Sequence[str]:
    """Complain about a name that cannot be a part of a URL; this holds for every kind."""
    if not is_prefix and name in (".", ".."):
        return [f"may not be '{name}'"]
    return [f"may not contain '{bad}'" for bad in "/%" if bad in name]


def lookup_problem(name: str) -> str:
    """Say why no object can be looked up by a name; empty if one can."""
    if not name:
        return "Name parameter required."
    found = ";".join(is_path_segment(name, False))
    return f"Name parameter invalid: {quote(name)}: {found}" if found else ""


def env_name_problems(name: str) -> Sequence[str]:
    """Complain about what is no name of an environment variable, as lax as since 1.34."""
    found = [] if name else ["environment variable name must be non-empty"]
    if not _env_name(name):
        found.append(_BAD_ENV_NAME)
    return found


def config_key_problems(key: str) -> Sequence[str]:
    """Complain about what is no key in a ConfigMap or Secret."""
    found = [at_most(253)] if size(key) > 253 else []
    if not _config_key(key):
        found.append(_BAD_CONFIG_KEY)
    if key in (".", ".."):
        found.append(f"must not be '{key}'")
    elif key.startswith(".."):
        found.append("must not start with '..'")
    return found


def http_header_problems(name: str) -> Sequence[str]:
    """Complain about what is no name of an HTTP header."""
    return [] if _http_header(name) else [_BAD_HTTP_HEADER]


def port_name_problems(name: str) -> Sequence[str]:
    """Complain about what is no name of a port."""
    found = [at_most(15)] if size(name) > 15 else []
    if not _port_characters(name):
        found.append("must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)")
    if not _port_letter(name):
        found.append("must contain at least one letter (a-z)")
    if "--" in name:
        found.append("must not contain consecutive hyphens")
    if name.startswith("-") or name.endswith("-"):
        found.append("must not begin or end with a hyphen")
    return found


def port_problems(port: int) -> Sequence[str]:
    """Complain about what is no number of a port."""
    return () if 1 <= port <= 65535 else (between(1, 65535),)


def id_problems(number: int) -> Sequence[str]:
    """Complain about what is no id of a user or group."""
    return () if 0 <= number <= MAX_INT32 else (between(0, MAX_INT32),)


def _without_dash(name: str) -> str:
    """Return what stands for a prefix that ends in a dash: upstream drops one character too many."""
    return f"{name[:-2]}a" if len(name) > 1 and name.endswith("-") else name
