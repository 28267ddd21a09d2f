"""A certificate authority in memory, for control planes that live for minutes."""

import ipaddress
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

LIFETIME = timedelta(days=7)
EARLY = timedelta(hours=1)
"""Certificates begin to hold this long ago, for clocks that differ."""


@dataclass(frozen=True, slots=True)
class Pair:
    """A certificate with its private key, both PEM."""

    certificate: bytes
    key: bytes = field(repr=False)


class Authority:
    """Signs certificates; its own key never leaves memory."""

    def __init__(self, now: datetime) -> None:
        self._now = now
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "jobferry tests")])
        self.certificate = _pem(
            self._draft(self._name, self._key)
            .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
            .add_extension(_usage(signs_certificates=True), critical=True)
            .sign(self._key, hashes.SHA256())
        )

    def server(self, names: Iterable[str], addresses: Iterable[str]) -> Pair:
        """Issue a certificate for a server that answers under these names and IP addresses."""
        alternatives: list[x509.GeneralName] = [x509.DNSName(name) for name in names]
        alternatives += [x509.IPAddress(ipaddress.ip_address(text)) for text in addresses]
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "server")])
        return self._issue(
            subject,
            ExtendedKeyUsageOID.SERVER_AUTH,
            x509.SubjectAlternativeName(alternatives),
        )

    def client(self, user: str, groups: Iterable[str] = ()) -> Pair:
        """Issue a certificate by which an API server knows `user` as a member of `groups`."""
        attributes = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, group) for group in groups]
        attributes.append(x509.NameAttribute(NameOID.COMMON_NAME, user))
        return self._issue(x509.Name(attributes), ExtendedKeyUsageOID.CLIENT_AUTH)

    def _issue(
        self,
        subject: x509.Name,
        purpose: x509.ObjectIdentifier,
        *extensions: x509.ExtensionType,
    ) -> Pair:
        key = ec.generate_private_key(ec.SECP256R1())
        draft = (
            self._draft(subject, key)
            .add_extension(_usage(signs_certificates=False), critical=True)
            .add_extension(x509.ExtendedKeyUsage([purpose]), critical=False)
        )
        for extension in extensions:
            draft = draft.add_extension(extension, critical=False)
        return Pair(_pem(draft.sign(self._key, hashes.SHA256())), private_pem(key))

    def _draft(
        self, subject: x509.Name, key: ec.EllipticCurvePrivateKey
    ) -> x509.CertificateBuilder:
        return (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(self._name)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(self._now - EARLY)
            .not_valid_after(self._now + LIFETIME)
            # Python's default TLS context (3.13) insists on these two.
            .add_extension(
                x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False
            )
            .add_extension(
                x509.AuthorityKeyIdentifier.from_issuer_public_key(self._key.public_key()),
                critical=False,
            )
        )


def signing_key() -> Pair:
    """Make a bare key pair, for signing service account tokens; the certificate is a public key."""
    key = ec.generate_private_key(ec.SECP256R1())
    public = key.public_key().public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    return Pair(public, private_pem(key))


def private_pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    """Return a private key as PEM."""
    return key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )


def _pem(certificate: x509.Certificate) -> bytes:
    return certificate.public_bytes(serialization.Encoding.PEM)


def _usage(*, signs_certificates: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=True,
        key_cert_sign=signs_certificates,
        crl_sign=signs_certificates,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )
