"""Both servers beside each other: Jobs, changes and statuses that hypothesis draws."""

import itertools

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from jobferry.objects import Obj
from tests.api.job_bodies import job
from tests.api.job_draws import changes, specs, statuses
from tests.api.twins import MERGE, STRATEGIC, Twins

pytestmark = [pytest.mark.kube, pytest.mark.timeout(120)]

NUMBERS = itertools.count()
drawn = settings(
    max_examples=100,
    derandomize=True,
    database=None,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


def jobs_in(place: str, *parts: str) -> str:
    return "/".join((f"/apis/batch/v1/namespaces/{place}/jobs", *parts))


def named(spec: Obj) -> Obj:
    return {**job(spec), "metadata": {"name": f"j{next(NUMBERS)}"}}


@drawn
@given(specs())
async def test_any_job_is_created_or_refused(twins: Twins, place: str, spec: Obj) -> None:
    await twins.post(jobs_in(place), named(spec), title=str(spec), any_order=True)


@drawn
@given(specs(valid=True), changes(), st.sampled_from([MERGE, STRATEGIC]))
async def test_any_change_is_accepted_or_refused(
    twins: Twins, place: str, spec: Obj, change: Obj, kind: str
) -> None:
    body = named(spec)
    made = await twins.post(jobs_in(place), body, title=str(spec), any_order=True)
    if made.code == 201:
        path = jobs_in(place, body["metadata"]["name"])
        await twins.patch(path, {"spec": change}, kind, title=str(change), any_order=True)
        await twins.get(path)


@drawn
@given(specs(valid=True), statuses(), statuses())
async def test_any_status_is_accepted_or_refused(
    twins: Twins, place: str, spec: Obj, first: Obj, second: Obj
) -> None:
    body = named(spec)
    made = await twins.post(jobs_in(place), body, title=str(spec), any_order=True)
    if made.code != 201:
        return
    path = jobs_in(place, body["metadata"]["name"], "status")
    for status in (first, dict.fromkeys(first) | second):
        await twins.patch(path, {"status": status}, title=str(status), any_order=True)
    await twins.get(jobs_in(place, body["metadata"]["name"]))
