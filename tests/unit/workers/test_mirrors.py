import msgspec
import pytest

from jobferry.kube.items import Key
from jobferry.objects import Obj
from jobferry.workers.mirrors import MirrorHead


def head(conditions: list[Obj], **notes: str) -> MirrorHead:
    meta = {"namespace": "ns", "name": "a-mirror", "resourceVersion": "1", "annotations": notes}
    body = {"metadata": meta, "spec": {}, "status": {"conditions": conditions, "active": 1}}
    return msgspec.json.decode(msgspec.json.encode(body), type=MirrorHead)


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
    assert head(conditions).status.has_ended is ended


def test_a_mirror_says_whose_it_is() -> None:
    assert head([], **{"jobferry.io/hub-name": "a"}).workload == Key("ns", "a")
    assert head([]).workload == Key("ns", "a-mirror")
