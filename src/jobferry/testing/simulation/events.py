"""What happens in a history, as data: it can be drawn from a seed, written down, shortened and played again."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Self

from jobferry.clock import Seconds


@dataclass(frozen=True, slots=True)
class Event:
    """Something that somebody does, or that goes wrong, at a time."""

    at: Seconds
    """Since the fleet was ready."""

    name: str
    args: Mapping[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        return f"{self.at:.3f} {self.name} {json.dumps(self.args)}"

    @classmethod
    def parse(cls, line: str) -> Self:
        """Read what `str` wrote."""
        at, name, args = line.split(" ", 2)
        return cls(float(at), name, json.loads(args))


@dataclass(frozen=True, slots=True)
class History:
    """All that is given of a history: the rest follows."""

    seed: int
    """Of all that is left to chance besides the events: how long messages take, ids."""

    workers: int
    dispatchers: int
    events: tuple[Event, ...] = ()

    def __str__(self) -> str:
        head = f"seed={self.seed} workers={self.workers} dispatchers={self.dispatchers}"
        return "\n".join([head, *map(str, self.events)])

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read what `str` wrote; empty lines and those that begin with # do not count."""
        head, *lines = (line for line in text.splitlines() if line.strip() and line[0] != "#")
        known = dict(part.split("=") for part in head.split())
        return cls(
            int(known["seed"]),
            int(known["workers"]),
            int(known["dispatchers"]),
            tuple(map(Event.parse, lines)),
        )
