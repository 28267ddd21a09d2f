"""Keys and certificates that survive restarts."""

import json
import ssl
import subprocess
import sys
from base64 import b64decode
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509

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
    folder.prepare(tmp_path / "keys", NOW)
    before = contents(tmp_path / "keys")

    folder.prepare(tmp_path / "keys", NOW + timedelta(days=100))

    assert contents(tmp_path / "keys") == before


def test_a_restart_does_not_load_what_makes_certificates(tmp_path: Path) -> None:
    folder.prepare(tmp_path, NOW)

    subprocess.run([sys.executable, "-c", RESTART, str(tmp_path)], check=True)


def test_only_the_owner_can_read_any_of_it(tmp_path: Path) -> None:
    keys = folder.prepare(tmp_path / "keys", NOW)

    assert keys.folder.stat().st_mode & 0o777 == 0o700
    assert {file.stat().st_mode & 0o777 for file in keys.folder.iterdir()} == {0o600}


def test_other_names_get_another_certificate_of_the_same_authority(tmp_path: Path) -> None:
    keys = folder.prepare(tmp_path, NOW)
    authority, server = keys.authority.read_bytes(), keys.server.read_bytes()

    folder.prepare(tmp_path, NOW, names=["hub.test"])

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
