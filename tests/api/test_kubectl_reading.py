"""Real kubectl shows the same of localkube as of a real API server."""

import pytest

from tests.api.kubectl_files import SEVERAL
from tests.api.kubectl_pair import Kubectls

pytestmark = [pytest.mark.kube, pytest.mark.timeout(120)]


@pytest.fixture(scope="module")
def filled(kubectls: Kubectls) -> Kubectls:
    """A namespace with a few things in it."""
    kubectls = kubectls.in_new_namespace()
    kubectls.same("create -f -", given=SEVERAL)
    kubectls.script(
        "create job other --image=busybox -- sleep 1",
        "create cronjob nightly --image=busybox --schedule='0 1 * * *' -- true",
        "run pod --image=busybox --restart=Never --labels=app=pod -- sleep 1",
    )
    return kubectls


def test_objects_are_listed_in_tables(filled: Kubectls) -> None:
    """The columns of every kind, narrow and wide."""
    assert filled.same("get jobs").lines[0] == "NAME  STATUS  COMPLETIONS  DURATION  AGE"
    kinds = "jobs,cronjobs,pods,configmaps,secrets,serviceaccounts,events"
    filled.script(
        f"get {kinds}",
        f"get {kinds} -o wide",
        f"get {kinds} --no-headers",
        "get all",
        "get all -o wide",
        "get jobs --show-labels --show-kind",
        "get jobs -L app,nothing",
        "get job/several cm/several pod/pod",
        "get jobs several other",
        "get jobs --chunk-size=1",
        "get jobs --server-print=false",
        "get cronjob nightly",
        "get cj,po -l app=pod",
        "get events",
        "events",
        "events --for=job/several",
    )


def test_objects_are_listed_of_all_namespaces(filled: Kubectls) -> None:
    """Those of the whole cluster, as far as they are ours."""
    chosen = f"--field-selector=metadata.namespace={filled.namespace}"
    assert filled.namespace in filled.same(f"get jobs -A {chosen}").out
    filled.script(
        f"get pods -A -o wide {chosen}",
        f"get cronjobs -A -o wide {chosen}",
        "get namespaces default kube-system kube-public kube-node-lease -o name",
        "get priorityclasses -o name",
        "get service kubernetes --namespace=default -o name",
    )


@pytest.mark.parametrize("kind", ["job", "cronjob", "pod", "configmap", "secret"])
@pytest.mark.parametrize("form", ["yaml", "json"])
def test_objects_are_shown_whole(filled: Kubectls, kind: str, form: str) -> None:
    """All that is stored, and who owns it."""
    shown = filled.same(f"get {kind} -o {form} --show-managed-fields").out
    assert "f:metadata" in shown or kind == "pod"
    filled.script(f"get {kind} -o {form}", f"get {kind} -o name")


def test_parts_are_chosen(filled: Kubectls) -> None:
    """By jsonpath, by columns of one's own, by templates."""
    each = '{range .items[*]}{.metadata.name}={.spec.parallelism}{"\\n"}{end}'
    shown = filled.same(f"get jobs -o jsonpath='{each}'")
    assert shown.lines == ["other=1", "several=2"]
    filled.script(
        "get jobs -o jsonpath='{.items[?(@.spec.suspend==true)].metadata.name}'",
        "get job several -o jsonpath='{.spec.template.spec.containers[0].resources}'",
        "get jobs -o jsonpath-as-json='{.items[*].spec.completions}'",
        "get jobs -o custom-columns=NAME:.metadata.name,WIDE:.spec.parallelism,NONE:.nothing",
        "get jobs -o go-template='{{range .items}}{{.metadata.name}} {{end}}'",
        "get job several -o jsonpath='{.nothing}'",
    )
    filled.same(
        "get job several -o jsonpath='{.nothing}' --allow-missing-template-keys=false", code=1
    )


def test_lists_are_sorted(filled: Kubectls) -> None:
    """By any field."""
    names = filled.same("get jobs --sort-by=.spec.parallelism -o name").lines
    assert names == ["job.batch/other", "job.batch/several"]
    filled.script(
        "get jobs --sort-by=.metadata.name",
        "get jobs --sort-by='{.spec.completions}' -o wide",
        "get events --sort-by=.metadata.creationTimestamp",
    )


@pytest.mark.parametrize(
    "selector",
    [
        *("-l app=several", "-l app!=several", "-l 'app in (several, pod)'", "-l '!app'"),
        *("-l app,job-name", "-l 'app notin (pod)'", "--field-selector=metadata.name=several"),
        "--field-selector=status.successful=0",
    ],
)
def test_lists_are_selected(filled: Kubectls, selector: str) -> None:
    """By labels and fields."""
    filled.same(f"get jobs {selector}")


def test_pods_are_selected_by_their_fields(filled: Kubectls) -> None:
    """By those that only pods have."""
    chosen = "--field-selector=status.phase=Pending,spec.nodeName=,spec.restartPolicy!=Always"
    assert "pod" in filled.same(f"get pods {chosen}").out
    filled.same("get pods --field-selector=spec.nodeName=somewhere")


@pytest.mark.parametrize(
    "line",
    [
        *("get nothing", "get job nothing", "get jobs several nothing", "describe job nothing"),
        *("get jobs -l 'app ! in'", "get jobs --field-selector=spec.parallelism=1", "get job/"),
        *("get jobs --field-selector=nonsense", "get jobs.v2.batch", "get pods/pod/log"),
        *(
            "get --raw /apis/nothing",
            "get --raw /api/v1/nothing",
            "get job other --subresource=x",
        ),
        *(
            "logs nothing",
            "explain nothing",
            "explain job.spec.nothing",
            "get configmaps/no cm/no",
        ),
    ],
)
def test_what_is_not_there_is_reported(filled: Kubectls, line: str) -> None:
    """In the same words."""
    assert filled.same(line, code=1).err


def test_objects_are_described(filled: Kubectls) -> None:
    """With all that belongs to them."""
    filled.script(
        "create quota small --hard=cpu=2,pods=4,count/jobs.batch=7",
        "create role reader --verb=get,list --resource=pods,jobs.batch",
        "create rolebinding readers --role=reader --serviceaccount=default:default --user=joe",
    )
    assert "Parallelism:  2" in filled.same("describe job several").out
    kinds = ("cronjob", "pod", "configmap", "secret", "serviceaccount", "quota")
    filled.script(
        *(
            f"describe {kind}"
            for kind in (*kinds, "role", "rolebinding", "jobs -l app=several")
        ),
        f"describe namespace {filled.namespace}",
        "describe limitrange",
        "describe clusterrole system:basic-user",
        "describe clusterrolebinding cluster-admin",
    )


def test_changes_are_watched(kubectls: Kubectls) -> None:
    """From what is there on, one line for each change."""
    kubectls = kubectls.in_new_namespace()
    kubectls.same("create configmap one --from-literal=a=b")
    with kubectls.beside("get configmaps -w --output-watch-events") as watching:
        theirs, ours = watching.read(2)
        assert ours == theirs
        assert "ADDED  one  1" in theirs
        kubectls.script(
            "create configmap two",
            'patch configmap one -p \'{"data":{"c":"d"}}\'',
            "delete configmap two",
        )
        theirs, ours = watching.read(3)
    assert ours == theirs
    assert [line.split()[0] for line in theirs.splitlines()] == ["ADDED", "MODIFIED", "DELETED"]


def test_one_object_is_watched(kubectls: Kubectls) -> None:
    """In any form."""
    kubectls.same("create job one --image=busybox")
    chosen = "-o jsonpath='{.metadata.name} {.spec.suspend}{\"\\n\"}'"
    with kubectls.beside(f"get job one --watch-only {chosen}") as watching:
        for suspended in ("true", "false"):
            line = f'patch job one -p \'{{"spec":{{"suspend":{suspended}}}}}\''
            kubectls.begin(line).ended()
        theirs, ours = watching.read(1)
    assert ours.split()[0] == theirs.split()[0] == "one"


def _names_and_types(text: str) -> str:
    """Leave out descriptions, which localkube does not have."""
    lines = text.splitlines()
    kept = [line for line in lines if "\t" in line or (line and not line.startswith(" "))]
    return "\n".join(kept)


@pytest.mark.parametrize(
    "what",
    [
        *(
            "job",
            "job.spec",
            "job.spec --recursive",
            "cronjob.spec.jobTemplate",
            "pod --recursive",
        ),
        *("pod.spec.containers.resources", "pods.status", "crd.spec", "lease", "quota.spec"),
        *(
            "job.spec.template.spec.containers.env.valueFrom",
            "role",
            "events --api-version=events.k8s.io/v1",
        ),
        *("job --api-version=batch/v1", "pv.spec", "secret.data", "ns", "no.status.conditions"),
    ],
)
def test_kinds_are_explained(kubectls: Kubectls, what: str) -> None:
    """Their fields and types; localkube has no descriptions."""
    shown = kubectls.same(f"explain {what}", shown=_names_and_types).out
    assert "VERSION:" in shown


def test_the_server_says_what_it_is(kubectls: Kubectls) -> None:
    """And how it is."""
    assert "running at" in kubectls.same("cluster-info").out
    kubectls.same("version", shown=lambda text: text.replace("+localkube", ""))
    kubectls.script("get --raw /healthz", "get --raw /readyz", "get --raw /livez")
    theirs, ours = kubectls.begin("get --raw /readyz?verbose").ended()
    assert theirs.lines[-1] == ours.lines[-1] == "readyz check passed"


def test_all_that_is_served_is_listed_as_a_real_server_lists_it(kubectls: Kubectls) -> None:
    """A real one serves more."""
    for line in ("api-resources -o wide --no-headers", "api-versions"):
        theirs, ours = kubectls.begin(line).ended()
        ours_here = [each for each in ours.lines if "example.com" not in each]
        assert len(ours_here) > 10
        assert [each for each in ours_here if each not in theirs.lines] == []
        assert theirs.code == ours.code == 0
    kubectls.script(
        "api-resources --api-group=batch",
        "api-resources --api-group=rbac.authorization.k8s.io -o name",
        "api-resources --api-group=authorization.k8s.io --namespaced=true",
        "api-resources --api-group=nothing.example.com",
    )
