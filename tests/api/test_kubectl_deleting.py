"""Real kubectl deletes the same on localkube as on a real API server; and what it does to nodes."""

from collections.abc import Iterator
from secrets import token_hex

import pytest

from tests.api.kubectl_files import NODE, SEVERAL
from tests.api.kubectl_pair import Kubectls

pytestmark = [pytest.mark.kube, pytest.mark.timeout(120)]


@pytest.mark.parametrize("cascade", ["background", "foreground", "orphan"])
def test_objects_are_deleted_with_or_without_what_they_own(
    kubectls: Kubectls, cascade: str
) -> None:
    """No garbage collector runs here, so what it would have to do is left on the object."""
    name = f"job-{cascade}"
    kubectls.same(f"create job {name} --image=busybox")
    deleted = kubectls.same(f"delete job {name} --cascade={cascade} --wait=false")
    assert f'job.batch "{name}" deleted' in deleted.out
    kubectls.same(f"get job {name} -o yaml --ignore-not-found --show-managed-fields")
    kubectls.same(f"patch job {name} --type=json -p '[]'", code=int(cascade == "background"))
    kubectls.same(f"create job {name} --image=busybox", code=int(cascade != "background"))


def test_objects_are_deleted_by_choice(kubectls: Kubectls) -> None:
    """By file, by label, by field, all of a kind; really or not."""
    kubectls = kubectls.in_new_namespace()
    kubectls.same("create -f -", given=SEVERAL)
    kubectls.script(
        *(f"create configmap c{number}" for number in range(4)),
        "label configmap c0 c1 a=b",
        "delete configmap c0 --dry-run=server",
        "delete configmap c0 --dry-run=client -o name",
        "delete configmap -l a=b",
        "delete configmap --field-selector=metadata.name=c2",
        "delete configmap c3 nothing --ignore-not-found",
        "delete secrets,configmaps --all --dry-run=server",
        "delete secrets --all",
        "get configmaps,secrets",
        "delete configmaps -l nothing=here",
    )
    kubectls.same("delete -f - --dry-run=server", given=SEVERAL, code=1)
    kubectls.same("delete -f - --ignore-not-found", given=SEVERAL)
    assert "NotFound" in kubectls.same("delete configmap nothing", code=1).err
    kubectls.same("delete configmap", code=1)
    kubectls.same("delete all --all -o name")
    kubectls.same("get all")


def test_pods_are_deleted(kubectls: Kubectls) -> None:
    """Those on no node go at once, the others when their kubelet says so; or by force."""
    kubectls.script(
        "run free --image=busybox --restart=Never",
        "delete pod free",
        "run bound --image=busybox --restart=Never"
        ' --overrides=\'{"spec":{"nodeName":"somewhere"}}\'',
        "delete pod bound --wait=false --grace-period=20",
        "get pod bound",
        "get pod bound -o jsonpath='{.metadata.deletionGracePeriodSeconds}'",
        "describe pod bound",
        "delete pod bound --force",
    )
    kubectls.same("get pod bound", code=1)


def test_deletions_are_waited_for(kubectls: Kubectls) -> None:
    """Until the last finalizer is gone."""
    kubectls.same("create configmap kept")
    held = '{"metadata":{"finalizers":["example.com/held"]}}'
    kubectls.same(f"patch configmap kept --type=merge -p '{held}'")
    deleting = kubectls.begin("delete configmap kept")
    waiting = kubectls.begin("wait configmap kept --for=delete --timeout=30s")
    kubectls.same("wait configmap kept --for=jsonpath='{.metadata.deletionTimestamp}'")
    kubectls.same("get configmap kept -o yaml")
    kubectls.same("delete configmap kept --timeout=1s", code=1)
    free = '{"metadata":{"finalizers":null}}'
    kubectls.same(f"patch configmap kept --type=merge -p '{free}'")
    for running in (deleting, waiting):
        theirs, ours = running.ended()
        assert ours == theirs
        assert theirs.code == 0
    kubectls.same("create configmap kept")
    kubectls.same("wait configmap kept --for=delete --timeout=1s", code=1)


def test_a_namespace_ends(kubectls: Kubectls) -> None:
    """No controller empties it here, so it stays; nothing new comes into it."""
    ending = kubectls.in_new_namespace()
    ending.script(
        "create configmap one",
        f"delete namespace {ending.namespace} --wait=false",
        f"get namespace {ending.namespace}",
        f"get namespace {ending.namespace} -o yaml",
        f"describe namespace {ending.namespace}",
        "delete configmap one",
    )
    refused = ending.same("create configmap two", code=1).err
    assert "because it is being terminated" in refused


@pytest.fixture
def node(kubectls: Kubectls) -> Iterator[str]:
    """A node that nothing runs on."""
    name = f"node-{token_hex(4)}"
    kubectls.same("create -f -", given=NODE.replace("NAME", name))
    yield name
    kubectls.same(f"delete node {name}")


def test_nodes_are_tainted_and_shut(kubectls: Kubectls, node: str) -> None:
    """And opened again."""
    kubectls.script(
        f"get node {node}",
        f"get node {node} -o wide",
        f"describe node {node}",
        f"taint node {node} a=b:NoSchedule",
        f"taint node {node} a=c:NoSchedule --overwrite",
        f"cordon {node}",
        f"cordon {node}",
        f"get node {node}",
        f"describe node {node}",
        f"taint node {node} a-",
        f"uncordon {node}",
        f"uncordon {node}",
        f"label node {node} tier=a",
        f"get node {node} -o yaml --show-managed-fields",
    )
    for wrong in ("a=b:Sometimes", "a b=c:NoSchedule", "nothing-"):
        kubectls.same(f"taint node {node} '{wrong}'", code=1)
    kubectls.same("cordon nothing", code=1)


def test_nodes_are_drained(kubectls: Kubectls, node: str) -> None:
    """Their pods are evicted."""
    overrides = f'{{"spec":{{"nodeName":"{node}"}}}}'
    kubectls.same(f"run guest --image=busybox --restart=Never --overrides='{overrides}'")
    refused = kubectls.same(f"drain {node}", code=1).err
    assert "cannot delete Pods that declare no controller" in refused
    kubectls.same(f"drain {node} --force --dry-run=server")
    drained = kubectls.same(f"drain {node} --force --grace-period=0 --timeout=20s")
    assert f"node/{node} drained" in drained.out
    kubectls.same("get pods guest", code=1)
    kubectls.script(f"get node {node}", f"drain {node}", f"uncordon {node}")
