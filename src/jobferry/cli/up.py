"""`jobferry up`: a hub, workers and the dispatcher on this machine, until Ctrl-C or `jobferry down`."""

import asyncio
import os
import re
import shlex
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from jobferry import log
from jobferry.cli import local_options, render
from jobferry.cli.arguments import Parser
from jobferry.errors import BadInput
from jobferry.local.layout import HUB, Layout, default_folder
from jobferry.localkube.runner import image_options

_ABOUT = """Starts a hub and workers on this machine, each a small Kubernetes in a process of its own, and the
dispatcher between them. Pods run as ordinary processes. Ends with Ctrl-C or `jobferry down`, with all pods."""

_NAME = r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?"
_MOST = 50

EXAMPLE = """\
apiVersion: batch/v1
kind: Job
metadata:
  name: hello
spec:
  managedBy: jobferry.io/dispatcher   # all that sends it to a worker
  completions: 3
  template:
    spec:
      restartPolicy: Never
      containers:
        - name: main
          image: any                  # pods run on this machine, whatever image they name
          command: [sh, -c, 'echo "hello from $HOSTNAME"; sleep 2']
"""


def main(arguments: Sequence[str]) -> None:
    """Run a fleet until it is told to end."""
    given = _parser().parse_args(arguments)
    names = workers(given.workers)
    if image_options.read(given.images) is None:
        raise BadInput("--images: a fleet without nodes runs nothing", hint="Leave out `none`.")
    layout = Layout(local_options.folder(given, os.environ))
    log.configure(level="ERROR")  # what is wrong with a worker, the hub says
    layout.expect_free()
    render.text(f"Starting {HUB}, {', '.join(names)} ...\n")
    asyncio.run(_until_told(layout, names, given.images))


def workers(text: str) -> list[str]:
    """Read how many workers there shall be, or their names with commas."""
    if text.isdecimal():
        if not 1 <= int(text) <= _MOST:
            raise BadInput(f"--workers: expected 1 to {_MOST}, found {text}")
        return [f"worker-{number}" for number in range(1, int(text) + 1)]
    names = text.split(",")
    for name in names:
        if not re.fullmatch(_NAME, name) or name == HUB or names.count(name) > 1:
            raise BadInput(
                f"--workers: {name!r} cannot be the name of a worker",
                hint="Give a number, or different names of small letters, digits and dashes: east,west.",
            )
    return names


def _parser() -> Parser:
    parser = Parser("jobferry up", "[option ...]", _ABOUT)
    add = parser.add_argument
    add(
        "--workers",
        default="2",
        metavar="N|NAMES",
        help="how many (2 by default), or names such as east,west",
    )
    local_options.add_folder(parser)
    add(
        "--images",
        action="append",
        default=[],
        metavar="host|IMAGE=PLACE",
        help="what images mean: host (the default) runs every pod on this machine as it is; else PLACE is"
        " host, root:DIR, venv:DIR or engine, and IMAGE may end with *. Can be repeated",
    )
    return parser


async def _until_told(layout: Layout, names: Sequence[str], images: Sequence[str]) -> None:
    from jobferry import settings  # noqa: PLC0415
    from jobferry.clock import SystemClock  # noqa: PLC0415 (a wrong argument is told before the rest is loaded)
    from jobferry.local import fleet  # noqa: PLC0415
    from jobferry.runtime.termination import until_told  # noqa: PLC0415

    quiet = replace(settings.load(environ=os.environ), listen=None)
    plan = fleet.Plan(layout=layout, workers=names, images=images, dispatcher=quiet)

    async def run() -> None:
        try:
            async with fleet.running(plan, SystemClock(), render.line):
                if runs_any(images):
                    _example(layout).write_text(EXAMPLE)
                render.text(ready(layout, names, images))
                await asyncio.Event().wait()
        except asyncio.CancelledError:
            render.line("All pods and clusters have ended.")
            raise

    await until_told(run())


def ready(layout: Layout, names: Sequence[str], images: Sequence[str]) -> str:
    """Say what is there, and what to try."""
    is_usual = layout.folder == default_folder(os.environ)
    down = "jobferry down" + ("" if is_usual else f" --data {shlex.quote(str(layout.folder))}")
    if runs_any(images):
        means = """Pods run as processes of this machine, whatever image they name;
nothing protects you from them."""
        send = f"kubectl apply -f {shlex.quote(str(_example(layout)))}"
    else:
        means = f"Images mean what you said: {', '.join(images)}. Others cannot be pulled."
        send = "jobferry submit --name hello --image IMAGE -- echo hello   # one that you said"
    return f"""Ready: contexts {HUB}, {", ".join(names)}.
{means}

Try, in another terminal:
  export KUBECONFIG={shlex.quote(str(layout.kubeconfig))}
  {send}
  jobferry jobs          # or `kubectl get jobs --watch`
  jobferry why hello     # on which worker it runs, or why it waits
  jobferry logs hello    # or `kubectl logs job/hello --context` and that worker
End with Ctrl-C, or `{down}`.
"""


def runs_any(images: Sequence[str]) -> bool:
    """Tell whether pods run whatever image they name."""
    return not images or "host" in images


def _example(layout: Layout) -> Path:
    return layout.folder / "hello.yaml"
