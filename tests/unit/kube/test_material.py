import base64
from datetime import UTC, datetime
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
)

from jobferry.errors import BadInput
from jobferry.kube import material
from jobferry.kube.material import Material
from jobferry.testing.certificates import Authority

AUTHORITY = Authority(datetime(2026, 1, 1, tzinfo=UTC))
PAIR = AUTHORITY.client("ann")
FORMS = [PrivateFormat.TraditionalOpenSSL, PrivateFormat.PKCS8]


def given(content: bytes) -> Material:
    return Material("config: somewhere", content)


def test_certificates_are_taken_out_of_what_is_written_around_them() -> None:
    bundle = "Zürich CA\n".encode() + PAIR.certificate + b"\n# next\n" + AUTHORITY.certificate

    found = material.certificates(given(bundle))

    assert found == PAIR.certificate + AUTHORITY.certificate


def test_a_key_is_taken_out_of_a_file_that_also_holds_the_certificate() -> None:
    assert material.private_key(given(PAIR.certificate + PAIR.key)) == PAIR.key


@pytest.mark.parametrize("shape", FORMS)
def test_keys_in_both_usual_forms_are_read(shape: PrivateFormat) -> None:
    key = ec.generate_private_key(ec.SECP256R1())
    pem = key.private_bytes(Encoding.PEM, shape, NoEncryption())

    assert material.private_key(given(pem)) == pem


@pytest.mark.parametrize("shape", FORMS)
def test_an_encrypted_key_is_refused(shape: PrivateFormat) -> None:
    key = ec.generate_private_key(ec.SECP256R1())
    pem = key.private_bytes(Encoding.PEM, shape, BestAvailableEncryption(b"secret"))

    with pytest.raises(BadInput, match="somewhere: the private key is encrypted"):
        material.private_key(given(pem))


def block(kind: str, body: bytes) -> bytes:
    return f"-----BEGIN {kind}-----\n{body.decode()}\n-----END {kind}-----\n".encode()


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"", "holds no PEM certificate"),
        (b"\xff\xfe", "holds no PEM certificate"),
        (PAIR.key, "holds no PEM certificate"),
        (block("CERTIFICATE", b"@@@"), "not a valid certificate"),
        (block("CERTIFICATE", base64.b64encode(b"no DER")), "not a valid certificate"),
    ],
)
def test_what_is_no_certificate_is_refused(content: bytes, problem: str) -> None:
    with pytest.raises(BadInput, match=f"^config: somewhere: {problem}$"):
        material.certificates(given(content))


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"", "holds no PEM private key"),
        (PAIR.certificate, "holds no PEM private key"),
        (block("PRIVATE KEY", b"@@@"), "not a valid private key"),
        (block("PRIVATE KEY", base64.b64encode(b"no DER")), "not a valid private key"),
    ],
)
def test_what_is_no_key_is_refused(content: bytes, problem: str) -> None:
    with pytest.raises(BadInput, match=f"^config: somewhere: {problem}$"):
        material.private_key(given(content))


def test_a_token_loses_the_blanks_around_it() -> None:
    assert material.token(given(b" abc.def\n")) == "abc.def"


@pytest.mark.parametrize("content", [b"", b" \n", b"two words", b"a\nb", b"a\0b", b"caf\xe9"])
def test_what_is_no_token_is_refused_and_not_shown(content: bytes) -> None:
    with pytest.raises(BadInput, match=r"^config: somewhere: the token") as caught:
        material.token(given(content))

    assert "words" not in str(caught.value)


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=f"somewhere: cannot read {tmp_path}/no: No such file"):
        Material("config: somewhere", tmp_path / "no").read()


def test_a_file_without_end_is_not_read_to_the_end() -> None:
    with pytest.raises(BadInput, match="cannot read /dev/zero: more than"):
        Material("config: somewhere", Path("/dev/zero")).read()


def test_content_is_never_shown() -> None:
    assert "hunter2" not in repr(given(b"hunter2"))


def test_one_line_keeps_words_and_drops_what_moves_the_cursor() -> None:
    assert material.one_line("a\x1b[31m b\n\tc") == "a [31m b c"
