"""The audit log: one line for each request that was answered, as kube-apiserver writes it (level Metadata)."""

from datetime import datetime
from typing import BinaryIO

import orjson

from jobferry.clock import Clock
from jobferry.localkube.apiserver.requests.call import Call
from jobferry.objects import Obj


class Audit:
    """Writes what was asked, by whom, and how it was answered."""

    def __init__(self, file: BinaryIO, clock: Clock) -> None:
        self._file = file
        self._clock = clock

    def write(self, call: Call, number: str, uri: str, code: int, received: datetime) -> None:
        """Write a line; it is in the file when this returns."""
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
            "requestReceivedTimestamp": _micro(received),
            "stageTimestamp": _micro(self._clock.now()),
        }
        self._file.write(orjson.dumps(line) + b"\n")
        self._file.flush()


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


def _micro(moment: datetime) -> str:
    return moment.strftime("%Y-%m-%dT%H:%M:%S.%fZ")
