"""CRDs to try kinds on: the real ones where `make kube` got them, and small ones of our own, of the same paths and rules."""

from typing import Any

from jobferry.objects import Obj
from jobferry.testing import assets

ANYTHING: Obj = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
TEXT: Obj = {"type": "string"}
NUMBER: Obj = {"type": "integer", "format": "int32"}
MOMENT: Obj = {"type": "string", "format": "date-time"}
SWITCH: Obj = {"type": "boolean"}

PROJECTS = (
    "appwrapper",
    "jobset",
    "kuberay",
    "mpi-operator",
    "tekton",
    "trainer",
    "training-operator",
)


REFERRED = frozenset({"clustertrainingruntimes", "trainingruntimes", "pipelines", "tasks"})
"""What workloads refer to."""


def real(*, referred: bool = False) -> list[Obj]:
    """Return the CRDs of all kinds, as their projects ship them; if wanted with those of what they refer to."""
    shipped = [each for project in PROJECTS for each in assets.crds(project)]
    wanted = {each["metadata"]["name"] for each in smallest(referred=referred)}
    kept = [_short(each) for each in shipped if each["metadata"]["name"] in wanted]
    return [*kept, small("example.com", "v1", "Simulation", _spec("managedBy"), _status())]


def _short(value: Any) -> Any:
    """Return a CRD without what is there for people: servers take a third of the time."""
    if isinstance(value, dict):
        return {
            key: _short(each)
            for key, each in value.items()
            if key != "description" or not isinstance(each, str)
        }
    return [_short(each) for each in value] if isinstance(value, list) else value


def smallest(*, referred: bool = False) -> list[Obj]:
    """Return small CRDs of all kinds; if wanted with those of what they refer to."""
    return [
        each for each in _SMALL if referred or each["spec"]["names"]["plural"] not in REFERRED
    ]


def small(
    group: str, version: str, kind: str, spec: Obj, status: Obj | None, **more: Any
) -> Obj:
    """Return a CRD of about 2 kB; without a status it has no such subresource."""
    plural = f"{kind.lower()}s"
    properties = {"spec": spec, **({} if status is None else {"status": status})}
    schema = {"type": "object", "properties": properties, **more.pop("rules", {})}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{group}"},
        "spec": {
            "group": group,
            "scope": "Namespaced",
            "names": {"kind": kind, "plural": plural, "singular": kind.lower()},
            "versions": [
                {
                    "name": version,
                    "served": True,
                    "storage": True,
                    "schema": {"openAPIV3Schema": schema},
                    **({} if status is None else {"subresources": {"status": {}}}),
                }
            ],
            **more,
        },
    }


def _rules(*rules: str) -> Obj:
    return {"x-kubernetes-validations": [{"rule": rule, "message": rule} for rule in rules]}


def _closed(own: str, **more: Any) -> Obj:
    """Return the schema of a managedBy that takes two names, and never changes."""
    names = f"self in ['{own}', 'kueue.x-k8s.io/multikueue']"
    return {**TEXT, **_rules(names, "self == oldSelf"), **more}


def _spec(managed_by: str, schema: Obj = TEXT, **more: Obj) -> Obj:
    """Return the schema of a spec with a managedBy, there or below a runPolicy."""
    first, _, rest = managed_by.partition(".")
    inner = _spec(rest, schema, suspend={**SWITCH, "default": False}) if rest else schema
    return {**ANYTHING, "properties": {first: inner, **more}}


def _condition(*required: str) -> Obj:
    members = ("lastTransitionTime", "message", "reason", "status", "type")
    return {
        **ANYTHING,
        "required": ["status", "type", *required],
        "properties": {
            **dict.fromkeys(members, TEXT),
            "lastTransitionTime": MOMENT,
            "reason": {**TEXT, "pattern": "^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$"},
        },
    }


def _conditions(*required: str, by_type: bool = True) -> Obj:
    keys = {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["type"]}
    return {"type": "array", "items": _condition(*required), **(keys if by_type else {})}


META = _conditions("lastTransitionTime", "message", "reason")


def _status(listed: Obj | None = META, **more: Any) -> Obj:
    return {**ANYTHING, "properties": {"conditions": listed} if listed else {}, **more}


_RAY_JOB_STATUS: Obj = {
    "type": "object",
    "properties": {
        **dict.fromkeys(
            ("dashboardURL", "jobDeploymentStatus", "jobId", "jobStatus", "message"), TEXT
        ),
        **dict.fromkeys(("rayClusterName", "reason"), TEXT),
        **dict.fromkeys(("startTime", "endTime"), MOMENT),
        "observedGeneration": {"type": "integer", "format": "int64"},
        "rayClusterStatus": ANYTHING,
        "succeeded": {**NUMBER, "default": 0},
        "failed": {**NUMBER, "default": 0},
    },
}
"""It has no conditions: what is written there is pruned."""

_TRAINER = "trainer.kubeflow.org"
_OWN = f"{_TRAINER}/trainjob-controller"
_RAY = _closed("ray.io/kuberay-operator")
_LOOSE = _conditions(by_type=False)

_SMALL = (
    small(
        "jobset.x-k8s.io",
        "v1alpha2",
        "JobSet",
        _spec("managedBy", replicatedJobs={"type": "array", "items": ANYTHING}, suspend=SWITCH),
        _status(),
    ),
    small(
        _TRAINER,
        "v1alpha1",
        "TrainJob",
        _spec(
            "managedBy",
            _closed(_OWN, default=_OWN),
            suspend={**SWITCH, "default": False},
            trainer={**ANYTHING, **_rules("self == oldSelf")},
        ),
        _status({**META, "maxItems": 8}, minProperties=1),
        rules=_rules("self.metadata.name.matches('^[a-z]([-a-z0-9]*[a-z0-9])?$')"),
    ),
    small(_TRAINER, "v1alpha1", "TrainingRuntime", ANYTHING, None),
    small(_TRAINER, "v1alpha1", "ClusterTrainingRuntime", ANYTHING, None, scope="Cluster"),
    small("ray.io", "v1", "RayJob", _spec("managedBy", _RAY, suspend=SWITCH), _RAY_JOB_STATUS),
    small("ray.io", "v1", "RayCluster", _spec("managedBy", _RAY, suspend=SWITCH), _status()),
    small("workload.codeflare.dev", "v1beta2", "AppWrapper", _spec("managedBy"), _status()),
    small("tekton.dev", "v1", "PipelineRun", _spec("managedBy"), _status(_LOOSE)),
    small(
        "tekton.dev",
        "v1",
        "TaskRun",
        _spec("managedBy"),
        {**_status(_LOOSE), "required": ["podName"]},
    ),
    small("tekton.dev", "v1", "Pipeline", ANYTHING, None),
    small("tekton.dev", "v1", "Task", ANYTHING, None),
    small(
        "kubeflow.org",
        "v2beta1",
        "MPIJob",
        _spec("runPolicy.managedBy"),
        _status(_conditions()),
    ),
    *(
        small("kubeflow.org", "v1", kind, _spec("runPolicy.managedBy"), _status(_LOOSE))
        for kind in ("PyTorchJob", "TFJob", "XGBoostJob", "PaddleJob", "JAXJob")
    ),
    small("example.com", "v1", "Simulation", _spec("managedBy"), _status()),
)
