"""Real kubectl makes the same on localkube as on a real API server, and is refused in the same words."""

import base64
import json
from secrets import token_hex

import pytest

from tests.api.kubectl_files import MISSPELT, SEVERAL, WRONG
from tests.api.kubectl_pair import Kubectls

pytestmark = [pytest.mark.kube, pytest.mark.timeout(120)]


def test_objects_are_made_from_arguments(kubectls: Kubectls) -> None:
    """Every `kubectl create` that a batch user has."""
    made = kubectls.same("create configmap one --from-literal=a=b --from-literal=c=d")
    assert made.out == "configmap/one created\n"
    kubectls.script(
        "create secret generic one --from-literal=a=b",
        "create secret generic typed --from-literal=a=b --type=example.com/mine",
        "create secret docker-registry two --docker-server=x --docker-username=u"
        " --docker-password=p",
        "create serviceaccount one",
        "create role one --verb=get,list --resource=pods,jobs.batch,pods/log",
        "create rolebinding one --role=one --serviceaccount=default:one --group=all",
        "create quota one --hard=pods=20,count/jobs.batch=20",
        "create cronjob one --image=busybox --schedule='*/5 * * * *' -- echo hi",
        "create job one --from=cronjob/one",
        "create job two --image=busybox -- echo hi",
        "run one --image=busybox --restart=Never --env=A=b --labels=a=b --command -- sleep 1",
        "run two --image=busybox --restart=OnFailure --dry-run=server",
    )
    kinds = "configmaps,secrets,sa,roles,rolebindings,quota,cronjobs,jobs,pods"
    shown = kubectls.same(f"get {kinds} -o yaml --show-managed-fields").out
    assert shown.count("kubectl-create") == 10
    kubectls.script(
        f"get {kinds}", "describe job one", "describe pod one", "describe quota one"
    )


def test_objects_of_the_cluster_are_made(kubectls: Kubectls) -> None:
    """Those in no namespace."""
    name = f"kubectl-{token_hex(4)}"
    lines = (
        f"create namespace {name}",
        f"create clusterrole {name} --verb=get --resource=nodes --resource-name=a",
        f"create clusterrole {name}-url --verb=get --non-resource-url=/metrics",
        f"create clusterrolebinding {name} --clusterrole={name} --user=joe",
        f"create priorityclass {name} --value=100 --description=mine --preemption-policy=Never",
    )
    kubectls.script(*lines)
    kinds = f"ns/{name} clusterrole/{name} clusterrolebinding/{name} priorityclass/{name}"
    kubectls.script(
        f"get {kinds} -o yaml --show-managed-fields",
        f"get {kinds} -o wide",
        *(f"describe {each}" for each in kinds.split()),
    )
    for line in lines:
        assert "already exists" in kubectls.same(line, code=1).err
    kubectls.same(f"delete clusterrole,clusterrolebinding,priorityclass {name}")
    kubectls.same(f"delete clusterrole {name}-url")


@pytest.mark.parametrize("how", ["server", "client"])
def test_nothing_is_made_in_a_dry_run(kubectls: Kubectls, how: str) -> None:
    """But it is shown what would be."""
    line = f"create job tried --image=busybox --dry-run={how}"
    assert "(dry run)" in kubectls.same(line).out.replace("(server dry run)", "(dry run)")
    kubectls.same(f"{line} -o yaml")
    kubectls.same(f"create -f - --dry-run={how} -o name", given=SEVERAL)
    kubectls.same("get job tried", code=1)


def test_tokens_are_made_for_accounts(kubectls: Kubectls) -> None:
    """They say who they are for and how long they hold."""
    kubectls.same("create serviceaccount robot")
    running = kubectls.begin("create token robot --duration=700s --audience=me")
    theirs, ours = (json.loads(_claims(each.out)) for each in running.ended())
    for claims in (theirs, ours):
        assert claims["exp"] - claims["iat"] == 700
        claims["kubernetes.io"]["serviceaccount"].pop("uid")
        for name in ("exp", "iat", "nbf", "jti", "iss"):
            claims.pop(name)
    assert ours == theirs
    assert theirs["sub"] == f"system:serviceaccount:{kubectls.namespace}:robot"
    kubectls.same("create token nobody", code=1)
    kubectls.same("create token robot --duration=5s", code=1)


def _claims(token: str) -> bytes:
    payload = token.strip().split(".")[1]
    return base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4))


@pytest.mark.parametrize("how", ["strict", "warn", "ignore"])
def test_misspelt_fields_are_told(kubectls: Kubectls, how: str) -> None:
    """As strictly as one wants."""
    refused = how == "strict"
    kubectls = kubectls.in_new_namespace()
    made = kubectls.same(f"create -f - --validate={how}", given=MISSPELT, code=int(refused))
    assert ('unknown field "spec.paralelism"' in made.err) == (how != "ignore")
    applied = kubectls.same(f"apply -f - --validate={how}", given=MISSPELT, code=int(refused))
    assert ('unknown field "spec.paralelism"' in applied.err) == (how != "ignore")
    # A configuration must fit the schema, whatever one wants. Of several mistakes, upstream tells some.
    once = MISSPELT.replace(", comand: [a]", "")
    kubectls.same(f"apply --server-side -f - --validate={how}", given=once, code=1)
    kubectls.same("get jobs -o name")


@pytest.mark.parametrize(
    "given",
    [
        WRONG,
        *(
            "kind: Job",
            "apiVersion: batch/v1",
            "apiVersion: batch/v1\nkind: Nothing",
            "- a",
            "{",
        ),
        "apiVersion: batch/v1\nkind: Job\nmetadata: {name: a}",
        "apiVersion: batch/v1\nkind: Job\nmetadata: {}",
        "apiVersion: batch/v1\nkind: Job\nmetadata: {name: a}\nspec: {parallelism: x}",
        "apiVersion: batch/v1\nkind: Job\nmetadata: {name: a, namespace: other}",
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {a: 1}",
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, labels: {'a b': c}}",
        "apiVersion: nothing.example.com/v1\nkind: Thing\nmetadata: {name: a}",
        "apiVersion: v1\nkind: Secret\nmetadata: {name: a}\ndata: {a: '***'}",
    ],
)
@pytest.mark.parametrize("line", ["create -f -", "apply -f -", "apply --server-side -f -"])
def test_what_is_wrong_is_refused(kubectls: Kubectls, given: str, line: str) -> None:
    """In the same words."""
    assert kubectls.same(line, given=given, code=1).err


@pytest.mark.parametrize(
    "line",
    [
        *("create job a_b --image=busybox", "create job a --from=cronjob/nothing"),
        *("create cronjob a --image=b --schedule=often", "create quota a --hard=cpu=x"),
        *("create quota a --hard=nonsense=1", "run A --image=b", "create role a --verb=x"),
        *("create rolebinding a --role=b --clusterrole=c", "create configmap a,b"),
        *(
            "create priorityclass a --value=2000000000",
            "create priorityclass system-a --value=1",
        ),
        *(
            "run a --image=b --restart=Sometimes",
            "create namespace a_b",
            "create -f nothing.yaml",
        ),
        "create secret generic a --from-literal=a",
    ],
)
def test_arguments_are_refused(kubectls: Kubectls, line: str) -> None:
    """In the same words."""
    assert kubectls.same(line, code=1).err


def test_a_namespace_that_is_not_there_is_reported(kubectls: Kubectls) -> None:
    """Whatever one wants to make in it."""
    for line in ("create configmap a", "create job a --image=b", "run a --image=b"):
        assert "not found" in kubectls.same(f"{line} --namespace=nowhere", code=1).err
    kubectls.same("apply -f - --namespace=nowhere", given=SEVERAL, code=1)
    kubectls.same("apply --server-side -f - --namespace=nowhere", given=SEVERAL, code=1)
    kubectls.same("get jobs --namespace=nowhere")
