"""Arguments, read so that a wrong one is an error like any other."""

import argparse
from typing import NoReturn

from jobferry.errors import BadInput


class Parser(argparse.ArgumentParser):
    """A parser that raises `BadInput` where argparse would print its usage and exit."""

    def __init__(
        self, command: str, synopsis: str, description: str, *, epilog: str | None = None
    ) -> None:
        super().__init__(
            prog=command,
            usage=f"{command} {synopsis}",
            description=description,
            epilog=epilog,
            allow_abbrev=False,  # an option that is added later must not change what a script means
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )

    def error(self, message: str) -> NoReturn:
        """Refuse the arguments."""
        raise BadInput(message, hint=f"`{self.prog} --help` says what there is.")
