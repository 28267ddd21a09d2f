"""Makes of a pod what its processes need: command, environment, mounts, limits."""

import itertools
import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import orjson

from jobferry.localkube.runner import cgroups, engines, env, finding, folders, images, volumes
from jobferry.localkube.runner.backend import CannotStart
from jobferry.localkube.runner.images import Engine, Place, Root, Venv
from jobferry.localkube.runner.marks import MARK, mark
from jobferry.localkube.runner.mounts import Bind
from jobferry.localkube.runner.orders import Order
from jobferry.localkube.runner.settings import Settings
from jobferry.objects import Obj

INHERITED = ("PATH", "HOME", "LANG")
"""All that a container has of our own environment."""

OF_MACHINE = (
    "/proc",
    "/sys",
    *(
        f"/dev/{each}"
        for each in ("null", "zero", "full", "random", "urandom", "tty", "pts", "shm")
    ),
)
"""What of the machine is shown in a root directory that is an image."""

TERMINATION = "/dev/termination-log"
ACCOUNT = "/var/run/secrets/kubernetes.io/serviceaccount"


@dataclass(frozen=True, slots=True, kw_only=True)
class Given:
    """All that is known of a container that is to be started."""

    pod: Obj
    container: Obj
    number: int
    place: Place
    values: Mapping[str, str]
    """The environment that it asks for."""
    folder: Path
    """Of its pod."""
    settings: Settings
    has_mounts: bool

    @property
    def uid(self) -> str:
        """That of the pod."""
        uid: str = self.pod["metadata"]["uid"]
        return uid

    @property
    def root(self) -> str:
        """What the container sees as the root."""
        return self.place.path if isinstance(self.place, Root) else "/"


def order(given: Given) -> Order:
    """Return what its processes need; makes the directories that are missing in its volumes."""
    container = given.container
    directory = container.get("workingDir") or _own_directory(given)
    binds = _binds(given, directory)
    values = _environment(given)
    words = itertools.chain(*env.command(container, given.values))
    command = tuple(words) or images.program(container.get("image", ""))
    made = Order(
        command=command,
        env=values,
        directory=directory,
        binds=tuple(binds),
        root=given.root,
        limits=cgroups.limits_of(given.pod, container, given.settings.pids),
        wants_input=bool(container.get("stdin")),
        has_startup_probe=bool(container.get("startupProbe")),
        has_readiness_probe=bool(container.get("readinessProbe")),
        last_words_from_log=container.get("terminationMessagePolicy")
        == "FallbackToLogsOnError",
    )
    if isinstance(given.place, Engine):
        return _in_engine(made, given, given.place.image)
    made = made if given.has_mounts else _without_mounts(made, given)
    where = volumes.where(made.binds, given.root)
    path = made.env.get("PATH", os.defpath)
    return replace(made, problem=finding.problem(made.command, path, made.directory, where))


def _own_directory(given: Given) -> str:
    """Return where a container begins that does not say: in the folder of its pod."""
    work = given.folder / "work"
    work.mkdir(exist_ok=True, parents=True)
    return "/" if isinstance(given.place, Root) else str(work)


def _binds(given: Given, directory: str) -> list[Bind]:
    container = given.container
    binds = list(volumes.binds(given.pod, container, str(given.folder), given.values))
    for bind in binds:
        if not os.path.lexists(bind.source):
            os.makedirs(bind.source)  # a subPath that nobody has made yet
    run = folders.of_run(given.folder, container["name"], given.number)
    last_words = run / "termination"
    target = container.get("terminationMessagePath") or TERMINATION
    binds.append(Bind(str(last_words), target))
    if isinstance(given.place, Engine):
        return binds
    if given.root != "/":
        binds += [Bind(path, path) for path in OF_MACHINE if os.path.lexists(path)]
    if not os.path.isdir(volumes.where(binds, given.root)(directory)):
        # As container engines do: a working directory that nobody has is made, though not on the machine.
        work = given.folder / "work"
        work.mkdir(exist_ok=True, parents=True)
        binds.append(Bind(str(work), directory))
    return binds


def _environment(given: Given) -> dict[str, str]:
    values = {each: os.environ[each] for each in INHERITED if each in os.environ}
    if isinstance(given.place, Venv):
        values["PATH"] = f"{given.place.path}/bin:{values.get('PATH', os.defpath)}"
        values["VIRTUAL_ENV"] = given.place.path
    meta = given.pod["metadata"]
    values["HOSTNAME"] = given.pod["spec"].get("hostname") or meta["name"]
    its_mark = mark(given.uid, given.container["name"], given.number)
    return {**values, **given.values, MARK: its_mark}


def _in_engine(made: Order, given: Given, image: str) -> Order:
    """Have an engine run it: what it sees is the engine's affair, and so are its limits."""
    path = os.environ.get("PATH", os.defpath)
    engine = engines.find(path)
    name = f"jobferry-{given.uid}-{given.container['name']}-{given.number}"
    command, args = env.command(given.container, given.values)
    line = engines.run(
        engine,
        name,
        image,
        command,
        args,
        env=given.values,
        binds=made.binds,
        directory=given.container.get("workingDir") or "",
    )
    ours = {MARK: made.env[MARK]} | {
        each: os.environ[each] for each in INHERITED if each in os.environ
    }
    return replace(
        made,
        command=line,
        env=ours,
        directory=str(given.folder),
        binds=(),
        after=engines.remove(engine, name),
    )


# -- machines that do not let us mount ------------------------------------------------------------


def _without_mounts(made: Order, given: Given) -> Order:
    """Let a container find its volumes by their real paths, where it names the others."""
    if given.root != "/":
        message = f"the image is {given.root}, but this machine lets us have no other root"
        raise CannotStart("ErrImagePull", message)
    places = {bind.target.rstrip("/"): bind.source for bind in made.binds}
    values = dict(zip(made.env, env.rewritten(list(made.env.values()), places), strict=True))
    if ACCOUNT in places and "KUBECONFIG" not in values:
        values["KUBECONFIG"] = _kubeconfig(given, places[ACCOUNT])
    directory = env.rewritten([made.directory], places)[0]
    command = tuple(env.rewritten(made.command, places))
    return replace(made, command=command, env=values, directory=directory, binds=())


def _kubeconfig(given: Given, account: str) -> str:
    """Write what clients need that would look for the credentials of their pod in vain."""
    server = f"https://{given.settings.host}:{given.settings.port}"
    cluster = {"server": server, "certificate-authority": f"{account}/ca.crt"}
    namespace = given.pod["metadata"]["namespace"]
    context = {"cluster": "pod", "user": "pod", "namespace": namespace}
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "pod",
        "clusters": [{"name": "pod", "cluster": cluster}],
        "users": [{"name": "pod", "user": {"tokenFile": f"{account}/token"}}],
        "contexts": [{"name": "pod", "context": context}],
    }
    path = given.folder / "kubeconfig"
    path.write_bytes(orjson.dumps(config))
    return str(path)
