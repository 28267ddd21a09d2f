"""In what form a client gets its answer."""

import pytest

from jobferry.localkube.apiserver.requests import accept
from jobferry.localkube.apiserver.status import StatusError

TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"


@pytest.mark.parametrize("header", ["", "*/*", "application/json", "text/html, */*;q=0.1"])
def test_json_is_what_one_gets(header: str) -> None:
    assert accept.form(header) == accept.PLAIN


def test_a_client_that_prefers_protobuf_gets_json_if_it_takes_that_too() -> None:
    assert accept.form("application/vnd.kubernetes.protobuf,application/json") == accept.PLAIN


def test_a_client_that_prefers_yaml_gets_json_if_it_takes_that_too() -> None:
    assert accept.form("application/yaml,application/json;q=0.5") == accept.PLAIN


@pytest.mark.parametrize("header", ["application/yaml", "application/vnd.kubernetes.protobuf"])
def test_a_client_that_takes_no_json_is_told_what_there_is(header: str) -> None:
    with pytest.raises(StatusError) as refused:
        accept.form(header)
    assert refused.value.code == 406
    assert str(refused.value).endswith("are accepted: application/json")


def test_the_most_wanted_form_comes_first() -> None:
    assert accept.form(f"application/json;q=0.5,{TABLE}").kind == "Table"
    assert accept.form(f"{TABLE},application/json").kind == "Table"


def test_forms_that_nobody_knows_are_passed_over() -> None:
    unknown = TABLE.replace("v=v1", "v=v9")

    assert accept.form(f"{unknown},application/json") == accept.PLAIN
    with pytest.raises(StatusError) as refused:
        accept.form(unknown)
    assert refused.value.code == 406


def test_discovery_comes_in_one_piece_if_asked_for() -> None:
    aggregated = "application/json;v=v2;g=apidiscovery.k8s.io;as=APIGroupDiscoveryList"

    assert (
        accept.discovery_form(f"{aggregated},application/json", aggregated=True).version == "v2"
    )
    assert accept.discovery_form("application/json", aggregated=True).version == ""
