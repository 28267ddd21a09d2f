"""What a workload refers to: all that must be there so that it can start, and nothing that need not."""

from jobferry.kinds import references
from jobferry.objects import Obj
from tests.workloads.examples import ADAPTERS, example


def named(spec: Obj) -> list[str]:
    return [str(each) for each in references.distinct(references.of_pod(spec))]


POD: Obj = {
    "serviceAccountName": "runner",
    "priorityClassName": "high",
    "runtimeClassName": "sandboxed",
    "imagePullSecrets": [{"name": "registry"}, {}],
    "resourceClaims": [
        {"name": "a", "resourceClaimName": "gpu"},
        {"name": "b", "resourceClaimTemplateName": "gpus"},
    ],
    "volumes": [
        {"name": "a", "configMap": {"name": "settings"}},
        {"name": "b", "secret": {"secretName": "key"}},
        {"name": "c", "persistentVolumeClaim": {"claimName": "data"}},
        {
            "name": "d",
            "projected": {
                "sources": [
                    {"configMap": {"name": "part"}},
                    {"secret": {"name": "other"}},
                    {"serviceAccountToken": {"path": "t"}},
                ]
            },
        },
        {"name": "e", "csi": {"driver": "x", "nodePublishSecretRef": {"name": "csi"}}},
        {
            "name": "f",
            "ephemeral": {"volumeClaimTemplate": {"spec": {"storageClassName": "fast"}}},
        },
        {"name": "g", "azureFile": {"secretName": "azure"}},
        {"name": "h", "rbd": {"secretRef": {"name": "ceph"}}},
        {"name": "i", "emptyDir": {}},
    ],
    "initContainers": [{"env": [{"valueFrom": {"secretKeyRef": {"name": "env", "key": "x"}}}]}],
    "containers": [
        {
            "env": [
                {"name": "plain", "value": "x"},
                {"valueFrom": {"configMapKeyRef": {"name": "settings", "key": "x"}}},
                {"valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
            ],
            "envFrom": [
                {"configMapRef": {"name": "many"}},
                {"secretRef": {"name": "hidden"}},
            ],
        }
    ],
}


def test_a_pod_refers_to_what_it_cannot_start_without() -> None:
    assert named(POD) == [
        "ServiceAccount runner",
        "PriorityClass.scheduling.k8s.io high",
        "RuntimeClass.node.k8s.io sandboxed",
        "Secret registry",
        "ResourceClaim.resource.k8s.io gpu",
        "ResourceClaimTemplate.resource.k8s.io gpus",
        "ConfigMap settings",
        "Secret key",
        "PersistentVolumeClaim data",
        "ConfigMap part",
        "Secret other",
        "Secret csi",
        "StorageClass.storage.k8s.io fast",
        "Secret azure",
        "Secret ceph",
        "Secret env",
        "ConfigMap many",
        "Secret hidden",
    ]


def test_what_is_optional_or_on_every_cluster_need_not_be_there() -> None:
    spec: Obj = {
        "serviceAccountName": "default",
        "priorityClassName": "system-node-critical",
        "volumes": [
            {"configMap": {"name": "a", "optional": True}},
            {"secret": {"secretName": "b", "optional": True}},
        ],
        "containers": [{"envFrom": [{"secretRef": {"name": "c", "optional": True}}]}],
    }

    assert named(spec) == []


def test_what_is_wrapped_together_is_not_needed_there() -> None:
    name = "AppWrapper.workload.codeflare.dev"
    hub = example(name)
    assert ADAPTERS[name].references(hub) == []

    del hub["spec"]["components"][0]

    assert [str(each) for each in ADAPTERS[name].references(hub)] == ["ConfigMap report-input"]


def test_a_ray_cluster_needs_its_secrets() -> None:
    hub = example("RayCluster.ray.io")
    password = {"valueFrom": {"secretKeyRef": {"name": "redis", "key": "p"}}}
    hub["spec"] |= {
        "gcsFaultToleranceOptions": {"redisAddress": "r", "redisPassword": password},
        "authOptions": {"secretName": "auth"},
        "autoscalerOptions": {"envFrom": [{"configMapRef": {"name": "scaler"}}]},
    }
    hub["spec"]["headGroupSpec"]["ingressOptions"] = {"tls": [{"secretName": "tls"}]}

    assert [str(each) for each in ADAPTERS["RayCluster.ray.io"].references(hub)] == [
        "Secret redis",
        "Secret auth",
        "Secret tls",
        "ConfigMap scaler",
    ]
    job = example("RayJob.ray.io")
    job["spec"]["rayClusterSpec"] = hub["spec"]
    assert len(ADAPTERS["RayJob.ray.io"].references(job)) == 4


def test_a_run_needs_its_account_its_step_actions_and_its_workspaces() -> None:
    hub = example("TaskRun.tekton.dev")
    hub["spec"] |= {
        "serviceAccountName": "builder",
        "podTemplate": {"imagePullSecrets": [{"name": "registry"}]},
        "workspaces": [
            {"name": "a", "persistentVolumeClaim": {"claimName": "cache"}},
            {"name": "b", "secret": {"secretName": "git"}},
            {"name": "c", "volumeClaimTemplate": {"spec": {"storageClassName": "fast"}}},
        ],
    }
    hub["spec"]["taskSpec"]["steps"].append({"name": "three", "ref": {"name": "clone"}})

    assert [str(each) for each in ADAPTERS["TaskRun.tekton.dev"].references(hub)] == [
        "StepAction.tekton.dev clone",
        "ServiceAccount builder",
        "Secret registry",
        "PersistentVolumeClaim cache",
        "Secret git",
        "StorageClass.storage.k8s.io fast",
    ]
