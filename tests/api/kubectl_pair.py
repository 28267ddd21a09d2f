"""One command line, two servers: real kubectl must print the same for kube-apiserver and for localkube.

What no two servers can have in common (ids, versions, times, ages, addresses) is replaced before outputs
are compared.
"""

import difflib
import os
import re
import shlex
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from secrets import token_hex

from jobferry.testing import assets
from jobferry.testing.control_plane import ControlPlane

WITHIN = 60.0

_MASKS = [
    (re.compile(pattern, re.MULTILINE), mask)
    for pattern, mask in (
        (r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", "UID"),
        (r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z", "TIME"),
        (r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d+ \+0000", "TIME"),
        (r"\w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d [+-]\d{4}", "TIME"),
        (r'(resourceVersion\\*"?: *\\*)"\d+', r"\1VERSION"),
        (r"(Resource Version: +)\d+", r"\1VERSION"),
        (r"(?:127\.0\.0\.1|192\.\d+\.\d+\.\d+):\d+", "ADDRESS"),
        (r"X509SHA256=[0-9a-f]{64}", "CERTIFICATE"),
        (r"(?<=kube-api-access-)[a-z0-9]{5}", "xxxxx"),
        (r' in scheme "[^"]*"', ""),
        (r"^[IW]\d{4} \d\d:\d\d:.*\n", ""),  # what kubectl logs of its own connections
        (r"(LIVE|MERGED|kubectl-edit)-\d+", r"\1"),
        (r"/\S*/jobferry-[0-9a-f]{12}", "FOLDER"),
        (r"\b(\d+m)?\d+s\b", "AGE"),
        (r"(?<=  )\d+[mh](?=$|  )", "AGE"),
        (r" {3,}|\t +", "  "),
        (r" +$", ""),
    )
]


def masked(text: str) -> str:
    """Replace what no two servers can have in common, and how wide that makes columns."""
    for pattern, mask in _MASKS:
        text = pattern.sub(mask, text)
    return text


@dataclass(frozen=True)
class Printed:
    """What a command printed, and how it ended."""

    code: int
    out: str
    err: str

    @property
    def lines(self) -> list[str]:
        """Its output, line by line."""
        return self.out.splitlines()


def _difference(theirs: Printed, ours: Printed) -> str:
    real, local = (f"{each.code}\n{each.out}\n{each.err}" for each in (theirs, ours))
    lines = difflib.unified_diff(
        real.splitlines(), local.splitlines(), "real", "localkube", lineterm="", n=1
    )
    return "\n".join(lines)


@dataclass(frozen=True)
class Running:
    """A command that runs against both servers."""

    started: tuple[subprocess.Popen[str], subprocess.Popen[str]]

    def ended(self, given: str | None = None) -> tuple[Printed, Printed]:
        """Wait until both have ended."""
        printed = []
        for process in self.started:
            out, err = process.communicate(given, timeout=WITHIN)
            printed.append(Printed(process.returncode, masked(out), masked(err)))
        return printed[0], printed[1]

    def read(self, lines: int) -> tuple[str, str]:
        """Wait until both have printed that many lines more, and return them."""
        texts = []
        for process in self.started:
            assert process.stdout is not None
            texts.append(masked("".join(process.stdout.readline() for _ in range(lines))))
        return texts[0], texts[1]


@dataclass(frozen=True)
class Kubectls:
    """kubectl against a real API server and against localkube, at the same time."""

    planes: tuple[ControlPlane, ControlPlane]
    namespace: str = "default"
    editor: str = "true"

    def same(
        self,
        line: str,
        *,
        given: str | None = None,
        code: int = 0,
        shown: Callable[[str], str] = str,
    ) -> Printed:
        """Run a command line, insist on the same output, of which only `shown` counts, and return it."""
        theirs, ours = self.begin(line).ended(given)
        theirs, ours = (replace(each, out=shown(each.out)) for each in (theirs, ours))
        assert theirs.code == code, (line, theirs)
        assert ours == theirs, f"{line}\n{_difference(theirs, ours)}"
        return theirs

    def script(self, *lines: str) -> None:
        """Run several command lines, all of which must succeed and print the same."""
        for line in lines:
            self.same(line)

    def begin(self, line: str) -> Running:
        """Start a command line and do not wait for it."""
        first, second = (self._start(plane, line) for plane in self.planes)
        return Running((first, second))

    @contextmanager
    def beside(self, line: str) -> Iterator[Running]:
        """Let a command line run during the block, and end it then."""
        running = self.begin(line)
        try:
            yield running
        finally:
            for process in running.started:
                process.kill()
                process.communicate()

    def edited_by(self, editor: str) -> "Kubectls":
        """Return the same with an editor: a command that changes a file."""
        return replace(self, editor=editor)

    def in_new_namespace(self) -> "Kubectls":
        """Return the same in a namespace that is made for it, fit for pods."""
        name = f"kubectl-{token_hex(4)}"
        there = replace(self, namespace=name)
        self.same(f"create namespace {name}")
        there.same("create serviceaccount default")
        return there

    def _start(self, plane: ControlPlane, line: str) -> subprocess.Popen[str]:
        command = [
            str(assets.need("kubectl")),
            f"--kubeconfig={plane.kubeconfig_file}",
            f"--cache-dir={plane.folder / 'kubectl'}",
            f"--namespace={self.namespace}",
            *shlex.split(line),
        ]
        folder = str(plane.folder)
        own = {"HOME": folder, "TMPDIR": folder, "EDITOR": self.editor, "TZ": "UTC"}
        return subprocess.Popen(
            command,
            env={**os.environ, **own, "KUBERC": "off"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
