"""Exec credential plugins: programs that are asked who we are (client.authentication.k8s.io).

What is written wrongly in the kubeconfig is `BadInput`; what the program does wrongly is `Transient`, since
most of them ask a server of their own, and what fails now may work in a minute.
"""

import base64
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Annotated, Any

import msgspec
import orjson

from jobferry.clock import Clock, Seconds
from jobferry.errors import BadInput, Transient
from jobferry.kube import program
from jobferry.kube.access import Identity, Server
from jobferry.kube.credentials import Papers
from jobferry.kube.document import Node
from jobferry.kube.material import Material, one_line

TIMEOUT: Seconds = 60.0
"""A plugin may ask a server of its own; one that takes longer waits for somebody who is not there."""

RENEW_BEFORE: Seconds = 30.0
"""So long before the end a new credential is asked for; never more than a fifth of its lifetime."""

_LONGEST = 300
"""Characters of a plugin's own words in a message."""

_ALLOW = "the setting execPlugins must hold the whole command line, with its variables before the program"

_GROUP = "client.authentication.k8s.io"
_VERSIONS = (f"{_GROUP}/v1", f"{_GROUP}/v1beta1")


@dataclass(frozen=True, slots=True, kw_only=True)
class Plugin:
    """A program to ask, and what to tell it."""

    place: str
    command: str
    arguments: tuple[str, ...] = field(default=(), repr=False)
    environ: Mapping[str, str] = field(repr=False)
    api_version: str
    install_hint: str = ""

    async def ask(self, clock: Clock) -> "Issued":
        """Run it and return what it issues."""
        try:
            finished = await program.run(
                (self.command, *self.arguments), self.environ, clock=clock, within=TIMEOUT
            )
        except FileNotFoundError:
            hint = self.install_hint or "Install it, or write its full path."
            raise BadInput(self._says("no such program"), hint=hint) from None
        except TimeoutError:
            hint = f"Run `{self.command}` by hand: does it wait for somebody to log in?"
            raise Transient(
                self._says(f"no answer within {TIMEOUT:.0f} s"), hint=hint
            ) from None
        except OSError as error:  # the two above are OSErrors as well
            raise BadInput(self._says(f"cannot be run: {error.strerror or error}")) from None
        return self._issued(self._output(finished), clock.now())

    def _says(self, what: str) -> str:
        return f"{self.place}: {one_line(f'{self.command}: {what}')[:_LONGEST]}"

    def _output(self, finished: program.Finished) -> bytes:
        if finished.status is None:
            raise Transient(self._says(f"printed more than {program.MAX_OUTPUT} bytes"))
        if finished.status:
            how = "exited with" if finished.status > 0 else "ended by signal"
            words = _last_line(finished.complaints)
            says = f": {words}" if words else ""
            raise Transient(
                self._says(f"{how} {abs(finished.status)}{says}"),
                hint=f"Run `{self.command}` by hand; you may have to log in again.",
            )
        return finished.printed

    def _issued(self, output: bytes, now: datetime) -> "Issued":
        try:
            credential = msgspec.json.decode(output, type=_ExecCredential)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise Transient(self._says(f"did not print an ExecCredential: {error}")) from None
        if (credential.kind, credential.api_version) != ("ExecCredential", self.api_version):
            raise Transient(
                self._says(f"printed {credential.kind!r} of {credential.api_version!r}"),
                hint=f"It must be ExecCredential of {self.api_version}, as the kubeconfig says.",
            )
        status = credential.status
        if status.expiration_timestamp and status.expiration_timestamp <= now:
            when = status.expiration_timestamp.isoformat()
            raise Transient(
                self._says(f"the credential it gave expired at {when}"),
                hint="Log in again; check that the clock of this machine is right.",
            )
        return Issued(self._identity(status), _renewal(status.expiration_timestamp, now))

    def _identity(self, status: "_Status") -> Identity:
        certificate, key = status.client_certificate_data, status.client_key_data
        if not status.token and not certificate and not key:
            raise Transient(self._says("gave neither a token nor a certificate"))
        if bool(certificate) != bool(key):
            raise Transient(
                self._says("gave only one of clientCertificateData and clientKeyData")
            )
        token = self._part(status.token)
        papers = Papers(
            tokens=(token,) if token else (),
            certificate=self._part(certificate),
            key=self._part(key),
        )
        try:
            return papers.identity()
        except BadInput as error:
            raise Transient(str(error)) from None

    def _part(self, text: str) -> Material | None:
        return Material(f"{self.place}: {self.command}", text.encode()) if text else None


class _Status(msgspec.Struct, rename="camel"):
    """The part of an ExecCredential that a plugin fills in."""

    expiration_timestamp: Annotated[datetime, msgspec.Meta(tz=True)] | None = None
    token: str = ""
    client_certificate_data: str = ""
    client_key_data: str = ""


class _ExecCredential(msgspec.Struct, rename="camel"):
    """What a plugin prints."""

    kind: str
    api_version: str
    status: _Status


@dataclass(frozen=True, slots=True)
class Issued:
    """An identity and when to ask for a new one."""

    identity: Identity
    renew_at: datetime | None

    def is_fresh(self, now: datetime) -> bool:
        """Whether it can still be used."""
        return self.renew_at is None or now < self.renew_at


def _renewal(expires: datetime | None, now: datetime) -> datetime | None:
    if expires is None:
        return None
    return expires - min(timedelta(seconds=RENEW_BEFORE), (expires - now) / 5)


def _last_line(complaints: bytes) -> str:
    lines = complaints.decode("utf-8", "replace").strip().splitlines()
    return lines[-1] if lines else ""


def plugin_from(
    node: Node, *, server: Server, cluster_config: Node | None, environ: Mapping[str, str]
) -> Plugin:
    """Read the `exec` part of a user; `cluster_config` is what the cluster has to tell the plugin."""
    version = _one_of(node["apiVersion"], _VERSIONS)
    _refuse_interactive(node["interactiveMode"], required=version == _VERSIONS[0])
    spec: dict[str, Any] = {"interactive": False}
    if node["provideClusterInfo"].flag():
        spec["cluster"] = _cluster_info(server, cluster_config)
    else:
        cluster_config = None
    info = {"kind": "ExecCredential", "apiVersion": version, "spec": spec}
    command, arguments = _command(node["command"]), node["args"].texts()
    variables = _environ(node["env"])
    _refuse_other(node, command, arguments, variables, cluster_config)
    return Plugin(
        place=one_line(node.place),
        command=command,
        arguments=arguments,
        environ={**environ, **variables, "KUBERNETES_EXEC_INFO": _json(info, node)},
        api_version=version,
        install_hint=one_line(node["installHint"].text()),
    )


def _one_of(node: Node, choices: tuple[str, ...]) -> str:
    text = node.text()
    if text not in choices:
        what = f"{text!r} is not supported" if text else "not set"
        raise node.wrong(what, f"It may be {' or '.join(choices)}.")
    return text


def _refuse_interactive(node: Node, *, required: bool) -> None:
    if node.text() == "Always":
        raise node.wrong(
            "the plugin needs a terminal, and there is none",
            "Use a plugin or a login method that works without a person.",
        )
    if node.text() or required:
        _one_of(node, ("Never", "IfAvailable"))


def _command(node: Node) -> str:
    text = node.text()
    if not text:
        raise node.wrong("not set")
    return str(node.resolve(text)) if os.sep in text else text


def _refuse_other(
    node: Node,
    command: str,
    arguments: tuple[str, ...],
    variables: Mapping[str, str],
    cluster_config: Node | None,
) -> None:
    """Refuse a plugin unless all that it is told is allowed: any of it may make it something else."""
    allowed = node.source.policy.programs
    if allowed is None:
        return
    known = [each for each in allowed if each.program == command]
    if not known:
        raise node["command"].wrong(
            f"refused: {command!r} is not one of the exec plugins that are allowed; {_ALLOW}"
        )
    known = [each for each in known if each.takes(arguments)]
    if not known:
        raise node["args"].wrong(
            f"refused: {command!r} is allowed, but not with these {len(arguments)} arguments; {_ALLOW}"
        )
    if not any(each.has(variables) for each in known):
        given = f"the variables {', '.join(sorted(variables))}" if variables else "no variables"
        raise node["env"].wrong(
            f"refused: {command!r} is allowed with these arguments, but not with {given}; {_ALLOW}"
        )
    if cluster_config is not None and cluster_config.value is not None:
        raise cluster_config.wrong("refused: what it tells the exec plugin cannot be allowed")


def _environ(node: Node) -> dict[str, str]:
    variables = {}
    for item in node.items():
        name = item["name"].text()
        if not name or "=" in name:
            raise item["name"].wrong("not the name of a variable")
        variables[name] = item["value"].text()
    return variables


def _cluster_info(server: Server, config: Node | None) -> dict[str, Any]:
    ca = base64.b64encode(server.ca).decode() if server.ca else None
    info = {
        "server": server.url,
        "tls-server-name": server.tls_server_name,
        "certificate-authority-data": ca,
        "proxy-url": server.proxy_url,
        "config": config.value if config else None,
    }
    return {key: value for key, value in info.items() if value is not None}


def _json(info: dict[str, Any], node: Node) -> str:
    try:
        return orjson.dumps(info).decode()
    except orjson.JSONEncodeError:
        raise node.wrong(
            "what the cluster's extension tells the plugin is not plain JSON"
        ) from None
