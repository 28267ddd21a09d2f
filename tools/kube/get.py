"""Gets the real programs and CRDs that tests run on (`make kube`, `make kube-skew`).

They go to a cache folder outside the tree, where `jobferry.testing.assets` finds them:

    <version>/<program>              etcd, kube-apiserver, …
    crds/<project>/<name>.json       what tests install
    webhooks/<project>/<name>.json   how API servers are told of them
    operators/<project>/<program>    most on request only: `get.py --operator tekton`, `get.py --operators`

Everything is built with Go from modules pinned by hash: go.mod and go.sum in the folders beside this file,
projects.toml for other projects. KUBEBUILDER_ASSETS, where it is set and complete, saves building the current
version. Beside each thing lies a stamp that says what it was made from; what is up to date is left alone.
"""

import argparse
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from jobferry.clock import SystemClock
from jobferry.errors import Error
from jobferry.testing import assets

HERE = Path(__file__).parent

PACKAGES = {"etcd": "go.etcd.io/etcd/server/v3"}
"""Where programs come from that are not k8s.io/kubernetes/cmd/<program>."""

OFFLINE = ("dial tcp", "no such host", "i/o timeout", "connection refused", "GOPROXY=off")
"""What Go says when it cannot reach the registry of modules."""

KINDS = {"crds": "CustomResourceDefinition", "webhooks": "WebhookConfiguration"}
"""What is taken out of modules as it is, and how its kind ends."""

ANY_GO = "1.21"
"""Where a module has its own say, Go itself will tell what is wrong."""

# PyYAML's own parser takes many seconds for each of these files.
Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class CannotGet(Error):
    """Something could not be got; the hint says what to do."""


@dataclass(frozen=True)
class Step:
    """One thing to get: a program, or the CRDs of a project."""

    what: str
    target: Path
    stamp: str
    """A digest of everything it is made from."""

    make: Callable[[Path], None]
    """Makes it under the name given, which is then moved to the target in one go."""

    works: Callable[[Path], bool]

    needs_go: str | None = None
    """The version of Go without which it cannot be made."""

    @property
    def stamp_file(self) -> Path:
        """Where the stamp is kept."""
        return self.target.with_name(f".{self.target.name}.stamp")

    def is_done(self) -> bool:
        """Whether it is there, made from what it should be made from, and of use."""
        return (
            self.stamp_file.is_file()
            and self.stamp_file.read_text() == self.stamp
            and self.works(self.target)
        )

    def run(self) -> None:
        """Get it: whoever looks meanwhile, or after an interruption, sees the old one or the new one."""
        self.target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=self.target.parent, prefix=".new-") as folder:
            new = Path(folder) / self.target.name
            self.make(new)
            self.stamp_file.unlink(missing_ok=True)
            if self.target.is_dir():
                shutil.rmtree(self.target)
            new.replace(self.target)
        self.stamp_file.write_text(self.stamp)


# -- what there is to get ---------------------------------------------------------------------


def kubernetes(version: str) -> list[Step]:
    """Build the programs of one Kubernetes version."""
    module = HERE / version
    go_mod, go_sum = (module / "go.mod").read_text(), (module / "go.sum").read_text()
    needs_go = re.findall(r"^go (\S+)$", go_mod, re.MULTILINE)[0]
    major, minor, _ = version.split(".")
    package = "k8s.io/component-base/version"
    link = f"-s -w -X {package}.gitVersion=v{version} -X {package}.gitMajor={major} -X {package}.gitMinor={minor}"
    flags = ("-mod=readonly", "-trimpath", "-ldflags", link)
    stamp = _digest(go_mod, go_sum, *flags)

    def build(program: str) -> Callable[[Path], None]:
        def make(target: Path) -> None:
            source = PACKAGES.get(program, f"k8s.io/kubernetes/cmd/{program}")
            _go("build", *flags, "-o", str(target), source, folder=module)

        return make

    return [
        Step(
            f"{program} {version}",
            assets.cache() / version / program,
            stamp,
            build(program),
            _runs,
            needs_go,
        )
        for program in assets.PROGRAMS[version]
    ]


def from_assets(folder: Path) -> list[Step]:
    """Use the programs in KUBEBUILDER_ASSETS in the place of the current version."""

    def link(program: str) -> Callable[[Path], None]:
        return lambda target: target.symlink_to(folder / program)

    return [
        Step(
            f"{program} ({_version_of(folder / program)})",
            assets.cache() / assets.CURRENT / program,
            _digest(str(folder / program)),
            link(program),
            _runs,
        )
        for program in assets.PROGRAMS[assets.CURRENT]
    ]


def taken(name: str, project: Mapping[str, Any], what: str) -> Step:
    """Take the CRDs of a project, or the configurations of its webhooks, out of its module."""

    def convert(target: Path) -> None:
        source = _download(project)
        target.mkdir()
        for pattern in project[what]:
            files = sorted(source.glob(pattern))
            if not files:
                raise CannotGet(f"{project['module']} {project['version']} has no {pattern}")
            for file in files:
                _write_objects(file, KINDS[what], target)

    return Step(
        f"{what.replace('crds', 'CRDs')} of {name} {project['version']}",
        assets.cache() / what / name,
        _project_digest(project, what),
        convert,
        Path.is_dir,
        ANY_GO,
    )


def operator(name: str, project: Mapping[str, Any]) -> list[Step]:
    """Build the operator of a project."""

    def build(package: str) -> Callable[[Path], None]:
        def make(target: Path) -> None:
            # Inside the module cache nothing may be written, and `go build` may complete its go.sum.
            with tempfile.TemporaryDirectory() as scratch:
                source = Path(scratch) / "source"
                shutil.copytree(_download(project), source, copy_function=shutil.copyfile)
                _make_writable(source)
                flags = ("-mod=mod", "-trimpath", "-ldflags", "-s -w", "-o", str(target))
                _go("build", *flags, package, folder=source)

        return make

    return [
        Step(
            f"{program} {project['version']}",
            assets.cache() / "operators" / name / program,
            _project_digest(project),
            build(package),
            _is_program,
            ANY_GO,
        )
        for program, package in project.get("operator", {}).items()
    ]


def plan(options: argparse.Namespace) -> list[Step]:
    """Say what there is to get."""
    projects = tomllib.loads((HERE / "projects.toml").read_text())
    if options.operator:
        if options.operator not in projects or "operator" not in projects[options.operator]:
            known = ", ".join(name for name in projects if "operator" in projects[name])
            raise CannotGet(f"there is no operator {options.operator!r}", hint=f"Try {known}.")
        return operator(options.operator, projects[options.operator])
    if options.operators:
        return _operators(projects, assets.OPERATORS)
    steps = _current() + kubernetes(assets.OLDEST)
    if options.skew:
        steps += [step for version in assets.SKEW for step in kubernetes(version)]
    named = [(name, what) for what in KINDS for name in projects if what in projects[name]]
    steps += [taken(name, projects[name], what) for name, what in named]
    return steps + _operators(projects, assets.ALWAYS)


def _operators(projects: Mapping[str, Any], names: Iterable[str]) -> list[Step]:
    return [step for name in names for step in operator(name, projects[name])]


def _current() -> list[Step]:
    variable = os.environ.get("KUBEBUILDER_ASSETS")
    if not variable:
        return kubernetes(assets.CURRENT)
    folder = Path(variable).resolve()
    if folder == (assets.cache() / assets.CURRENT).resolve():
        return kubernetes(assets.CURRENT)  # it is what we ourselves built
    lacking = [
        program
        for program in assets.PROGRAMS[assets.CURRENT]
        if not _is_program(folder / program)
    ]
    if lacking:
        print(f"KUBEBUILDER_ASSETS is not used: {folder} lacks {', '.join(lacking)}.")
        return kubernetes(assets.CURRENT)
    version = _version_of(folder / "kube-apiserver")
    print(f"Using Kubernetes {version} in {folder} (KUBEBUILDER_ASSETS) as {assets.CURRENT}.")
    return from_assets(folder)


# -- Go ---------------------------------------------------------------------------------------


def check_go(what: str, need: str) -> None:
    """Make sure that there is a Go that can do a step."""
    program = shutil.which("go")
    if program is None:
        raise CannotGet(
            f"{what} cannot be got: Go is not installed",
            hint="Install Go and run this again. Or set KUBEBUILDER_ASSETS to a folder with "
            f"{', '.join(assets.PROGRAMS[assets.CURRENT])}: that does for most tests.",
        )
    version, toolchain = _go_version()
    # Unless told to be "local", Go gets a newer one by itself.
    if toolchain == "local" and _numbers(version) < _numbers(need):
        raise CannotGet(
            f"{what} needs Go {need} or newer, but {program} is {version}",
            hint="Install a newer Go, or let Go get one by itself: GOTOOLCHAIN=auto.",
        )


@cache
def _go_version() -> list[str]:
    return _go("env", "GOVERSION", "GOTOOLCHAIN", folder=Path.home()).split()


def _go(*arguments: str, folder: Path) -> str:
    result = subprocess.run(
        ["go", *arguments],
        cwd=folder,
        env={**os.environ, "CGO_ENABLED": "0"},
        capture_output=True,
        text=True,
        check=False,
    )
    if result.returncode == 0:
        return result.stdout
    said = result.stderr or result.stdout
    if any(sign in said for sign in OFFLINE):
        raise CannotGet(
            f"the Go module registry cannot be reached: {said.strip().splitlines()[-1]}",
            hint="Check the network, and GOPROXY in `go env`.",
        )
    raise CannotGet(f"go {arguments[0]} failed in {folder}", hint=_tail(said))


def _download(project: Mapping[str, Any]) -> Path:
    """Download a module and return where it lies; Go checks it against its database of hashes, we against ours."""
    name = f"{project['module']}@{project['version']}"
    # Outside of any module, so that no go.mod has a say.
    answer = json.loads(
        _go("mod", "download", "-json", name, folder=Path(tempfile.gettempdir()))
    )
    if answer["Sum"] != project["sum"]:
        raise CannotGet(
            f"{name} has the hash {answer['Sum']}, not {project['sum']}",
            hint="It is not what was pinned in tools/kube/projects.toml: do not use it.",
        )
    return Path(answer["Dir"])


# -- small things -----------------------------------------------------------------------------


def _write_objects(file: Path, kind: str, folder: Path) -> None:
    for obj in yaml.load_all(file.read_bytes(), Loader=Loader):
        if obj and obj.get("kind", "").endswith(kind):
            path = folder / f"{obj['metadata']['name']}.json"
            path.write_text(json.dumps(obj, separators=(",", ":"), default=str))


def _is_program(path: Path) -> bool:
    return path.is_file() and os.access(path, os.X_OK)


def _runs(program: Path) -> bool:
    return _version_of(program) is not None


def _version_of(program: Path) -> str | None:
    arguments = ["version", "--client"] if program.name == "kubectl" else ["--version"]
    try:
        result = subprocess.run(
            [program, *arguments], capture_output=True, text=True, timeout=30, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return None
    found = re.search(r"\d+\.\d+\.\d+", result.stdout)
    return found[0] if found else None


def _make_writable(folder: Path) -> None:
    for path in (folder, *folder.rglob("*")):
        path.chmod(0o755 if path.is_dir() else 0o644)


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", version)[:3])


def _project_digest(project: Mapping[str, Any], what: str = "") -> str:
    """Digest what is said of a project; where its webhooks are makes a difference for these alone."""
    said = {key: each for key, each in project.items() if key == what or key != "webhooks"}
    return _digest(json.dumps(said, sort_keys=True))


def _digest(*texts: str) -> str:
    return hashlib.sha256("\0".join(texts).encode()).hexdigest()


def _tail(text: str) -> str:
    return "\n".join(text.strip().splitlines()[-10:])


# -- the command ------------------------------------------------------------------------------


def get(options: argparse.Namespace) -> None:
    """Get what is not there yet, and show how it goes."""
    clock = SystemClock()
    steps = plan(options)
    todo = [step for step in steps if not step.is_done()]
    if todo:
        print(f"{len(todo)} of {len(steps)} to get; a first build takes minutes.")
    for number, step in enumerate(todo, 1):
        if step.needs_go:
            check_go(step.what, step.needs_go)
        print(f"[{number}/{len(todo)}] {step.what} … ", end="", flush=True)
        began = clock.monotonic()
        step.run()
        print(f"{clock.monotonic() - began:.1f} s", flush=True)
    print(f"All {len(steps)} are in {assets.cache()}.")


def main() -> int:
    """Run the command."""
    parser = argparse.ArgumentParser(description="Get what tests run on.")
    parser.add_argument("--skew", action="store_true", help="other Kubernetes versions, too")
    parser.add_argument("--operator", metavar="PROJECT", help="the operator of a project, only")
    parser.add_argument("--operators", action="store_true", help="all that tests run, only")
    try:
        get(parser.parse_args())
    except CannotGet as error:
        print(f"\n{error}\n{error.hint or ''}".rstrip(), file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("\nStopped; what was finished is kept.", file=sys.stderr)
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
