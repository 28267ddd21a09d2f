"""What is told of a workload of another kind than Job that no dispatcher of ours runs: who does, and what to do."""

from difflib import get_close_matches

from jobferry.cli.workload_facts import Workload
from jobferry.errors import BadInput
from jobferry.kinds.adapter import MULTIKUEUE, Adapter
from jobferry.kinds.paths import text
from jobferry.kinds.pod import GATES

_MULTIKUEUE = (
    f"A dispatcher with claimMultikueue runs what names {MULTIKUEUE}:"
    " JOBFERRY_CLAIM_MULTIKUEUE=true says that it is so, as for the dispatcher."
)


def refuse(seen: Workload) -> None:
    """Raise `BadInput` for a workload that is none of ours."""
    if seen.is_claimed:
        return
    kind = seen.kind
    its, named = seen.title, kind.managed_by(seen.obj)
    field = "scheduling gate" if kind.managed_by_path == GATES else kind.managed_by_path[-1]
    if named and named != kind.own_controller:
        says = f"{its} is not delegated to us: its {field} is {named}"
        raise BadInput(says, hint=_hint(kind, named))
    is_named = f"Its {field} is {named}. " if named else ""
    says = f"{its} is not delegated: what is on the hub runs it"
    raise BadInput(says, hint=f"{is_named}{_anew(kind)}")


def refuse_to_cancel(seen: Workload) -> None:
    """Raise `BadInput` for a workload that is none of ours; say how one of the hub's own is deleted."""
    if seen.kind.managed_by(seen.obj) in (None, "", seen.kind.own_controller):
        raise BadInput(
            f"{seen.title} is not delegated: it does not run on a worker",
            hint=f"`kubectl delete {seen.kind.resource} {seen.name}` deletes it all the same.",
        )
    refuse(seen)


def _hint(kind: Adapter, named: str) -> str:
    """Say what may be wrong with a name that is not ours."""
    ours = sorted(kind.claims)
    if named == MULTIKUEUE:
        return _MULTIKUEUE
    if near := get_close_matches(named, ours, n=1, cutoff=0.8):
        return f"Is {near[0]} meant? {_anew(kind)}"
    return (
        f"Ours is {', '.join(ours)}; JOBFERRY_MANAGED_BY says otherwise, as for the dispatcher."
    )


def _anew(kind: Adapter) -> str:
    """Say how a workload of a kind is delegated."""
    names = kind.claims if kind.accepts is None else kind.claims & kind.accepts
    if not names:
        return _MULTIKUEUE
    ours, where = sorted(names)[0], text(kind.managed_by_path)
    said = f"[{{name: {ours}}}]" if kind.managed_by_path == GATES else ours
    name = kind.resource.kind
    return f"A {name} with {where}: {said} goes to a worker: make it anew with that."
