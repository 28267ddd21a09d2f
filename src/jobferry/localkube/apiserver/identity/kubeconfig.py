"""Kubeconfig files for those to whom the server gives a way in."""

import json
from base64 import b64encode

from jobferry.localkube.apiserver.identity.pair import Pair
from jobferry.objects import Obj


def with_certificate(url: str, authority: bytes, who: Pair, *, name: str) -> str:
    """Return a kubeconfig with everything in it, the proof being a certificate."""
    proof = {
        "client-certificate-data": _base64(who.certificate),
        "client-key-data": _base64(who.key),
    }
    return _text(url, authority, proof, name)


def with_token(url: str, authority: bytes, token: str, *, name: str) -> str:
    """Return a kubeconfig with everything in it, the proof being a bearer token."""
    return _text(url, authority, {"token": token}, name)


def _text(url: str, authority: bytes, proof: Obj, name: str) -> str:
    """Write it as JSON, which is YAML too."""
    cluster = {"server": url, "certificate-authority-data": _base64(authority)}
    return json.dumps(
        {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": name, "cluster": cluster}],
            "users": [{"name": name, "user": proof}],
            "contexts": [{"name": name, "context": {"cluster": name, "user": name}}],
            "current-context": name,
        },
        indent=2,
    )


def _base64(content: bytes) -> str:
    return b64encode(content).decode()
