import json

import pytest
import yaml

from jobferry.cli import documents
from jobferry.kube.resources import JOBS
from tests.unit.cli.hub_objects import job


def shown(form: str, *, is_one: bool = False) -> str:
    return documents.text(form, JOBS, [job("a")], lambda wide: f"wide {wide}", is_one=is_one)


@pytest.mark.parametrize(("form", "read"), [("json", json.loads), ("yaml", yaml.safe_load)])
def test_objects_are_a_list_as_kubectl_has_it(form: str, read: type) -> None:
    found = read(shown(form))

    assert (found["apiVersion"], found["kind"]) == ("v1", "List")
    assert (found["items"][0]["apiVersion"], found["items"][0]["kind"]) == ("batch/v1", "Job")
    assert "managedFields" not in found["items"][0]["metadata"]


def test_one_that_was_named_is_no_list() -> None:
    assert json.loads(shown("json", is_one=True))["kind"] == "Job"


def test_names_and_tables() -> None:
    assert shown("name") == "job.batch/a\n"
    assert (shown("table"), shown("wide")) == ("wide False", "wide True")
