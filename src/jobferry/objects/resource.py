"""The group, version and plural by which an API server knows a kind."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Resource:
    """One kind of object as the API serves it."""

    group: str
    """Empty for the core group."""

    version: str
    plural: str
    kind: str
    namespaced: bool = True

    @property
    def api_version(self) -> str:
        """What stands in an object's apiVersion."""
        return f"{self.group}/{self.version}" if self.group else self.version

    def __str__(self) -> str:
        return f"{self.plural}.{self.group}" if self.group else self.plural
