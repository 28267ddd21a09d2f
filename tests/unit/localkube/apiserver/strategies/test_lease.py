"""Leases."""

from jobferry.localkube.apiserver.strategies import lease
from jobferry.objects import Obj

META = {"name": "l", "namespace": "n", "uid": "u", "resourceVersion": "1"}


def made(**spec: object) -> Obj:
    return {"metadata": META, "spec": spec}


def test_durations_are_positive_and_transitions_not_negative() -> None:
    obj = made(leaseDurationSeconds=0, leaseTransitions=-1)

    found = [each.field for each in lease.STRATEGY.validate_create(obj)]

    assert found == ["spec.leaseDurationSeconds", "spec.leaseTransitions"]
    assert [each.field for each in lease.STRATEGY.validate_update(obj, obj)] == found


def test_coordinated_election_is_off_but_what_is_stored_stays() -> None:
    new = made(strategy="x", preferredHolder="y")
    kept = made(strategy="x", preferredHolder="y")

    lease.STRATEGY.prepare_update(kept, made(strategy="x"))
    lease.STRATEGY.prepare_create(new)

    assert new["spec"] == {}
    assert kept["spec"] == {"strategy": "x"}


def test_leases_are_made_by_a_put_but_never_replaced_blindly() -> None:
    assert lease.STRATEGY.create_on_update
    assert not lease.STRATEGY.unconditional_update
