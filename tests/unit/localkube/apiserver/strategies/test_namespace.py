"""Namespaces."""

import pytest

from jobferry.localkube.apiserver.strategies import namespace
from jobferry.objects import Obj

NOW = "2026-01-01T00:00:00Z"


def made(spec: Obj | None = None, **meta: object) -> Obj:
    obj: Obj = {"metadata": {"name": "n", "uid": "u", "resourceVersion": "1", **meta}}
    if spec is not None:
        obj["spec"] = spec
    namespace.STRATEGY.default(obj)
    namespace.STRATEGY.prepare_create(obj)
    return obj


def test_a_new_namespace_is_active_has_a_finalizer_and_its_name_as_a_label() -> None:
    obj = made(labels={"a": "b", namespace.NAME_LABEL: "forged"})

    assert obj["status"] == {"phase": "Active"}
    assert obj["spec"] == {"finalizers": ["kubernetes"]}
    assert obj["metadata"]["labels"] == {"a": "b", namespace.NAME_LABEL: "n"}
    assert not namespace.STRATEGY.validate_create(obj)


def test_own_finalizers_stay_and_the_usual_one_is_added() -> None:
    assert made({"finalizers": ["a.b/c"]})["spec"]["finalizers"] == ["a.b/c", "kubernetes"]
    assert made({"finalizers": ["kubernetes"]})["spec"]["finalizers"] == ["kubernetes"]


def test_the_name_must_be_a_dns_label_and_finalizers_have_a_domain() -> None:
    obj = made({"finalizers": ["plain"]})
    obj["metadata"]["name"] = "a.b"

    found = namespace.STRATEGY.validate_create(obj)

    assert [each.field for each in found] == ["metadata.name", "spec.finalizers"]


def test_an_update_changes_neither_finalizers_nor_status() -> None:
    old = made()
    new = {"metadata": dict(old["metadata"]), "spec": {}, "status": {"phase": "Terminating"}}

    namespace.STRATEGY.prepare_update(new, old)

    assert (new["spec"], new["status"]) == (old["spec"], old["status"])


@pytest.mark.parametrize(
    ("deleted", "phase", "is_fine"),
    [
        *((False, "Active", True), (False, "Terminating", False)),
        *((True, "Terminating", True), (True, "Active", False)),
    ],
)
def test_the_phase_follows_the_deletion(*, deleted: bool, phase: str, is_fine: bool) -> None:
    old = made()
    if deleted:
        old["metadata"]["deletionTimestamp"] = NOW
    new = {**old, "status": {"phase": phase}}

    assert (not namespace.STATUS.validate_update(new, old)) is is_fine


def test_a_deleted_namespace_is_held_by_its_finalizers() -> None:
    obj = made()
    assert namespace.STRATEGY.mark_deleted
    assert namespace.STRATEGY.held

    namespace.STRATEGY.mark_deleted(obj, NOW)

    assert obj["status"]["phase"] == "Terminating"
    assert namespace.STRATEGY.held(obj)
    assert not namespace.STRATEGY.held({**obj, "spec": {}})


def test_finalizing_changes_the_finalizers_alone_and_checks_each() -> None:
    old = made()
    new = {**old, "spec": {"finalizers": ["kubernetes", "plain"]}, "status": {}}

    namespace.FINALIZE.prepare_update(new, old)
    found = namespace.FINALIZE.validate_update(new, old)

    assert new["status"] == old["status"]
    assert [each.field for each in found] == ["spec.finalizers[1]"]


def test_selectors_may_ask_for_the_phase() -> None:
    assert namespace.STRATEGY.fields(made()) == {"status.phase": "Active"}
