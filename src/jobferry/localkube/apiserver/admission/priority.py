"""Priority: a pod gets the priority of its class, or of the class for all that name none."""

from jobferry.localkube.apiserver.admission.cluster import Cluster
from jobferry.localkube.apiserver.admission.plugin import Plugin
from jobferry.localkube.apiserver.admission.request import UPDATE, Request, Topic, forbidden
from jobferry.objects import Obj

_GROUP, _RESOURCE = "scheduling.k8s.io", "priorityclasses"
_COMPUTED = "priority admission controller computed {} from the given PriorityClass name"
_NO_CLASS: Obj = {"value": 0, "preemptionPolicy": "PreemptLowerPriority"}
"""What pods get as long as no class is the default."""


def plugin(cluster: Cluster) -> Plugin:
    """Return the plugin."""

    async def admit(request: Request) -> None:
        if request.resource != "pods":
            return
        spec = (request.obj or {}).setdefault("spec", {})
        if request.operation == UPDATE:
            _keep(spec, (request.old or {}).get("spec") or {})
        else:
            _set(request, spec, _class_for(request, spec, cluster))

    async def validate(request: Request) -> None:
        priority_class = request.obj or {}
        if request.resource != _RESOURCE or not priority_class.get("globalDefault"):
            return
        default = _default_class(cluster)
        if default is None:
            return
        name = default["metadata"]["name"]
        if request.operation != UPDATE or name != priority_class["metadata"].get("name"):
            why = (
                f"PriorityClass {name} is already marked as default. Only one default can exist"
            )
            raise forbidden(request, why)

    return Plugin(name="Priority", handles=_handles, admit=admit, validate=validate)


def _handles(topic: Topic) -> bool:
    return topic.writes("", "pods") or topic.writes(_GROUP, _RESOURCE)


def _keep(spec: Obj, old: Obj) -> None:
    for field in ("priority", "preemptionPolicy"):
        if spec.get(field) is None and old.get(field) is not None:
            spec[field] = old[field]


def _class_for(request: Request, spec: Obj, cluster: Cluster) -> Obj:
    name = spec.get("priorityClassName")
    if not name:
        default = _default_class(cluster)
        if default is None:
            return _NO_CLASS
        spec["priorityClassName"] = default["metadata"]["name"]
        return default
    found = cluster.get(_GROUP, _RESOURCE, "", name)
    if found is None:
        raise forbidden(request, f"no PriorityClass with name {name} was found")
    return found


def _set(request: Request, spec: Obj, priority_class: Obj) -> None:
    value, given = priority_class.get("value", 0), spec.get("priority")
    if given is not None and given != value:
        why = f"the integer value of priority ({given}) must not be provided in pod spec; "
        raise forbidden(request, why + _COMPUTED.format(value))
    spec["priority"] = value
    policy, wanted = priority_class.get("preemptionPolicy"), spec.get("preemptionPolicy")
    if policy is None:
        return
    if wanted is not None and wanted != policy:
        why = f"the string value of PreemptionPolicy ({wanted}) must not be provided in pod spec; "
        raise forbidden(request, why + _COMPUTED.format(policy))
    spec["preemptionPolicy"] = policy


def _default_class(cluster: Cluster) -> Obj | None:
    """Return the class that is the default; of several that a race let in, the lowest."""
    defaults = [
        each for each in cluster.list(_GROUP, _RESOURCE, "") if each.get("globalDefault")
    ]
    return min(defaults, key=lambda each: each.get("value", 0), default=None)
