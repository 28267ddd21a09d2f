"""What may change in a pod once it is there."""

from collections.abc import Iterator, Mapping, Sequence

from jobferry.localkube.apiserver import problems
from jobferry.localkube.apiserver.problems import Problem
from jobferry.localkube.apiserver.validation import (
    containers,
    metadata,
    names,
    pod_annotations,
    pod_spec,
    scheduling,
    values,
)
from jobferry.objects import Obj

_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_FIXED = (
    "pod updates may not change fields other than `spec.containers[*].image`,"
    "`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,"
    "`spec.tolerations` (only additions to existing tolerations),"
    "`spec.terminationGracePeriodSeconds` "
    "(allow it to be set to 1 if it was previously negative)"
)


def metadata_and_spec_problems(pod: Obj) -> Iterator[Problem]:
    """Say what is wrong with a pod, new or changed."""
    about, spec = pod["metadata"], pod["spec"]
    yield from metadata.create_problems(pod, namespaced=True, name_problems=names.is_subdomain)
    yield from pod_annotations.annotations_problems(
        about.get("annotations"), spec, "metadata.annotations"
    )
    yield from pod_spec.spec_problems(spec, "spec", pod=about)
    if not spec.get("serviceAccountName"):
        yield from _tokens_problems(spec)
    for kind in ("containers", "initContainers"):
        yield from containers.image_problems(spec.get(kind) or (), f"spec.{kind}")


def create_problems(pod: Obj) -> Iterator[Problem]:
    """Say what is wrong with a new pod."""
    spec = pod["spec"]
    yield from metadata_and_spec_problems(pod)
    if spec.get("ephemeralContainers"):
        yield problems.forbidden("spec.ephemeralContainers", "cannot be set on create")
    if spec.get("nodeName") and spec.get("schedulingGates"):
        what = "cannot be set until all schedulingGates have been cleared"
        yield problems.forbidden("spec.nodeName", what)


def update_problems(pod: Obj, old: Obj) -> Iterator[Problem]:
    """Say what is wrong with a changed pod."""
    yield from metadata.update_problems(pod, old)
    yield from metadata_and_spec_problems(pod)
    yield from pod_annotations.update_problems(pod, old, "metadata.annotations")
    spec, was = pod["spec"], old["spec"]
    for kind in ("containers", "initContainers"):
        found = list(_containers_problems(spec, was, kind))
        yield from found
        if len(spec.get(kind) or ()) != len(was.get(kind) or ()):
            return
    too_late = list(_deadline_problems(spec, was))
    yield from too_late
    if too_late and spec.get("activeDeadlineSeconds") is not None:
        return
    yield from scheduling.only_added_problems(
        spec.get("tolerations") or (), was.get("tolerations") or (), "spec.tolerations"
    )
    yield from _gates_problems(spec, was)
    if not values.same(spec, was):
        yield from _fixed_problems(spec, was)


def _tokens_problems(spec: Obj) -> Iterator[Problem]:
    for place, volume in enumerate(spec.get("volumes") or ()):
        for index, part in enumerate((volume.get("projected") or {}).get("sources") or ()):
            if part.get("serviceAccountToken") is not None:
                path = f"spec.volumes[{place}].projected.sources[{index}].serviceAccountToken"
                what = "must not be specified when serviceAccountName is not set"
                yield problems.forbidden(path, what)


def _containers_problems(spec: Obj, was: Obj, kind: str) -> Iterator[Problem]:
    new, field = spec.get(kind) or (), f"spec.{kind}"
    if len(new) != len(was.get(kind) or ()):
        yield problems.forbidden(field, "pod updates may not add or remove containers")
        return
    for index, container in enumerate(new):
        if not container.get("image"):
            yield problems.required(f"{field}[{index}].image")
    yield from containers.image_problems(new, field)


def _deadline_problems(spec: Obj, was: Obj) -> Iterator[Problem]:
    field = "spec.activeDeadlineSeconds"
    deadline, before = spec.get("activeDeadlineSeconds"), was.get("activeDeadlineSeconds")
    if deadline is None:
        if before is not None:
            what = "must not update from a positive integer to nil value"
            yield problems.invalid(field, None, what)
    elif not 0 <= deadline <= names.MAX_INT32:
        yield problems.invalid(field, deadline, names.between(0, names.MAX_INT32))
    elif before is not None and before < deadline:
        what = "must be less than or equal to previous value"
        yield problems.invalid(field, deadline, what)


def _gates_problems(spec: Obj, was: Obj) -> Iterator[Problem]:
    before = {gate.get("name") for gate in was.get("schedulingGates") or ()}
    for index, gate in enumerate(spec.get("schedulingGates") or ()):
        if (name := gate.get("name")) not in before:
            what = f"only deletion is allowed, but found new scheduling gate '{name}'"
            yield problems.forbidden(f"spec.schedulingGates[{index}].name", what)


def _fixed_problems(spec: Obj, was: Obj) -> Iterator[Problem]:
    kept = dict(spec)
    for kind in ("containers", "initContainers"):
        kept[kind] = [
            {**container, "image": before.get("image")}
            for container, before in zip(spec.get(kind) or (), was.get(kind) or (), strict=True)
        ]
    for member in ("activeDeadlineSeconds", "schedulingGates", "tolerations"):
        kept[member] = was.get(member)
    before = was.get("terminationGracePeriodSeconds")
    if before is not None and before < 0 and spec.get("terminationGracePeriodSeconds") == 1:
        kept["terminationGracePeriodSeconds"] = before
    if was.get("schedulingGates"):
        yield from _directives_problems(kept, was)
    if not values.same(kept, was):
        yield problems.forbidden("spec", _FIXED)


def _directives_problems(kept: Obj, was: Obj) -> Iterator[Problem]:
    """Say what is wrong with where a gated pod may run now, and put that back as it was."""
    nodes, before = kept.get("nodeSelector") or {}, was.get("nodeSelector") or {}
    if any(nodes.get(key) != value for key, value in before.items()):
        what = "only additions to spec.nodeSelector are allowed (no mutations or deletions)"
        yield problems.invalid("spec.nodeSelector", nodes or None, what)
    kept["nodeSelector"] = was.get("nodeSelector")
    ours, theirs = (each.get("affinity") for each in (kept, was))
    to_nodes = (ours or {}).get("nodeAffinity")
    were = (theirs or {}).get("nodeAffinity")
    if values.same(to_nodes, were):
        return
    yield from _affinity_problems(to_nodes, were)
    if ours is None:
        kept["affinity"] = {"nodeAffinity": were}
    elif theirs is None and not {*ours} - {"nodeAffinity"}:
        kept["affinity"] = None
    else:
        kept["affinity"] = {**ours, "nodeAffinity": were}


def _affinity_problems(new: Obj | None, old: Obj | None) -> Iterator[Problem]:
    terms, before = _terms(new), _terms(old)
    if old is None or old.get(_REQUIRED) is None:
        return
    field = f"spec.affinity.nodeAffinity.{_REQUIRED}.nodeSelectorTerms"
    if before and len(terms) != len(before):
        what = "no additions/deletions to non-empty NodeSelectorTerms list are allowed"
        yield problems.invalid(field, list(terms) or None, what)
        return
    for index, (term, was) in enumerate(zip(terms, before, strict=False)):
        if not _only_added(term, was):
            what = "only additions are allowed (no mutations or deletions)"
            yield problems.invalid(f"{field}[{index}]", term, what)


def _terms(affinity: Obj | None) -> Sequence[Obj]:
    terms: Sequence[Obj] = ((affinity or {}).get(_REQUIRED) or {}).get(
        "nodeSelectorTerms"
    ) or ()
    return terms


def _only_added(term: Mapping[str, list[Obj]], was: Mapping[str, list[Obj]]) -> bool:
    kinds = ("matchExpressions", "matchFields")
    if not any(was.get(kind) for kind in kinds):
        return not any(term.get(kind) for kind in kinds)
    return all(
        (term.get(kind) or [])[: len(was.get(kind) or [])] == (was.get(kind) or [])
        for kind in kinds
    )
