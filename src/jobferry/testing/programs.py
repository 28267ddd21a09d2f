"""The programs of a control plane: their files, and the command lines that start them."""

import json
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from jobferry.localkube.apiserver.identity import kubeconfig as kubeconfigs
from jobferry.testing import assets
from jobferry.testing.certificates import Pair

ADDRESS = "127.0.0.1"

AUDIT_POLICY = {
    "apiVersion": "audit.k8s.io/v1",
    "kind": "Policy",
    "omitStages": ["RequestReceived"],
    "rules": [{"level": "Metadata"}],
}


@dataclass(frozen=True, slots=True)
class Files:
    """What lies where in the folder of one control plane."""

    folder: Path

    def __truediv__(self, name: str) -> Path:
        return self.folder / name

    @property
    def etcd_socket(self) -> Path:
        """Where etcd listens: a socket in a folder that is ours alone, out of reach of the network."""
        return self / "etcd.sock"

    @property
    def audit_log(self) -> Path:
        """One line for each request that the API server answered."""
        return self / "audit.log"

    @property
    def kubeconfig(self) -> Path:
        """For somebody who may do everything."""
        return self / "admin.kubeconfig"

    def fresh_log(self, program: str) -> Path:
        """Make an empty file for what a program prints."""
        return self.write(f"{program}.log", b"")

    def write(self, name: str, content: bytes) -> Path:
        """Put a file into the folder."""
        path = self / name
        path.touch(
            mode=0o600
        )  # whatever the umask: localkube takes no keys that others could write
        path.write_bytes(content)
        return path


def etcd(files: Files, *, fsync: bool) -> list[str]:
    """Start etcd, by default without the care for disks that temporary data does not need."""
    # What is advertised must look like host:port; nobody asks for it. The peer is a file of that name.
    peer = "unix://peer:0"
    return _command(
        assets.need("etcd"),
        f"--data-dir={files / 'etcd'}",
        f"--listen-client-urls=unix://{files.etcd_socket}",
        "--advertise-client-urls=unix://client:0",
        f"--listen-peer-urls={peer}",
        f"--initial-advertise-peer-urls={peer}",
        f"--initial-cluster=default={peer}",
        *(() if fsync else ("--unsafe-no-fsync",)),
    )


def api_server(
    files: Files, version: str, port: int, *, audit: bool, flags: Iterable[str]
) -> list[str]:
    """Start an API server with RBAC on, for which everyone proves themselves by a certificate."""
    return _command(
        assets.need("kube-apiserver", version),
        f"--etcd-servers=unix://{files.etcd_socket}",
        *_serving(files, port),
        f"--client-ca-file={files / 'ca.crt'}",
        "--authorization-mode=RBAC",
        "--service-account-issuer=https://kubernetes.default.svc",
        f"--service-account-key-file={files / 'service-accounts.pub'}",
        f"--service-account-signing-key-file={files / 'service-accounts.key'}",
        "--service-cluster-ip-range=10.0.0.0/24",
        # It refuses every pod until the namespace has a service account, which a controller makes.
        "--disable-admission-plugins=ServiceAccount",
        *(_audit(files) if audit else ()),
        *flags,
    )


WITHOUT_NODES = ("--images=none", "--without=scheduler,nodes,evictions")
"""For localkube: tests have nodes of their own, and bind pods to them."""


def localkube(
    files: Files,
    port: int,
    *,
    audit: bool,
    fsync: bool,
    controllers: bool,
    flags: Iterable[str],
) -> list[str]:
    """Start localkube in the place of etcd and kube-apiserver, and if wanted of the controller manager."""
    return [
        sys.executable,
        "-m",
        *(
            ("jobferry.localkube", *WITHOUT_NODES)
            if controllers
            else ("jobferry.localkube.apiserver",)
        ),
        f"--folder={files / 'localkube'}",
        f"--keys={files.folder}",
        f"--port={port}",
        f"--durability={'full' if fsync else 'normal'}",
        "--disable-admission-plugins=ServiceAccount",
        *((f"--audit-log={files.audit_log}",) if audit else ()),
        *flags,
    ]


def controller_manager(
    files: Files, version: str, port: int, *, controllers: Iterable[str], flags: Iterable[str]
) -> list[str]:
    """Start the chosen controllers."""
    return _command(
        assets.need("kube-controller-manager", version),
        *_client(files),
        *_serving(files, port),
        f"--controllers={','.join(controllers)}",
        f"--service-account-private-key-file={files / 'service-accounts.key'}",
        f"--root-ca-file={files / 'ca.crt'}",
        *flags,
    )


def scheduler(files: Files, port: int, *, flags: Iterable[str]) -> list[str]:
    """Start the scheduler."""
    return _command(
        assets.need("kube-scheduler"), *_client(files), *_serving(files, port), *flags
    )


def kubeconfig(url: str, authority: bytes, who: Pair) -> str:
    """Return a kubeconfig with everything in it."""
    return kubeconfigs.with_certificate(url, authority, who, name="test")


def _command(program: Path, *flags: str) -> list[str]:
    return [str(program), *flags]


def _serving(files: Files, port: int) -> tuple[str, ...]:
    return (
        f"--bind-address={ADDRESS}",
        f"--secure-port={port}",
        f"--tls-cert-file={files / 'server.crt'}",
        f"--tls-private-key-file={files / 'server.key'}",
    )


def _client(files: Files) -> tuple[str, ...]:
    return (
        f"--kubeconfig={files.kubeconfig}",
        "--leader-elect=false",
        # The defaults, 20 and 30, would be what tests and benches measure.
        "--kube-api-qps=1000",
        "--kube-api-burst=2000",
    )


def _audit(files: Files) -> tuple[str, ...]:
    policy = files.write("audit-policy.json", json.dumps(AUDIT_POLICY).encode())
    return f"--audit-policy-file={policy}", f"--audit-log-path={files.audit_log}"
