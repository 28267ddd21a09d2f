"""Real kubectl hears the same from localkube as from a real API server about who may do what."""

import pytest

from tests.api.kubectl_pair import Kubectls

pytestmark = [pytest.mark.kube, pytest.mark.timeout(120)]


@pytest.fixture(scope="module")
def granted(kubectls: Kubectls) -> Kubectls:
    """A namespace in which Joe may do a little."""
    kubectls.script(
        "create role reader --verb=get,list --resource=jobs.batch,pods",
        "create role one --verb=get,update --resource=configmaps --resource-name=one",
        "create rolebinding reader --role=reader --user=joe",
        "create rolebinding one --role=one --group=dev",
        "create rolebinding robot --role=reader --serviceaccount=default:robot",
    )
    return kubectls


@pytest.mark.parametrize(
    "line",
    [
        *(
            "create pods",
            "'*' '*'",
            "get jobs --as=joe",
            "get configmap/one --as=joe --as-group=dev",
        ),
        *("get pods --subresource=log", "get /metrics", "get /healthz --as=joe"),
        *("list jobs --as=system:serviceaccount:default:robot", "list jobs -A"),
    ],
)
def test_one_may(granted: Kubectls, line: str) -> None:
    """What was granted."""
    assert granted.same(f"auth can-i {line}").out.strip() == "yes"


@pytest.mark.parametrize(
    "line",
    [
        *(
            "create pods --as=joe",
            "get configmap/two --as=joe --as-group=dev",
            "get /x --as=joe",
        ),
        *("list jobs -A --as=joe", "delete jobs --as=system:serviceaccount:default:robot"),
        *("get secrets --as=system:serviceaccount:default:robot", "get nothing --as=joe"),
        "impersonate users --as=joe",
    ],
)
def test_one_may_not(granted: Kubectls, line: str) -> None:
    """What was not."""
    assert granted.same(f"auth can-i {line}", code=1).out.strip() == "no"


def test_all_that_one_may_do_is_listed(granted: Kubectls) -> None:
    """For oneself and for others."""
    granted.script(
        "auth can-i --list",
        "auth can-i --list --as=joe",
        "auth can-i --list --as=joe --as-group=dev --no-headers",
    )
    granted.same("auth can-i --list --as=system:anonymous", code=1)


def test_one_is_told_who_one_is(granted: Kubectls) -> None:
    """Also in the name of others."""
    assert "system:masters" in granted.same("auth whoami").out
    granted.script(
        "auth whoami --as=joe",
        "auth whoami --as=joe --as-group=dev --as-group=ops -o yaml",
        "auth whoami --as=joe --as-user-extra=a=b --as-uid=5 -o json",
        "auth whoami --as=system:serviceaccount:default:robot",
    )
    granted.same("auth whoami --as-group=dev", code=1)


@pytest.mark.parametrize(
    "line",
    [
        *("create job a --image=b", "delete job a", "get secrets", "get jobs -A", "get nodes"),
        *("get configmap two", "label pod a b=c", "get --raw /metrics", "get --raw /apis/x"),
        *("create rolebinding a --clusterrole=admin --user=joe", "create namespace a"),
        *("create role a --verb=get --resource=secrets", "scale job a --replicas=1"),
        *("delete jobs --all", "get events", "auth whoami --as-group=system:masters"),
        *("get crd", "create token default", "describe pod a", "get pods -w"),
    ],
)
def test_what_one_may_not_do_is_refused(granted: Kubectls, line: str) -> None:
    """In the same words."""
    theirs, ours = granted.begin(f"{line} --as=joe").ended()
    assert ours == theirs


def test_nobody_grants_more_than_they_have(granted: Kubectls) -> None:
    """Even if they may write roles."""
    granted.script(
        "create role writer --verb=create,get,update --resource=roles,rolebindings",
        "create rolebinding writer --role=writer --user=ann",
        "create role a --verb=get --resource=roles.rbac.authorization.k8s.io --as=ann",
    )
    for line in (
        "create role b --verb=get --resource=secrets",
        "create rolebinding b --role=reader --user=ann",
        "create rolebinding b --clusterrole=cluster-admin --user=ann",
    ):
        refused = granted.same(f"{line} --as=ann", code=1).err
        assert "is attempting to grant RBAC permissions not currently held" in refused
