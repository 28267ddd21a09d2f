"""The options of a request, read from its query and checked with the words of an API server."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from jobferry.errors import BadInput
from jobferry.localkube.apiserver import problems, status
from jobferry.localkube.apiserver.problems import Problem
from jobferry.localkube.apiserver.requests.target import Query
from jobferry.objects import fields, godurations, labels
from jobferry.objects.gotext import parse_int, quote

META = "meta.k8s.io"
MANAGER_LIMIT = 128

NOT_OLDER_THAN = "NotOlderThan"
EXACT = "Exact"

STRICT = "Strict"
WARN = "Warn"
IGNORE = "Ignore"

FOREGROUND = "Foreground"
BACKGROUND = "Background"
ORPHAN = "Orphan"


@dataclass(frozen=True, slots=True, kw_only=True)
class ListOptions:
    """What to list or to watch."""

    labels: labels.Selector
    fields: fields.Selector
    watch: bool
    bookmarks: bool
    resource_version: str
    match: str
    timeout: int | None
    limit: int
    resume: str
    initial_events: bool | None

    @property
    def is_selective(self) -> bool:
        """Whether some objects are left out."""
        return bool(self.labels.requirements) or bool(self.fields.requirements)


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteOptions:
    """How to create, update or patch."""

    dry_run: bool = False
    manager: str = ""
    validation: str = WARN
    force: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteOptions:
    """How to delete."""

    dry_run: bool = False
    grace_period: int | None = None
    uid: str | None = None
    resource_version: str | None = None
    propagation: str | None = None
    orphan: bool | None = None


def list_options(query: Query) -> ListOptions:
    """Read what to list or watch."""
    version, match = text(query, "resourceVersion"), text(query, "resourceVersionMatch")
    watch, initial_events = bool(flag(query, "watch")), flag(query, "sendInitialEvents")
    if watch and version in ("", "0") and initial_events is None and not match:
        # What is there comes first anyway; who takes bookmarks hears where it ends.
        initial_events, match = True, NOT_OLDER_THAN
    found = ListOptions(
        labels=_label_selector(text(query, "labelSelector")),
        fields=_field_selector(text(query, "fieldSelector")),
        watch=watch,
        bookmarks=bool(flag(query, "allowWatchBookmarks")),
        resource_version=version,
        match=match,
        timeout=number(query, "timeoutSeconds"),
        limit=max(number(query, "limit") or 0, 0),
        resume=text(query, "continue"),
        initial_events=initial_events,
    )
    check = _watch_problems if found.watch else _list_problems
    _raise_if("ListOptions", list(check(found)))
    return found


def write_options(query: Query, *, kind: str, applies: bool = False) -> WriteOptions:
    """Read how to write; `kind` is CreateOptions, UpdateOptions or PatchOptions."""
    dry_run = list(query.get("dryRun", ()))
    manager = text(query, "fieldManager")
    validation = text(query, "fieldValidation")
    force = flag(query, "force") if kind == "PatchOptions" else None
    found: list[Problem] = []
    if applies and not manager:
        found.append(problems.required("fieldManager", "is required for apply patch"))
    if not applies and force is not None:
        found.append(problems.forbidden("force", "may not be specified for non-apply patch"))
    found += manager_problems(manager, "fieldManager")
    found += _dry_run_problems(dry_run)
    known = ("", IGNORE, STRICT, WARN)
    if validation not in known:
        found.append(problems.not_supported("fieldValidation", validation, known))
    _raise_if(kind, found)
    return WriteOptions(
        dry_run=bool(dry_run), manager=manager, validation=validation or WARN, force=bool(force)
    )


def delete_options(query: Query) -> DeleteOptions:
    """Read how to delete from a query: what counts when there is no body."""
    return delete_options_of(
        {
            "dryRun": list(query.get("dryRun", ())),
            "gracePeriodSeconds": number(query, "gracePeriodSeconds"),
            "orphanDependents": flag(query, "orphanDependents"),
            "propagationPolicy": next(iter(query.get("propagationPolicy", ())), None),
            "preconditions": {
                "uid": text(query, "uid") or None,
                "resourceVersion": text(query, "resourceVersion") or None,
            },
        }
    )


def delete_options_of(options: Mapping[str, Any]) -> DeleteOptions:
    """Read how to delete from a body, decoded already."""
    orphan, propagation = options.get("orphanDependents"), options.get("propagationPolicy")
    dry_run = options.get("dryRun") or []
    found: list[Problem] = []
    if orphan is not None and propagation is not None:
        why = "orphanDependents and deletionPropagation cannot be both set"
        found.append(problems.invalid("propagationPolicy", propagation, why))
    known = (FOREGROUND, BACKGROUND, ORPHAN)
    if propagation is not None and propagation not in known:
        found.append(problems.not_supported("propagationPolicy", propagation, (*known, "nil")))
    found += _dry_run_problems(dry_run)
    _raise_if("DeleteOptions", found)
    preconditions = options.get("preconditions") or {}
    return DeleteOptions(
        dry_run=bool(dry_run),
        grace_period=options.get("gracePeriodSeconds"),
        uid=preconditions.get("uid"),
        resource_version=preconditions.get("resourceVersion"),
        propagation=propagation,
        orphan=orphan,
    )


def manager_problems(manager: str, path: str) -> list[Problem]:
    """Check the name of a field manager."""
    found = []
    if len(manager.encode()) > MANAGER_LIMIT:
        found.append(problems.too_long(path, MANAGER_LIMIT))
    position = 0
    for character in manager:
        if not (character == " " or character.isprintable()):
            why = f"invalid character U+{ord(character):04X} (at position {position})"
            found.append(problems.invalid(path, manager, why))
        position += len(character.encode())
    return found


@lru_cache(maxsize=256)
def manager_from_agent(user_agent: str) -> str:
    """Return the name by which a client without a field manager is known."""
    printable = "".join(c for c in user_agent.partition("/")[0] if c == " " or c.isprintable())
    return printable.encode()[:MANAGER_LIMIT].decode(errors="ignore")


class BadVersion(BadInput):
    """A resource version that is not a number; lists and watches word that differently."""


def version_number(text: str) -> int:
    """Read a resource version in a list or watch; 0 when there is none."""
    if text in ("", "0"):
        return 0
    if why := version_problem(text):
        raise BadVersion(str(problems.invalid("resourceVersion", text, why)))
    return int(text)


def version_problem(text: str) -> str:
    """Say what is wrong with a resource version, as Go does; nothing if it is one."""
    if text.isascii() and text.isdigit():
        why = "" if int(text) < 1 << 64 else "value out of range"
    else:
        why = "invalid syntax"
    return why and f"strconv.ParseUint: parsing {quote(text)}: {why}"


def check_timeout(query: Query) -> None:
    """Refuse a timeout that is no duration."""
    given = (query.get("timeout") or [""])[0]
    if given and (problem := godurations.problem(given)):
        raise status.bad_request(
            f"invalid timeout specified in the request URL - time: {problem}"
        )


def _list_problems(options: ListOptions) -> Sequence[Problem]:
    path, match = "resourceVersionMatch", options.match
    found = []
    if match:
        if not options.resource_version:
            why = "resourceVersionMatch is forbidden unless resourceVersion is provided"
            found.append(problems.forbidden(path, why))
        if options.resume:
            why = "resourceVersionMatch is forbidden when continue is provided"
            found.append(problems.forbidden(path, why))
        if match not in (EXACT, NOT_OLDER_THAN):
            found.append(problems.not_supported(path, match, (EXACT, NOT_OLDER_THAN, "")))
        if match == EXACT and options.resource_version == "0":
            why = 'resourceVersionMatch "exact" is forbidden for resourceVersion "0"'
            found.append(problems.forbidden(path, why))
    if options.initial_events is not None:
        why = "sendInitialEvents is forbidden for list"
        found.append(problems.forbidden("sendInitialEvents", why))
    return found


def _watch_problems(options: ListOptions) -> Sequence[Problem]:
    path, match = "resourceVersionMatch", options.match
    found = []
    if options.initial_events is not None and match != NOT_OLDER_THAN:
        why = f"sendInitialEvents requires setting resourceVersionMatch to {NOT_OLDER_THAN}"
        found.append(problems.forbidden(path, why))
    if match:
        if options.initial_events is None:
            why = "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided"
            found.append(problems.forbidden(path, why))
        if match != NOT_OLDER_THAN:
            found.append(problems.not_supported(path, match, (NOT_OLDER_THAN,)))
    if options.resume:
        why = "resourceVersionMatch is forbidden when continue is provided"
        found.append(problems.forbidden(path, why))
    return found


def _dry_run_problems(values: Sequence[str]) -> list[Problem]:
    if all(value == "All" for value in values):
        return []
    return [problems.not_supported("dryRun", list(values), ("All",))]


def _raise_if(kind: str, found: Sequence[Problem]) -> None:
    if found:
        raise status.invalid(META, kind, "", found)


def text(query: Query, name: str) -> str:
    """Return a parameter, or nothing if it is not given."""
    values = query.get(name)
    return values[0] if values else ""


def flag(query: Query, name: str) -> bool | None:
    """Return a parameter that is on unless it is denied; None if it is not given."""
    values = query.get(name)
    return None if not values else values[0].lower() not in ("false", "0")


def number(query: Query, name: str) -> int | None:
    """Return a parameter that has to be a number; None if it is not given."""
    values = query.get(name)
    if not values:
        return None
    found = parse_int(values[0])
    if found is None:
        digits = values[0].removeprefix("-").removeprefix("+")
        is_number = digits.isascii() and digits.isdigit()
        why = "value out of range" if is_number else "invalid syntax"
        raise status.bad_request(f"strconv.ParseInt: parsing {quote(values[0])}: {why}")
    return found


def _label_selector(text: str) -> labels.Selector:
    try:
        return labels.parse(text)
    except labels.BadSelector as error:
        raise status.bad_request(str(error)) from error


def _field_selector(text: str) -> fields.Selector:
    try:
        return fields.parse(text)
    except fields.BadSelector as error:
        raise status.bad_request(str(error)) from error
