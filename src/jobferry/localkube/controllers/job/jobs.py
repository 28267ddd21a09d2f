"""What a Job says, as far as its controller listens."""

from datetime import datetime

import msgspec
from msgspec.structs import replace

from jobferry.localkube.controllers.heads import Object
from jobferry.objects import Obj, conditions

RESERVED = "kubernetes.io/job-controller"
"""The name of the controller that every cluster has; a Job that names none means it too."""

INDEXED = "Indexed"
MODES = ("NonIndexed", INDEXED)


class _Part(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """A part of a Job."""


class ExitCodes(_Part, frozen=True, gc=False, rename="camel"):
    """The exit codes that a rule is about."""

    operator: str
    values: list[int]
    container_name: str | None = None


class PodCondition(_Part, frozen=True, gc=False, rename="camel"):
    """A condition of a pod that a rule is about."""

    type: str
    status: str = "True"


class FailureRule(_Part, frozen=True, gc=False, rename="camel"):
    """What is to follow from certain failures."""

    action: str
    on_exit_codes: ExitCodes | None = None
    on_pod_conditions: list[PodCondition] = []


class FailurePolicy(_Part, frozen=True, gc=False, rename="camel"):
    """What is to follow from failures; the first rule that matches counts."""

    rules: list[FailureRule] = []


class SuccessRule(_Part, frozen=True, gc=False, rename="camel"):
    """Which indexes, or how many of them, are enough."""

    succeeded_indexes: str | None = None
    succeeded_count: int | None = None


class SuccessPolicy(_Part, frozen=True, gc=False, rename="camel"):
    """When a Job has succeeded before all of it is done."""

    rules: list[SuccessRule] = []


class Spec(_Part, frozen=True, gc=False, rename="camel"):
    """What is asked for."""

    template: Obj
    selector: Obj | None = None
    parallelism: int = 1
    completions: int | None = None
    completion_mode: str = "NonIndexed"
    backoff_limit: int = 6
    backoff_limit_per_index: int | None = None
    max_failed_indexes: int | None = None
    active_deadline_seconds: int | None = None
    pod_failure_policy: FailurePolicy | None = None
    success_policy: SuccessPolicy | None = None
    pod_replacement_policy: str | None = None
    suspend: bool = False
    managed_by: str | None = None

    @property
    def is_indexed(self) -> bool:
        """Whether each completion has a number of its own."""
        return self.completion_mode == INDEXED

    @property
    def size(self) -> int:
        """The number of completions, of a Job that has one."""
        return self.completions or 0

    @property
    def replaces_only_failed(self) -> bool:
        """Whether a pod that is being deleted is waited for before it is replaced."""
        return self.pod_replacement_policy == "Failed" or self.pod_failure_policy is not None

    @property
    def restarts_in_place(self) -> bool:
        """Whether containers that fail are started again within their pod."""
        return bool((self.template.get("spec") or {}).get("restartPolicy") == "OnFailure")


class Job(Object, frozen=True, gc=False):
    """A Job; its status stays JSON, since whatever others write there is kept."""

    spec: Spec
    status: Obj = msgspec.field(default_factory=dict)

    @property
    def is_finished(self) -> bool:
        """Whether it has ended, well or not."""
        return self.has("Complete") or self.has("Failed")

    def has(self, condition: str) -> bool:
        """Tell whether a condition is True."""
        return conditions.is_true(self.status.get("conditions"), condition)

    def time(self, member: str) -> datetime | None:
        """Return a time that stands in the status."""
        text = self.status.get(member)
        return None if text is None else parsed(text)

    def uncounted(self, member: str) -> list[str]:
        """Return the UIDs of pods that are noted as ended, but not counted yet."""
        return list((self.status.get("uncountedTerminatedPods") or {}).get(member) or ())


_DECODER = msgspec.json.Decoder(Job)


def decode(body: bytes) -> Job:
    """Read a Job."""
    return _DECODER.decode(body)


def written(job: Job, answer: Obj) -> Job:
    """Return a Job whose status was written, as the server answered."""
    version = answer["metadata"]["resourceVersion"]
    metadata = replace(job.metadata, resource_version=version)
    return replace(job, metadata=metadata, status=answer.get("status") or {})


def parsed(text: str) -> datetime:
    """Read a time as Kubernetes writes it."""
    return datetime.fromisoformat(text)
