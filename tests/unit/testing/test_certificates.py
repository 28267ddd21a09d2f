"""Certificates that a real TLS handshake accepts, and only where it should."""

import ssl
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.x509.oid import NameOID

from jobferry.testing.certificates import LIFETIME, Authority, Pair

NOW = datetime.now(UTC)


def handshake(server: ssl.SSLContext, client: ssl.SSLContext, name: str) -> dict[str, object]:
    """Let two ends talk in memory; return what the server knows of the client."""
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    ours = client.wrap_bio(to_client, to_server, server_hostname=name)
    theirs = server.wrap_bio(to_server, to_client, server_side=True)
    for end in (ours, theirs, ours, theirs):
        try:
            end.do_handshake()
        except ssl.SSLWantReadError:
            continue
    return dict(theirs.getpeercert() or {})


def contexts(
    tmp_path: Path, trusted: Authority, server: Pair, who: Pair
) -> tuple[ssl.SSLContext, ssl.SSLContext]:
    ca = trusted.certificate.decode()
    theirs = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cadata=ca)
    theirs.verify_mode = ssl.CERT_REQUIRED
    ours = ssl.create_default_context(cadata=ca)
    # What Python 3.13 asks for by default.
    ours.verify_flags |= ssl.VERIFY_X509_STRICT
    for context, pair in ((theirs, server), (ours, who)):
        file = tmp_path / "pair.pem"
        file.write_bytes(pair.certificate + pair.key)
        context.load_cert_chain(file)
    return theirs, ours


def test_a_client_and_a_server_of_one_authority_trust_each_other(tmp_path: Path) -> None:
    authority = Authority(NOW)
    server, who = (
        authority.server(["localhost"], ["127.0.0.1"]),
        authority.client("ann", ["ops"]),
    )

    peer = handshake(*contexts(tmp_path, authority, server, who), "127.0.0.1")

    assert peer["subject"] == ((("organizationName", "ops"),), (("commonName", "ann"),))


def test_a_server_of_another_authority_is_not_trusted(tmp_path: Path) -> None:
    authority, stranger = Authority(NOW), Authority(NOW)
    server, who = stranger.server(["localhost"], []), authority.client("ann")

    with pytest.raises(ssl.SSLCertVerificationError):
        handshake(*contexts(tmp_path, authority, server, who), "localhost")


def test_a_server_is_not_trusted_under_another_name(tmp_path: Path) -> None:
    authority = Authority(NOW)
    server, who = authority.server(["localhost"], []), authority.client("ann")

    with pytest.raises(ssl.SSLCertVerificationError, match="Hostname mismatch"):
        handshake(*contexts(tmp_path, authority, server, who), "other")


def test_a_client_is_in_every_group_it_was_issued_for() -> None:
    certificate = x509.load_pem_x509_certificate(
        Authority(NOW).client("ann", ["a", "b"]).certificate
    )

    groups = certificate.subject.get_attributes_for_oid(NameOID.ORGANIZATION_NAME)
    assert [group.value for group in groups] == ["a", "b"]


def test_certificates_end() -> None:
    certificate = x509.load_pem_x509_certificate(Authority(NOW).client("ann").certificate)

    assert certificate.not_valid_after_utc - NOW <= LIFETIME
    assert certificate.not_valid_before_utc < NOW - timedelta(minutes=1)


def test_keys_are_not_printed() -> None:
    pair = Authority(NOW).client("ann")

    assert "PRIVATE" not in repr(pair)
