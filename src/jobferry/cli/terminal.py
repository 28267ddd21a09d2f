"""Shows a scene: as a picture that moves where a terminal can do that, else line by line."""

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from typing import TYPE_CHECKING, Protocol, TextIO

from jobferry.cli import render, sights
from jobferry.cli.scene import Scene
from jobferry.clock import Clock, Seconds, sleep
from jobferry.runtime import supervise

if TYPE_CHECKING:
    from rich.live import Live

_FRAME: Seconds = 0.1


def is_live(output: TextIO, environ: Mapping[str, str]) -> bool:
    """Tell whether pictures can move there."""
    return output.isatty() and environ.get("TERM", "dumb") != "dumb"


def is_unicode(output: TextIO, environ: Mapping[str, str]) -> bool:
    """Tell whether more than ASCII can be shown.

    Where the locale is C, Python itself sets LC_CTYPE to C.UTF-8: that says nothing of the terminal.
    """
    by_kind = environ.get("LC_CTYPE", "")
    said = environ.get("LC_ALL") or by_kind.replace("C.UTF-8", "") or environ.get("LANG", "")
    return all("utf" in each.lower() for each in (said, output.encoding or ""))


class Way(Protocol):
    """A way to show things."""

    def shown(self, scene: Scene) -> AbstractAsyncContextManager[None]:
        """Show a scene within the block, as it changes."""
        ...

    def tell(self, words: str) -> None:
        """Show what has just come to be known of a scene."""
        ...

    def say(self, words: str, style: str = "") -> None:
        """Show a line that is no part of a scene."""
        ...


class Lines:
    """All that happens, line by line: for pipes, files and plain terminals."""

    def shown(self, scene: Scene) -> AbstractAsyncContextManager[None]:
        """Show nothing of the scene itself."""
        del scene
        return nullcontext()

    def tell(self, words: str) -> None:
        """Print it."""
        render.line(words)

    def say(self, words: str, style: str = "") -> None:
        """Print it, in no style."""
        del style
        render.line(words)


class Pictures:
    """The scene as a whole, drawn again and again."""

    def __init__(self, clock: Clock, began: Seconds, *, unicode: bool) -> None:
        from rich.console import Console  # noqa: PLC0415 (who has no terminal needs none of this)

        from jobferry.cli import screen  # noqa: PLC0415

        self._clock = clock
        self._began = began
        self._console = Console(highlight=False, markup=False, emoji=False)
        self._draw = screen.screen
        self._signs = screen.PRETTY if unicode else screen.ASCII

    @asynccontextmanager
    async def shown(self, scene: Scene) -> AsyncIterator[None]:
        """Draw the scene within the block; what was drawn last stays."""
        from rich.live import Live  # noqa: PLC0415

        with Live(console=self._console, auto_refresh=False) as live:
            async with supervise.tasks("screen", clock=self._clock) as tasks:
                tasks.start("frames", lambda: self._frames(live, scene))
                yield
            self._frame(live, scene, whole=True)

    def tell(self, words: str) -> None:
        """Leave it to the next frame."""

    def say(self, words: str, style: str = "") -> None:
        """Print it below."""
        self._console.print(words, style=style or None, soft_wrap=True)

    async def _frames(self, live: "Live", scene: Scene) -> None:
        while True:
            self._frame(live, scene)
            await sleep(self._clock, _FRAME)

    def _frame(self, live: "Live", scene: Scene, *, whole: bool = False) -> None:
        width, height = self._console.size
        now = self._clock.monotonic() - self._began
        room = None if whole else height
        picture = self._draw(scene, now, self._signs, width=width, height=room)
        live.update(picture, refresh=True)


class Show:
    """A scene, and somebody who looks at it."""

    def __init__(self, scene: Scene, way: Way) -> None:
        self.scene = scene
        self._way = way
        self._changed = asyncio.Event()
        self._trouble: OSError | None = None

    def tell(self, sight: sights.Any) -> None:
        """Take note of a sight, and show it."""
        try:
            for words in list(self.scene.see(sight)):
                self._way.tell(words)
        except OSError as error:  # nobody reads on (`| head`): whoever waits for us finds out
            self._trouble = error
        self._changed.set()

    async def until(self, holds: Callable[[Scene], bool]) -> None:
        """Wait until something holds; raises what went wrong with showing it."""
        while not holds(self.scene):
            if self._trouble is not None:
                raise self._trouble
            self._changed.clear()
            await self._changed.wait()


def best(clock: Clock, began: Seconds) -> Way:
    """Return the best way to show something that began then on this process's output."""
    if not is_live(sys.stdout, os.environ):
        return Lines()
    return Pictures(clock, began, unicode=is_unicode(sys.stdout, os.environ))
