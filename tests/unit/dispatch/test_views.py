import msgspec
import pytest

from jobferry.core.key import WorkloadKey
from jobferry.dispatch.heads import JobHead, WorkloadHead
from jobferry.dispatch.views import Holders, Known
from jobferry.kinds.adapter import Context
from jobferry.kinds.job.delegated import DelegatedJob
from jobferry.kube.cache import Change
from jobferry.kube.items import Item
from jobferry.objects import Obj
from jobferry.workers.mirrors import JobMirrorHead, MirrorHead

KEY = WorkloadKey("Job.batch", "ns", "a")


def mirror(name: str, of: str = "") -> Item[MirrorHead]:
    notes = {"jobferry.io/hub-name": of} if of else {}
    meta = {"namespace": "ns", "name": name, "resourceVersion": "1", "annotations": notes}
    body = msgspec.json.encode({"metadata": meta})
    return Item(msgspec.json.decode(body, type=JobMirrorHead), body)


def test_workers_are_known_by_the_workloads_that_they_hold() -> None:
    holders = Holders()
    holders.note("east", KEY, Change(None, mirror("a", of="a")))
    holders.note("hub", KEY, Change(None, mirror("a-mirror", of="a")))

    assert set(holders.of(KEY)) == {"east", "hub"}
    assert not holders.of(KEY._replace(name="b"))
    assert not holders.of(KEY._replace(kind="JobSet.jobset.x-k8s.io"))


def test_a_worker_whose_mirror_went_holds_nothing() -> None:
    holders, item = Holders(), mirror("a", of="a")
    holders.note("east", KEY, Change(None, item))
    holders.note("east", KEY, Change(item, None))
    holders.note("east", KEY, Change(item, None))

    assert not holders.of(KEY)


def test_a_worker_holds_a_mirror_though_a_copy_of_it_went() -> None:
    holders, item, copy = Holders(), mirror("a", of="a"), mirror("a-copy", of="a")
    holders.note("east", KEY, Change(None, item))
    holders.note("east", KEY, Change(None, copy))
    holders.note("east", KEY, Change(copy, None))

    assert [*holders.of(KEY)] == ["east"]


def test_what_says_to_be_the_mirror_of_another_workload_now_is_that_of_none_before() -> None:
    holders, was, now = Holders(), mirror("a", of="a"), mirror("a", of="b")
    other = KEY._replace(name="b")
    holders.note("east", KEY, Change(None, was))
    holders.note("east", other, Change(was, now))

    assert not holders.of(KEY)
    assert [*holders.of(other)] == ["east"]


def test_what_is_gone_hides_nothing_that_was_made_since_under_its_name() -> None:
    known = Known(KEY, gone="uid-1")

    assert known.hides(job("uid-1"))
    assert not known.hides(job("uid-2"))


JOB = DelegatedJob(Context(frozenset({"jobferry.io/dispatcher"})))


@pytest.mark.parametrize("manager", ["example.com/other", None])
def test_a_look_tells_what_is_not_ours_from_what_is_gone(manager: str | None) -> None:
    known = Known(KEY)

    known.learn(answer(manager), None, JOB)
    assert (known.is_live, known.gone, known.unclaimed) == (True, "", "uid-1")

    known.learn(answer(manager, deletionTimestamp="2026-01-02T11:59:00Z"), None, JOB)
    assert known.unclaimed == ""

    known.learn(None, job("uid-1"), JOB)
    assert (known.gone, known.unclaimed) == ("uid-1", "")


def answer(manager: str | None, **meta: str) -> Obj:
    return {"metadata": {"uid": "uid-1", **meta}, "spec": {"managedBy": manager}}


def job(uid: str) -> Item[WorkloadHead]:
    meta = {"namespace": "ns", "name": "a", "resourceVersion": "1", "uid": uid}
    body = msgspec.json.encode({"metadata": meta})
    return Item(msgspec.json.decode(body, type=JobHead), body)
