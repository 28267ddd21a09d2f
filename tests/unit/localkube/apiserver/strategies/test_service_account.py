"""Service accounts."""

from jobferry.localkube.apiserver.strategies import service_account
from jobferry.objects import Obj

STRATEGY = service_account.STRATEGY
MARK = "kubernetes.io/enforce-mountable-secrets"


def account(**annotations: str) -> Obj:
    return {"metadata": {"name": "a", "annotations": annotations}}


def test_only_the_names_of_secrets_are_kept() -> None:
    obj = {**account(), "secrets": [{"name": "s", "uid": "1"}, {"kind": "Secret"}]}

    STRATEGY.prepare_create(obj)
    assert obj["secrets"] == [{"name": "s"}, {}]
    obj["secrets"] = [{"name": "s", "uid": "1"}]
    STRATEGY.prepare_update(obj, account())
    assert obj["secrets"] == [{"name": "s"}]


def test_an_old_annotation_is_warned_of_when_it_is_set() -> None:
    marked = account(**{MARK: "true"})

    assert "deprecated in v1.32+" in STRATEGY.warn_create(marked)[0]
    assert STRATEGY.warn_update(marked, account())
    assert not STRATEGY.warn_update(marked, marked)
    assert not STRATEGY.warn_create(account())


def test_names_are_subdomains() -> None:
    assert not STRATEGY.name_problems("a.b", False)
    assert STRATEGY.name_problems("A", False)
