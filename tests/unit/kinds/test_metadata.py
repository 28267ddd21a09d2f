import pytest

from jobferry.core import marks
from jobferry.kinds import metadata


@pytest.mark.parametrize(
    "key",
    [
        "job-name",
        "controller-uid",
        "batch.kubernetes.io/job-name",
        "batch.kubernetes.io/controller-uid",
        "kubectl.kubernetes.io/last-applied-configuration",
        "app.kubernetes.io/instance",
        "argocd.argoproj.io/tracking-id",
        "argocd.argoproj.io/sync-wave",
        "kustomize.toolkit.fluxcd.io/name",
        "helm.toolkit.fluxcd.io/namespace",
        "fluxcd.io/sync-checksum",
        "kapp.k14s.io/app",
        "meta.helm.sh/release-name",
        "applyset.kubernetes.io/part-of",
        "jobferry.io/placement",
        marks.ORIGIN,
    ],
)
def test_rule_21_what_binds_a_workload_to_its_cluster_does_not_travel(key: str) -> None:
    assert metadata.travelling({key: "x"}) == {}


@pytest.mark.parametrize(
    "key",
    [
        "team",
        "app.kubernetes.io/name",
        "kueue.x-k8s.io/queue-name",
        "batch.kubernetes.io/cronjob-scheduled-timestamp",
        "notfluxcd.io/name",
        "example.com/jobferry.io",
    ],
)
def test_everything_else_travels(key: str) -> None:
    assert metadata.travelling({key: "x"}) == {key: "x"}


def test_no_labels_are_no_labels() -> None:
    assert metadata.travelling(None) == metadata.without_generated(None) == {}
