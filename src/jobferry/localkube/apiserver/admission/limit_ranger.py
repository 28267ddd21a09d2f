"""LimitRanger: what containers ask for if they do not say, and what they may ask for."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from jobferry.localkube.apiserver.admission import limit_constraints as constraints
from jobferry.localkube.apiserver.admission.cluster import Cluster
from jobferry.localkube.apiserver.admission.plugin import Plugin
from jobferry.localkube.apiserver.admission.request import UPDATE, Request, Topic, forbidden
from jobferry.objects import Obj, amounts
from jobferry.objects.amounts import Amounts

ANNOTATION = "kubernetes.io/limit-ranger"
"""Tells what was added to a pod."""


def plugin(cluster: Cluster) -> Plugin:
    """Return the plugin."""

    def limits(request: Request) -> Iterator[list[Obj]]:
        """Yield the limits of each LimitRange that applies; nothing applies to what is going."""
        if (request.old or {}).get("metadata", {}).get("deletionTimestamp"):
            return
        for limit_range in cluster.list("", "limitranges", request.namespace):
            yield (limit_range.get("spec") or {}).get("limits") or []

    async def admit(request: Request) -> None:
        if request.resource == "pods":
            for found in limits(request):
                _fill_in(request.obj or {}, found)

    async def validate(request: Request) -> None:
        check = _pod_problems if request.resource == "pods" else _claim_problems
        for found in limits(request):
            problems = list(dict.fromkeys(check(found, (request.obj or {}).get("spec") or {})))
            if problems:
                joined = ", ".join(problems)
                raise forbidden(request, joined if len(problems) == 1 else f"[{joined}]")

    return Plugin(name="LimitRanger", handles=_handles, admit=admit, validate=validate)


def _handles(topic: Topic) -> bool:
    if topic == ("", "pods", "resize", UPDATE):
        return True
    return topic.creates("", "pods") or topic.writes("", "persistentvolumeclaims")


# -- what is added -----------------------------------------------------------------------------


def _fill_in(pod: Obj, limits: list[Obj]) -> None:
    requests, maximums = _defaults(limits, "defaultRequest"), _defaults(limits, "default")
    if not requests and not maximums:
        return
    spec = pod.get("spec") or {}
    done: list[str] = []
    for field, word in (("containers", "container"), ("initContainers", "init container")):
        for container in spec.get(field) or ():
            who = f"{word} {container.get('name', '')}"
            done += _complete(container, "requests", requests, f"request for {who}")
            done += _complete(container, "limits", maximums, f"limit for {who}")
    if done:
        metadata = pod.setdefault("metadata", {})
        told = {ANNOTATION: "LimitRanger plugin set: " + "; ".join(done)}
        metadata["annotations"] = (metadata.get("annotations") or {}) | told


def _defaults(limits: list[Obj], field: str) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for limit in limits:
        if limit.get("type") == "Container":
            found |= limit.get(field) or {}
    return found


def _complete(container: Obj, what: str, defaults: Mapping[str, Any], where: str) -> list[str]:
    given = (container.get("resources") or {}).get(what) or {}
    missing = {name: text for name, text in defaults.items() if name not in given}
    if not missing:
        return []
    container["resources"] = (container.get("resources") or {}) | {what: given | missing}
    return [f"{', '.join(sorted(missing))} {where}"]


# -- what is refused ---------------------------------------------------------------------------


def _pod_problems(limits: list[Obj], spec: Obj) -> Iterator[str]:
    for limit in limits:
        if limit.get("type") == "Container":
            for container in (*spec.get("containers", ()), *spec.get("initContainers", ())):
                requests = amounts.of(container, "requests")
                yield from _problems(limit, requests, amounts.of(container, "limits"))
        elif limit.get("type") == "Pod":
            yield from _problems(limit, _sum(spec, "requests"), _sum(spec, "limits"))


def _claim_problems(limits: list[Obj], spec: Obj) -> Iterator[str]:
    for limit in limits:
        if limit.get("type") == "PersistentVolumeClaim":
            requests = amounts.of(spec, "requests")
            yield from _each(limit, "min", constraints.minimum, requests, {})
            yield from _each(limit, "max", constraints.maximum_request, requests, {})


def _problems(limit: Obj, requests: Amounts, limits: Amounts) -> Iterator[str]:
    yield from _each(limit, "min", constraints.minimum, requests, limits)
    yield from _each(limit, "max", constraints.maximum, requests, limits)
    yield from _each(limit, "maxLimitRequestRatio", constraints.ratio, requests, limits)


def _each(
    limit: Obj,
    field: str,
    check: Callable[[constraints.Rule, Amounts, Amounts], str | None],
    requests: Amounts,
    limits: Amounts,
) -> Iterator[str]:
    for name, enforced in sorted(amounts.read(limit.get(field)).items()):
        problem = check(constraints.Rule(limit["type"], name, enforced), requests, limits)
        if problem:
            yield problem


def _sum(spec: Obj, what: str) -> Amounts:
    total = amounts.of_containers(spec, lambda container: amounts.of(container, what))
    return amounts.override(total, spec, what, lambda name: name in ("cpu", "memory"))
