"""Finds the real programs and CRDs that tests run on, where `make kube` puts them."""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from jobferry.errors import BadInput

CURRENT = "1.35.8"
"""The Kubernetes that tests run on unless they ask for another."""

OLDEST = "1.29.15"
"""The oldest worker that we promise to work with."""

SKEW = ("1.32.5", "1.36.4")
"""More versions that we promise to work with; got on request only."""

LOCALKUBE = "localkube"
"""In the place of a version: our own small Kubernetes, which needs nothing but Python."""

SERVERS = ("kube-apiserver", "kube-controller-manager")

PROGRAMS: Mapping[str, tuple[str, ...]] = {
    CURRENT: ("etcd", *SERVERS, "kube-scheduler", "kubectl"),
    OLDEST: SERVERS,
    **dict.fromkeys(SKEW, SERVERS),
    LOCALKUBE: (),
}
"""What there is of each version. One etcd serves them all."""


OPERATORS: Mapping[str, tuple[str, ...]] = {
    "appwrapper": ("appwrapper",),
    "jobset": ("jobset",),
    "kuberay": ("ray-operator",),
    "mpi-operator": ("mpi-operator",),
    "tekton": ("tekton-controller", "tekton-webhook"),
    "trainer": ("trainer",),
    "training-operator": ("training-operator",),
}
"""The operators that tests run, by project, with the programs of each."""

ALWAYS = ("jobset",)
"""The operators that `make kube` gets, too."""


class Missing(BadInput):
    """A program or CRD that a test needs is not on this machine."""


def cache() -> Path:
    """Return the folder that holds what was built, one folder per version."""
    if chosen := os.environ.get("JOBFERRY_KUBE_CACHE"):
        return Path(chosen)
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "jobferry" / "kube"


def command_for(version: str) -> str:
    """Return the command that gets this version."""
    return "make kube-skew" if version in SKEW else "make kube"


def find(program: str, version: str = CURRENT) -> Path | None:
    """Return where a program is, or None."""
    path = cache() / version / program
    return path if os.access(path, os.X_OK) else None


def missing(version: str = CURRENT) -> tuple[str, ...]:
    """Return the programs of a version that are not on this machine."""
    return tuple(program for program in PROGRAMS[version] if find(program, version) is None)


def need(program: str, version: str = CURRENT) -> Path:
    """Return where a program is; raises `Missing`, which says how to get it."""
    path = find(program, version)
    if path is None:
        raise Missing(
            f"{program} {version} is not in {cache() / version}",
            hint=f"`{command_for(version)}` gets it.",
        )
    return path


def operator(project: str, program: str = "") -> Path | None:
    """Return where the operator of another project is, or None; `program` names it, if the project does not."""
    path = cache() / "operators" / project / (program or project)
    return path if os.access(path, os.X_OK) else None


def has_operator(project: str) -> bool:
    """Tell whether all programs of a project's operator are on this machine."""
    return all(operator(project, program) for program in OPERATORS[project])


def command_for_operator(project: str) -> str:
    """Return the command that gets an operator."""
    return "make kube" if project in ALWAYS else "make operators"


def crds(project: str) -> list[dict[str, Any]]:
    """Return the CRDs of another project, fit for an API server on which its webhooks do not run."""
    definitions = _objects("crds", project)
    for definition in definitions:
        definition["spec"].pop("conversion", None)
    return definitions


def webhooks(project: str) -> list[dict[str, Any]]:
    """Return the configurations by which another project tells an API server of its webhooks."""
    return _objects("webhooks", project)


def _objects(what: str, project: str) -> list[dict[str, Any]]:
    folder = cache() / what / project
    files = sorted(folder.glob("*.json"))
    if not files:
        called = what.replace("crds", "CRDs")
        raise Missing(
            f"the {called} of {project} are not in {folder}", hint="`make kube` gets them."
        )
    return [json.loads(file.read_bytes()) for file in files]
