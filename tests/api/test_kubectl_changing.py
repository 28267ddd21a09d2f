"""Real kubectl changes the same on localkube as on a real API server, and is refused in the same words."""

import re

import pytest

from tests.api.kubectl_files import SEVERAL, SEVERAL_CHANGED
from tests.api.kubectl_pair import Kubectls

pytestmark = [pytest.mark.kube, pytest.mark.timeout(120)]

WHOLE = "get configmap,secret,job -l app=several -o yaml --show-managed-fields"


@pytest.fixture
def several(kubectls: Kubectls) -> Kubectls:
    """A namespace in which some things were applied."""
    kubectls = kubectls.in_new_namespace()
    kubectls.same("apply -f -", given=SEVERAL)
    return kubectls


@pytest.fixture(scope="module")
def untouched(kubectls: Kubectls) -> Kubectls:
    """The same for tests that only try changes."""
    kubectls.same("apply -f -", given=SEVERAL)
    return kubectls


def _without_template(text: str) -> str:
    """Leave out the template that an error shows: a real server shows a form that is its own."""
    return re.sub(r"(template: Invalid value: )\{.*\}(?=: field is immutable)", r"\1{}", text)


def test_several_objects_are_applied(several: Kubectls) -> None:
    """By the client."""
    again = several.same("apply -f -", given=SEVERAL)
    # What is in `stringData` is another field in storage.
    said = ["unchanged", "configured", "unchanged"]
    assert [line.split()[1] for line in again.lines] == said
    several.same("apply -f - --dry-run=server", given=SEVERAL_CHANGED)
    several.same("apply -f - --dry-run=client -o yaml", given=SEVERAL_CHANGED)
    changed = several.same("apply -f -", given=SEVERAL_CHANGED)
    assert [line.split()[1] for line in changed.lines][::2] == ["configured", "configured"]
    several.script(WHOLE, "apply view-last-applied job several")
    several.same("apply set-last-applied -f -", given=SEVERAL)
    several.same("apply edit-last-applied job several")
    several.same("get -f -", given=SEVERAL)


def test_several_objects_are_applied_by_the_server(several: Kubectls) -> None:
    """With conflicts, which may be forced."""
    several.same("apply --server-side -f -", given=SEVERAL)
    by_other = "apply --server-side --field-manager=other -f -"
    refused = several.same(by_other, given=SEVERAL_CHANGED, code=1)
    assert 'conflict with "kubectl": .spec.parallelism' in refused.err
    several.same(f"{by_other} --dry-run=server --force-conflicts", given=SEVERAL_CHANGED)
    several.same(f"{by_other} --force-conflicts", given=SEVERAL_CHANGED)
    several.same(f"{by_other} --force-conflicts -o json", given=SEVERAL)
    several.same(WHOLE)


def test_what_would_change_is_shown(several: Kubectls) -> None:
    """By both ways to apply."""
    assert several.same("diff -f -", given=SEVERAL).out == ""
    shown = several.same("diff -f -", given=SEVERAL_CHANGED, code=1).out
    assert "+  parallelism: 5" in shown
    several.same("diff --server-side --force-conflicts -f -", given=SEVERAL_CHANGED, code=1)
    several.same(
        "diff -f - --prune=false", given=SEVERAL.replace("name: several", "name: b"), code=1
    )


def test_objects_are_replaced(several: Kubectls) -> None:
    """In place, or by force: deleted and made again."""
    assert (
        several.same("replace -f -", given=SEVERAL.split("---")[0]).out
        == "configmap/several replaced\n"
    )
    refused = several.begin("replace -f -").ended(SEVERAL)
    theirs, ours = (_without_template(each.err) for each in refused)
    assert ours == theirs
    assert "field is immutable" in theirs
    several.same("replace --force -f -", given=SEVERAL)
    several.same(WHOLE)
    missing = SEVERAL.replace("name: several", "name: missing")
    several.same("replace -f -", given=missing, code=1)


@pytest.mark.parametrize(
    "patch",
    [
        '{"spec":{"parallelism":4}}',
        '{"spec":{"suspend":null,"ttlSecondsAfterFinished":5}}',
        '{"metadata":{"labels":{"a":"b","app":null}}}',
        '{"metadata":{"finalizers":["a.example.com/b"]}}',
        '{"spec":{"template":{"metadata":{"labels":{"a":"b"}}}}}',
        '{"spec":{"completions":9}}',
        '{"spec":{"parallelism":"x"}}',
        '{"spec":{"parallelism":1.5}}',
        '{"spec":"x"}',
        '{"spec":{"template":[]}}',
        '{"metadata":{"labels":{"a":1}}}',
        '{"metadata":{"name":"other"}}',
        '{"spec":{"nothing":1}}',
        '{"kind":"Pod"}',
        '{"spec":',
        "[]",
    ],
)
def test_patches_are_merged(untouched: Kubectls, patch: str) -> None:
    """In both ways."""
    shown = "--dry-run=server -o yaml --show-managed-fields"
    for type in ("strategic", "merge"):
        running = untouched.begin(f"patch job several --type={type} -p '{patch}' {shown}")
        theirs, ours = running.ended()
        assert _without_template(ours.err) == _without_template(theirs.err)
        assert (ours.code, ours.out) == (theirs.code, theirs.out)


def test_objects_are_patched(several: Kubectls) -> None:
    """In all ways, one after the other."""
    several.script(
        'patch job several -p \'{"spec":{"parallelism":4}}\'',
        'patch job several -p \'{"spec":{"parallelism":4}}\'',
        'patch job several --type=merge -p \'{"metadata":{"labels":{"a":"b"}}}\'',
        "patch job several --type=json"
        ' -p \'[{"op":"replace","path":"/spec/suspend","value":false}]\'',
        WHOLE,
    )
    given = SEVERAL.split("---")[0]
    several.same('patch -f - -p \'{"data":{"z":"z"}}\'', given=given)


@pytest.mark.parametrize(
    "patch",
    [
        '[{"op":"replace","path":"/spec/parallelism","value":3}]',
        '[{"op":"test","path":"/spec/parallelism","value":9}]',
        '[{"op":"test","path":"/spec/parallelism","value":2},{"op":"add","path":"/metadata/labels/x","value":"y"}]',
        '[{"op":"remove","path":"/spec/suspend"}]',
        '[{"op":"remove","path":"/spec/nothing"}]',
        '[{"op":"replace","path":"/spec/nothing/x","value":9}]',
        '[{"op":"add","path":"/spec/nothing","value":9}]',
        '[{"op":"copy","from":"/spec/parallelism","path":"/spec/backoffLimit"}]',
        '[{"op":"move","from":"/metadata/labels/app","path":"/metadata/labels/b"}]',
        '[{"op":"replace","path":"/spec/parallelism","value":"x"}]',
        '[{"op":"invent","path":"/spec"}]',
        '{"a":1}',
        "[{",
    ],
)
def test_patches_are_done_step_by_step(untouched: Kubectls, patch: str) -> None:
    """As JSON patches."""
    line = f"patch job several --type=json -p '{patch}' --dry-run=server -o json"
    theirs, ours = untouched.begin(line).ended()
    assert ours == theirs


def test_a_status_is_patched(several: Kubectls) -> None:
    """As a part of its own."""
    patch = (
        '{"status":{"active":2,"startTime":"2024-01-01T00:00:00Z"},"spec":{"parallelism":9}}'
    )
    several.same(f"patch job several --subresource=status -p '{patch}'")
    patch = '{"status":{"succeeded":0,"conditions":[{"type":"Suspended","status":"True"}]}}'
    several.same(f"patch job several --subresource=status -p '{patch}' -o yaml")
    several.same("get job several --subresource=status")


def test_labels_and_annotations_are_set(several: Kubectls) -> None:
    """And taken away."""
    several.same("label job several a=b")
    assert "already has a value" in several.same("label job several a=c", code=1).err
    several.script(
        "label job several a=c --overwrite",
        "label job,cm --all b=1",
        "label cm -l app=several c=1",
        "label job several a- nothing-",
        "label job several a=d --dry-run=server",
        "annotate job several a=b",
        "annotate job several a=c --overwrite",
        "annotate job several a-",
        "get job several -o yaml --show-managed-fields",
    )
    for line in ("label job several --list", "annotate job several --list"):
        # kubectl shows them in any order.
        several.same(line, shown=lambda text: "\n".join(sorted(text.splitlines())))
    several.same("label job several 'a=b c'", code=1)
    several.same("label job nothing a=b", code=1)
    several.same("annotate job several a=b --resource-version=1", code=1)


def test_objects_are_edited(several: Kubectls) -> None:
    """In an editor."""
    assert "no changes made" in several.same("edit job several").err
    wider = several.edited_by("sed -i 's/parallelism: 2/parallelism: 7/'")
    assert wider.same("edit job several").out == "job.batch/several edited\n"
    wider.same("get job several -o yaml --show-managed-fields")
    refused = several.edited_by("sed -i 's/completions: 3/completions: 9/'")
    assert "is invalid" in refused.same("edit job several", code=1).err
    misspelt = several.edited_by("sed -i 's/completions: 3/completion: 9/'")
    misspelt.same("edit job several", code=1)
    data = several.edited_by('sed -i \'s/a: "1"/a: "5"/\'')
    data.same("edit configmap several --output-patch")
    several.same("edit job nothing", code=1)


def test_parts_of_templates_are_set(several: Kubectls) -> None:
    """Where they may change."""
    several.script(
        "create cronjob nightly --image=busybox --schedule='0 1 * * *' -- true",
        "set image cronjob/nightly nightly=busybox:2",
        "set env cronjob/nightly A=b",
        "set env cronjob/nightly --list",
        "set resources cronjob nightly --limits=cpu=200m",
        "set serviceaccount cronjob nightly robot",
        'patch cronjob nightly -p \'{"spec":{"suspend":true}}\'',
        "get cronjob nightly -o yaml --show-managed-fields",
        "get cronjob nightly -o wide",
    )
    several.same("set image cronjob/nightly nothing=busybox:2", code=1)
    several.same("scale job several --replicas=3", code=1)
