"""What a dispatcher asks of API servers, from their audit logs."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import orjson

from jobferry.objects import Obj

CONFLICT = 409
ILLEGAL = 422


class Asked(NamedTuple):
    """A sort of request."""

    cluster: str
    verb: str
    what: str
    """The resource, with its subresource."""


@dataclass(frozen=True, slots=True)
class Requests:
    """How many requests there were of each sort, and how many were refused."""

    count: Counter[Asked] = field(default_factory=Counter)
    codes: Counter[int] = field(default_factory=Counter)

    def add(self, cluster: str, entry: Obj) -> None:
        """Count one."""
        ref = entry.get("objectRef") or {}
        what = "/".join(filter(None, [ref.get("resource", "other"), ref.get("subresource")]))
        self.count[Asked(cluster, entry["verb"], what)] += 1
        self.codes[entry["responseStatus"]["code"]] += 1


class Tail:
    """Reads what is added to audit logs from now on."""

    def __init__(self, logs: Mapping[str, Path], users: Mapping[str, str]) -> None:
        self._logs = logs
        self._users = users
        self._read = {name: log.stat().st_size for name, log in logs.items()}

    def requests(self) -> Requests:
        """Count what was asked, as far as it was answered."""
        found = Requests()
        for name, log in self._logs.items():
            with log.open("rb") as file:
                file.seek(self._read[name])
                for entry in _entries(file, self._users[name]):
                    found.add(name, entry)
        return found


def _entries(lines: Iterable[bytes], user: str) -> Iterable[Obj]:
    sign = user.encode()
    for line in lines:
        # Most lines are others': it is cheaper to look than to decode.
        if sign in line and line.endswith(b"\n"):
            entry = orjson.loads(line)
            if entry["user"]["username"] == user and entry["stage"] == "ResponseComplete":
                yield entry
