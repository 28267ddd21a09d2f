"""Times that were sent more exactly than they are stored."""


class Cut(str):
    """A time in whole seconds, of which something finer was cut off; what compares times may want to know."""

    nanoseconds: int

    def __new__(cls, text: str, nanoseconds: int = 0) -> "Cut":
        """Remember what was cut off."""
        made = super().__new__(cls, text)
        made.nanoseconds = nanoseconds
        return made


def exact(text: str | None) -> tuple[str, int]:
    """Return a time as it was sent, to be compared; nothing comes before everything."""
    return text or "", getattr(text, "nanoseconds", 0)
