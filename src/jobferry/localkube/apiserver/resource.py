"""What the server serves: resources, and all that the generic handlers must know of each."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Protocol

import orjson

from jobferry.localkube.apiserver.managed.endpoint import Endpoint
from jobferry.localkube.apiserver.printing.columns import Columns
from jobferry.localkube.apiserver.shapes import Shape
from jobferry.localkube.apiserver.strategy import Strategy
from jobferry.localkube.apiserver.types.codec import Decoded
from jobferry.objects import Obj

VERBS = ("create", "delete", "deletecollection", "get", "list", "patch", "update", "watch")
READ_WRITE = ("get", "patch", "update")


class Codec(Protocol):
    """Turns the JSON of a request into an object of one kind."""

    def decode(self, parsed: Obj, body: bytes | None = None) -> Decoded:
        """Return a new object with known fields of the right types, or raise a StatusError (400).

        Parts of `parsed` may be in it. `body` is the text that was parsed, for what Go quotes of it.
        """
        ...

    @property
    def shape(self) -> Shape:
        """How its fields are owned and merged."""
        ...


class Scaling(Protocol):
    """Finds and sets the replicas in the objects of a resource."""

    @property
    def spec_path(self) -> str:
        """Where the wanted replicas are."""
        ...

    def read(self, obj: Obj) -> tuple[Obj, bool]:
        """Return the Scale of an object, and whether the wanted replicas are there; raises `StatusError`."""
        ...

    def get(self, obj: Obj) -> Obj:
        """Return the Scale of an object; raises `StatusError` if its spec has no replicas."""
        ...

    def write(self, obj: Obj, scale: Obj) -> Obj:
        """Return a copy of an object with the replicas of a Scale; raises `StatusError`."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Subresource:
    """A further endpoint of the objects of a resource."""

    verbs: tuple[str, ...] = READ_WRITE
    kind: str = ""
    """The kind of its bodies; empty: that of the resource."""
    group: str = ""
    version: str = ""
    """Where that kind comes from; empty: where the resource does."""
    strategy: Strategy | None = None
    """How it changes the object; None: a handler of its own serves it."""
    scaling: Scaling | None = None
    """Where the replicas are, if this is the scale of the resource."""
    places: Mapping[str, str | None] = field(default_factory=dict)
    """The same for all apiVersions of the kind, as fields (`spec.replicas`); None: that one has no scale."""


@dataclass(frozen=True, kw_only=True)
class Resource:
    """One resource in one version."""

    group: str
    version: str
    kind: str
    plural: str
    singular: str
    namespaced: bool
    strategy: Strategy
    codec: Codec
    columns: Columns
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    verbs: tuple[str, ...] = VERBS
    subresources: Mapping[str, Subresource] = field(default_factory=dict)
    built_in: bool = True
    """Known to Go clients as a type: may be patched strategically; lists leave kind and apiVersion out."""
    stored_version: str = ""
    """The version that is in storage, where it is another one than this."""
    other_versions: tuple[str, ...] = ()
    """The other apiVersions that the same objects are served in."""
    root: str = ""
    """Where in storage the objects are, where that is not told by group and plural."""
    load: Callable[[Obj], Obj] | None = None
    """Makes an object of this version out of a stored one (a new object), where they differ."""
    save: Callable[[Obj], Obj] | None = None
    """The way back."""
    schema: Obj | None = None
    """How OpenAPI describes a kind that is not built in."""
    is_cold: Callable[[], bool] | None = None
    """Tells whether the next object costs far more than others, because it is the first; None: never."""
    deprecation: str = ""
    """A warning that everybody gets who asks for anything of it."""
    notice: str = ""
    """A warning that everybody gets who creates one."""

    @cached_property
    def api_version(self) -> str:
        """The `apiVersion` of its objects."""
        return f"{self.group}/{self.version}" if self.group else self.version

    @cached_property
    def type_group(self) -> str:
        """The group of the type that Go has in memory: messages about its fields name that one."""
        if not self.built_in:
            return self.group
        return (self.stored_version or self.api_version).rpartition("/")[0]

    @cached_property
    def list_kind(self) -> str:
        """The kind of its lists."""
        return f"{self.kind}List"

    @cached_property
    def prefix(self) -> str:
        """What the keys of all its objects begin with; those of custom objects are never a built-in's."""
        if self.root:
            return self.root
        if not self.built_in:
            return f"/custom/{self.group}/{self.plural}/"
        return f"/registry/{self.group or 'core'}/{self.plural}/"

    @cached_property
    def head(self) -> bytes:
        """What the JSON of every stored object begins with."""
        stored = self.stored_version or self.api_version
        kind, version = orjson.dumps(self.kind), orjson.dumps(stored)
        return b'{"kind":' + kind + b',"apiVersion":' + version + b","

    def key(self, namespace: str, name: str) -> str:
        """Return the key of one object."""
        return f"{self.prefix}{namespace}/{name}" if namespace else f"{self.prefix}{name}"

    def range_prefix(self, namespace: str) -> str:
        """Return what the keys of the objects in a namespace begin with; of all, without one."""
        return f"{self.prefix}{namespace}/" if namespace else self.prefix

    def encode(self, obj: Obj, revision: int) -> bytes:
        """Return an object as it is stored, with its version in it."""
        stored = self.save(obj) if self.save else obj
        stored["metadata"]["resourceVersion"] = str(revision)
        rest = {key: stored[key] for key in stored if key not in ("kind", "apiVersion")}
        return self.head + orjson.dumps(rest)[1:]

    def endpoint(self, subresource: str) -> Endpoint:
        """Return what managed fields must know of an endpoint."""
        found = self._endpoints.get(subresource)
        if found is None:
            found = self._endpoints[subresource] = Endpoint(
                api_version=self.api_version,
                kind=self.kind,
                shape=self.codec.shape,
                subresource=subresource,
                reset=self.strategy_of(subresource).reset_fields,
                zero=self.blank,
                versions=frozenset(self.other_versions),
                custom=not self.built_in,
            )
        return found

    @cached_property
    def blank(self) -> Obj:
        """An object in which nothing is set, as Go writes it."""
        blank = {"kind": self.kind, "apiVersion": self.api_version}
        return {**blank, **self.codec.decode({**blank, "metadata": {}}).obj}

    @cached_property
    def _endpoints(self) -> dict[str, Endpoint]:
        return {}

    @cached_property
    def watchers(self) -> dict[Callable[[], None], None]:
        """Who is woken when it is served no longer, or otherwise; in order, so that runs can be repeated."""
        return {}

    def strategy_of(self, subresource: str) -> Strategy:
        """Return how the endpoint `subresource` (or the main one) changes objects."""
        return (subresource and self.subresources[subresource].strategy) or self.strategy
