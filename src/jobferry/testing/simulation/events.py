"""What happens in a history, as data: it can be drawn from a seed, written down, shortened and played again."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Self

from jobferry.clock import Seconds
from jobferry.errors import BadInput


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
        """Read what `str` wrote; raises `BadInput`."""
        try:
            at, name, args = line.split(None, 2)
            return cls(float(at), name, dict(json.loads(args)))
        except (ValueError, TypeError):
            like = cls(17.25, "kill", {"who": "d1", "seconds": 3})
            raise BadInput(f"{line}: no time, name and arguments, as in: {like}") from None


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
        """Read what `str` wrote; empty lines and those that begin with # do not count. Raises `BadInput`."""
        lines = [line.strip() for line in text.splitlines()]
        head, *rest = [line for line in lines if line and line[0] != "#"] or [""]
        try:
            known = {name: int(value) for name, value in (p.split("=") for p in head.split())}
            seed, workers, dispatchers = (known[n] for n in ("seed", "workers", "dispatchers"))
        except (ValueError, KeyError):
            like = cls(17, 2, 1)
            raise BadInput(
                f"{head or 'nothing'}: the first line has to be like {like}"
            ) from None
        return cls(seed, workers, dispatchers, tuple(map(Event.parse, rest)))
