"""Keys and certificates that survive restarts."""

import json
import ssl
import subprocess
import sys
from base64 import b64decode
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509

from jobferry.errors import BadInput
from jobferry.localkube.apiserver.identity import folder
from jobferry.localkube.apiserver.identity.authenticate import user_from_certificate

NOW = datetime.now(UTC)

RESTART = """
import ssl, sys
from datetime import UTC, datetime
from pathlib import Path
from jobferry.localkube.apiserver.identity import authenticate, folder, reviews, token_requests
keys = folder.prepare(Path(sys.argv[1]), datetime.now(UTC))
context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=keys.authority)
context.load_cert_chain(keys.server, keys.server_key)
keys.admin_kubeconfig("https://127.0.0.1:6443")
assert "cryptography" not in sys.modules
"""


def contents(path: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in path.iterdir()}


def test_what_was_made_once_is_used_again(tmp_path: Path) -> None:
    folder.prepare(tmp_path, NOW)
    before = contents(tmp_path)

    folder.prepare(tmp_path, NOW + timedelta(days=100))

    assert contents(tmp_path) == before


def test_a_restart_does_not_load_what_makes_certificates(tmp_path: Path) -> None:
    folder.prepare(tmp_path, NOW)

    subprocess.run([sys.executable, "-c", RESTART, str(tmp_path)], check=True)


def test_only_the_owner_can_read_any_of_it(tmp_path: Path) -> None:
    keys = folder.prepare(tmp_path, NOW)

    assert {file.stat().st_mode & 0o777 for file in keys.folder.iterdir()} == {0o600}


def test_other_names_get_another_certificate_of_the_same_authority(tmp_path: Path) -> None:
    keys = folder.prepare(tmp_path, NOW)
    authority, server = keys.authority.read_bytes(), keys.server.read_bytes()

    folder.prepare(tmp_path, NOW, "hub.test")

    assert keys.authority.read_bytes() == authority
    assert keys.server.read_bytes() != server


def test_certificates_are_renewed_before_they_end(tmp_path: Path) -> None:
    keys = folder.prepare(tmp_path, NOW)
    authority = keys.authority.read_bytes()
    later = NOW + folder.LIFETIME - timedelta(days=1)

    folder.prepare(tmp_path, later)

    server = x509.load_pem_x509_certificate(keys.server.read_bytes())
    assert server.not_valid_after_utc > later + timedelta(days=300)
    assert keys.authority.read_bytes() == authority
    assert x509.load_pem_x509_certificate(authority).not_valid_after_utc > later


def test_a_start_that_was_killed_half_way_is_made_good(tmp_path: Path) -> None:
    keys = folder.prepare(tmp_path, NOW)
    authority = keys.authority.read_bytes()
    for name in ("server.crt", "issued.json", "service-accounts.pub"):
        (tmp_path / name).unlink()
    (tmp_path / "server.key.new").write_bytes(b"half")

    folder.prepare(tmp_path, NOW)

    assert keys.authority.read_bytes() == authority
    ssl.create_default_context().load_cert_chain(keys.server, keys.server_key)
    assert keys.tokens_public.exists()


def test_the_admin_may_do_everything(tmp_path: Path) -> None:
    keys = folder.prepare(tmp_path, NOW)

    config = json.loads(keys.admin_kubeconfig("https://127.0.0.1:1"))

    proof = config["users"][0]["user"]
    found = x509.load_pem_x509_certificate(b64decode(proof["client-certificate-data"]))
    assert found.subject.rfc4514_string() == "CN=kubernetes-admin,O=system:masters"
    found.verify_directly_issued_by(x509.load_pem_x509_certificate(keys.authority.read_bytes()))


def test_a_certificate_tells_who_calls() -> None:
    subject = (
        (("organizationName", "a"),),
        (("organizationName", "b"), ("commonName", "first")),
        (("commonName", "ann"),),
        (("1.3.6.1.4.1.57683.2", "u"),),
    )

    user = user_from_certificate({"subject": subject}, b"der")

    assert user is not None
    assert (user.name, user.uid) == ("ann", "u")
    assert user.groups == ("a", "b", "system:authenticated")
    assert user.extra["authentication.kubernetes.io/credential-id"][0].startswith("X509SHA256=")
    assert user_from_certificate({"subject": ((("organizationName", "a"),),)}) is None
    assert user_from_certificate({}) is None
    assert user_from_certificate(None) is None


def alternatives(keys: folder.Keys) -> list[str]:
    found = x509.load_pem_x509_certificate(keys.server.read_bytes())
    names = found.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    return [str(each.value) for each in names]


@pytest.mark.parametrize("host", ["192.0.2.7", "2001:db8::1", "hub.example"])
def test_the_certificate_of_a_server_names_its_host(tmp_path: Path, host: str) -> None:
    folder.prepare(tmp_path, NOW)
    keys = folder.prepare(tmp_path, NOW, host)
    assert host in alternatives(keys)
    assert {"127.0.0.1", "localhost"} <= {*alternatives(keys)}


def test_a_certificate_that_names_the_host_already_is_kept(tmp_path: Path) -> None:
    before = folder.prepare(tmp_path, NOW, "hub.example").server.read_bytes()
    assert folder.prepare(tmp_path, NOW).server.read_bytes() == before


def test_that_a_server_listens_everywhere_is_no_name_for_it(tmp_path: Path) -> None:
    assert "0.0.0.0" not in alternatives(folder.prepare(tmp_path, NOW, "0.0.0.0"))  # noqa: S104


@pytest.mark.parametrize("damaged", ["ca.key", "ca.crt"])
def test_an_authority_that_cannot_be_used_is_no_traceback(tmp_path: Path, damaged: str) -> None:
    folder.prepare(tmp_path, NOW)
    (tmp_path / damaged).write_text("x")
    (tmp_path / "issued.json").unlink()
    with pytest.raises(BadInput, match="the keys cannot be used"):
        folder.prepare(tmp_path, NOW)


@pytest.mark.parametrize("content", ["", "x", "[]", '{"until": 3}', '{"until": "2999-01-01"}'])
def test_a_note_that_says_nothing_counts_as_none(tmp_path: Path, content: str) -> None:
    before = folder.prepare(tmp_path, NOW).server.read_bytes()
    (tmp_path / "issued.json").write_text(content)
    assert not folder.is_complete(tmp_path, NOW)
    assert folder.prepare(tmp_path, NOW).server.read_bytes() != before
    assert folder.is_complete(tmp_path, NOW)


def test_a_note_with_a_time_of_no_zone_counts_as_none(tmp_path: Path) -> None:
    folder.prepare(tmp_path, NOW)
    note = json.loads((tmp_path / "issued.json").read_text())
    (tmp_path / "issued.json").write_text(json.dumps({**note, "until": "2999-01-01"}))
    assert not folder.is_complete(tmp_path, NOW)


def test_a_port_is_kept(tmp_path: Path) -> None:
    assert folder.kept_port(tmp_path) is None
    folder.keep_port(tmp_path, 23456)
    assert folder.kept_port(tmp_path) == 23456
    for odd in ("x", "0", "65536", ""):
        (tmp_path / "port").write_text(odd)
        assert folder.kept_port(tmp_path) is None


@pytest.mark.parametrize("name", ["ca.key", "server.crt", "kubeconfig", "issued.json", "port"])
def test_what_others_could_have_put_there_is_refused(tmp_path: Path, name: str) -> None:
    folder.prepare(tmp_path, NOW)
    (tmp_path / name).unlink(missing_ok=True)
    (tmp_path / name).symlink_to("elsewhere")
    with pytest.raises(BadInput, match=f"{name}: is a symbolic link"):
        folder.prepare(tmp_path, NOW)
    (tmp_path / name).unlink()
    (tmp_path / name).touch()
    (tmp_path / name).chmod(0o666)
    with pytest.raises(BadInput, match=f"{name}: others can write to it"):
        folder.prepare(tmp_path, NOW)
