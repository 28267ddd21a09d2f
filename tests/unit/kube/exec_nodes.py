"""The `exec` part of a kubeconfig's user, for tests of how it is read."""

import os
from pathlib import Path
from typing import Any

from jobferry.kube import exec_plugin
from jobferry.kube.access import Server
from jobferry.kube.document import ANYTHING, Node, Source, Trust
from jobferry.kube.exec_plugin import Plugin

V1 = "client.authentication.k8s.io/v1"
PLACE = "config: users[name=ci].user.exec"
SERVER = Server(url="https://10.0.0.1:6443", ca=b"-- a CA --", tls_server_name="api")


def exec_node(folder: Path | None = None, policy: Trust = ANYTHING, **given: Any) -> Node:
    value = {"apiVersion": V1, "command": "plugin", "interactiveMode": "Never"} | given
    return Node(Source("config", folder, policy), "users[name=ci].user.exec", value)


def read(node: Node, config: Node | None = None, **environ: str) -> Plugin:
    return exec_plugin.plugin_from(
        node,
        server=SERVER,
        cluster_config=config,
        environ={"PATH": os.environ["PATH"], **environ},
    )
