import msgspec
import pytest

from jobferry.kube.cache import Change
from jobferry.kube.items import Item, Key
from jobferry.objects import Obj
from jobferry.workers.mirrors import JobMirrorHead, MirrorHead, says_nothing


def head(conditions: list[Obj], **notes: str) -> MirrorHead:
    meta = {"namespace": "ns", "name": "a-mirror", "resourceVersion": "1", "annotations": notes}
    body = {"metadata": meta, "spec": {}, "status": {"conditions": conditions, "active": 1}}
    return msgspec.json.decode(msgspec.json.encode(body), type=JobMirrorHead)


@pytest.mark.parametrize(
    ("conditions", "ended"),
    [
        ([], False),
        ([{"type": "Complete", "status": "True"}], True),
        (
            [{"type": "Suspended", "status": "False"}, {"type": "Failed", "status": "True"}],
            True,
        ),
        ([{"type": "Complete", "status": "False"}], False),
        ([{"type": "SuccessCriteriaMet", "status": "True"}], False),
    ],
)
def test_a_mirror_has_ended_once_it_is_complete_or_failed(
    conditions: list[Obj], ended: bool
) -> None:
    assert head(conditions).has_ended is ended


def test_a_mirror_says_whose_it_is() -> None:
    assert head([], **{"jobferry.io/hub-name": "a"}).workload == Key("ns", "a")
    assert head([]).workload == Key("ns", "a-mirror")


def mirror(meta: Obj | None = None, *conditions: str, **status: int) -> Item[MirrorHead]:
    listed = [{"type": each, "status": "True"} for each in conditions]
    known = {"namespace": "ns", "name": "a", "resourceVersion": "1", "generation": 1}
    body = {"metadata": known | (meta or {}), "status": {"conditions": listed, **status}}
    encoded = msgspec.json.encode(body)
    return Item(msgspec.json.decode(encoded, type=JobMirrorHead), encoded)


RUNS = mirror(active=1)
DECIDED = "SuccessCriteriaMet"


@pytest.mark.parametrize("how", [DECIDED, "FailureTarget"])
def test_that_a_mirror_is_about_to_end_is_no_news(how: str) -> None:
    assert says_nothing(Change(RUNS, mirror({}, how)))


OTHERS = {
    "it ends": Change(RUNS, mirror({}, DECIDED, "Complete")),
    "a pod still runs": Change(RUNS, mirror({}, DECIDED, active=1)),
    "a pod still ends": Change(RUNS, mirror({}, DECIDED, terminating=1)),
    "it is not decided": Change(RUNS, mirror()),
    "it is new to us": Change(None, mirror({}, DECIDED)),
    "it is gone": Change(mirror({}, DECIDED), None),
    "another label": Change(RUNS, mirror({"labels": {"a": "b"}}, DECIDED)),
    "another generation": Change(RUNS, mirror({"generation": 2}, DECIDED)),
    "deleted": Change(RUNS, mirror({"deletionTimestamp": "2026-01-01T00:00:00Z"}, DECIDED)),
}


@pytest.mark.parametrize("change", OTHERS.values(), ids=OTHERS)
def test_everything_else_about_a_mirror_is_news(change: Change[MirrorHead]) -> None:
    assert not says_nothing(change)
