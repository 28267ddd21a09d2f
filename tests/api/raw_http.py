"""Requests to a real API server with nothing in between: what it answers is what is compared."""

import http.client
import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self
from urllib.parse import urlencode, urlsplit

import orjson

TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
MERGE = "application/merge-patch+json"


@dataclass(frozen=True, slots=True)
class Answered:
    """What came back."""

    code: int
    body: Any
    warnings: tuple[str, ...] = ()


class RawHttp:
    """One connection, as somebody who may do everything."""

    def __init__(self, url: str, folder: Path) -> None:
        context = ssl.create_default_context(cafile=str(folder / "ca.crt"))
        context.load_cert_chain(folder / "admin.crt", folder / "admin.key")
        self._connection = http.client.HTTPSConnection(urlsplit(url).netloc, context=context)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.close()

    def ask(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        accept: str = "application/json",
        content_type: str = "application/json",
        query: Mapping[str, str] | None = None,
    ) -> Answered:
        """Send one request and read its answer whole."""
        target = f"{path}?{urlencode(query)}" if query else path
        headers = {"Accept": accept, "Content-Type": content_type}
        sent = None if body is None else orjson.dumps(body)
        self._connection.request(method, target, sent, headers)
        response = self._connection.getresponse()
        text = response.read()
        warnings = tuple(_warning(each) for each in response.headers.get_all("Warning") or ())
        return Answered(response.status, orjson.loads(text) if text else None, warnings)

    def stream(self, path: str, *, accept: str, query: Mapping[str, str]) -> list[Any]:
        """Read the events of a watch until the server ends it."""
        target = f"{path}?{urlencode(query)}"
        self._connection.request("GET", target, headers={"Accept": accept})
        lines = self._connection.getresponse().read().splitlines()
        return [orjson.loads(line) for line in lines]

    def put(self, path: str, body: Any) -> Any:
        """Send a PUT that has to succeed, and return the object."""
        answered = self.ask("PUT", path, body)
        assert answered.code in (200, 201), answered
        return answered.body

    def post(self, path: str, body: Any) -> Any:
        """Send a POST that has to succeed, and return the object."""
        answered = self.ask("POST", path, body)
        assert answered.code == 201, answered
        return answered.body


def _warning(header: str) -> str:
    """Return the text of a Warning header (`299 - "text"`)."""
    text = header.split(" ", 2)[2]
    return text[1:-1].replace('\\"', '"').replace("\\\\", "\\")
