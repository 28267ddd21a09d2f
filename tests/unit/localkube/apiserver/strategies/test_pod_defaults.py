"""What is filled in that a pod, or a template for pods, leaves out."""

from typing import Any

import pytest

from jobferry.localkube.apiserver.strategies import pod_defaults
from jobferry.objects import Obj

MAIN: Obj = {"name": "main", "image": "a:1"}


def spec_with(**members: Any) -> Obj:
    template = {"spec": {"containers": [dict(MAIN)], **members}}
    pod_defaults.default_template(template)
    return template["spec"]


def container_with(**members: Any) -> Obj:
    (container,) = spec_with(containers=[MAIN | members])["containers"]
    return dict(container)


def volume_with(**source: Any) -> Obj:
    (volume,) = spec_with(volumes=[{"name": "a", **source}])["volumes"]
    return dict(volume)


def pod_with(**members: Any) -> Obj:
    pod = {"metadata": {}, "spec": {"containers": [dict(MAIN)], **members}}
    pod_defaults.default_pod(pod)
    return pod["spec"]


def test_the_plainest_template() -> None:
    assert spec_with() == {
        "containers": [
            MAIN
            | {
                "imagePullPolicy": "IfNotPresent",
                "terminationMessagePath": "/dev/termination-log",
                "terminationMessagePolicy": "File",
            }
        ],
        "dnsPolicy": "ClusterFirst",
        "restartPolicy": "Always",
        "schedulerName": "default-scheduler",
        "securityContext": {},
        "terminationGracePeriodSeconds": 30,
    }


def test_what_is_given_stays() -> None:
    given = spec_with(
        terminationGracePeriodSeconds=0, dnsPolicy="Default", restartPolicy="Never"
    )
    assert given["terminationGracePeriodSeconds"] == 0
    assert (given["dnsPolicy"], given["restartPolicy"]) == ("Default", "Never")


def test_the_old_name_of_an_account_follows_the_new_one() -> None:
    assert spec_with(serviceAccount="a")["serviceAccountName"] == "a"
    assert spec_with(serviceAccount="a", serviceAccountName="b")["serviceAccount"] == "b"


def test_probes_are_filled_in() -> None:
    probe = container_with(livenessProbe={"httpGet": {"port": 1}})["livenessProbe"]
    assert probe == {
        "httpGet": {"port": 1, "path": "/", "scheme": "HTTP"},
        "timeoutSeconds": 1,
        "periodSeconds": 10,
        "successThreshold": 1,
        "failureThreshold": 3,
    }
    assert (
        container_with(startupProbe={"grpc": {"port": 1}})["startupProbe"]["grpc"]["service"]
        == ""
    )
    hook = container_with(lifecycle={"preStop": {"httpGet": {"port": 1}}})["lifecycle"]
    assert hook["preStop"]["httpGet"]["scheme"] == "HTTP"


def test_ports_and_references_are_filled_in() -> None:
    assert container_with(ports=[{"containerPort": 1}])["ports"][0]["protocol"] == "TCP"
    env = [{"name": "A", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}]
    assert container_with(env=env)["env"][0]["valueFrom"]["fieldRef"]["apiVersion"] == "v1"
    env = [{"name": "A", "valueFrom": {"fileKeyRef": {}}}]
    assert container_with(env=env)["env"][0]["valueFrom"]["fileKeyRef"]["optional"] is False


@pytest.mark.parametrize(
    ("given", "expected"),
    [("1", "1"), ("1500m", "1500m"), ("0.0001", "1m"), ("1.5Gi", "1536Mi"), ("-1u", "-1m")],
)
def test_nothing_finer_than_a_milli_is_asked_for(given: str, expected: str) -> None:
    assert container_with(resources={"limits": {"cpu": given}})["resources"]["limits"] == {
        "cpu": expected
    }


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({}, {"emptyDir": {}}),
        ({"hostPath": {"path": "/"}}, {"hostPath": {"path": "/", "type": ""}}),
        ({"secret": {}}, {"secret": {"defaultMode": 420}}),
        ({"configMap": {"defaultMode": 0}}, {"configMap": {"defaultMode": 0}}),
        ({"image": {"reference": "a"}}, {"image": {"reference": "a", "pullPolicy": "Always"}}),
        ({"iscsi": {}}, {"iscsi": {"iscsiInterface": "default"}}),
        (
            {"azureDisk": {"readOnly": True}},
            {
                "azureDisk": {
                    "readOnly": True,
                    "cachingMode": "ReadWrite",
                    "fsType": "ext4",
                    "kind": "Shared",
                }
            },
        ),
        (
            {"projected": {"sources": [{"serviceAccountToken": {}}]}},
            {
                "projected": {
                    "sources": [{"serviceAccountToken": {"expirationSeconds": 3600}}],
                    "defaultMode": 420,
                }
            },
        ),
        (
            {"ephemeral": {"volumeClaimTemplate": {}}},
            {"ephemeral": {"volumeClaimTemplate": {"spec": {"volumeMode": "Filesystem"}}}},
        ),
    ],
)
def test_volumes_are_filled_in(given: Obj, expected: Obj) -> None:
    assert volume_with(**given) == {"name": "a", **expected}


def test_only_pods_ask_for_their_limits() -> None:
    limited = [MAIN | {"resources": {"limits": {"cpu": "1"}}}]
    assert "requests" not in spec_with(containers=limited)["containers"][0]["resources"]
    limited = [MAIN | {"resources": {"limits": {"cpu": "1"}}}]
    assert pod_with(containers=limited)["containers"][0]["resources"]["requests"] == {
        "cpu": "1"
    }


def test_a_pod_as_a_whole_asks_for_what_its_containers_do() -> None:
    asking = [MAIN | {"resources": {"requests": {"cpu": "1"}}}]
    spec = pod_with(containers=asking, resources={"limits": {"cpu": "4", "memory": "1Gi"}})
    assert spec["resources"]["requests"] == {"cpu": "1", "memory": "1Gi"}


def test_pods_on_the_network_of_the_host_have_its_ports() -> None:
    ports = [MAIN | {"ports": [{"containerPort": 80}]}]
    spec = pod_with(containers=ports, hostNetwork=True)
    assert spec["containers"][0]["ports"][0]["hostPort"] == 80


def test_a_negative_grace_period_of_a_pod_is_a_second() -> None:
    assert pod_with(terminationGracePeriodSeconds=-5)["terminationGracePeriodSeconds"] == 1
    assert spec_with(terminationGracePeriodSeconds=-5)["terminationGracePeriodSeconds"] == -5


def test_annotations_from_before_init_containers_are_dropped() -> None:
    metadata = {"annotations": {"pod.beta.kubernetes.io/init-containers": "[]"}}
    pod_defaults.drop_old_annotations(metadata)
    assert metadata == {}
