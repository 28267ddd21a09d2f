"""ES256 signatures, for service account tokens.

Loads `cryptography`, as `certificates` does: import it where a token is signed or checked.
"""

import hashlib

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, utils

from jobferry.localkube.apiserver.identity import certificates
from jobferry.localkube.apiserver.identity.proof import encoded
from jobferry.objects import Obj

_HALF = 32
_HOW = ec.ECDSA(hashes.SHA256())


class Signer:
    """Signs with a private key."""

    def __init__(self, private: bytes) -> None:
        self._key = certificates.private_key(private)
        self.key_id = _key_id(self._key.public_key())

    def sign(self, message: bytes) -> bytes:
        """Return the signature of a message."""
        r, s = utils.decode_dss_signature(self._key.sign(message, _HOW))
        return r.to_bytes(_HALF) + s.to_bytes(_HALF)


class Verifier:
    """Checks with a public key."""

    def __init__(self, public: bytes) -> None:
        key = serialization.load_pem_public_key(public)
        if not isinstance(key, ec.EllipticCurvePublicKey):
            raise TypeError("not an elliptic curve key")
        self._key = key
        self.key_id = _key_id(key)

    def verifies(self, message: bytes, signature: bytes) -> bool:
        """Tell whether a message was signed with the private key that belongs to this one."""
        if len(signature) != 2 * _HALF:
            return False
        r, s = int.from_bytes(signature[:_HALF]), int.from_bytes(signature[_HALF:])
        try:
            self._key.verify(utils.encode_dss_signature(r, s), message, _HOW)
        except InvalidSignature:
            return False
        return True

    def jwk(self) -> Obj:
        """Return the public key as a JSON Web Key."""
        numbers = self._key.public_numbers()
        return {
            "use": "sig",
            "kty": "EC",
            "kid": self.key_id,
            "crv": "P-256",
            "alg": "ES256",
            "x": encoded(numbers.x.to_bytes(_HALF)),
            "y": encoded(numbers.y.to_bytes(_HALF)),
        }


def _key_id(key: ec.EllipticCurvePublicKey) -> str:
    """Name a key by its hash, as upstream does: nobody can mistake the name for the key."""
    der = key.public_bytes(
        serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    return encoded(hashlib.sha256(der).digest())
