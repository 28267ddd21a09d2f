from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from jobferry.clock import Seconds
from jobferry.errors import BadInput, Error
from jobferry.kube import leadership
from jobferry.kube.client import Client
from jobferry.kube.in_process import InProcessTransport
from jobferry.kube.items import Metadata
from jobferry.kube.leadership import TERMS, LeaseHead, Spec, State, Terms
from jobferry.kube.lease import Candidate
from jobferry.testing.clock import ManualClock
from tests.unit.kube.lease_world import KEY, Line, Server

NOW = datetime(2026, 1, 2, 3, 4, 5, 678, UTC)


def record(holder: str = "", *, duration: int = 15, version: int = 1) -> LeaseHead:
    spec = Spec(holder_identity=holder, lease_duration_seconds=duration, lease_transitions=7)
    return LeaseHead(Metadata(name="dispatcher", resource_version=str(version)), spec)


def decide(state: State, now: Seconds, *, chance: float = 0) -> leadership.Action:
    return leadership.decide(state, "me", TERMS, now, chance)


def seen(lease_record: LeaseHead | None, now: Seconds) -> State:
    return leadership.see(State(is_current=True), lease_record, now)


@pytest.mark.parametrize(
    ("state", "now", "action"),
    [
        (State(), 0, leadership.ReadLease(5)),
        (seen(None, 0), 0, leadership.WriteLease(5)),
        (seen(record(), 0), 0, leadership.WriteLease(5)),
        (seen(record("me"), 0), 0, leadership.WriteLease(5)),
        (seen(record("you"), 0), 1, leadership.Wait(14)),
        (seen(record("you", duration=60), 0), 1, leadership.Wait(59)),
        (seen(record("you"), 0), 15, leadership.WriteLease(5)),
        (leadership.see(seen(record("you"), 0), None, 5), 6, leadership.Wait(9)),
        (
            leadership.see(seen(record("you"), 0), record("you", version=2), 5),
            15,
            leadership.Wait(5),
        ),
        (
            leadership.see(seen(record("you"), 0), record("you"), 5),
            15,
            leadership.WriteLease(5),
        ),
        (replace(seen(record(), 0), rest_until=3), 1, leadership.Wait(2)),
        (replace(seen(record("me"), 0), renewed_at=0), 0, leadership.Wait(2)),
        (replace(seen(record("me"), 0), renewed_at=0), 2, leadership.WriteLease(5)),
        (replace(seen(record("me"), 0), renewed_at=0), 7, leadership.WriteLease(3)),
        (replace(seen(record("me"), 0), renewed_at=0, rest_until=4), 3, leadership.Wait(1)),
        (replace(seen(record("me"), 0), renewed_at=0, rest_until=12), 9, leadership.Wait(1)),
        (
            replace(seen(record("me"), 0), renewed_at=0, is_current=False),
            1,
            leadership.ReadLease(5),
        ),
        (
            replace(seen(record("me"), 0), renewed_at=0),
            10,
            leadership.StepDown("it could not be renewed within 10 s"),
        ),
        (replace(seen(None, 0), renewed_at=0), 1, leadership.StepDown("it was deleted")),
        (replace(seen(record("you"), 0), renewed_at=0), 1, leadership.StepDown("you holds it")),
        (replace(seen(record(), 0), renewed_at=0), 1, leadership.StepDown("nobody holds it")),
    ],
)
def test_what_is_done_follows_from_what_is_known(
    state: State, now: Seconds, action: leadership.Action
) -> None:
    assert decide(state, now) == action


def test_chance_makes_a_standby_late_by_a_tenth_of_a_retry_at_most() -> None:
    state = seen(record("you"), 0)

    assert decide(state, 0, chance=1) == leadership.Wait(15 + TERMS.retry / 10)


def test_the_first_claim_counts_from_zero() -> None:
    assert leadership.claim(None, "me", TERMS, NOW) == {
        "holderIdentity": "me",
        "leaseDurationSeconds": 15,
        "acquireTime": "2026-01-02T03:04:05.000678Z",
        "renewTime": "2026-01-02T03:04:05.000678Z",
        "leaseTransitions": 0,
    }


def test_a_lease_that_changes_hands_counts_on() -> None:
    claim = leadership.claim(record("you"), "me", TERMS, NOW)

    assert claim["leaseTransitions"] == 8
    assert claim["acquireTime"] == claim["renewTime"]


def test_a_renewal_leaves_alone_since_when_it_is_held() -> None:
    claim = leadership.claim(record("me"), "me", TERMS, NOW)

    assert claim.keys() == {"holderIdentity", "leaseDurationSeconds", "renewTime"}


@pytest.mark.parametrize(
    "terms",
    [
        {"duration": 10, "deadline": 10},
        {"deadline": 3.9},
        {"retry": 0},
        {"retry": -1},
        {"duration": 0, "deadline": 0, "retry": 0},
    ],
)
def test_terms_under_which_two_could_lead_are_refused(terms: dict[str, Any]) -> None:
    with pytest.raises(BadInput, match="is not safe"):
        Terms(**terms)


def test_a_candidate_needs_a_name() -> None:
    clock = ManualClock()
    client = Client(InProcessTransport(Line(Server(), clock), clock), name="x", clock=clock)

    with pytest.raises(Error, match="needs a name"):
        Candidate(client, KEY, me="")


@pytest.mark.parametrize(
    ("state", "may_be"),
    [
        (State(), False),
        (seen(record("me"), 0), False),
        (replace(seen(None, 0), is_in_doubt=True), True),
        (replace(seen(record(), 0), is_in_doubt=True), True),
        (replace(seen(record("me"), 0), is_in_doubt=True), True),
        (replace(seen(record("you"), 0), is_in_doubt=True), False),
        (replace(seen(record("you", duration=1), 0), is_in_doubt=True), True),
    ],
)
def test_a_claim_without_an_answer_may_be_good_unless_somebody_else_was_faster(
    state: State, may_be: bool
) -> None:
    assert leadership.may_have_claimed(state, "me", 1) == may_be
