"""The audit log: one line for each request that was answered, as kube-apiserver writes it (level Metadata)."""

from datetime import datetime
from io import RawIOBase

import orjson

from jobferry import log
from jobferry.clock import Clock
from jobferry.localkube.apiserver.requests.call import Call
from jobferry.objects import Obj
from jobferry.objects.times import micro_timestamp

_log = log.get(__name__)


class Audit:
    """Writes what was asked, by whom, and how it was answered, to a file that is not buffered.

    What cannot be written is left out: by then the request is done, and its client must hear so.
    """

    def __init__(self, file: RawIOBase, clock: Clock) -> None:
        self._file = file
        self._clock = clock
        self._is_torn = False
        """The last line broke off."""
        self._lost = 0
        """How many lines are missing since it last went well."""

    def write(self, call: Call, number: str, uri: str, code: int, received: datetime) -> None:
        """Write a line; it is in the file when this returns, if there is room for it."""
        line: Obj = {
            "kind": "Event",
            "apiVersion": "audit.k8s.io/v1",
            "level": "Metadata",
            "auditID": number,
            "stage": "ResponseStarted" if call.target.verb == "watch" else "ResponseComplete",
            "requestURI": uri,
            "verb": call.target.verb,
            "user": call.user.info(),
            "userAgent": call.headers.get("user-agent", ""),
            "objectRef": _reference(call),
            "responseStatus": {"metadata": {}, "code": code},
            "requestReceivedTimestamp": micro_timestamp(received),
            "stageTimestamp": micro_timestamp(self._clock.now()),
        }
        try:
            self._put(orjson.dumps(line) + b"\n")
        except OSError as error:
            self._note_failure(error)
        else:
            self._note_success()

    def _put(self, line: bytes) -> None:
        rest = b"\n" + line if self._is_torn else line
        while rest:
            written = self._file.write(rest)
            if not written:
                raise BlockingIOError("nobody takes it")
            rest = rest[written:]
            self._is_torn = bool(rest)

    def _note_failure(self, error: OSError) -> None:
        """Say it once, not for each request."""
        if not self._lost:
            hint = "Make room on its disk; requests are answered all the same."
            _log.warning("The audit log cannot be written", error=error, hint=hint)
        self._lost += 1

    def _note_success(self) -> None:
        if self._lost:
            _log.info("The audit log is written again", missing=self._lost)
            self._lost = 0


def _reference(call: Call) -> Obj:
    about = call.target
    parts = {
        "resource": about.resource,
        "namespace": about.namespace,
        "name": about.name,
        "apiGroup": about.group,
        "apiVersion": about.version,
        "subresource": about.subresource,
    }
    return {key: value for key, value in parts.items() if value}
