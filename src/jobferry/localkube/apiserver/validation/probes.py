"""What is wrong with probes and lifecycle hooks."""

from collections.abc import Callable, Iterator

from jobferry.localkube.apiserver import problems
from jobferry.localkube.apiserver.problems import Problem
from jobferry.localkube.apiserver.validation import names, values
from jobferry.objects import Obj

_PROBE_HANDLERS = ("exec", "httpGet", "tcpSocket", "grpc")
_HOOK_HANDLERS = ("exec", "httpGet", "tcpSocket", "sleep")
_NUMBERS = (
    *("initialDelaySeconds", "timeoutSeconds", "periodSeconds"),
    *("successThreshold", "failureThreshold"),
)


def container_probes_problems(
    container: Obj, field: str, grace_period: int | None
) -> Iterator[Problem]:
    """Say what is wrong with the hooks and probes of a container."""
    if lifecycle := container.get("lifecycle"):
        for hook in ("postStart", "preStop"):
            if lifecycle.get(hook) is not None:
                path = f"{field}.lifecycle.{hook}"
                yield from _handler_problems(
                    lifecycle[hook], path, _HOOK_HANDLERS, grace_period
                )
    for kind in ("livenessProbe", "readinessProbe", "startupProbe"):
        probe = container.get(kind)
        if probe is None:
            continue
        path = f"{field}.{kind}"
        yield from _probe_problems(probe, path)
        if kind == "readinessProbe":
            if (grace := probe.get("terminationGracePeriodSeconds")) is not None:
                what = "must not be set for readinessProbes"
                yield problems.invalid(f"{path}.terminationGracePeriodSeconds", grace, what)
        elif (threshold := probe.get("successThreshold", 0)) != 1:
            yield problems.invalid(f"{path}.successThreshold", threshold, "must be 1")


def forbidden_probes_problems(container: Obj, field: str) -> Iterator[Problem]:
    """Complain about hooks and probes of an init container that ends."""
    for kind in ("lifecycle", "livenessProbe", "readinessProbe", "startupProbe"):
        if container.get(kind) is not None:
            what = "may not be set for init containers without restartPolicy=Always"
            yield problems.forbidden(f"{field}.{kind}", what)


def _probe_problems(probe: Obj, field: str) -> Iterator[Problem]:
    yield from _handler_problems(probe, field, _PROBE_HANDLERS, None)
    for number in _NUMBERS:
        yield from values.not_negative(f"{field}.{number}", probe.get(number))
    grace = probe.get("terminationGracePeriodSeconds")
    if grace is not None and grace <= 0:
        path = f"{field}.terminationGracePeriodSeconds"
        yield problems.invalid(path, grace, "must be greater than 0")


def _handler_problems(
    handlers: Obj, field: str, known: tuple[str, ...], grace_period: int | None
) -> Iterator[Problem]:
    found = 0
    for kind in known:
        handler = handlers.get(kind)
        if handler is None:
            continue
        found += 1
        if found > 1:
            what = "may not specify more than 1 handler type"
            yield problems.forbidden(f"{field}.{kind}", what)
        elif kind == "sleep":
            yield from _sleep_problems(handler, f"{field}.sleep", grace_period)
        else:
            yield from _HANDLER_RULES[kind](handler, f"{field}.{kind}")
    if not found:
        yield problems.required(field, "must specify a handler type")


def _exec_problems(action: Obj, field: str) -> Iterator[Problem]:
    if not action.get("command"):
        yield problems.required(f"{field}.command")


def _http_problems(action: Obj, field: str) -> Iterator[Problem]:
    if not action.get("path"):
        yield problems.required(f"{field}.path")
    yield from _port_problems(action, field)
    scheme = action.get("scheme") or ""
    if scheme not in ("HTTP", "HTTPS"):
        yield problems.not_in_enum(f"{field}.scheme", scheme, ("HTTP", "HTTPS"))
    for header in action.get("httpHeaders") or ():
        name = header.get("name") or ""
        complaints = names.http_header_problems(name)
        yield from values.each(f"{field}.httpHeaders", name, complaints)


def _port_problems(action: Obj, field: str) -> Iterator[Problem]:
    port = action.get("port", 0)
    if isinstance(port, str):
        complaints = names.port_name_problems(port)
    else:
        complaints = names.port_problems(port)
    yield from values.each(f"{field}.port", port, complaints)


def _sleep_problems(action: Obj, field: str, grace_period: int | None) -> Iterator[Problem]:
    seconds = action.get("seconds", 0)
    if grace_period is not None and not 0 <= seconds <= grace_period:
        what = (
            f"must be non-negative and less than terminationGracePeriodSeconds ({grace_period})"
        )
        yield problems.invalid(field, seconds, what)


_HANDLER_RULES: dict[str, Callable[[Obj, str], Iterator[Problem]]] = {
    "exec": _exec_problems,
    "httpGet": _http_problems,
    "tcpSocket": _port_problems,
    "grpc": _port_problems,
}
