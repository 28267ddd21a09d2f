"""What is wrong with a pod template."""

from collections.abc import Iterator

from jobferry.localkube.apiserver import problems
from jobferry.localkube.apiserver.problems import Problem
from jobferry.localkube.apiserver.validation import metadata, pod_annotations, pod_spec
from jobferry.objects import Obj


def template_problems(template: Obj, field: str) -> Iterator[Problem]:
    """Say what is wrong with a template; its labels are reported without `metadata`, as upstream does."""
    about, spec = template.get("metadata") or {}, template.get("spec") or {}
    annotations = about.get("annotations")
    yield from metadata.labels_problems(about.get("labels"), f"{field}.labels")
    yield from metadata.annotations_problems(annotations, f"{field}.annotations")
    yield from pod_annotations.annotations_problems(annotations, spec, f"{field}.annotations")
    yield from pod_spec.spec_problems(spec, f"{field}.spec")
    if spec.get("ephemeralContainers"):
        what = "ephemeral containers not allowed in pod template"
        yield problems.forbidden(f"{field}.spec.ephemeralContainers", what)
