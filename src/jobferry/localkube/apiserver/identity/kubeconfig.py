"""Kubeconfig files for those to whom the server gives a way in."""

import json
from base64 import b64encode

from jobferry.localkube.apiserver.identity.pair import Pair


def with_certificate(url: str, authority: bytes, who: Pair, *, name: str) -> str:
    """Return a kubeconfig with everything in it, the proof being a certificate."""
    cluster = {"server": url, "certificate-authority-data": _base64(authority)}
    user = {
        "client-certificate-data": _base64(who.certificate),
        "client-key-data": _base64(who.key),
    }
    # JSON is YAML too.
    return json.dumps(
        {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": name, "cluster": cluster}],
            "users": [{"name": name, "user": user}],
            "contexts": [{"name": name, "context": {"cluster": name, "user": name}}],
            "current-context": name,
        },
        indent=2,
    )


def _base64(content: bytes) -> str:
    return b64encode(content).decode()
