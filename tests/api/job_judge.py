"""What our strategies say to a request, and what has to be the same when a real API server is asked."""

import copy
import json
import re
from dataclasses import dataclass
from typing import Any

from jobferry.localkube.apiserver import status
from jobferry.localkube.apiserver.problems import Problem
from jobferry.localkube.apiserver.strategies import cronjob, job, pod
from jobferry.localkube.apiserver.strategy import Strategy
from jobferry.localkube.apiserver.types import codec
from jobferry.localkube.apiserver.validation import metadata, values
from jobferry.objects import Obj, merge_patch
from tests.api.raw_http import Answered

UID = "00000000-0000-0000-0000-000000000001"
_RANDOM = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|(?<=Ab-)[a-z0-9]{5}")
_VALUES = re.compile(r"(Invalid|Duplicate|Unsupported) value: (?=[{\[])")
_WARNED = re.compile(r"metadata\.name: |In Indexed Jobs|cannot use TZ")
"""What we warn of as well; of what pods have no longer or should not have we do not."""
_OWN_METADATA = ("uid", "creationTimestamp", "resourceVersion", "managedFields", "selfLink")


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind that is judged."""

    group: str
    name: str
    plural: str
    main: Strategy
    of_status: Strategy

    @property
    def api_version(self) -> str:
        return f"{self.group}/v1" if self.group else "v1"

    def path(self, namespace: str, *parts: str) -> str:
        head = f"/apis/{self.group}/v1" if self.group else "/api/v1"
        return "/".join((f"{head}/namespaces/{namespace}/{self.plural}", *parts))


JOB = Kind("batch", "Job", "jobs", job.STRATEGY, job.STATUS)
CRON_JOB = Kind("batch", "CronJob", "cronjobs", cronjob.STRATEGY, cronjob.STATUS)
POD = Kind("", "Pod", "pods", pod.STRATEGY, pod.STATUS)


def create(kind: Kind, body: Obj, namespace: str) -> Answered:
    """Judge a create."""
    try:
        obj = codec.decode(kind.api_version, kind.name, copy.deepcopy(body)).obj
        return _create(kind, obj, namespace)
    except status.StatusError as error:
        return Answered(error.code, error.status())


def _create(kind: Kind, obj: Obj, namespace: str) -> Answered:
    strategy, about = kind.main, obj["metadata"]
    strategy.default(obj)
    about |= {"namespace": namespace, "uid": UID, "generation": 1}
    about["creationTimestamp"] = "2026-01-01T00:00:00Z"
    if about.get("generateName") and not about.get("name"):
        about["name"] = f"{about['generateName']}abcde"
    strategy.prepare_create(obj)
    found = strategy.validate_create(obj) or list(
        metadata.common_create_problems(obj, namespaced=True)
    )
    _refuse(kind, about.get("name") or "", found)
    return Answered(201, obj, tuple(strategy.warn_create(obj)))


def update(kind: Kind, old: Obj, patch: Obj, *, of_status: bool = False) -> Answered:
    """Judge a merge patch to an object, or to its status."""
    strategy = kind.of_status if of_status else kind.main
    new = merge_patch.apply(copy.deepcopy(old), patch)
    try:
        new = codec.decode(kind.api_version, kind.name, new).obj
        before = codec.decode(kind.api_version, kind.name, copy.deepcopy(old)).obj
        kept = copy.deepcopy(before)
        answer = _update(kind, strategy, new, before)
    except status.StatusError as error:
        return Answered(error.code, error.status())
    assert before == kept, "the stored object was changed"
    return answer


def _update(kind: Kind, strategy: Strategy, new: Obj, old: Obj) -> Answered:
    strategy.default(new)
    ours, theirs = new["metadata"], old["metadata"]
    ours["generation"] = theirs["generation"]
    strategy.prepare_update(new, old)
    ours.setdefault("uid", theirs["uid"])
    for name in ("creationTimestamp", "deletionTimestamp"):
        if theirs.get(name):
            ours[name] = theirs[name]
    if not values.same(new["spec"], old["spec"]):
        ours["generation"] += 1
    found = [
        *metadata.common_update_problems(new, old, namespaced=True),
        *strategy.validate_update(new, old),
    ]
    _refuse(kind, theirs["name"], found)
    return Answered(200, new, tuple(strategy.warn_update(new, old)))


def _refuse(kind: Kind, name: str, found: Any) -> None:
    if found:
        raise status.invalid(kind.group, kind.name, name, list(found))


def essence(answered: Answered) -> Obj:
    """Return what must be the same of an answer."""
    body = json.loads(_RANDOM.sub("...", json.dumps(answered.body)))
    shown: Obj = {
        "code": answered.code,
        "warnings": sorted(filter(_WARNED.search, answered.warnings)),
    }
    if answered.code >= 400:
        causes = (body.get("details") or {}).get("causes") or []
        return shown | {
            "reason": body["reason"],
            "message": _message(body["message"], causes),
            "causes": [
                (cause["reason"], cause.get("field"), _masked(cause["message"]))
                for cause in causes
            ],
        }
    for member in _OWN_METADATA:
        body["metadata"].pop(member, None)
    return shown | {"object": body}


def _message(message: str, causes: list[Obj]) -> str:
    """Return a message without structures and without its list of errors, which the causes repeat."""
    listed = [
        Problem(cause["reason"], cause.get("field", ""), cause["message"]) for cause in causes
    ]
    head, found, rest = message.partition(" is invalid: ")
    if not found:
        return message
    expected = list(dict.fromkeys(map(str, listed)))
    whole = expected[0] if len(expected) == 1 else f"[{', '.join(expected)}]"
    return f"{head} is invalid: ..." if rest == whole else message


def _masked(text: str) -> str:
    """Return the message of a cause without values that Go prints as structures, and without diffs."""
    text = text.partition("\n")[0]
    if found := _VALUES.match(text):
        _, length = json.JSONDecoder().raw_decode(text[found.end() :])
        return f"{found[0]}...{text[found.end() + length :]}"
    return text


def in_any_order(shown: Obj) -> Obj:
    """Return an essence whose causes are sorted: Go's maps have no order."""
    return shown | {"causes": sorted(map(str, shown.get("causes") or ()))}
