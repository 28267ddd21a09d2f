"""The scale of stored kinds: a number of replicas that nothing acts on."""

from jobferry.localkube.apiserver import problems, status
from jobferry.objects import Obj, labels

_SHOWN = ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")


class Replicas:
    """Finds and sets the replicas in an object like a ReplicaSet."""

    spec_path = ".spec.replicas"

    def read(self, obj: Obj) -> tuple[Obj, bool]:
        """Return the Scale of an object; without a word about its replicas, it has one."""
        spec, meta = obj.get("spec") or {}, obj["metadata"]
        wanted = spec.get("replicas", 1)
        shown: Obj = {"replicas": (obj.get("status") or {}).get("replicas", 0)}
        if text := _selector(spec.get("selector")):
            shown["selector"] = text
        scale = {
            "kind": "Scale",
            "apiVersion": "autoscaling/v1",
            "metadata": {name: meta[name] for name in _SHOWN if meta.get(name)},
            "spec": {"replicas": wanted} if wanted else {},
            "status": shown,
        }
        return scale, True

    def get(self, obj: Obj) -> Obj:
        """Return the Scale of an object."""
        return self.read(obj)[0]

    def write(self, obj: Obj, scale: Obj) -> Obj:
        """Return a copy of an object with the replicas of a Scale; raises `StatusError`."""
        wanted = scale["spec"].get("replicas", 0)
        if wanted < 0:
            why = "must be greater than or equal to 0"
            found = [problems.invalid("spec.replicas", wanted, why)]
            raise status.invalid("autoscaling", "Scale", obj["metadata"]["name"], found)
        return {**obj, "spec": {**(obj.get("spec") or {}), "replicas": wanted}}


def _selector(selector: Obj | None) -> str:
    """Return a selector as text; the oldest kind has bare labels."""
    if not selector:
        return ""
    is_plain = not {"matchLabels", "matchExpressions"} & selector.keys()
    try:
        return str(labels.from_object({"matchLabels": selector} if is_plain else selector))
    except labels.BadSelector as error:
        raise status.internal(str(error)) from error
