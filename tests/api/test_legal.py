"""Legal statuses on real API servers: whatever workers and others say, no write is refused."""

import os
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from jobferry.clock import SystemClock
from jobferry.kinds.job import legal, moving, status
from jobferry.kinds.job.adapter import JOB
from jobferry.kinds.job.base import Base
from jobferry.kube import errors
from jobferry.kube.client import Client, connect
from jobferry.kube.resources import JOBS
from jobferry.objects import Obj, merge_patch
from jobferry.objects.indexes import IndexSet
from jobferry.objects.times import timestamp
from jobferry.testing import assets
from jobferry.testing.control_plane import ControlPlane

SOAK = bool(os.environ.get("JOBFERRY_SOAK"))

pytestmark = [pytest.mark.kube, pytest.mark.timeout(3600 if SOAK else 120)]

fuzz = settings(
    max_examples=5000 if SOAK else 300,
    derandomize=True,
    database=None,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)

NOW = datetime(2026, 11, 15, 12, tzinfo=UTC)
ENDS = ("Complete", "Failed")
OTHERS = ("FailureTarget", "SuccessCriteriaMet", "Suspended", "Custom")

# -- what a hub Job may be ----------------------------------------------------------------------


TEMPLATE = {"spec": {"containers": [{"name": "a", "image": "a"}], "restartPolicy": "Never"}}
SHAPES: list[Obj] = [
    {},
    {"completionMode": "Indexed"},
    {"completionMode": "Indexed", "backoffLimitPerIndex": 1},
    {"completionMode": "Indexed", "successPolicy": {"rules": [{"succeededCount": 1}]}},
]
WORK_QUEUE = {"completions": None}


def spec_of(shape: Obj, completions: int, parallelism: int, suspend: bool) -> Obj:
    sizes = {"completions": completions, "parallelism": parallelism, "suspend": suspend}
    return {"managedBy": "jobferry.io/dispatcher", "template": TEMPLATE, **sizes, **shape}


specs = st.builds(
    spec_of,
    st.sampled_from([*SHAPES, WORK_QUEUE]),
    completions=st.sampled_from([1, 2, 4, 6]),
    parallelism=st.sampled_from([0, 1, 2, 4, 6]),
    suspend=st.booleans(),
)
"""Any Job, as far as it matters to its status."""

# -- what may happen to it ----------------------------------------------------------------------

counts = st.integers(0, 9)
moments = st.integers(-600, 600).map(lambda off: timestamp(NOW + timedelta(seconds=off)))
index_texts = st.integers(0, 255).map(
    lambda bits: str(IndexSet.of(n for n in range(8) if bits >> n & 1)) or "1-"
)
"""Any indexes below 8, and instead of none something that makes no sense."""


def conditions_of(*types: str) -> st.SearchStrategy[Obj]:
    return st.fixed_dictionaries(
        {"type": st.sampled_from(types), "status": st.sampled_from(["True", "True", "False"])},
        optional={
            "reason": st.just("Reason"),
            "message": st.just("message"),
            "lastTransitionTime": moments,
        },
    )


def statuses(*types: str) -> st.SearchStrategy[Obj]:
    """What a worker may say, with conditions of these types."""
    return st.fixed_dictionaries(
        {"completedIndexes": index_texts, "failedIndexes": index_texts},
        optional={
            "active": counts,
            "ready": counts,
            "terminating": counts,
            "succeeded": counts,
            "failed": counts,
            "startTime": moments,
            "completionTime": moments,
            "uncountedTerminatedPods": st.fixed_dictionaries(
                {}, optional={"succeeded": st.just(["a"]), "failed": st.just(["b", "c"])}
            ),
            "conditions": st.lists(conditions_of(*types), max_size=4),
        },
    )


@dataclass(frozen=True)
class Says:
    """The worker says this; illegal, late or contradictory."""

    status: Obj
    on_base: bool
    """Whether the base is added, as it should be."""


@dataclass(frozen=True)
class Moved:
    """The Job is placed elsewhere."""


@dataclass(frozen=True)
class Waits:
    """The Job runs nowhere for now."""


@dataclass(frozen=True)
class GivenUp:
    """The dispatcher fails the Job."""


@dataclass(frozen=True)
class Edited:
    """A user changes the spec, if the API server lets them."""

    spec: Obj


@dataclass(frozen=True)
class Meddled:
    """Another controller adds a condition, if the API server lets it."""

    condition: Obj


Step = Says | Moved | Waits | GivenUp | Edited | Meddled

edits = st.sampled_from(
    [Edited({"suspend": on}) for on in (False, True)]
    + [Edited({"parallelism": n}) for n in (1, 3)]
    + [Edited({"parallelism": n, "completions": n}) for n in (0, 2, 4)]
)
kinds_of_step: dict[str, st.SearchStrategy[Step]] = {
    "running": st.builds(Says, statuses(*OTHERS), st.booleans()),
    "ended": st.builds(Says, statuses(*ENDS, *OTHERS), st.booleans()),
    "edited": edits,
    "meddled": st.builds(Meddled, conditions_of(*OTHERS)),
    "rare": st.sampled_from([Moved(), Waits(), GivenUp()]),
}
often = ["running"] * 6 + ["edited"] * 3 + ["ended", "meddled", "rare"]
steps = st.lists(
    st.sampled_from(often).flatmap(kinds_of_step.__getitem__), min_size=3, max_size=10
)


# -- how it is told -----------------------------------------------------------------------------


class Story:
    """One hub Job, and all that happens to it."""

    def __init__(self, hub: Client, hub_job: Obj) -> None:
        self.hub = hub
        self.hub_job = hub_job
        self.base = Base()
        self.mirror: Obj = {}
        self.now = NOW

    async def take(self, step: Step) -> None:
        self.now += timedelta(seconds=7)
        match step:
            case Says(said, on_base):
                self.mirror = {"status": said}
                added = moving.wanted_status(self.hub_job, self.mirror, self.base)
                await self.write(added if on_base else said)
            case Moved():
                self.base = moving.carried(self.hub_job, self.mirror, self.base, self.now)
                ended = moving.outcome(self.hub_job, self.mirror, self.base)
                self.mirror = {}
                await self.write(ended or {})
            case Waits():
                await self.send(legal.unplaced(self.hub_job, self.now))
            case GivenUp():
                await self.send(legal.fail(self.hub_job, "NoWorker", "gone", self.now))
                assert JOB.finish(self.hub_job)
            case Edited(spec):
                await self.others({"spec": spec})
            case Meddled(condition):
                listed = [*self.hub_job["status"].get("conditions", ()), condition]
                await self.others({"status": {"conditions": listed}}, subresource="status")

    async def copy(self, step: Step) -> None:
        """Take a step as a dispatcher would that copies what workers say."""
        if isinstance(step, Says):
            change = merge_patch.create(self.hub_job["status"], step.status)
            self.hub_job = await self.patch({"status": change}, subresource="status")
        else:
            await self.take(step)

    async def write(self, wanted: Obj) -> None:
        await self.send(legal.legalise(self.hub_job, wanted, self.now))

        again = legal.legalise(self.hub_job, wanted, self.now + timedelta(hours=1))
        assert legal.patch(self.hub_job, again) is None
        assert JOB.finish(self.hub_job) or status.end(wanted) is None

    async def send(self, new: Obj) -> None:
        old = self.hub_job["status"]
        if body := legal.patch(self.hub_job, new):
            self.hub_job = await self.patch(body, subresource="status")
        assert custom(self.hub_job["status"]) == custom(old)
        assert self.hub_job["status"].get("failed", 0) >= old.get("failed", 0)

    async def others(self, body: Obj, subresource: str | None = None) -> None:
        with suppress(errors.Invalid):
            self.hub_job = await self.patch(body, subresource=subresource)

    async def patch(self, body: Obj, subresource: str | None) -> Obj:
        metadata = self.hub_job["metadata"]
        return await self.hub.patch(
            JOBS,
            metadata["name"],
            body,
            namespace=metadata["namespace"],
            subresource=subresource,
        )


def custom(shown: Obj) -> list[Obj]:
    return [each for each in shown.get("conditions", ()) if each["type"] == "Custom"]


async def begin(hub: Client, namespace: str, spec: Obj) -> Story:
    created = {"metadata": {"generateName": "it-"}, "spec": spec}
    return Story(hub, await hub.create(JOBS, created, namespace=namespace))


async def tell(hub: Client, namespace: str, spec: Obj, steps: list[Step]) -> None:
    story = await begin(hub, namespace, spec)
    for step in steps:
        await story.take(step)


@fuzz
@given(spec=specs, steps=steps)
async def test_no_status_is_refused_whatever_happens(
    cluster: Client, namespace: str, spec: Obj, steps: list[Step]
) -> None:
    await tell(cluster, namespace, spec, steps)


@pytest.fixture(
    params=[pytest.param(each, marks=pytest.mark.kube(each)) for each in assets.SKEW]
)
async def other_hub(request: pytest.FixtureRequest) -> AsyncIterator[Client]:
    """A hub of another version that we promise to work with."""
    async with (
        ControlPlane(version=request.param) as plane,
        connect(plane.access(), name="hub", clock=SystemClock()) as client,
    ):
        yield client


@fuzz
@given(spec=specs, steps=steps)
async def test_no_status_is_refused_by_hubs_of_other_versions(
    other_hub: Client, spec: Obj, steps: list[Step]
) -> None:
    await tell(other_hub, "default", spec, steps)


# -- each rule by itself -------------------------------------------------------------------------


def true(*types: str) -> Obj:
    return {"conditions": [{"type": each, "status": "True"} for each in types]}


def at(seconds: int) -> str:
    return timestamp(NOW + timedelta(seconds=seconds))


def says(*parts: Obj, **members: object) -> Says:
    """A status made of parts, as it is on the worker."""
    said: Obj = dict(members)
    for part in parts:
        said |= part
    return Says(said, on_base=True)


PLAIN = spec_of({}, 4, 2, suspend=False)
PER_INDEX = spec_of(SHAPES[2], 4, 4, suspend=False)
STARTED = {"startTime": at(0)}
COMPLETE = true("SuccessCriteriaMet", "Complete") | STARTED
FAILED = true("FailureTarget", "Failed") | STARTED
TO_TWO = Edited({"completions": 2, "parallelism": 2})

REFUSED: dict[str, tuple[Obj, list[Step]]] = {
    "1: a 1.29 worker fails with a ready pod": (PLAIN, [says(FAILED, ready=1)]),
    "1: complete with active pods": (
        PLAIN,
        [says(COMPLETE, completionTime=at(9), active=1)],
    ),
    "2: about to fail there, complete here": (
        PLAIN,
        [
            says(STARTED, true("FailureTarget")),
            says(COMPLETE, completionTime=at(9)),
        ],
    ),
    "2: about to complete there, failed here": (
        PLAIN,
        [says(STARTED, true("SuccessCriteriaMet")), says(FAILED)],
    ),
    "2: a worker before 1.31 completes": (
        PLAIN,
        [says(STARTED, true("Complete"), completionTime=at(9))],
    ),
    "2: a worker before 1.31 fails": (PLAIN, [says(STARTED, true("Failed"))]),
    "3: resumed, and the suspension was never seen": (
        PLAIN,
        [says(STARTED), says(startTime=at(60))],
    ),
    "3: the start is taken away": (PLAIN, [says(STARTED), says(active=1)]),
    "4: complete by a clock that is behind": (
        PLAIN,
        [says(STARTED), says(COMPLETE, completionTime=at(-9))],
    ),
    "5: scaled down, and the worker is late": (
        PER_INDEX,
        [TO_TWO, says(succeeded=3, completedIndexes="0,2,3")],
    ),
    "5: failed there, completed here": (
        PER_INDEX,
        [says(completedIndexes="0,1", failedIndexes="1,2")],
    ),
    "6: failed before it started": (PLAIN, [says(true("FailureTarget", "Failed"))]),
    "7: fewer failures elsewhere": (PLAIN, [says(failed=2), says(failed=1)]),
    "7: fewer successes elsewhere": (PLAIN, [says(succeeded=2), says(succeeded=1)]),
    "7: fewer indexes, and no longer elastic": (
        PER_INDEX,
        [
            says(succeeded=4, completedIndexes="0-3"),
            TO_TWO,
            Edited({"parallelism": 1}),
            says(succeeded=2, completedIndexes="0,1"),
        ],
    ),
}


@pytest.mark.parametrize(("spec", "steps"), REFUSED.values(), ids=REFUSED)
async def test_what_is_refused_as_a_worker_says_it_is_accepted_when_it_is_legal(
    cluster: Client, namespace: str, spec: Obj, steps: list[Step]
) -> None:
    naive = await begin(cluster, namespace, spec)
    for step in steps[:-1]:
        await naive.copy(step)
    with pytest.raises(errors.Invalid):
        await naive.copy(steps[-1])

    await tell(cluster, namespace, spec, steps)
