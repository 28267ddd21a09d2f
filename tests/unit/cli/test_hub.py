import fcntl
import json
from pathlib import Path

import pytest

from jobferry.cli import hub, queues, workers
from jobferry.cli.options import Where
from jobferry.clock import SystemClock
from jobferry.errors import BadInput
from jobferry.objects.resource import Resource
from jobferry.workers.resource import WORKERS
from tests.unit.cli.hub_objects import NOW, queue, worker

CLOCK = SystemClock()


def written(path: Path, *contexts: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(
        json.dumps(
            {
                "clusters": [
                    {"name": c, "cluster": {"server": f"https://{c}"}} for c in contexts
                ],
                "users": [{"name": "me", "user": {"token": "t"}}],
                "contexts": [
                    {"name": c, "context": {"cluster": c, "user": "me", "namespace": f"of-{c}"}}
                    for c in contexts
                ],
                "current-context": contexts[0],
            }
        )
    )
    return path


def test_the_file_that_is_named_goes_first(tmp_path: Path) -> None:
    named, usual = written(tmp_path / "k", "a", "b"), written(tmp_path / "usual", "c")

    found = hub.find(Where(kubeconfig=named), {"KUBECONFIG": str(usual)}, CLOCK)
    other = hub.find(Where(kubeconfig=named, context="b"), {}, CLOCK)

    assert (found.access.server.url, found.access.namespace) == ("https://a", "of-a")
    assert (other.access.server.url, other.files) == ("https://b", (named,))


def test_else_it_is_as_for_kubectl(tmp_path: Path) -> None:
    usual = written(tmp_path / "home" / ".kube" / "config", "c")
    other = written(tmp_path / "other", "d")
    environ = {"HOME": str(tmp_path / "home")}

    assert hub.find(Where(), environ, CLOCK).files == (usual,)
    named = {**environ, "KUBECONFIG": str(other)}
    assert hub.find(Where(), named, CLOCK).access.server.url == "https://d"


def test_else_it_is_the_fleet_that_runs_here_and_that_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    environ = {"HOME": str(tmp_path), "XDG_STATE_HOME": str(tmp_path / "state")}
    own = written(tmp_path / "state" / "jobferry" / "kubeconfig", "hub", "worker-1")

    with (own.parent / "lock").open("a+") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        found = hub.find(Where(), environ, CLOCK)
        said = capsys.readouterr()
        hub.find(Where(), environ, CLOCK, is_quiet=True)

    assert found.access.server.url == "https://hub"
    assert said.err == f"Using the fleet of `jobferry up`: {own}\n"
    assert capsys.readouterr().err == ""


def test_a_fleet_that_does_not_run_is_none(tmp_path: Path) -> None:
    environ = {"HOME": str(tmp_path), "XDG_STATE_HOME": str(tmp_path)}
    written(tmp_path / "jobferry" / "kubeconfig", "hub")
    (tmp_path / "jobferry" / "lock").touch()

    with pytest.raises(BadInput, match="there is no kubeconfig") as caught:
        hub.find(Where(), environ, CLOCK)

    assert "jobferry up" in (caught.value.hint or "")


def test_a_context_that_is_not_there_is_told_with_those_that_are(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="there is none named 'x'") as caught:
        hub.find(Where(kubeconfig=written(tmp_path / "k", "a", "b"), context="x"), {}, CLOCK)

    assert caught.value.hint == "Those that exist: a, b."


def test_a_worker_is_a_row() -> None:
    cells = dict(
        zip((c.title for c in workers.COLUMNS), workers.row(worker("east"), NOW), strict=True)
    )

    assert (cells["READY"], cells["REASON"], cells["SINCE"]) == ("True", "Ready", "30s")
    assert (cells["VERSION"], cells["AGE"], cells["DRAIN"]) == ("v1.35.8", "60m", "None")


def test_a_worker_that_nobody_has_looked_at_is_a_row_too() -> None:
    new = {**worker("east"), "status": {}}

    assert workers.row(new, NOW)[1:3] == ["Unknown", "NeverSeen"]


@pytest.mark.parametrize(
    ("selection", "shown"),
    [
        (None, "all"),
        ({"selector": {"matchLabels": {"gpu": "true"}}}, "gpu=true"),
        ({"order": ["a", "b"]}, "order a,b"),
        (
            {
                "selector": {
                    "matchExpressions": [
                        {"key": "zone", "operator": "In", "values": ["x", "y"]},
                        {"key": "spot", "operator": "DoesNotExist"},
                    ]
                }
            },
            "zone In x|y,spot DoesNotExist",
        ),
    ],
)
def test_a_queue_says_which_workers_it_uses(selection: object, shown: str) -> None:
    spec = {"workers": selection} if selection else {}

    row = queues.row(queue("q", namespaces=["a", "b"], giveUpAfterSeconds=3600, **spec), NOW)

    assert row[:5] == ["q", "a,b", shown, "Spread", "Move"]
    assert row[6:] == ["Report", "60m"]


@pytest.mark.parametrize(
    ("resource", "words"),
    [
        (WORKERS, "this cluster is no hub"),
        (
            Resource("ray.io", "v1", "rayjobs", "RayJob"),
            "the hub does not know the kind RayJob",
        ),
    ],
)
def test_a_kind_that_is_missing_is_told_from_a_cluster_that_is_no_hub(
    resource: Resource, words: str
) -> None:
    assert words in str(hub.kind_missing(resource))
