"""What breaks a rule."""

from typing import NamedTuple


class Problem(NamedTuple):
    """A rule, by its name, and what is against it."""

    rule: str
    what: str

    def __str__(self) -> str:
        return f"{self.rule}: {self.what}"
