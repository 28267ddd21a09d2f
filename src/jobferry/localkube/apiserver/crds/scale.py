"""The scale subresource of custom resources: paths to a number of replicas and to a selector."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from jobferry.localkube.apiserver import problems, status
from jobferry.localkube.apiserver.problems import Problem
from jobferry.objects import Obj
from jobferry.objects.gotext import quote
from jobferry.objects.govalues import go_type, text

_LARGEST = 2**31 - 1


class WrongType(ValueError):
    """A path that leads to something else than was wanted, in the words of an API server."""


def _nested(
    obj: Obj, path: tuple[str, ...], wanted: type, name: str, zero: Any
) -> tuple[Any, bool]:
    value: Any = obj
    for index, field in enumerate(path):
        if value is None:
            return zero, False
        if not isinstance(value, dict):
            at = "." + ".".join(path[: index + 1])
            shown = f"{text(value)} is of the type {go_type(value)}"
            raise WrongType(f"{at} accessor error: {shown}, expected map[string]interface{{}}")
        if field not in value:
            return zero, False
        value = value[field]
    if value.__class__ is not wanted:
        shown = f"{text(value)} is of the type {'<nil>' if value is None else go_type(value)}"
        raise WrongType(f".{'.'.join(path)} accessor error: {shown}, expected {name}")
    return value, True


@dataclass(frozen=True, slots=True)
class Scale:
    """Where a custom resource has its replicas."""

    spec_path: str
    status_path: str
    selector_path: str

    @staticmethod
    def _split(path: str) -> tuple[str, ...]:
        return tuple(path.removeprefix(".").split("."))

    @property
    def place(self) -> str:
        """Where the wanted replicas are, for managed fields: `spec.replicas`."""
        return self.spec_path.removeprefix(".")

    def read(self, obj: Obj) -> tuple[Obj, bool]:
        """Return the Scale of an object, and whether the wanted replicas are there; raises `StatusError`."""
        try:
            wanted, found = _nested(obj, self._split(self.spec_path), int, "int64", 0)
            current, _ = _nested(obj, self._split(self.status_path), int, "int64", 0)
            selector = ""
            if self.selector_path:
                selector, _ = _nested(obj, self._split(self.selector_path), str, "string", "")
        except WrongType as error:
            raise status.StatusError(500, "", str(error)) from error
        kept = ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")
        metadata = {name: obj["metadata"][name] for name in kept if obj["metadata"].get(name)}
        shown: Obj = {"replicas": current}
        if selector:
            shown["selector"] = selector
        scale = {
            "kind": "Scale",
            "apiVersion": "autoscaling/v1",
            "metadata": metadata,
            "spec": {"replicas": wanted} if wanted else {},
            "status": shown,
        }
        return scale, found

    def get(self, obj: Obj) -> Obj:
        """Return the Scale of an object; raises `StatusError` if its spec has no replicas."""
        scale, found = self.read(obj)
        if not found:
            raise status.internal(
                f"the spec replicas field {quote(self.spec_path)} does not exist"
            )
        return scale

    def write(self, obj: Obj, scale: Obj) -> Obj:
        """Return a copy of an object with the replicas of a Scale; raises `StatusError`."""
        wanted = (scale.get("spec") or {}).get("replicas")
        if wanted is None:
            _, found = self.read(obj)
            if not found:
                words = f"the spec replicas field {quote(self.spec_path)} cannot be empty"
                raise status.bad_request(words)
            wanted = 0
        return _with(obj, self._split(self.spec_path), wanted)

    def spec_problems(self, obj: Obj) -> list[Problem]:
        """Find what is wrong with the wanted replicas."""
        return _count_problems(obj, self.spec_path)

    def status_problems(self, obj: Obj) -> list[Problem]:
        """Find what is wrong with the current replicas and the selector."""
        found = _count_problems(obj, self.status_path)
        if self.selector_path:
            try:
                _nested(obj, self._split(self.selector_path), str, "string", "")
            except WrongType as error:
                found.append(problems.invalid(self.selector_path, "", str(error)))
        return found


def _count_problems(obj: Obj, path: str) -> list[Problem]:
    fields = tuple(path.removeprefix(".").split("."))
    try:
        count, _ = _nested(obj, fields, int, "int64", 0)
    except WrongType as error:
        return [problems.invalid(path, 0, str(error))]
    if count < 0:
        return [problems.invalid(path, count, "should be a non-negative integer")]
    if count > _LARGEST:
        words = f"should be less than or equal to {_LARGEST}"
        return [problems.invalid(path, count, words)]
    return []


def _with(obj: Obj, path: tuple[str, ...], value: Any) -> Obj:
    name, *rest = path
    if not rest:
        return {**obj, name: value}
    inner = obj.get(name)
    return {**obj, name: _with(inner if isinstance(inner, dict) else {}, tuple(rest), value)}


def of(version: Mapping[str, Any]) -> Scale | None:
    """Return the scale of one version of a definition; None: it has none."""
    given = (version.get("subresources") or {}).get("scale")
    if given is None:
        return None
    return Scale(
        given["specReplicasPath"],
        given["statusReplicasPath"],
        given.get("labelSelectorPath") or "",
    )


def places(crd: Obj) -> dict[str, str | None]:
    """Return where the wanted replicas are in each apiVersion of a definition; None: that one has no scale."""
    spec, found = crd["spec"], {}
    for version in spec["versions"]:
        scale = of(version)
        found[f"{spec['group']}/{version['name']}"] = scale.place if scale else None
    return found
