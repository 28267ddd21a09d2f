"""What client-side apply left behind, and server-side apply makes of it."""

from typing import Any

import orjson
import pytest

from jobferry.localkube.apiserver.managed import last_applied
from jobferry.localkube.apiserver.managed.conflicts import Conflicts
from tests.unit.localkube.apiserver.managed.managed_object import ManagedObject


def remembered(**spec: Any) -> dict[str, Any]:
    config = {"apiVersion": "v1", "kind": "Thing", "metadata": {"name": "it"}, "spec": spec}
    annotations = {last_applied.ANNOTATION: orjson.dumps(config).decode()}
    return {"name": "it", "annotations": annotations}


def test_kubectl_takes_over_what_it_applied_on_the_client() -> None:
    thing = ManagedObject()
    thing.update("kubectl-client-side-apply", {"text": "a"}, metadata=remembered(text="a"))

    thing.apply("kubectl", {"text": "<b>"})

    annotation = (
        thing.stored and thing.stored["metadata"]["annotations"][last_applied.ANNOTATION]
    )
    assert thing.spec == {"text": "<b>"}
    assert annotation == (
        '{"apiVersion":"v1","kind":"Thing","metadata":{"name":"it"},'
        '"spec":{"text":"\\u003cb\\u003e"}}\n'
    )


@pytest.mark.parametrize("manager", ["kubectl", "other"])
def test_what_was_not_applied_on_the_client_stays_a_conflict(manager: str) -> None:
    thing = ManagedObject()
    metadata = remembered(text="a", number=1)
    thing.update("kubectl-client-side-apply", {"text": "a", "number": 2}, metadata=metadata)

    with pytest.raises(Conflicts) as refused:
        thing.apply(manager, {"text": "b", "number": 3})

    fields = [path[-1] for _, path in refused.value.found]
    assert fields == (["f:number"] if manager == "kubectl" else ["f:number", "f:text"])


@pytest.mark.parametrize(
    "annotation",
    ["", "{", "[]", '{"apiVersion":"v1"}', '{"apiVersion":"v2","kind":"Thing"}', '{"apiVersion":"v1","kind":"Thing","odd":1}'],
)  # fmt: skip
def test_an_annotation_that_makes_no_sense_allows_nothing(annotation: str) -> None:
    thing = ManagedObject()
    metadata = {"name": "it", "annotations": {last_applied.ANNOTATION: annotation}}
    thing.update("kubectl-client-side-apply", {"text": "a"}, metadata=metadata)

    with pytest.raises(Conflicts):
        thing.apply("kubectl", {"text": "b"})


def test_an_annotation_that_would_be_too_long_goes() -> None:
    thing = ManagedObject()
    thing.update("kubectl-client-side-apply", {}, metadata=remembered())

    thing.apply("kubectl", {"text": "x" * 300_000})

    assert thing.stored
    assert thing.stored["metadata"]["annotations"] == {}
