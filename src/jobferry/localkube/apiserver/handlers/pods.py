"""What happens to pods besides reading and writing them: they are bound to nodes, and evicted."""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from functools import partial

from jobferry.localkube.apiserver import problems, status
from jobferry.localkube.apiserver.admission.request import CREATE
from jobferry.localkube.apiserver.handlers import decoding, deleting, rendering, writing
from jobferry.localkube.apiserver.handlers.backend import Backend
from jobferry.localkube.apiserver.handlers.intent import Intent
from jobferry.localkube.apiserver.requests.call import Answer, Call
from jobferry.localkube.apiserver.requests.options import (
    DeleteOptions,
    delete_options_of,
    write_options,
)
from jobferry.localkube.apiserver.resource import Resource
from jobferry.localkube.apiserver.storage import errors
from jobferry.localkube.apiserver.storage.entry import Entry
from jobferry.localkube.apiserver.validation import names
from jobferry.objects import Obj, conditions, labels
from jobferry.objects.times import timestamp

_SUCCESS = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success"}
_FINISHED = ("Succeeded", "Failed")


async def bind(backend: Backend, call: Call, resource: Resource) -> Answer:
    """Assign a pod to a node, once."""
    wanted = write_options(call.query, kind="CreateOptions")
    binding = await decoding.posted(backend, call, "v1", "Binding", wanted.validation)
    meta = binding.setdefault("metadata", {})
    name = call.target.name if call.target.name_in_path else meta.get("name", "")
    asked = replace(Intent.of(call, resource, wanted, backend.clock.now()), name=name)
    await writing.admit_posted(backend, asked, binding)
    if name != meta.get("name", ""):
        raise status.bad_request("name in URL does not match name in Binding object")
    if found := _binding_problems(binding.get("target") or {}):
        raise status.StatusError(500, "", problems.summary(found))
    await backend.admission.validate(asked.request(CREATE, binding, None))
    if problem := names.lookup_problem(name):
        raise status.bad_request(problem)
    intent = replace(asked, resource=backend.registry.get("", "v1", "pods"))
    await _rewrite(backend, intent, lambda entry: _assigned(intent, entry, binding))
    return rendering.written(call, 201, {**_SUCCESS, "code": 201})


def _binding_problems(target: Obj) -> list[problems.Problem]:
    found = []
    kind = target.get("kind", "")
    if kind not in ("", "Node"):
        found.append(problems.not_supported("target.kind", kind, ("Node", "<empty>")))
    if not target.get("name"):
        found.append(problems.required("target.name"))
    return found


async def _rewrite(backend: Backend, intent: Intent, change: Callable[[Entry], Obj]) -> None:
    """Store what `change` makes of a pod, as it is; begin again if somebody else was quicker."""
    dry_run = intent.options.dry_run
    while (entry := backend.door.newest(intent.key)) is not None:
        old, new = rendering.decoded(entry), change(entry)
        with suppress(errors.Conflict):
            await backend.door.replace(intent.resource, entry, old, new, dry_run=dry_run)
            return
    raise status.not_found("", "pods", intent.name)


def _assigned(intent: Intent, entry: Entry, binding: Obj) -> Obj:
    """Return the pod on its node, or say why it cannot go there."""
    pod, given = entry.fresh(), binding["metadata"]
    meta, spec = pod["metadata"], pod["spec"]
    for name, found in (("uid", meta["uid"]), ("resourceVersion", str(entry.revision))):
        if given.get(name) and given[name] != found:
            label = "UID" if name == "uid" else "ResourceVersion"
            raise writing.failed_precondition(intent, label, given[name], found)
    if meta.get("deletionTimestamp"):
        why = f"pod {intent.name} is being deleted, cannot be assigned to a host"
        raise status.conflict("", "pods/binding", intent.name, why)
    if spec.get("nodeName"):
        why = f'pod {intent.name} is already assigned to node "{spec["nodeName"]}"'
        raise status.conflict("", "pods/binding", intent.name, why)
    if spec.get("schedulingGates"):
        why = f"pod {intent.name} has non-empty .spec.schedulingGates"
        raise status.conflict("", "pods/binding", intent.name, why)
    spec["nodeName"] = binding["target"]["name"]
    pod["status"].pop("nominatedNodeName", None)
    for name in ("annotations", "labels"):
        if given.get(name):
            meta[name] = {**meta.get(name, {}), **given[name]}
    scheduled = {"type": "PodScheduled", "status": "True", "lastProbeTime": None}
    pod["status"]["conditions"] = conditions.set(
        pod["status"].get("conditions"), scheduled, intent.now
    )
    return pod


async def evict(backend: Backend, call: Call, resource: Resource) -> Answer:
    """Delete a pod, unless a disruption budget speaks against it."""
    wanted = write_options(call.query, kind="CreateOptions")
    eviction = await decoding.posted(
        backend, call, "policy/v1", "Eviction", wanted.validation, also="policy/v1beta1"
    )
    name = call.target.name
    posted = Intent.of(call, resource, wanted, backend.clock.now())
    await writing.admit_posted(backend, posted, eviction)
    if eviction["metadata"].get("name", "") != name:
        raise status.bad_request("name in URL does not match name in Eviction object")
    given = dict(eviction.get("deleteOptions") or {})
    if wanted.dry_run:
        given["dryRun"] = ["All"]
    asked = given.pop("preconditions", None) or {}
    needs = DeleteOptions(
        dry_run=bool(given.get("dryRun")),
        uid=asked.get("uid"),
        resource_version=asked.get("resourceVersion"),
    )
    intent = deleting.intent_for(backend, call, resource, name, needs)
    entry = backend.door.newest(intent.key)
    if entry is None:
        raise status.not_found("", "pods", name)
    if not _is_free_to_go(rendering.decoded(entry)):
        await _charge_budget(backend, intent, rendering.decoded(entry))
    deleting.check_preconditions(intent, entry, needs)
    await _rewrite(backend, intent, partial(_disrupted, intent))
    # Only now the other options are looked at: what they may be refused for, the mark is there already.
    await deleting.delete_object(backend, intent, delete_options_of(given))
    return rendering.written(call, 201, {**_SUCCESS, "code": 201})


def _is_free_to_go(pod: Obj) -> bool:
    phase = pod.get("status", {}).get("phase")
    is_deleted = bool(pod["metadata"].get("deletionTimestamp"))
    return phase in _FINISHED or phase == "Pending" or is_deleted


async def _charge_budget(backend: Backend, intent: Intent, pod: Obj) -> None:
    """Take one disruption from the budget of a pod, or refuse."""
    budgets = backend.registry.get("policy", "v1", "poddisruptionbudgets")
    found = [
        entry
        for entry in backend.door.newest_below(budgets.range_prefix(intent.namespace))
        if labels.from_object(rendering.decoded(entry)["spec"].get("selector")).matches(
            pod["metadata"].get("labels") or {}
        )
    ]
    if not found:
        return
    if len(found) > 1:
        why = (
            "This pod has more than one PodDisruptionBudget, "
            "which the eviction subresource does not support."
        )
        raise status.StatusError(500, "", why)
    budget = found[0].fresh()
    state = budget.setdefault("status", {})
    allowed = state.get("disruptionsAllowed", 0)
    if allowed <= 0:
        error = status.StatusError(
            429,
            "TooManyRequests",
            "Cannot evict pod as it would violate the pod's disruption budget.",
        )
        why = (
            f"The disruption budget {budget['metadata']['name']} needs "
            f"{state.get('desiredHealthy', 0)} healthy pods and has "
            f"{state.get('currentHealthy', 0)} currently"
        )
        error.detail("causes", [{"reason": "DisruptionBudget", "message": why}])
        raise error
    state["disruptionsAllowed"] = allowed - 1
    state.setdefault("disruptedPods", {})[intent.name] = timestamp(intent.now)
    old, dry_run = rendering.decoded(found[0]), intent.options.dry_run
    await backend.door.replace(budgets, found[0], old, budget, dry_run=dry_run)


def _disrupted(intent: Intent, entry: Entry) -> Obj:
    """Say on the pod that it goes because it was evicted."""
    pod = entry.fresh()
    condition = {
        "type": "DisruptionTarget",
        "status": "True",
        "reason": "EvictionByEvictionAPI",
        "message": "Eviction API: evicting",
        "lastProbeTime": None,
    }
    state = pod.setdefault("status", {})
    state["conditions"] = conditions.set(state.get("conditions"), condition, intent.now)
    return pod
