"""Requests whose bodies are sent as they are, and whose answers are read as they are."""

from collections.abc import Mapping
from urllib.parse import urlencode

from tests.api.raw_http import RawHttp


class Wire(RawHttp):
    """One connection; nothing is encoded or decoded."""

    def send(
        self,
        method: str,
        path: str,
        body: bytes | None = None,
        *,
        accept: str = "application/json",
        content_type: str = "application/json",
        query: Mapping[str, str] | None = None,
    ) -> tuple[int, bytes]:
        """Return the code and the body of the answer."""
        target = f"{path}?{urlencode(query)}" if query else path
        headers = {"Accept": accept, "Content-Type": content_type}
        self._connection.request(method, target, body, headers)
        response = self._connection.getresponse()
        return response.status, response.read()
