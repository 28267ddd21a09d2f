from typing import Any

import pytest

from jobferry.cli import worker_drain, worker_remove, worker_undrain
from jobferry.objects import Obj
from tests.unit.cli.hub_objects import job, placed, worker

COMPLETE = {"conditions": [{"type": "Complete", "status": "True"}]}


def silent() -> Obj:
    """A Worker that is connected and has not answered for a while."""
    found = worker("east", drain="MoveAway")
    found["status"]["conditions"][1] |= {"status": "False", "reason": "Silent"}
    return found


def removing(message: str) -> Obj:
    ready = {"type": "Ready", "status": "False", "reason": "Removing", "message": message}
    return worker("east", status={"conditions": [ready]})


def test_unfinished_jobs_are_counted_as_they_are() -> None:
    done = placed(job("done"), "east")
    done["status"] = {**done["status"], **COMPLETE}
    jobs = [placed(job("a"), "east"), placed(job("b"), "west"), job("c"), done]

    assert worker_drain.count(jobs, "east") == 1


@pytest.mark.parametrize(
    ("drain", "active", "up", "says"),
    [
        ("MoveAway", 2, True, "its unfinished Jobs (2) move to other Workers."),
        ("MoveAway", 0, True, "it has no unfinished Jobs"),
        ("MoveAway", 2, False, "as soon as it can be reached (Unreachable now)"),
        ("NoNewWork", 2, True, "its unfinished Jobs (2) go on"),
    ],
)
def test_a_drain_says_what_becomes_of_the_jobs(
    drain: str, active: int, up: bool, says: str
) -> None:
    assert says in worker_drain.sentence(worker("east", up=up), drain, active)


def test_a_silent_worker_is_promised_nothing_before_it_answers() -> None:
    said = worker_drain.sentence(silent(), "MoveAway", 1)

    assert "as soon as it can be reached (Silent now)" in said
    assert worker_undrain.sentence(silent()) == (
        "Worker east gets work again as soon as it can be reached (Silent now)."
    )
    drained = worker("east", drain="MoveAway")
    assert worker_undrain.sentence(drained) == "Worker east may get work again."
    assert worker_undrain.sentence(worker("east")) == "Worker east was not drained."


def test_a_worker_that_is_removed_says_what_it_waits_for() -> None:
    waits = "It is being removed: waits until its mirrors are gone."

    assert waits in worker_remove.sentence("east", removing(waits))
    assert "No dispatcher has said yet" in worker_remove.sentence("east", worker("east"))
    assert worker_remove.sentence("east", None) == "Worker east is removed."


def test_what_stays_on_the_cluster_of_a_removed_worker_is_told() -> None:
    secret: dict[str, Any] = {"kubeconfig": {"secret": {"namespace": "s", "name": "east"}}}

    said = worker_remove.account(worker("east", **secret), is_gone=False)

    assert "Once it is gone" in said
    assert "delete serviceaccount/jobferry-worker secret/jobferry-worker" in said
    assert "-l jobferry.io/rights=worker" in said
    assert worker_remove.account(worker("east"), is_gone=True) == ""
    shared = worker("east", sharedCluster=True, **secret)
    assert worker_remove.account(shared, is_gone=True) == ""
