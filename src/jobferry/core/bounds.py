"""Which namespaces may go where: by lists of patterns, in which `*` stands for any text."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Bounds:
    """Namespaces that may go somewhere, and those that may not: they count more."""

    allow: tuple[str, ...] = ()
    """Empty: all."""

    deny: tuple[str, ...] = ()

    def let(self, namespace: str) -> bool:
        """Tell whether a namespace may go there."""
        if any(matches(each, namespace) for each in self.deny):
            return False
        return not self.allow or any(matches(each, namespace) for each in self.allow)


NO_BOUNDS = Bounds()
"""Everything may go there."""


def matches(pattern: str, name: str) -> bool:
    """Tell whether a name is as a pattern has it; in one go, whoever wrote the pattern."""
    start, *parts = pattern.split("*")
    if not parts:
        return name == start
    end = parts.pop()
    at, last = len(start), len(name) - len(end)
    if at > last or not (name.startswith(start) and name.endswith(end)):
        return False
    for part in parts:
        found = name.find(part, at, last)
        if found < 0:
            return False
        at = found + len(part)
    return True
