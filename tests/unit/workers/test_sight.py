"""What is said of kinds that are out of sight, and read back."""

from jobferry.errors import Error
from jobferry.kinds.rows import JOB_SET
from jobferry.kube import errors
from jobferry.objects import Obj
from jobferry.workers import sight

FORBIDDEN = errors.Forbidden("east: jobsets is forbidden: ...; and so on")


def connected(reason: str, message: str) -> Obj:
    condition = {"type": "Connected", "status": "True", "reason": reason, "message": message}
    return {"conditions": [condition]}


def test_the_command_that_has_the_rights_is_named() -> None:
    def why(trouble: Error | None, *only: str) -> str:
        return sight.why_hidden(JOB_SET.resource, trouble, only)

    everywhere = "`jobferry manifests worker --kinds JobSet` has them"
    assert why(FORBIDDEN) == f"we have no rights on it there; {everywhere}"
    assert "--kinds JobSet --namespaces a,b` has them" in why(FORBIDDEN, "a", "b")
    assert why(errors.ServerFailure("the webhook is broken")) == "the webhook is broken"
    assert why(None) == "not listed yet"


def test_what_is_told_of_kinds_is_read_back() -> None:
    hidden = {
        "JobSet.jobset.x-k8s.io": sight.why_hidden(JOB_SET.resource, FORBIDDEN, ()),
        "Pod": "east: 500; more: of that",
        "RayJob.ray.io": "not listed yet",
    }

    assert sight.recall(connected(sight.UNSEEN, sight.told(hidden))) == hidden
    assert sight.recall(connected("Connected", "Connected.")) == {}
    assert sight.recall(connected(sight.UNSEEN, "as another version said it")) == {}
    assert sight.recall({}) == {}
