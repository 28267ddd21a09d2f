import pytest

from jobferry.objects import Obj, owners

JOB = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "train", "uid": "u1"}}


def pod(*references: Obj) -> Obj:
    return {"metadata": {"name": "pod", "ownerReferences": list(references)}}


def test_a_controller_reference_is_built_as_controllers_build_it() -> None:
    assert owners.owner_reference(JOB) == {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "name": "train",
        "uid": "u1",
        "controller": True,
        "blockOwnerDeletion": True,
    }


def test_a_plain_reference_says_nothing_about_control_or_deletion() -> None:
    reference = owners.owner_reference(JOB, controller=False, blocks_deletion=False)

    assert reference == {"apiVersion": "batch/v1", "kind": "Job", "name": "train", "uid": "u1"}


def test_the_controller_is_the_one_owner_that_is_marked_so() -> None:
    plain = owners.owner_reference(JOB, controller=False)
    controller = owners.owner_reference(JOB)

    assert owners.controller_of(pod(plain, controller)) is not None
    assert owners.controller_of(pod(plain, controller)) == controller


@pytest.mark.parametrize(
    "obj",
    [
        {},
        {"metadata": {}},
        {"metadata": {"ownerReferences": None}},
        pod({"uid": "u1"}, {"uid": "u1", "controller": False}),
    ],
)
def test_an_object_without_a_controller_is_controlled_by_nobody(obj: Obj) -> None:
    assert owners.controller_of(obj) is None
    assert not owners.is_controlled_by(obj, "u1")


def test_control_is_told_by_uid_and_not_by_name() -> None:
    recreated = {**JOB, "metadata": {"name": "train", "uid": "u2"}}

    assert owners.is_controlled_by(pod(owners.owner_reference(JOB)), "u1")
    assert not owners.is_controlled_by(pod(owners.owner_reference(recreated)), "u1")
