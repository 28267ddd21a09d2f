"""Secrets."""

import base64

import pytest

from jobferry.localkube.apiserver.strategies import secret
from jobferry.objects import Obj

META = {"name": "s", "namespace": "n", "uid": "u", "resourceVersion": "1"}


def made(**parts: object) -> Obj:
    obj: Obj = {"metadata": dict(META), **parts}
    secret.STRATEGY.default(obj)
    return obj


def texts(**values: str) -> Obj:
    return {key: base64.b64encode(value.encode()).decode() for key, value in values.items()}


def fields(obj: Obj) -> list[str]:
    return [each.field for each in secret.STRATEGY.validate_create(obj)]


def test_texts_are_written_over_the_data_and_not_kept() -> None:
    obj = made(data=texts(a="old", b="b"), stringData={"a": "né"})

    assert obj["data"] == texts(a="né", b="b")
    assert "stringData" not in obj
    assert obj["type"] == "Opaque"


@pytest.mark.parametrize(
    ("type", "found"),
    [
        ("Opaque", []),
        ("example.com/own", []),
        ("kubernetes.io/basic-auth", ["data[username]", "data[password]"]),
        ("kubernetes.io/ssh-auth", ["data[ssh-privatekey]"]),
        ("kubernetes.io/tls", ["data[tls.crt]", "data[tls.key]"]),
        ("kubernetes.io/dockercfg", ["data[.dockercfg]"]),
        ("kubernetes.io/dockerconfigjson", ["data[.dockerconfigjson]"]),
        (
            "kubernetes.io/service-account-token",
            ["metadata.annotations[kubernetes.io/service-account.name]"],
        ),
    ],
)
def test_types_need_their_keys(type: str, found: list[str]) -> None:
    assert fields(made(type=type)) == found


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        *(("{}", ""), ("null", ""), ("", "unexpected end of JSON input")),
        ("[]", "json: cannot unmarshal array into Go value of type map[string]interface {}"),
        ("x", "invalid character 'x' looking for beginning of value"),
        ('{"a":1,}', "invalid character '}' looking for beginning of object key string"),
    ],
)
def test_docker_configurations_are_json_objects(text: str, complaint: str) -> None:
    data = {".dockercfg": base64.b64encode(text.encode()).decode()}

    found = secret.STRATEGY.validate_create(made(type="kubernetes.io/dockercfg", data=data))

    shown = f'Invalid value: "<secret contents redacted>": {complaint}'
    assert [each.body for each in found] == ([shown] if complaint else [])


def test_the_type_never_changes() -> None:
    found = secret.STRATEGY.validate_update(made(type="a"), made())

    assert [each.field for each in found] == ["type"]


def test_what_is_immutable_stays() -> None:
    old = made(immutable=True, data=texts(a="b"))

    found = secret.STRATEGY.validate_update(made(data=texts(a="c")), old)

    assert [each.field for each in found] == ["immutable", "data"]


def test_keys_and_size_are_checked() -> None:
    assert fields(made(data={"a b": ""})) == ["data[a b]"]
    assert fields(made(stringData={"a": "x" * ((1 << 20) + 1)})) == ["data"]


PEM = "-----BEGIN {0}-----\nYQ==\n-----END {0}-----\n"


@pytest.mark.parametrize(
    ("certificate", "key", "words"),
    [
        ("", "", "failed to find any PEM data in certificate input"),
        (PEM.format("EC PRIVATE KEY"), "", "PEM inputs may have been switched"),
        (PEM.format("X"), "", "blocks of the following types: [X]"),
        (PEM.format("CERTIFICATE"), "", "failed to find any PEM data in key input"),
        (PEM.format("CERTIFICATE"), PEM.format("CERTIFICATE"), "rather than a key"),
        (PEM.format("CERTIFICATE"), PEM.format("Y"), "following types: [Y]"),
    ],
)
def test_certificates_and_keys_that_are_none_are_warned_of(
    certificate: str, key: str, words: str
) -> None:
    obj = made(type=secret.TLS, stringData={"tls.crt": certificate, "tls.key": key})

    (warning,) = secret.STRATEGY.warn_create(obj)

    assert words in warning
    assert secret.STRATEGY.warn_update(obj, obj) == (warning,)


def test_what_looks_like_a_pair_is_not_warned_of() -> None:
    pair = {"tls.crt": PEM.format("CERTIFICATE"), "tls.key": PEM.format("PRIVATE KEY")}

    assert not secret.STRATEGY.warn_create(made(type=secret.TLS, stringData=pair))
    assert not secret.STRATEGY.warn_create(made())


def test_selectors_may_ask_for_the_type() -> None:
    assert secret.STRATEGY.fields(made()) == {"type": "Opaque"}
