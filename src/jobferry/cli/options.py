"""The options that commands about a hub have in common, as kubectl has them."""

import argparse
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from jobferry.cli.arguments import completes
from jobferry.errors import BadInput

if TYPE_CHECKING:
    from jobferry.kinds.adapter import Adapter

FORMATS = ("table", "wide", "json", "yaml", "name")
DATA_FORMATS = ("table", "json", "yaml")
"""For what is no list of objects."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Where:
    """Which hub is meant, and which namespace of it."""

    kubeconfig: Path | None = None
    context: str | None = None
    namespace: str | None = None
    """None: what the context says."""

    everywhere: bool = False
    """Every namespace."""


def add_where(parser: argparse.ArgumentParser, *, namespaced: bool = True) -> None:
    """Let the hub be chosen, and the namespace if that matters."""
    group = parser.add_argument_group("which hub")
    add = group.add_argument
    add("--kubeconfig", type=Path, metavar="FILE", help="by default as for kubectl")
    context = add("--context", metavar="NAME", help="the hub's context in it")
    completes(context, "contexts")
    if namespaced:
        namespace = add("-n", "--namespace", metavar="NAME", help="by default the context's")
        completes(namespace, "namespaces")


def add_kind(parser: argparse.ArgumentParser) -> None:
    """Let workloads of another kind than Job be meant."""
    parser.add_argument(
        "-k", "--kind", metavar="KIND", help="of this kind, as in JobSet; by default Jobs"
    )


def add_everywhere(parser: argparse.ArgumentParser) -> None:
    """Let all namespaces be meant."""
    parser.add_argument(
        "-A", "--all-namespaces", action="store_true", help="of every namespace"
    )


def add_selector(parser: argparse.ArgumentParser) -> None:
    """Let objects be chosen by their labels."""
    parser.add_argument(
        "-l", "--selector", default="", metavar="LABELS", help="such as team=ml,stage!=test"
    )


def add_output(
    parser: argparse.ArgumentParser, formats: Sequence[str] = FORMATS, default: str = "table"
) -> None:
    """Let the form of the output be chosen."""
    parser.add_argument(
        "-o",
        "--output",
        choices=formats,
        default=default,
        metavar="FORM",
        help=f"{', '.join(formats)}. Default: {default}."
        if default in formats
        else ", ".join(formats),
    )


def where(given: argparse.Namespace) -> Where:
    """Return which hub and namespace were chosen."""
    namespace = getattr(given, "namespace", None)
    everywhere = getattr(given, "all_namespaces", False)
    if namespace is not None and everywhere:
        raise BadInput("-n and -A contradict each other", hint="Leave out one of them.")
    if namespace == "":
        raise BadInput("-n: the name of a namespace is missing")
    return Where(
        kubeconfig=given.kubeconfig,
        context=given.context,
        namespace=namespace,
        everywhere=everywhere,
    )


def kinds(text: str) -> "list[Adapter]":
    """Return the kinds besides Jobs that were named, or all; raises `BadInput`."""
    from jobferry import settings  # noqa: PLC0415 (a wrong argument is told before the rest is loaded)
    from jobferry.dispatch import switches  # noqa: PLC0415

    every = switches.known(settings.load(environ=os.environ))
    names = list(every) if text.lower() == "all" else text.split(",")
    return [each for each in switches.find(names, every) if each.resource.kind != "Job"]


def add_references(parser: argparse.ArgumentParser, prefix: str = "") -> None:
    """Let it be chosen what is looked for on workers."""
    parser.add_argument(
        "--references",
        metavar="KIND[,KIND...]",
        help=f"{prefix}let it look whether what workloads refer to is there, as in ConfigMap,ServiceAccount;"
        " most (all but Secrets), or all",
    )


def selector(given: argparse.Namespace) -> str:
    """Return the label selector that was given; raises `BadInput` if it is none."""
    from jobferry.objects import labels  # noqa: PLC0415 (a wrong argument is told before the rest is loaded)

    text: str = given.selector
    try:
        labels.parse(text)
    except BadInput as error:
        raise BadInput(f"-l {text}: {error}", hint=error.hint) from None
    return text
