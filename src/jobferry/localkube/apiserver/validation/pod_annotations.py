"""What is wrong with annotations that say something about a pod."""

from collections.abc import Iterator, Mapping

from jobferry.localkube.apiserver import problems
from jobferry.localkube.apiserver.problems import Problem
from jobferry.objects import Obj, gotext

_MIRROR = "kubernetes.io/config.mirror"
_DELETION_COST = "controller.kubernetes.io/pod-deletion-cost"


def annotations_problems(
    annotations: Mapping[str, str] | None, spec: Obj, field: str
) -> Iterator[Problem]:
    """Say what is wrong with them on any pod or template."""
    if not annotations:
        return
    if _MIRROR in annotations and not spec.get("nodeName"):
        what = "must set spec.nodeName if mirror pod annotation is set"
        yield problems.invalid(f"{field}[{_MIRROR}]", annotations[_MIRROR], what)
    if not _is_cost(annotations.get(_DELETION_COST, "0")):
        cost = annotations[_DELETION_COST]
        what = "must be a 32bit integer"
        yield problems.invalid(f"{field}[{_DELETION_COST}]", cost, what)


def update_problems(new: Obj, old: Obj, field: str) -> Iterator[Problem]:
    """Say what is wrong with how those of a pod changed, and with what they are now."""
    ours = new["metadata"].get("annotations") or {}
    theirs = old["metadata"].get("annotations") or {}
    if ours.get(_MIRROR) != theirs.get(_MIRROR):
        done = "remove or update" if _MIRROR in theirs else "add"
        what = f"may not {done} mirror pod annotation"
        yield problems.forbidden(f"{field}[{_MIRROR}]", what)
    yield from annotations_problems(ours, new["spec"], field)


def _is_cost(text: str) -> bool:
    number = gotext.parse_int(text)
    if number is None or not -(2**31) <= number < 2**31:
        return False
    return text[0] in "-123456789" or text == "0"
