"""What tests need beyond Python says their marker; what has no marker finds a trap in its place.

So a test that forgets its marker fails on every machine, not only on those that lack what it uses.
"""

import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from jobferry.testing import assets

SOAK = bool(os.environ.get("JOBFERRY_SOAK"))
"""Whether tests are as long as they can be (`make soak`), or as short as makes sense."""

TRAP = """#!/bin/sh
echo '{program}' >>'{used}'
echo 'this {program} is a trap for tests that have no marker for it: one of those that failed' >&2
exit 97
"""


def may_be_real(item: pytest.Item) -> bool:
    """Tell whether a test says that it uses real programs, at least where there are some."""
    return any(item.get_closest_marker(name) for name in ("kube", "fleet"))


def unmet(item: pytest.Item) -> str | None:
    """Return what a test needs and this machine has not, if anything."""
    if item.get_closest_marker("soak") and not SOAK:
        return "take long (`make soak` runs them)"
    if marker := item.get_closest_marker("kube"):
        for version in (assets.CURRENT, *marker.args):
            if assets.missing(version):
                return _without(version)
    for marker in item.iter_markers("operator"):
        for project in marker.args:
            if not assets.has_operator(project):
                return _without_operator(project)
    if item.get_closest_marker("go") and shutil.which("go") is None:
        return "need Go"
    return None


def _without(version: str) -> str:
    command = assets.command_for(version)
    need = f"need Kubernetes {version} (`{command}` gets it)"
    if os.environ.get("JOBFERRY_REQUIRE_KUBE") and version not in assets.SKEW:
        raise pytest.UsageError(
            f"JOBFERRY_REQUIRE_KUBE is set, but there are tests that {need}"
        )
    return need


def _without_operator(project: str) -> str:
    need = f"need the operator of {project} (`{assets.command_for_operator(project)}` gets it)"
    if os.environ.get("JOBFERRY_REQUIRE_KUBE") and project in assets.ALWAYS:
        raise pytest.UsageError(
            f"JOBFERRY_REQUIRE_KUBE is set, but there are tests that {need}"
        )
    return need


class Traps:
    """Stands in for the programs that a test may not use, and knows which tests do."""

    def __init__(self) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="not-marked-"))
        self._used = self._folder / "used"
        self._real = str(assets.cache())
        self.started = 0
        self._shared: list[object] = []
        self._set("go/go")
        self._set("kubectl/kubectl")
        for version, programs in assets.PROGRAMS.items():
            for program in programs:
                self._set(f"kube/{version}/{program}")
        sys.addaudithook(self._note_start)

    def _set(self, path: str) -> None:
        file = self._folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(TRAP.format(program=file.name, used=self._used))
        file.chmod(0o700)

    def remove(self) -> None:
        """Leave nothing behind."""
        shutil.rmtree(self._folder)

    @contextmanager
    def around(self, item: pytest.Item) -> Iterator[None]:
        """Give a test what its markers name, and traps for the rest."""
        folders = [
            str(self._folder / "kubectl")
        ]  # it is never the machine's own that tests use
        if not item.get_closest_marker("go"):
            folders.append(str(self._folder / "go"))
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("PATH", os.pathsep.join([*folders, os.environ.get("PATH", "")]))
            if not may_be_real(item):
                patch.setenv("JOBFERRY_KUBE_CACHE", str(self._folder / "kube"))
            yield

    def check(self, item: pytest.Item) -> None:
        """Fail a test that used, itself or through a fixture, what no marker of it names."""
        if self._used.exists():
            programs = " and ".join(sorted(set(self._used.read_text().split())))
            self._used.unlink()
            pytest.fail(
                f"the test runs {programs}, but has no marker for it (`kube`, which goes with "
                "`jobferry.testing.assets.need`, or `go`)",
                pytrace=False,
            )
        if may_be_real(item):
            return
        funcargs: dict[str, object] = getattr(item, "funcargs", {})
        for name, value in funcargs.items():
            if any(value is each for each in self._shared):
                why = f"the test uses `{name}`, which runs real programs, but is not marked `kube`"
                pytest.fail(why, pytrace=False)

    def made(self, value: object, before: int) -> None:
        """Remember what a fixture made if it started real programs: others may get the same."""
        if self.started > before and value is not None:
            self._shared.append(value)

    def _note_start(self, event: str, args: tuple[object, ...]) -> None:
        """See each process that Python itself starts, as fixtures do that are shared."""
        if event == "subprocess.Popen":
            command = args[1]
            first = command[0] if isinstance(command, list | tuple) and command else command
            self.started += str(first).startswith(self._real)
