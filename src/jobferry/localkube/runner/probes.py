"""Probes: whether a container has started, is ready, and is alive."""

import asyncio
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import NamedTuple

from jobferry.clock import Clock, Seconds, sleep, timeout
from jobferry.localkube.runner.statuses import HOST
from jobferry.objects import Obj

Check = Callable[[], Awaitable[str]]
"""Looks once; returns what is wrong, nothing if all is well."""

Execute = Callable[[list[str]], Awaitable[int]]
"""Runs a command in the container; returns its exit code."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """How often to look, and how often in a row it takes to believe what is seen."""

    delay: Seconds = 0.0
    period: Seconds = 10.0
    patience: Seconds = 1.0
    successes: int = 1
    failures: int = 3


def pace(probe: Obj) -> Pace:
    """Read a probe's pace."""
    return Pace(
        delay=probe.get("initialDelaySeconds") or 0,
        period=probe.get("periodSeconds") or 10,
        patience=probe.get("timeoutSeconds") or 1,
        successes=probe.get("successThreshold") or 1,
        failures=probe.get("failureThreshold") or 3,
    )


@dataclass(slots=True)
class Count:
    """How often in a row it went well or badly; pure."""

    pace: Pace
    well: int = 0
    badly: int = 0

    def add(self, is_well: bool) -> bool | None:
        """Count one look; returns what to believe now, None: the same as before."""
        self.well = self.well + 1 if is_well else 0
        self.badly = 0 if is_well else self.badly + 1
        if is_well and self.well >= self.pace.successes:
            return True
        if not is_well and self.badly >= self.pace.failures:
            return False
        return None


class Verdict(NamedTuple):
    """What to believe of a container."""

    is_well: bool
    problem: str


async def verdicts(probe: Obj, check: Check, clock: Clock) -> AsyncIterator[Verdict]:
    """Look again and again, and give what to believe whenever that is settled."""
    rhythm = pace(probe)
    count = Count(rhythm)
    await sleep(clock, rhythm.delay)
    while True:
        problem = await look(check, clock, rhythm.patience)
        verdict = count.add(not problem)
        if verdict is not None:
            yield Verdict(verdict, problem)
        await sleep(clock, rhythm.period)


async def look(check: Check, clock: Clock, patience: Seconds) -> str:
    """Look once; returns what is wrong, also if there was no answer in time."""
    try:
        async with timeout(clock, patience):
            return await check()
    except TimeoutError:
        return f"no answer within {patience:g} s"
    except Exception as error:  # noqa: BLE001 (whatever a pod wants tried, the node goes on)
        return str(error) or type(error).__name__


def check_of(probe: Obj, container: Obj, execute: Execute) -> Check:
    """Return what a probe does."""
    if probe.get("exec"):
        command = probe["exec"].get("command") or []
        return lambda: _run(command, execute)
    if probe.get("httpGet"):
        action = probe["httpGet"]
        return lambda: _get(action, port_of(action["port"], container))
    if probe.get("tcpSocket"):
        socket = probe["tcpSocket"]
        return lambda: _connect(socket.get("host") or HOST, port_of(socket["port"], container))
    return _nothing


def port_of(port: int | str, container: Obj) -> int:
    """Return a port, which may be named after one of the container."""
    if isinstance(port, int):
        return port
    for each in container.get("ports") or ():
        if each.get("name") == port:
            return int(each["containerPort"])
    return int(port) if port.isdecimal() else 0


async def _nothing() -> str:
    return ""


async def _run(command: list[str], execute: Execute) -> str:
    code = await execute(command)
    return "" if code == 0 else f"command {command} ended with {code}"


async def _connect(host: str, port: int) -> str:
    _, writer = await asyncio.open_connection(host, port)
    writer.close()
    with suppress(OSError):
        await writer.wait_closed()
    return ""


async def _get(action: Obj, port: int) -> str:
    host = action.get("host") or HOST
    secure = None
    if action.get("scheme", "HTTP") == "HTTPS":
        secure = ssl.create_default_context()
        secure.check_hostname = False
        secure.verify_mode = ssl.CERT_NONE  # as kubelets do: it is about being alive
    reader, writer = await asyncio.open_connection(host, port, ssl=secure)
    try:
        headers = {"Host": f"{host}:{port}", "User-Agent": "kube-probe/1.35", "Accept": "*/*"}
        headers |= {each["name"]: each["value"] for each in action.get("httpHeaders") or ()}
        lines = [f"GET {action.get('path') or '/'} HTTP/1.1", "Connection: close"]
        lines += [f"{name}: {value}" for name, value in headers.items()]
        writer.write("\r\n".join([*lines, "", ""]).encode())
        answer = (await reader.readline()).decode("latin-1").split(" ")
    finally:
        writer.close()
    code = int(answer[1]) if len(answer) > 1 and answer[1].isdecimal() else 0
    return "" if 200 <= code < 400 else f"HTTP probe failed with statuscode: {code}"
