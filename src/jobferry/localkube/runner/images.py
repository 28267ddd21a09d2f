"""What an image names: in what its containers run."""

from dataclasses import dataclass

from jobferry.localkube.runner.backend import CannotStart


@dataclass(frozen=True, slots=True)
class Host:
    """The machine itself, as it is."""


@dataclass(frozen=True, slots=True)
class Root:
    """A directory that is shown as the root."""

    path: str


@dataclass(frozen=True, slots=True)
class Venv:
    """The machine, with a virtual environment of Python first on the PATH."""

    path: str


@dataclass(frozen=True, slots=True)
class Engine:
    """A container engine that knows the image, by the name that it has there."""

    image: str


Place = Host | Root | Venv | Engine


@dataclass(frozen=True, slots=True)
class Images:
    """Which image is what; the longest pattern that fits counts, `*` at its end fits any rest."""

    table: tuple[tuple[str, Place], ...] = ()

    def find(self, image: str) -> Place:
        """Return what an image names; raises `CannotStart` if nobody has said that."""
        fitting = [
            (len(pattern), place)
            for pattern, place in self.table
            if pattern == image or (pattern.endswith("*") and image.startswith(pattern[:-1]))
        ]
        if fitting:
            return max(fitting, key=lambda each: each[0])[1]
        message = (
            f'image "{image}" is not mapped to anything on this machine; say what it is with '
            f"--images={image}=host, =root:DIR, =venv:DIR or =engine, or --images=host for all"
        )
        raise CannotStart("ErrImagePull", message)


HOST = Images((("*", Host()),))
"""Every image is the machine itself."""

_PROGRAMS: dict[str, tuple[str, ...]] = {
    "pause": ("sh", "-c", "trap 'exit 0' INT TERM; tail -f /dev/null & wait"),
    **dict.fromkeys(("busybox", "alpine", "debian", "ubuntu"), ("sh",)),
}


def program(image: str) -> tuple[str, ...]:
    """Return what an image runs by itself, of the few of which everybody knows it: nothing, or a shell."""
    name = image.rpartition("/")[2].partition("@")[0].partition(":")[0]
    return _PROGRAMS.get(name, ())
