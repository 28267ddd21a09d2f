"""Writes to a real API server and, beside each, what we make of the same write.

What is stored before a write is always what the real server stored, so that one difference does not bring
about the next. Bodies say everything that has a default: who owns a default is then told by the body.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from jobferry.localkube.apiserver.managed import applying, timestamps, updating
from jobferry.localkube.apiserver.managed.endpoint import Endpoint
from jobferry.localkube.apiserver.status import StatusError
from jobferry.objects import Obj, merge_patch
from tests.api.raw_http import Answered, RawHttp

APPLY = "application/apply-patch+yaml"
MERGE = "application/merge-patch+json"
SYSTEM = (
    "uid",
    "creationTimestamp",
    "resourceVersion",
    "generation",
    "managedFields",
    "selfLink",
)

Decode = Callable[[Obj], Obj]


@dataclass
class Kind:
    """How a kind is written to."""

    collection: str
    """The path of its objects, less the namespace."""
    endpoint: Endpoint
    status: Endpoint
    decode: Decode = lambda obj: obj
    """Makes an object as the server reads it out of JSON."""
    server_sets: tuple[str, ...] = ()
    """Fields of the spec that the server fills in."""


@dataclass
class Scene:
    """One object, and all that is done to it."""

    http: RawHttp
    kind: Kind
    namespace: str
    name: str
    live: Obj | None = None
    differences: list[Any] = field(default_factory=list)

    @property
    def path(self) -> str:
        return f"{self._collection}/{self.name}"

    @property
    def _collection(self) -> str:
        group, _, plural = self.kind.collection.rpartition("/")
        return f"{group}/namespaces/{self.namespace}/{plural}"

    def titled(self, body: Obj) -> Obj:
        """Return a body with the names of the object and its kind."""
        endpoint = self.kind.endpoint
        names = {"name": self.name, "namespace": self.namespace}
        metadata = {**body.get("metadata", {}), **names}
        title = {"apiVersion": endpoint.api_version, "kind": endpoint.kind}
        return {**title, **body, "metadata": metadata}

    def create(self, manager: str, body: Obj) -> None:
        """Create the object."""
        body = self.titled(body)
        answer = self.http.ask("POST", self._collection, body, query={"fieldManager": manager})
        self._compare_update(answer, None, body, manager, self.kind.endpoint)

    def update(
        self, manager: str, change: Callable[[Obj], Any], *, status: bool = False
    ) -> None:
        """Replace the object by a changed copy."""
        body = _copy(self.live)
        change(body)
        path, endpoint = self._endpoint(status)
        answer = self.http.ask("PUT", path, body, query={"fieldManager": manager})
        self._compare_update(answer, self.live, body, manager, endpoint)

    def patch(self, manager: str, patch: Obj, *, status: bool = False) -> None:
        """Send a merge patch."""
        path, endpoint = self._endpoint(status)
        answer = self.http.ask(
            "PATCH", path, patch, content_type=MERGE, query={"fieldManager": manager}
        )
        assert self.live is not None
        body: Obj = merge_patch.apply(self.live, patch)
        self._compare_update(answer, self.live, body, manager, endpoint)

    def apply(
        self, manager: str, config: Obj, *, force: bool = False, status: bool = False
    ) -> None:
        """Apply a configuration."""
        path, endpoint = self._endpoint(status)
        config = self.titled(config)
        query = {"fieldManager": manager, "force": str(force).lower()}
        now = datetime.now(UTC)
        answer = self.http.ask("PATCH", path, config, content_type=APPLY, query=query)
        try:
            ours = applying.applied(
                self.live, config, endpoint, manager=manager, force=force, now=now
            )
        except StatusError as error:
            self._compare_refusal(answer, error)
            return
        if answer.code >= 300:
            self._compare_flaws(answer, ours)
            return
        self.compare_entries(answer.body, ours["metadata"].get("managedFields"))
        self._compare_objects(answer.body, ours, endpoint)
        self._compare_times(answer.body, self.kind.decode(ours))
        self.live = answer.body

    def _endpoint(self, status: bool) -> tuple[str, Endpoint]:
        if status:
            return f"{self.path}/status", self.kind.status
        return self.path, self.kind.endpoint

    def _compare_update(
        self, answer: Answered, live: Obj | None, body: Obj, manager: str, endpoint: Endpoint
    ) -> None:
        assert answer.code < 300, answer.body
        forget = updating.forgets(body)
        body = self.kind.decode(body)
        now = datetime.now(UTC)
        ours = updating.updated(live, body, endpoint, manager=manager, now=now, forget=forget)
        self.compare_entries(answer.body, ours)
        metadata = {**body["metadata"], "managedFields": ours}
        self._compare_times(answer.body, {**body, "metadata": metadata})
        self.live = answer.body

    def compare_entries(self, answered: Obj, ours: list[Obj] | None) -> None:
        """Note if the server's managedFields are not ours."""
        theirs = answered["metadata"].get("managedFields")
        if _timeless(theirs) != _timeless(ours):
            self.differences.append(("entries", _timeless(theirs), _timeless(ours)))

    def _compare_objects(self, answered: Obj, ours: Obj, endpoint: Endpoint) -> None:
        for name in endpoint.reset:
            ours = _with(ours, name, self.live)
        theirs, mine = self._essence(answered), self._essence(self.kind.decode(ours))
        if self.live is None:
            theirs = _common(theirs, mine)  # the server filled in defaults
        if theirs != mine:
            self.differences.append(("objects", theirs, mine))

    def _compare_flaws(self, answer: Answered, ours: Obj) -> None:
        """Check that what validation refuses is in our result, too: a list that lost its last item is null."""
        if answer.code != 422:
            self.differences.append(("the server refuses", answer.body["message"]))
            return
        for cause in answer.body["details"]["causes"]:
            if '"null"' in cause["message"] and _at(ours, cause["field"]) is not None:
                self.differences.append(("nulls", cause["field"], ours))

    def _compare_times(self, answered: Obj, ours: Obj) -> None:
        """Where the server stored nothing new, neither must we."""
        if self.live is None or not self._is_unchanged(answered):
            return
        title = {key: self.live[key] for key in ("apiVersion", "kind")}
        kept = timestamps.steady({**title, **ours}, self.live)
        if kept != self.live["metadata"].get("managedFields"):
            self.differences.append(("times", self.live["metadata"]["managedFields"], kept))

    def _is_unchanged(self, answered: Obj) -> bool:
        assert self.live is not None
        versions = (obj["metadata"]["resourceVersion"] for obj in (answered, self.live))
        return len(set(versions)) == 1

    def _essence(self, obj: Obj) -> Obj:
        metadata = {key: obj["metadata"][key] for key in obj["metadata"] if key not in SYSTEM}
        essence = {**obj, "metadata": metadata}
        if isinstance(obj.get("spec"), dict):
            left_out = self.kind.server_sets
            essence["spec"] = {
                key: value for key, value in obj["spec"].items() if key not in left_out
            }
        return essence

    def _compare_refusal(self, answer: Answered, error: StatusError) -> None:
        ours = error.status()
        keys = ("code", "reason", "message", "details")
        mine, theirs = ({key: body.get(key) for key in keys} for body in (ours, answer.body))
        if _sorted_causes(mine) != _sorted_causes(theirs):
            self.differences.append(("refusals", theirs, mine))


def _at(value: Any, path: str) -> Any:
    """Return the value at a path like `spec.list[0].field`."""
    for step in path.replace("[", ".").replace("]", "").split("."):
        value = value[int(step)] if isinstance(value, list) else value[step]
    return value


def _with(obj: Obj, name: str, other: Obj | None) -> Obj:
    """Return an object with the value that another one has in a field, or without that field."""
    left = {key: value for key, value in obj.items() if key != name}
    return {**left, name: other[name]} if other and name in other else left


def _copy(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _copy(member) for key, member in value.items()}
    return list(map(_copy, value)) if isinstance(value, list) else value


def _timeless(entries: list[Obj] | None) -> list[Obj]:
    """Leave out when, but not whether, and the order, which times tell."""
    told = [{**entry, "time": "time" in entry} for entry in entries or ()]
    return sorted(told, key=lambda entry: [str(entry.get(key)) for key in _IDENTITY])


_IDENTITY = ("manager", "operation", "subresource", "apiVersion")


def _common(theirs: Any, ours: Any) -> Any:
    """Leave out what only the server has."""
    if isinstance(theirs, Mapping) and isinstance(ours, Mapping):
        return {key: _common(theirs[key], ours[key]) for key in theirs if key in ours}
    if isinstance(theirs, list) and isinstance(ours, list) and len(theirs) == len(ours):
        return list(map(_common, theirs, ours))
    return theirs


def _sorted_causes(status: Obj) -> Obj:
    """Put what the server gives in any order in one: lines about several managers, and their causes."""
    details = dict(status.get("details") or {})
    causes = details.get("causes") or []
    details["causes"] = sorted(causes, key=lambda cause: (cause["message"], cause["field"]))
    first, *lines = status["message"].split("\n")
    return {**status, "details": details, "message": [first, *sorted(lines)]}


def met(scene: Scene) -> None:
    """Fail on the first difference."""
    for difference in scene.differences:
        raise AssertionError("\n".join(map(str, difference)))
