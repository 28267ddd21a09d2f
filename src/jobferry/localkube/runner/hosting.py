"""The backend of a real node: makes an order of what a pod says, and has it carried out as processes."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from jobferry.clock import Seconds, sleep
from jobferry.errors import BadInput, Error
from jobferry.localkube.runner import cgroups, env, furnishing, ordering, volumes
from jobferry.localkube.runner.backend import CannotStart
from jobferry.localkube.runner.containers import Attempt, Part
from jobferry.localkube.runner.furnishing import Shared
from jobferry.localkube.runner.hooks import Hooks
from jobferry.localkube.runner.ordering import Given
from jobferry.localkube.runner.processes import Processes
from jobferry.localkube.runner.settings import Settings
from jobferry.localkube.runner.sources import Sources
from jobferry.objects import Obj

RENEW: Seconds = 300.0
"""How often the tokens in volumes are looked at; they last for an hour mostly."""


IMPOSSIBLE = (OSError, ValueError, RecursionError)
"""What comes of paths that are too long or too deep, lead through files, or hold a zero byte."""


class Hosting:
    """Runs containers as local processes."""

    def __init__(
        self,
        settings: Settings,
        processes: Processes,
        sources: Sources,
        room: Mapping[str, str],
        tell: Callable[[Obj, str], None],
        look_after: Callable[[Obj], None],
        hooks: Hooks,
    ) -> None:
        self._settings = settings
        self._processes = processes
        self._sources = sources
        self._room = room
        self._tell = tell
        self._hooks = hooks
        self._write = (
            Shared(settings.folder / "common").write
            if processes.machine.mounts
            else furnishing.write_at_once
        )
        self.look_after = look_after
        self.listen = processes.listen
        self.uids = processes.uids
        self.stop = hooks.stop
        self.kill = processes.kill
        self.remove = processes.remove

    def attempts(self, uid: str) -> Mapping[str, Sequence[Attempt]]:
        """Return the last two runs of each container of a pod, the older first."""
        return self._processes.attempts(uid)

    async def start(self, pod: Obj, part: Part, number: int) -> None:
        """Start a container."""
        uid = pod["metadata"]["uid"]
        place = self._settings.images.find(part.container.get("image", ""))
        folder = self._processes.folder(uid)
        await self._furnish(pod, folder)
        values = await self._values(pod, part.container)
        given = Given(
            pod=pod,
            container=part.container,
            number=number,
            place=place,
            values=values,
            folder=folder,
            settings=self._settings,
            has_mounts=self._processes.machine.mounts,
        )
        try:
            order = ordering.order(given)
        except (BadInput, *IMPOSSIBLE) as error:
            raise CannotStart("CreateContainerConfigError", str(error)) from error
        unenforced = await self._processes.start(uid, part.name, number, order)
        self._hooks.started(pod, part)
        asked = cgroups.limits_of(pod, part.container, None).wanted()
        if lacking := [each for each in unenforced if each in asked]:
            what = f"container {part.name}: no cgroup to limit {' and '.join(lacking)} with"
            self._tell(pod, f"{what}; the limits are not enforced")

    async def renew_tokens(self) -> None:
        """Keep the tokens of running pods fresh, until cancelled."""
        while True:
            await sleep(self._sources.clock, RENEW)
            for uid in self.uids():
                # Tried again next time; a token lasts for several.
                with suppress(OSError, Error):
                    await furnishing.renew(self._processes.folder(uid), self._sources)

    async def _furnish(self, pod: Obj, folder: Path) -> None:
        try:
            await furnishing.furnish(pod, folder, self._sources, self._room, self._write)
        except IMPOSSIBLE as error:
            raise CannotStart(
                "ContainerCreating", f"MountVolume.SetUp failed : {error}"
            ) from error

    async def _values(self, pod: Obj, container: Obj) -> dict[str, str]:
        refs = volumes.env_references(container)
        found = await self._sources.find(pod["metadata"]["namespace"], refs)
        services = {
            "KUBERNETES_SERVICE_HOST": self._settings.host,
            "KUBERNETES_SERVICE_PORT": str(self._settings.port),
            "KUBERNETES_SERVICE_PORT_HTTPS": str(self._settings.port),
        }
        try:
            return env.build(pod, container, volumes.texts(found), services, self._room)
        except BadInput as error:
            raise CannotStart("CreateContainerConfigError", str(error)) from error
