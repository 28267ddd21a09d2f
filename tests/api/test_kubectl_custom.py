"""Real kubectl works with custom resources on localkube as on a real API server."""

from collections.abc import Iterator

import pytest

from tests.api.kubectl_files import TRAIN, TRAINS
from tests.api.kubectl_pair import Kubectls

pytestmark = [pytest.mark.kube, pytest.mark.timeout(120)]

WHOLE = "get train one -o yaml --show-managed-fields"


@pytest.fixture(scope="module")
def defined(kubectls: Kubectls) -> Iterator[Kubectls]:
    """A definition of trains."""
    kubectls.same("create -f -", given=TRAINS)
    kubectls.same("wait --for=condition=Established crd/trains.kubectl.example.com")
    # A real server publishes schemas a while later.
    for running in iter(lambda: kubectls.begin("explain train").ended()[0].code, 0):
        assert running == 1
    yield kubectls
    kubectls.same("delete crd trains.kubectl.example.com")


@pytest.fixture
def trains(defined: Kubectls) -> Kubectls:
    """A namespace with a train in it."""
    there = defined.in_new_namespace()
    there.same("apply -f -", given=TRAIN)
    return there


@pytest.fixture(scope="module")
def untouched(defined: Kubectls) -> Kubectls:
    """The same for tests that only try changes."""
    there = defined.in_new_namespace()
    there.same("apply -f -", given=TRAIN)
    return there


def test_definitions_are_shown(defined: Kubectls) -> None:
    """Whole, and as explained."""
    defined.script(
        "get crd trains.kubectl.example.com -o yaml --show-managed-fields",
        "get crd trains.kubectl.example.com -o name",
        "describe crd trains.kubectl.example.com",
        "api-resources --api-group=kubectl.example.com -o wide",
        "explain train.spec",
        "explain train.spec.stops",
        "explain trains.kubectl.example.com.spec.line",
        "explain train.status --recursive",
    )
    assert "wagons\t<integer>" in defined.same("explain train.spec").out


def test_custom_objects_are_shown(trains: Kubectls) -> None:
    """With the columns of their definition."""
    assert trains.same("get trains").lines[0] == "NAME  WAGONS  AGE"
    trains.script(
        "get tr -o wide", "get rail", WHOLE, "describe train one", "get train -o json"
    )
    trains.same("get trains --field-selector=spec.line=red", code=1)


def test_custom_objects_are_scaled(trains: Kubectls) -> None:
    """By their scale, whose owners are kept."""
    assert (
        trains.same("scale train one --replicas=4").out
        == "train.kubectl.example.com/one scaled\n"
    )
    trains.script(
        WHOLE,
        "scale train one --replicas=4",
        "scale train one --replicas=6 --current-replicas=4",
        "scale train one --replicas=7 --dry-run=server",
        "get train one --subresource=scale",
        "get train one --subresource=scale -o yaml --show-managed-fields",
        'patch train one --subresource=scale --type=merge -p \'{"spec":{"replicas":2}}\' -o yaml',
        WHOLE,
        "patch train one --subresource=scale --type=json"
        ' -p \'[{"op":"remove","path":"/spec/replicas"}]\' -o yaml',
        "get train one --subresource=scale",
        WHOLE,
    )
    trains.same("scale train one --replicas=5 --current-replicas=9", code=1)
    trains.same("scale train nothing --replicas=5", code=1)
    for wrong in ("-2", '"x"'):
        patch = f'{{"spec":{{"replicas":{wrong}}}}}'
        trains.same(f"patch train one --subresource=scale --type=merge -p '{patch}'", code=1)


def test_scales_and_applies_conflict(trains: Kubectls) -> None:
    """Whoever scaled owns the replicas."""
    trains.same("scale train one --replicas=4")
    wanted = TRAIN.replace("line: red", "line: red, wagons: 8")
    refused = trains.same("apply --server-side -f -", given=wanted, code=1)
    assert ".spec.wagons" in refused.err
    trains.same("apply --server-side --force-conflicts -f -", given=wanted)
    trains.script(WHOLE, "scale train one --replicas=5", WHOLE)


@pytest.mark.parametrize(
    "patch",
    [
        '{"spec":{"wagons":2}}',
        '{"spec":{"wagons":-2}}',
        '{"spec":{"line":"green"}}',
        '{"spec":{"line":null}}',
        '{"spec":{"nothing":1}}',
        '{"spec":{"stops":[{"name":"a"},{"name":"a"}]}}',
        '{"spec":{"stops":{}}}',
        '{"metadata":{"labels":{"a":1}}}',
    ],
)
def test_custom_objects_are_patched(untouched: Kubectls, patch: str) -> None:
    """By merging; strategic merges are not for them."""
    for type in ("merge", "strategic"):
        theirs, ours = untouched.begin(
            f"patch train one --type={type} -p '{patch}' --dry-run=server -o yaml"
        ).ended()
        assert ours == theirs


def test_custom_objects_are_applied(trains: Kubectls) -> None:
    """With the schema in mind."""
    later = TRAIN.replace("minutes: 2", "minutes: 3")
    trains.same("diff -f -", given=later, code=1)
    trains.same("diff --server-side --force-conflicts -f -", given=later, code=1)
    trains.same("apply --server-side -f -", given=later)
    trains.same(WHOLE)
    unknown = TRAIN.replace("line: red", "line: red, nothing: 1")
    assert "spec.nothing" in trains.same("apply -f -", given=unknown, code=1).err
    trains.same("apply --server-side -f -", given=unknown, code=1)
    trains.same("create -f - --validate=warn", given=unknown.replace("one", "two"))
    trains.same("apply -f -", given=TRAIN.replace("minutes: 2", "minutes: x"), code=1)
    trains.same("replace -f -", given=later)
    trains.same("replace --force -f -", given=later)
    edited = trains.edited_by("sed -i 's/minutes: 3/minutes: 4/'")
    edited.same("edit train one --output-patch")
    edited.same(WHOLE)


def test_conditions_and_values_are_waited_for(trains: Kubectls) -> None:
    """In custom and in built-in kinds."""
    ready = '{"status":{"wagons":2,"conditions":[{"type":"Ready","status":"True"}]}}'
    for_ready = trains.begin("wait train one --for=condition=Ready --timeout=30s")
    for_value = trains.begin("wait train one --for=jsonpath='{.status.wagons}'=2 --timeout=30s")
    trains.same(f"patch train one --type=merge --subresource=status -p '{ready}'")
    for waiting in (for_ready, for_value):
        theirs, ours = waiting.ended()
        assert ours == theirs
        assert theirs.out == "train.kubectl.example.com/one condition met\n"
    trains.script(
        "wait train --all --for=condition=Ready",
        "wait train one --for=jsonpath='{.status.wagons}'",
        "wait train nothing --for=delete",
        "wait train one --for=create",
    )
    trains.same("wait train one --for=jsonpath='{.status.wagons}'=3 --timeout=1s", code=1)
    trains.same("wait train nothing --for=condition=Ready --timeout=1s", code=1)
    patch = '{"status":{"wagons":5}}'
    trains.same(f"patch train one --type=merge --subresource=status -p '{patch}' -o yaml")
