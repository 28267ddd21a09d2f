"""A structural schema, compiled once and used for every object of a version."""

from functools import cached_property
from typing import Any

from jobferry.localkube.apiserver.crds import (
    checking,
    defaulting,
    embedded,
    explaining,
    lists,
    pruning,
    rules,
)
from jobferry.localkube.apiserver.crds.correlation import Correlated
from jobferry.localkube.apiserver.problems import Problem
from jobferry.objects import Obj


class Unreadable(ValueError):
    """An object whose metadata, or that of an object inside, has the wrong types."""


class Schema:
    """What a version's schema does to objects. Its parts are compiled when they are first used."""

    def __init__(self, raw: Obj | None) -> None:
        self.raw: Obj = raw or {}

    @cached_property
    def _dirty(self) -> pruning.Detector:
        return pruning.detector(self.raw, embedded=True)

    @cached_property
    def _fill(self) -> defaulting.Filler | None:
        return defaulting.filler(self.raw)

    @cached_property
    def _table(self) -> checking.Table:
        return checking.table(self.raw)

    @cached_property
    def _unique_lists(self) -> Obj | None:
        return lists.thinned(self.raw)

    @cached_property
    def _suspect(self) -> lists.Suspicion | None:
        return None if self._unique_lists is None else lists.suspicion(self._unique_lists)

    @cached_property
    def _has_embedded(self) -> bool:
        return embedded.has_embedded(self.raw)

    @cached_property
    def rules(self) -> rules.Level | None:
        """The CEL rules, compiled."""
        return rules.level(self.raw, root=True)

    def decode(self, parsed: Obj) -> tuple[Obj, list[str]]:
        """Return an object without what has no place in it, and the paths of unknown fields.

        Raises `Unreadable`. `parsed` is not changed, but parts of it are in the result.
        """
        dirty = self._dirty(parsed)
        obj = defaulting.copied(parsed) if dirty or self._has_embedded else dict(parsed)
        unknown: list[str] = []
        if "metadata" in obj:
            try:
                obj["metadata"], dropped = embedded.read_metadata(obj["metadata"])
            except embedded.BadMetadata as error:
                raise Unreadable(str(error)) from error
            unknown += [f"metadata.{name}" for name in dropped]
        if dirty:
            self._clean(obj, unknown)
        if self._has_embedded:
            inside: list[str] = []
            if problem := embedded.coerce(obj, self.raw, "", inside):
                raise Unreadable(str(problem))
            unknown += sorted(inside)
        return obj, unknown

    def leaves(self, obj: Obj) -> bool:
        """Tell whether it is plain to see that nothing would be removed from an object or filled in."""
        return self._fill is None and not self._has_embedded and not self._dirty(obj)

    def _clean(self, obj: Obj, unknown: list[str]) -> None:
        unknown += pruning.prune(obj, self.raw)
        metadata = obj.get("metadata")
        pruning.drop_nulls(obj, self.raw)
        if metadata is not None:
            obj["metadata"] = metadata

    def default(self, obj: Obj) -> None:
        """Fill in defaults."""
        if self._fill is not None:
            self._fill(obj)

    def problems(self, obj: Any, old: Any = None, *, path: str = "") -> list[Problem]:
        """Find what the schema does not allow; with an old object, what did not change is let pass.

        `path` is where the schema and the values are in their object: "status", say.
        """
        if checking.passes(self._table, obj):
            return []
        correlated = None if old is None else Correlated(obj, old, self.raw)
        return explaining.told(explaining.explain(self.raw, obj, "", correlated), path)

    def embedded_problems(self, obj: Obj) -> list[Problem]:
        """Find what is wrong with the type and metadata of objects inside."""
        return embedded.check(obj, self.raw) if self._has_embedded else []

    def list_problems(self, obj: Obj) -> list[Problem]:
        """Find what is twice in sets and maps."""
        if self._suspect is None or not self._suspect(obj):
            return []
        return lists.duplicates(self._unique_lists, obj)

    def rule_problems(
        self, obj: Obj, old: Obj | None = None
    ) -> tuple[list[Problem], list[str]]:
        """Find what breaks rules; and what does, but did not change: it is only warned of."""
        if self.rules is None:
            return [], []
        correlated = None if old is None else Correlated(obj, old, self.raw)
        return rules.check(self.rules, obj, old, correlated)

    def below(self, name: str) -> "Schema | None":
        """Return the schema of a top-level field, such as status; None: there is none."""
        inner = (self.raw.get("properties") or {}).get(name)
        return None if inner is None else Schema(inner)
