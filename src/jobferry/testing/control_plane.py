"""Real Kubernetes control planes on loopback, ready in seconds, gone without a trace."""

import asyncio
import os
import signal
import tempfile
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from pathlib import Path
from secrets import token_hex
from typing import Self

from jobferry.clock import Seconds, SystemClock
from jobferry.kube.access import Access, Fixed, Identity, Server
from jobferry.testing import assets, probes, programs
from jobferry.testing.certificates import Authority, Pair, signing_key
from jobferry.testing.component import Component, PortTaken, StartFailed, free_port
from jobferry.testing.guard import Guard

START_WITHIN: Seconds = 60.0
"""Far more than a start takes (3 to 4 s), for machines that have much else to do."""

PORT_TRIES = 5

JOB_CONTROLLERS = (
    "job-controller",
    "garbage-collector-controller",
    "namespace-controller",
    "ttl-after-finished-controller",
)
"""What it takes to run Jobs and to clean up after them."""

ADMIN = "admin"
ADMINS = "system:masters"


class ControlPlane:
    """etcd and kube-apiserver, and if wanted the controller manager and the scheduler; or localkube.

    localkube has controllers of its own, all of them if any are wanted; with `kube_controllers` those of a real
    cluster run on it.

    Bound to no event loop: its methods block. `async with` starts and stops it without blocking the loop.
    """

    def __init__(
        self,
        *,
        version: str = assets.CURRENT,
        controllers: Iterable[str] = (),
        kube_controllers: bool = False,
        scheduler: bool = False,
        audit: bool = False,
        fsync: bool = False,
        api_server_flags: Iterable[str] = (),
        controller_manager_flags: Iterable[str] = (),
        scheduler_flags: Iterable[str] = (),
    ) -> None:
        self.version = version
        self._controllers = tuple(controllers)
        self._kube_controllers = kube_controllers
        self._scheduler = scheduler
        self._audit = audit
        self._fsync = fsync
        self._api_server_flags = tuple(api_server_flags)
        self._controller_manager_flags = tuple(controller_manager_flags)
        self._scheduler_flags = tuple(scheduler_flags)
        self._files = programs.Files(Path(tempfile.gettempdir()) / f"jobferry-{token_hex(6)}")
        self._authority = Authority(SystemClock().now())
        self._admin = self.certificate(ADMIN, ADMINS)
        self._guard: Guard | None = None
        self._components: dict[str, Component] = {}
        self._port = 0

    # -- life ---------------------------------------------------------------------------------

    def start(self) -> Self:
        """Start everything and wait until it is ready; if that fails, nothing is left of it."""
        self._files.folder.mkdir(mode=0o700)
        self._guard = Guard(self._files.folder)
        try:
            self._write_keys()
            if not self._is_localkube:
                self._start_etcd(self._guard)
            self._serve(self._guard, "kube-apiserver", self._api_server, "/readyz")
            self._files.write("admin.kubeconfig", self.kubeconfig().encode())
            if self._controllers and not self._has_own_controllers:
                name = "kube-controller-manager"
                self._serve(self._guard, name, self._controller_manager, "/healthz")
            if self._scheduler:
                self._serve(self._guard, "kube-scheduler", self._kube_scheduler, "/healthz")
        except BaseException:
            self.stop()
            raise
        return self

    def stop(self) -> None:
        """End everything and remove its data; harmless when that has already happened."""
        if self._guard is None:
            return
        self._guard.close()
        for component in self._components.values():
            component.kill()
        self._guard.wait()
        self._guard = None
        self._components.clear()

    def kill(self, program: str = "kube-apiserver") -> None:
        """End one program at once (SIGKILL)."""
        self._components[program].kill()

    def restart(self) -> None:
        """Start the API server anew, on the same port and data, and wait until it is ready."""
        component = self._components["kube-apiserver"]
        component.kill()
        component.start(self._api_server(self._port))
        component.wait_until(
            partial(probes.is_healthy, self._files, self._port, "/readyz"), START_WITHIN
        )

    def freeze(self, program: str = "kube-apiserver") -> None:
        """Stop one program where it is (SIGSTOP): connections stay open, nothing is answered."""
        self._components[program].freeze()

    def thaw(self, program: str = "kube-apiserver") -> None:
        """Let a frozen program go on."""
        self._components[program].thaw()

    def run(self, name: str, command: list[str]) -> None:
        """Start another program beside it (an operator, say), which ends with it at the latest."""
        if self._guard is None:
            raise StartFailed(f"{name}: the control plane does not run")
        self._component(self._guard, name).start(command)

    def is_running(self, program: str) -> bool:
        """Tell whether a program that was started has not ended."""
        return self._components[program].is_running

    def compact(self) -> int:
        """Make etcd forget all history up to now; returns the revision that is left.

        The API server's watch cache still remembers; only after a `restart` do watches get 410 Gone.
        """
        if self._is_localkube:
            os.kill(self.pid(), signal.SIGUSR1)
            return 0
        return probes.compact_etcd(self._files)

    async def __aenter__(self) -> Self:
        starting = asyncio.ensure_future(asyncio.to_thread(self.start))
        try:
            return await asyncio.shield(starting)
        except asyncio.CancelledError:
            # A thread cannot be cancelled: let it finish, then undo what it did.
            await asyncio.wait([starting])
            await asyncio.to_thread(self.stop)
            raise

    async def __aexit__(self, *_: object) -> None:
        await asyncio.to_thread(self.stop)

    # -- ways in ------------------------------------------------------------------------------

    @property
    def url(self) -> str:
        """Where the API server is."""
        return f"https://{programs.ADDRESS}:{self._port}"

    @property
    def folder(self) -> Path:
        """Where its files and logs are while it runs."""
        return self._files.folder

    @property
    def kubeconfig_file(self) -> Path:
        """A kubeconfig for somebody who may do everything."""
        return self._files.kubeconfig

    @property
    def audit_log(self) -> Path:
        """One JSON line for each answered request, if started with `audit`."""
        return self._files.audit_log

    def pid(self, program: str = "kube-apiserver") -> int:
        """Return the process of one program, for those who measure it."""
        return self._components[program].pid

    def certificate(self, user: str, *groups: str) -> Pair:
        """Issue a client certificate; what its user may do is up to RBAC."""
        return self._authority.client(user, groups)

    def kubeconfig(self, user: str = ADMIN, *groups: str) -> str:
        """Return a kubeconfig; without arguments, for somebody who may do everything."""
        who = self._pair(user, groups)
        return programs.kubeconfig(self.url, self._authority.certificate, who)

    def access(self, user: str = ADMIN, *groups: str) -> Access:
        """Return how to reach it; without arguments, as somebody who may do everything."""
        who = self._pair(user, groups)
        return Access(
            server=Server(url=self.url, ca=self._authority.certificate),
            credentials=Fixed(Identity(certificate=who.certificate, key=who.key)),
        )

    def _pair(self, user: str, groups: Iterable[str]) -> Pair:
        return self._admin if user == ADMIN else self.certificate(user, *groups)

    # -- how ----------------------------------------------------------------------------------

    def _write_keys(self) -> None:
        write = self._files.write
        write("ca.crt", self._authority.certificate)
        server = self._authority.server(["localhost"], [programs.ADDRESS])
        write("server.crt", server.certificate)
        write("server.key", server.key)
        write("admin.crt", self._admin.certificate)
        write("admin.key", self._admin.key)
        service_accounts = signing_key()
        write("service-accounts.pub", service_accounts.certificate)
        write("service-accounts.key", service_accounts.key)

    def _start_etcd(self, guard: Guard) -> None:
        etcd = self._component(guard, "etcd")
        etcd.start(programs.etcd(self._files, fsync=self._fsync))
        etcd.wait_until(partial(probes.etcd_is_healthy, self._files), START_WITHIN)

    def _serve(
        self, guard: Guard, program: str, command: Callable[[int], list[str]], health: str
    ) -> None:
        """Start a server on a free port, on another if somebody was faster, and wait for it."""
        for tries in range(1, PORT_TRIES + 1):
            port = free_port(programs.ADDRESS)
            component = self._component(guard, program)
            component.start(command(port))
            try:
                component.wait_until(
                    partial(probes.is_healthy, self._files, port, health), START_WITHIN
                )
            except PortTaken:
                if tries == PORT_TRIES:
                    raise
            else:
                return

    def _component(self, guard: Guard, program: str) -> Component:
        component = Component(program, self._files.fresh_log(program), guard.group)
        self._components[program] = component
        return component

    @property
    def _is_localkube(self) -> bool:
        return self.version == assets.LOCALKUBE

    @property
    def _has_own_controllers(self) -> bool:
        """Whether localkube runs the controllers, in the process of its API server."""
        return self._is_localkube and bool(self._controllers) and not self._kube_controllers

    def _api_server(self, port: int) -> list[str]:
        self._port = port
        if self._is_localkube:
            flags = self._api_server_flags
            return programs.localkube(
                self._files,
                port,
                audit=self._audit,
                fsync=self._fsync,
                controllers=self._has_own_controllers,
                flags=flags,
            )
        return programs.api_server(
            self._files, self.version, port, audit=self._audit, flags=self._api_server_flags
        )

    def _controller_manager(self, port: int) -> list[str]:
        return programs.controller_manager(
            self._files,
            assets.CURRENT if self._is_localkube else self.version,
            port,
            controllers=self._controllers,
            flags=self._controller_manager_flags,
        )

    def _kube_scheduler(self, port: int) -> list[str]:
        return programs.scheduler(self._files, port, flags=self._scheduler_flags)


@asynccontextmanager
async def all_running(planes: Iterable[ControlPlane]) -> AsyncIterator[None]:
    """Start several at the same time; all of them are gone after the block."""
    async with AsyncExitStack() as stack:
        async with asyncio.TaskGroup() as starting:
            for plane in planes:
                stack.push_async_callback(asyncio.to_thread, plane.stop)
                starting.create_task(asyncio.to_thread(plane.start))
        yield
