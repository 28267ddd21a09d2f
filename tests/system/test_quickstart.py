"""docs/quickstart.md does what it says: its commands are run as they stand there."""

import asyncio
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import yaml

from jobferry.dispatch import hub_checks
from jobferry.kube.resources import JOBS
from jobferry.testing import assets
from jobferry.workers.resource import WORKERS
from tests.system.fleet import RESOURCES, Fleet
from tests.system.jobs import holds
from tests.system.world import named, until_none, until_one

pytestmark = pytest.mark.kube

PAGE = Path(__file__).parents[2] / "docs" / "quickstart.md"

ROLES = {"hub": "west", "east": "hub", "west": "east"}
"""Contexts of the page to clusters: the shared dispatcher leads on the one called hub."""


def blocks(language: str, page: Path = PAGE) -> list[str]:
    """Return the code blocks of a page in a language; commands are in none."""
    fences = re.finditer(r"^```(\w*)\n(.*?)^```$", page.read_text(), re.MULTILINE | re.DOTALL)
    return [fence[2] for fence in fences if fence[1] == language]


def commands() -> list[list[str]]:
    """Return the commands of the page that are about clusters, in order."""
    lines = "".join(blocks("")).splitlines()
    return [shlex.split(line) for line in lines if line.startswith(("jobferry ", "kubectl "))]


def manifest(kind: str) -> str:
    """Return the YAML on the page that describes an object of a kind."""
    return next(block for block in blocks("yaml") if yaml.safe_load(block)["kind"] == kind)


def kubeconfig(fleet: Fleet) -> str:
    """Return one kubeconfig with the three contexts of the page."""
    merged: dict[str, Any] = {"apiVersion": "v1", "kind": "Config"}
    sections = {"clusters": "cluster", "users": "user"}
    for context, cluster in ROLES.items():
        config = yaml.safe_load(fleet.planes[cluster].kubeconfig())
        for section, key in sections.items():
            entry = {"name": context, key: config[section][0][key]}
            merged.setdefault(section, []).append(entry)
        chosen = {"name": context, "context": {"cluster": context, "user": context}}
        merged.setdefault("contexts", []).append(chosen)
    return yaml.safe_dump(merged)


@contextmanager
def shell(folder: Path, fleet: Fleet) -> Iterator[dict[str, Any]]:
    """Prepare a folder as the reader of the page has it; gives the arguments to run programs there with."""
    (folder / "config").write_text(kubeconfig(fleet))
    (folder / "job.yaml").write_text(manifest("Job"))
    programs = [Path(sys.executable).parent, assets.need("kubectl").parent]
    path = os.pathsep.join([*map(str, programs), os.environ["PATH"]])
    environ = {**os.environ, "KUBECONFIG": str(folder / "config"), "PATH": path}
    yield {"cwd": folder, "env": environ, "text": True}


@contextmanager
def running(command: list[str], options: dict[str, Any]) -> Iterator[None]:
    """Run a command during the block; it must not end by itself."""
    process = subprocess.Popen(command, **options)
    try:
        yield
        assert process.poll() is None
    finally:
        process.terminate()
        process.wait(timeout=20)


async def output(command: list[str], options: dict[str, Any]) -> str:
    """Run a command to its end and return what it prints."""
    ran = partial(subprocess.run, command, capture_output=True, check=True, **options)
    return str((await asyncio.to_thread(ran)).stdout)


@pytest.mark.timeout(90)
async def test_its_commands_bring_a_job_to_a_worker(fleet: Fleet, tmp_path: Path) -> None:
    run, *rest = [command for command in commands() if command[1] != "manifests"]
    assert run[:2] == ["jobferry", "run"]
    async with fleet.client(ROLES["hub"]) as hub:
        with shell(tmp_path, fleet) as options, running(run, options):
            await hub_checks.served(hub)
            printed = [await output(command, options) for command in rest]
            for name in ("east", "west"):
                await until_one(hub, named(WORKERS, name), holds("Ready"))
            for name in ("first", "hello"):
                await hub.delete(JOBS, name, "default", propagation="Background")
            for name in ("east", "west"):
                await hub.delete(WORKERS, name)
                await until_none(hub, named(WORKERS, name))

    said = dict(zip((" ".join(command[:3]) for command in rest), printed, strict=False))
    assert "Worker west is added" in printed[1]
    assert "east" in said["jobferry workers --context"]
    assert "Placed on worker" in said["jobferry describe first"]
    assert "condition met" in printed[-2]
    assert "jobferry.io/placement" in printed[-1]  # of a first placement no event tells


async def test_its_manifests_are_printed(tmp_path: Path, fleet: Fleet) -> None:
    with shell(tmp_path, fleet) as options:
        for name in ("crds", "hub", "worker"):
            printed = await output(["jobferry", "manifests", name], options)
            assert all(yaml.safe_load_all(printed))


# What docs/kinds.md shows, tests/api/test_kinds_lives.py creates: it needs the CRDs of other projects.
PAGES = [each for each in sorted(PAGE.parent.glob("*.md")) if each.stem != "kinds"]
TRIED_ELSEWHERE = {"JobSet"}
"""What docs/up.md shows of other projects runs in tests/system/alone/test_up_page.py."""


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
async def test_every_object_in_the_docs_is_one(fleet: Fleet, page: Path) -> None:
    described = [yaml.safe_load(block) for block in blocks("yaml", page)]
    kinds = {**RESOURCES, JOBS.kind: JOBS}
    async with fleet.client(ROLES["hub"]) as hub:
        for obj in (each for each in described if "kind" in each):
            if obj["kind"] in TRIED_ELSEWHERE:
                continue
            where = "default" if obj["kind"] == "Job" else None
            made = await hub.create(
                kinds[obj["kind"]],
                obj,
                namespace=where,
                field_validation="Strict",
                dry_run=True,
            )
            assert made.get("spec") or made.get("rules")
