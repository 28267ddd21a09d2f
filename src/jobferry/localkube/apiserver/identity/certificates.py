"""A certificate authority, and the keys that it and others sign with.

This is the one module that makes certificates, and it loads `cryptography`, which costs 10 MB: a server
that finds its files does without it, so import it where something is issued.
"""

import ipaddress
from collections.abc import Iterable
from datetime import datetime, timedelta

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from jobferry.localkube.apiserver.identity.pair import Pair

EARLY = timedelta(hours=1)
"""Certificates begin to hold this long ago, for clocks that differ."""


class Authority:
    """Signs certificates that hold for `lifetime` from `now`: as a new authority, or with the pair of an old one."""

    def __init__(
        self, now: datetime, *, name: str, lifetime: timedelta, pair: Pair | None = None
    ) -> None:
        self._now = now
        self._lifetime = lifetime
        if pair is None:
            self._key = ec.generate_private_key(ec.SECP256R1())
            self._name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
            self.certificate = self._own_certificate()
        else:
            self._key = private_key(pair.key)
            self._name = x509.load_pem_x509_certificate(pair.certificate).subject
            self.certificate = pair.certificate

    @property
    def pair(self) -> Pair:
        """What it signs with: whoever has this can be anybody."""
        return Pair(self.certificate, _private_pem(self._key))

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

    def _own_certificate(self) -> bytes:
        return _pem(
            self._draft(self._name, self._key)
            .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
            .add_extension(_usage(signs_certificates=True), critical=True)
            .sign(self._key, hashes.SHA256())
        )

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
        return Pair(_pem(draft.sign(self._key, hashes.SHA256())), _private_pem(key))

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
            .not_valid_after(self._now + self._lifetime)
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
    return Pair(public, _private_pem(key))


def private_key(pem: bytes) -> ec.EllipticCurvePrivateKey:
    """Read a private key from PEM."""
    key = serialization.load_pem_private_key(pem, password=None)
    if not isinstance(key, ec.EllipticCurvePrivateKey):
        raise TypeError("not an elliptic curve key")
    return key


def _private_pem(key: ec.EllipticCurvePrivateKey) -> bytes:
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
