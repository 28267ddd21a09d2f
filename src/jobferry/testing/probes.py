"""Asks the programs of a control plane, before there is a client, whether they are there."""

import http.client
import json
import socket
import ssl
from base64 import b64encode
from pathlib import Path
from typing import Any

from jobferry.clock import Seconds
from jobferry.testing.programs import ADDRESS, Files

WITHIN: Seconds = 5.0


def is_healthy(files: Files, port: int, path: str) -> bool:
    """Ask a server for its health, over TLS that both sides verify."""
    context = ssl.create_default_context(cafile=files / "ca.crt")
    context.load_cert_chain(files / "admin.crt", files / "admin.key")
    connection = http.client.HTTPSConnection(ADDRESS, port, context=context, timeout=WITHIN)
    try:
        connection.request("GET", path)
        return connection.getresponse().status == http.HTTPStatus.OK
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()


def etcd_is_healthy(files: Files) -> bool:
    """Ask etcd for its status."""
    try:
        _ask_etcd(files, "/v3/maintenance/status", {})
    except (OSError, http.client.HTTPException, ValueError):
        return False
    return True


def compact_etcd(files: Files) -> int:
    """Make etcd forget all history up to now; returns the revision that is left."""
    answer = _ask_etcd(files, "/v3/kv/range", {"key": b64encode(b"any").decode()})
    revision = int(answer["header"]["revision"])
    _ask_etcd(files, "/v3/kv/compaction", {"revision": revision, "physical": True})
    return revision


def _ask_etcd(files: Files, path: str, body: Any) -> Any:
    """Call etcd's JSON gateway; raises ValueError when the answer is no JSON or a refusal."""
    connection = _SocketFile(files.etcd_socket)
    try:
        connection.request("POST", path, json.dumps(body))
        response = connection.getresponse()
        answer = json.loads(response.read())
    finally:
        connection.close()
    if response.status != http.HTTPStatus.OK:
        raise ValueError(f"etcd refused {path}: {answer.get('message', answer)}")
    return answer


class _SocketFile(http.client.HTTPConnection):
    """HTTP over a socket in the file system."""

    def __init__(self, path: Path) -> None:
        super().__init__("localhost", timeout=WITHIN)
        self._path = path

    def connect(self) -> None:
        """Connect to the file."""
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(str(self._path))
