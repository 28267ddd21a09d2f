"""Which kinds of workloads a dispatcher brings to workers, by its settings."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from difflib import get_close_matches

from jobferry.errors import BadInput
from jobferry.kinds import declared, registry
from jobferry.kinds.adapter import MULTIKUEUE, Adapter, Context, Lookup, nothing
from jobferry.kinds.job.delegated import DelegatedJob
from jobferry.kube.resources import JOBS
from jobferry.settings import Settings

HINT = "`jobferry kinds` lists those that it knows."
_DECLARED = "If customKinds declares it, so must JOBFERRY_CUSTOM_KINDS here, as YAML: see docs/settings.md."


def known(settings: Settings, lookup: Lookup = nothing) -> dict[str, Adapter]:
    """Return all kinds that a dispatcher knows, Jobs first, by their names; raises `BadInput`.

    `lookup` finds what their workloads refer to on the hub.
    """
    borrowed = frozenset({MULTIKUEUE} if settings.claim_multikueue else ())
    context = Context(frozenset(settings.managed_by), borrowed, lookup)
    rows = declared.rows(list(settings.custom_kinds))
    jobs: Adapter = DelegatedJob(context)
    return {jobs.name: jobs, **registry.make(context, rows)}


def switched_on(settings: Settings, lookup: Lookup = nothing) -> list[Adapter]:
    """Return the kinds that a dispatcher brings to workers, where they are; raises `BadInput`."""
    every = known(settings, lookup)
    if settings.kinds:
        return find(settings.kinds, every)
    return [each for each in every.values() if is_on_by_default(each)]


def including(settings: Settings, kind: Adapter) -> Settings:
    """Return settings by which a kind is switched on, too, and all else is as it was."""
    on = [each.name for each in switched_on(settings)]
    return settings if kind.name in on else replace(settings, kinds=(*on, kind.name))


def is_on_by_default(kind: Adapter) -> bool:
    """Tell whether a kind is switched on unless kinds are named: Jobs, and custom ones that we can claim."""
    is_claimable = kind.accepts is None or bool(kind.accepts & kind.claims)
    return is_claimable and (kind.resource == JOBS or "." in kind.resource.group)


def find(names: Iterable[str], every: Mapping[str, Adapter]) -> list[Adapter]:
    """Return the kinds of these names, each once, in the order in which they are known; raises `BadInput`."""
    wanted = {_find(name, every).name for name in names}
    return [each for name, each in every.items() if name in wanted]


def _find(name: str, every: Mapping[str, Adapter]) -> Adapter:
    """Find a kind as people name it: by kind or plural, with its group or without."""
    low = name.lower()
    found = [each for each in every.values() if low in _names(each)]
    if len(found) == 1:
        return found[0]
    if found:
        which = ", ".join(each.name for each in found)
        raise BadInput(f"kinds: {name} may be any of {which}")
    for refused, why in registry.REFUSED.items():
        if low in (refused.lower(), refused.partition(".")[0].lower()):
            raise BadInput(f"kinds: {refused} is not dispatched: {why}")
    kinds = {each.resource.kind.lower(): each.resource.kind for each in every.values()}
    near = get_close_matches(low, kinds, n=1)
    hint = f"Is {kinds[near[0]]} meant? {HINT}" if near else f"{HINT} {_DECLARED}"
    raise BadInput(f"kinds: there is no kind {name}", hint=hint)


def _names(kind: Adapter) -> set[str]:
    resource = kind.resource
    full = {kind.name, str(resource), f"{kind.name}/{resource.version}"}
    return {each.lower() for each in (*full, resource.kind, resource.plural)}
