"""Continue tokens lead to where they were made, and nowhere else."""

import base64

import pytest

from jobferry.localkube.apiserver.requests import continuing
from jobferry.localkube.apiserver.status import StatusError


def token(text: str) -> str:
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def test_a_token_leads_back_to_its_key() -> None:
    made = continuing.encode("/registry/core/pods/ns/a\x00", "/registry/core/pods/ns/", 7)

    assert continuing.decode(made) == ("a\x00", 7)


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ("%", "illegal base64 data at input byte 0"),
        ("abcde", "illegal base64 data at input byte 4"),
        ("xx", "invalid character 'Ç' looking for beginning of value"),
        (token("{}"), "server does not recognize this encoded version "),
        (token('{"v":"v9"}'), "server does not recognize this encoded version v9"),
        (
            token('{"v":"meta.k8s.io/v1"}'),
            "incorrect encoded start resourceVersion (version meta.k8s.io/v1)",
        ),
        (
            token('{"v":"meta.k8s.io/v1","rv":1}'),
            "encoded start key empty (version meta.k8s.io/v1)",
        ),
        (token("null"), "server does not recognize this encoded version "),
        (
            token("[]"),
            "json: cannot unmarshal array into Go value of type storage.continueToken",
        ),
        (
            token('{"v":"meta.k8s.io/v1","rv":"1"}'),
            "json: cannot unmarshal string into Go struct field continueToken.rv of type int64",
        ),
        (
            token('{"v":"meta.k8s.io/v1","rv":1.5}'),
            "json: cannot unmarshal number 1.5 into Go struct field continueToken.rv of type int64",
        ),
        (token('{"v":"meta.k8s.io/v1","rv":1,"start":"../x"}'), "../x"),
        (token('{"v":"meta.k8s.io/v1","rv":1,"start":"a//x"}'), "a//x"),
    ],
)
def test_other_tokens_are_refused(given: str, why: str) -> None:
    with pytest.raises(StatusError) as refused:
        continuing.decode(given)

    assert str(refused.value) == (f"invalid continue token: continue key is not valid: {why}")
