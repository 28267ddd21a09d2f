"""`jobferry workers add`: makes a Worker from a context of a kubeconfig."""

import re
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from itertools import count

from jobferry.cli import enrolment, known_hub, options, preflight, render, rights, worker_test
from jobferry.cli.arguments import Parser, completes
from jobferry.cli.hub import Found, Hub, run
from jobferry.cli.preflight import Finding
from jobferry.clock import Seconds, sleep, timeout
from jobferry.errors import BadInput, Error
from jobferry.kinds.referred import find
from jobferry.kube import errors, kubeconfig
from jobferry.kube.access import Access
from jobferry.kube.client import Client, connect
from jobferry.objects.resource import Resource
from jobferry.runtime.backoff import Backoff
from jobferry.workers import cluster

_ABOUT = """Makes a Worker from a context of your kubeconfig.

First it tries that cluster: its version, that it is neither the hub nor another Worker, the namespaces. Then, if
you agree, it makes a service account there with the least rights (`jobferry manifests worker` prints them), and
on the hub a Secret with its token and the Worker. Your own credentials are not given to anybody."""

_NAME = re.compile(r"[a-z0-9]([-.a-z0-9]{0,251}[a-z0-9])?")

HEARD_WITHIN: Seconds = 10.0
BACKOFF = Backoff(first=0.05, cap=1.0)

Connect = Callable[[Access, str], Client]


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What is to be made of what."""

    name: str
    context: str
    access: Access
    creates_namespaces: bool = False
    kinds: tuple[Resource, ...] = ()
    """Those besides Jobs that it may run."""

    referred: tuple[Resource, ...] = ()
    """What it may look for."""


def main(arguments: Sequence[str]) -> None:
    """Make a Worker."""
    given = parser().parse_args(arguments)
    if not _NAME.fullmatch(given.name):
        hint = "It has small letters, digits, dashes and dots, as in east or eu.west-2."
        raise BadInput(f"{given.name!r} cannot be the name of a Worker", hint=hint)
    where = options.where(given)
    kinds = [each.resource for each in options.kinds(given.kinds)] if given.kinds else []
    referred = find(given.references, kinds) if given.references else []

    async def plan(hub: Hub) -> tuple[Asked, Found]:
        asked = Asked(
            name=given.name,
            context=given.from_context,
            access=_access(hub, given),
            creates_namespaces=given.create_namespaces,
            kinds=tuple(kinds),
            referred=tuple(referred),
        )
        render.text(preflight.report(await check(hub.client, asked, partial(_connect, hub))))
        return asked, hub.found

    asked, known = run(where, plan)
    if not given.yes:
        _agree(asked)

    async def make(hub: Hub) -> None:
        wait = f"{enrolment.TOKEN_WITHIN:g} s"
        render.text(f"Making the account on {asked.context}; its token may take {wait} ...\n")
        render.text(await carry_out(hub.client, asked, partial(_connect, hub)))

    run(where, make, known=known)


def parser() -> Parser:
    """Return what reads the arguments."""
    parser = Parser("jobferry workers add", "NAME --from-context CONTEXT [option ...]", _ABOUT)
    add = parser.add_argument
    add("name", metavar="NAME", help="what the Worker is to be called")
    context = add(
        "--from-context",
        required=True,
        metavar="CONTEXT",
        help="of the cluster in the kubeconfig",
    )
    completes(context, "contexts")
    add(
        "--create-namespaces",
        action="store_true",
        help="let it create the namespaces of Jobs that the cluster lacks",
    )
    add(
        "--kinds",
        metavar="KIND[,KIND...]",
        help="let it run these kinds besides Jobs, as in JobSet,RayJob, or all",
    )
    options.add_references(parser)
    add("-y", "--yes", action="store_true", help="make the account there without asking")
    options.add_where(parser, namespaced=False)
    return parser


async def check(hub: Client, asked: Asked, reach: Connect) -> list[Finding]:
    """Try whether it can be done; raises what keeps it from being done, after all was tried."""
    await enrolment.rehearse(hub, asked.name)
    known = await known_hub.read(hub, but=asked.name)
    async with reach(asked.access, asked.context) as client:
        findings = [
            preflight.address(asked.access.server.url),
            *(
                each
                for each in await preflight.examine(
                    client,
                    known,
                    creates_namespaces=asked.creates_namespaces,
                    kinds_besides=asked.kinds,
                )
                if each.check != "rights"
            ),
            *await _other_kinds(client, asked),
            preflight.lacking(await rights.missing(client, enrolment.to_make()), whose="you"),
        ]
    if failed := preflight.failures(findings):
        render.text(preflight.report(findings))
        raise Error(
            f"context {asked.context} cannot be a worker: {failed[0].says}",
            hint=_HINTS[failed[0].check],
        )
    return findings


async def _other_kinds(client: Client, asked: Asked) -> list[Finding]:
    """Compare the kinds besides Jobs that are asked for with those that are there."""
    served = await cluster.served(client, dict.fromkeys([*asked.kinds, *worker_test.besides()]))
    return [
        *preflight.unserved([each for each in asked.kinds if each not in served]),
        *preflight.left_out([each for each in served if each not in asked.kinds]),
    ]


_HINTS = {
    "version": "Upgrade that cluster, or choose another.",
    "kinds": "Choose a cluster that runs Jobs.",
    "identity": "Choose the context of another cluster.",
    "rights": "Ask somebody who may to run this, or to apply what `jobferry manifests worker` prints.",
}


async def carry_out(hub: Client, asked: Asked, reach: Connect) -> str:
    """Make the account, try it, and write Secret and Worker; return what to say."""
    known = await known_hub.read(hub, but=asked.name)
    async with reach(asked.access, asked.context) as client:
        token = await enrolment.make_account(
            client,
            creates_namespaces=asked.creates_namespaces,
            kinds=asked.kinds,
            referred=asked.referred,
        )
    config = enrolment.kubeconfig(asked.access.server, token.text)
    own = kubeconfig.from_bytes(config.encode(), "the new kubeconfig").access(clock=hub.clock)
    async with reach(own, asked.name) as client:
        await _until_fit(client, known, asked)
    await enrolment.write(hub, asked.name, config, creates_namespaces=asked.creates_namespaces)
    ends = (
        f"Its token ends on {token.ends}: renew it in the Secret before.\n"
        if token.ends
        else ""
    )
    return (
        f"Service account {enrolment.SYSTEM}/{enrolment.ACCOUNT} is there on {asked.context}.\n{ends}"
        f"Worker {asked.name} is added; `jobferry workers` shows when it is Ready.\n{naming(asked)}"
    )


def naming(asked: Asked) -> str:
    """Say what comes of a Worker whose context is called otherwise."""
    if asked.name == asked.context:
        return ""
    return (
        f"`jobferry logs` reads pods by a context of the Worker's name: for Jobs on {asked.name} it needs one\n"
        f"in your kubeconfig that is called {asked.name}, not {asked.context}.\n"
    )


async def _until_fit(client: Client, known: preflight.Hub, asked: Asked) -> None:
    """Try the new account until it does: API servers take a moment to hear of new rights and tokens.

    They are asked again and again: what they have heard cannot be watched.
    """
    problem = "no answer"
    with suppress(TimeoutError):
        async with timeout(client.clock, HEARD_WITHIN):
            for tries in count(1):
                try:
                    findings = await preflight.examine(
                        client, known, creates_namespaces=asked.creates_namespaces
                    )
                except (errors.Forbidden, errors.Unauthorized) as error:
                    problem = error.words
                else:
                    failed = preflight.failures(findings)
                    if not failed:
                        return
                    problem = failed[0].says
                await sleep(client.clock, BACKOFF.delay(tries, client.random.random()))
    raise Error(
        f"the new account on {asked.context} does not do: {problem}",
        hint="Run the command again once that is mended; the account stays there.",
    )


def _access(hub: Hub, given: object) -> Access:
    config, context = hub.found.config, getattr(given, "from_context", "")
    if config is None:
        raise BadInput(
            "in a pod there are no contexts", hint="Name a kubeconfig with --kubeconfig."
        )
    return config.access(context, clock=hub.client.clock)


def _connect(hub: Hub, access: Access, name: str) -> Client:
    return connect(access, name=name, clock=hub.client.clock)


def _agree(asked: Asked) -> None:
    """Ask whether to go on; raises if not."""
    if not sys.stdin.isatty():
        raise BadInput(
            f"nobody can be asked whether to make a service account on {asked.context}",
            hint="--yes makes it without asking.",
        )
    question = f"Make a service account on {asked.context} with the least rights, and the Worker? [y/N] "
    try:
        answer = input(question)
    except EOFError:
        answer = ""
    if answer.strip().lower() not in ("y", "yes"):
        raise Error("nothing was made", hint="docs/workers.md tells how to do it by hand.")
