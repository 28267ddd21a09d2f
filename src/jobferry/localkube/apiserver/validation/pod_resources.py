"""What is wrong with resources of a pod as a whole: its claims, requests and limits."""

from collections.abc import Iterator, Sequence, Set

from jobferry.localkube.apiserver import problems
from jobferry.localkube.apiserver.problems import Problem
from jobferry.localkube.apiserver.validation import resources, values
from jobferry.objects import Obj


def claims_problems(claims: Sequence[Obj], field: str) -> Iterator[Problem]:
    """Say what is wrong with the claims to devices that a pod has."""
    seen: set[str] = set()
    for index, claim in enumerate(claims):
        path, name = f"{field}[{index}]", claim.get("name") or ""
        if not name:
            yield problems.required(f"{path}.name")
        elif name in seen:
            yield problems.duplicate(f"{path}.name", name)
        else:
            yield from values.dns_label(f"{path}.name", name)
            seen.add(name)
        kinds = ("resourceClaimName", "resourceClaimTemplateName")
        given = [kind for kind in kinds if claim.get(kind) is not None]
        if len(given) != 1:
            either = "`resourceClaimName` or `resourceClaimTemplateName`"
            what = (
                f"at most one of {either} may be specified"
                if given
                else ("must specify one of: `resourceClaimName`, `resourceClaimTemplateName`")
            )
            yield problems.invalid(path, claim, what)
        for kind in given:
            yield from values.subdomain(f"{path}.{kind}", claim[kind])


def spec_problems(spec: Obj, claims: Set[str], field: str) -> Iterator[Problem]:
    """Say what is wrong with requests and limits of a pod, also beside those of its containers."""
    wanted = spec.get("resources")
    if wanted is None:
        return
    path = f"{field}.resources"
    if (spec.get("os") or {}).get("name") == "windows":
        yield problems.forbidden(path, "may not be set for a windows pod")
        return
    if wanted.get("claims"):
        what = "claims may not be set for Resources at pod-level"
        yield problems.forbidden(f"{path}.claims", what)
    yield from resources.requirements_problems(
        wanted, path, claims=claims, name_rule=resources.pod_name_problems
    )
    yield from _total_problems(spec, wanted, path)
    yield from _containers_problems(spec, wanted.get("limits") or {}, path)


def _total_problems(spec: Obj, wanted: Obj, field: str) -> Iterator[Problem]:
    for kind in ("requests", "limits"):
        own = wanted.get(kind) or {}
        for name, amount in resources.total(spec, kind).items():
            if kind == "limits" and not resources.is_huge_pages(name):
                continue
            if name in own and amount > resources.parse(own[name]):
                what = (
                    f"must be greater than or equal to aggregate container {kind} of {amount}"
                )
                yield problems.invalid(f"{field}.{kind}[{name}]", own[name], what)


def _containers_problems(spec: Obj, limits: Obj, field: str) -> Iterator[Problem]:
    for index, container in enumerate(spec.get("containers") or ()):
        for name, limit in ((container.get("resources") or {}).get("limits") or {}).items():
            if name in limits and resources.parse(limit) > resources.parse(limits[name]):
                what = f"must be less than or equal to pod limits of {limits[name]}"
                path = f"{field}.containers[{index}][{name}].limits"
                yield problems.invalid(path, limit, what)
